import { CapstanError, isCapstanError, messageOf } from "../api/error.js";
import { sameJson } from "../api/json.js";
import { clusterNameOf, providerValue, stackNameOf } from "../api/types.js";
import { hasDrift } from "../drift/judge.js";
import { applyPlan, type ApplyResult } from "../engine/apply.js";
import { destroyCluster } from "../engine/destroy.js";
import type { Engine } from "../engine/engine.js";
import { look, type Look } from "../engine/look.js";
import { settleLastCalls } from "../engine/recover.js";
import { callContext } from "../engine/session.js";
import { refuseNonOwner, type StackState } from "../engine/state.js";
import { type Survey, survey } from "../engine/survey.js";
import type { ClusterView, Doing } from "../source/cluster-view.js";
import type { Intent } from "../source/intent.js";
import { diagnosticText } from "../manifest/diagnostic.js";
import type { Plan } from "../plan/plan.js";
import { cloudResources, emptyState } from "../plan/target.js";
import type { Clock, InfrastructureProvider, Observed } from "../provider/port.js";
import { Display } from "./display.js";
import { type DriftWatch, driftStatusOf, watchDrift } from "./drift-watch.js";
import { heldAfter, type Memory, newMemory } from "./memory.js";
import { doingAfter, doingAtFirst, phaseDuring } from "./progress-view.js";
import type { WorkOutcome } from "./queue.js";
import { appearanceOf } from "./shared-listing.js";
import type { ClusterSource } from "../source/cluster-source.js";
import { troubleOf } from "./trouble.js";
import type { Witness } from "./witness.js";

type Want = Extract<Intent, { kind: "want" }>;

export interface ReconcilerOptions {
  readonly source: ClusterSource;
  /** Their inventories are shared by all clusters. */
  readonly providers: readonly InfrastructureProvider[];
  readonly clock: Clock;
  /** "<user>@<host>", for history. */
  readonly by: string;
  /** How long hosts may take to become ready, and a whole transaction, milliseconds. */
  readonly timeoutMs: number;
  readonly deadlineMs: number;
  /** Nothing new is begun from then on, and what waits stops waiting. */
  readonly stop: AbortSignal;
  readonly witness: Witness;
  /** Runs work on a stack under its lock. */
  readonly withStack: <T>(stack: string, work: (engine: Engine) => Promise<T>) => Promise<T>;
  /** Notes a cluster UID before the first call to its cloud. */
  readonly noteCluster: (plan: Plan, provider: InfrastructureProvider) => void;
  newClusterUid(): string;
}

/** How often what only a person can mend is looked at again: somebody may have mended it elsewhere. */
const recheckMs = 5 * 60_000;

const done: WorkOutcome = { kind: "done" };

/**
 * Brings one cluster after the other to where its objects want it: looks, plans, applies, shows. From
 * present objects, present records and a present look every time; what is remembered only saves work.
 * Never throws for what can happen to a cluster: that comes back as when to try again.
 */
export class Reconciler {
  private readonly memories = new Map<string, Memory>();

  constructor(private readonly options: ReconcilerOptions) {}

  memoryOf(key: string): Memory {
    const known = this.memories.get(key) ?? newMemory();
    this.memories.set(key, known);
    return known;
  }

  /** Clusters that are remembered, for who looks whether they look as before. */
  remembered(): ReadonlyMap<string, Memory> {
    return this.memories;
  }

  /** Stops work toward what is not wanted any more, between two waves. */
  supersede(key: string): void {
    this.memories.get(key)?.running?.abort(broken(key, "its objects have changed"));
  }

  async reconcile(key: string): Promise<WorkOutcome> {
    const { source, witness } = this.options;
    const memory = this.memoryOf(key);
    const intent = source.intentOf(key, true);
    memory.digest = intent.digest;
    try {
      switch (intent.kind) {
        case "absent":
          this.memories.delete(key);
          witness(key, { kind: "forgotten" });
          return done;
        case "invalid":
          throw new CapstanError({
            code: "INVALID_INPUT",
            source: "user",
            subject: key,
            message: intent.diagnostics.map(diagnosticText).join("\n"),
          });
        case "paused":
          witness(key, { kind: "paused", reason: intent.reason });
          await this.showAsItIs(key, { phase: "Paused", message: intent.reason });
          return done;
        case "remove":
          return await this.remove(key);
        case "want":
          return await this.pursue(key, intent, memory);
      }
    } catch (error) {
      return this.outcomeOf(key, error, memory);
    }
  }

  /** What an error means for when to try again. */
  private async outcomeOf(key: string, error: unknown, memory: Memory): Promise<WorkOutcome> {
    const { witness, stop } = this.options;
    if (!isCapstanError(error)) throw error;
    if (error.code === "CANCELLED") {
      return stop.aborted ? done : { kind: "retryAfter", ms: 0 };
    }
    memory.settled = undefined;
    const trouble = troubleOf(error);
    witness(key, { kind: trouble === undefined ? "failed" : "refused", error });
    const about =
      trouble === undefined ? { message: error.message } : ({ phase: "Failed", trouble } as const);
    await this.showAsItIs(key, about).catch((unshown: unknown) => {
      if (!isCapstanError(unshown)) throw unshown;
    });
    return trouble === undefined ? { kind: "failed" } : { kind: "retryAfter", ms: recheckMs };
  }

  private async pursue(key: string, intent: Want, memory: Memory): Promise<WorkOutcome> {
    const { source, clock, stop } = this.options;
    const provider = this.providerFor(intent);
    if (memory.settled?.digest === intent.digest && memory.view !== undefined) {
      const seen = await this.appearance(key, provider, memory.view);
      if (seen === memory.settled.appearance) {
        await source.show(key, memory.view, provider);
        return done;
      }
    }
    if (memory.held?.digest !== intent.digest) memory.held = undefined;
    await source.claim(key);
    const stack = stackNameOf(intent.desired.cluster);
    const running = new AbortController();
    memory.running = running;
    try {
      return await this.options.withStack(stack, async (engine) => {
        const signal = AbortSignal.any([stop, running.signal]);
        await settleLastCalls(engine, provider, { clock, signal });
        const state = await engine.readState(stack);
        return new Pursuit(this.options, { key, intent, memory, provider, engine, signal }).go(
          state,
        );
      });
    } finally {
      memory.running = undefined;
    }
  }

  /** How the cloud shows a cluster, as `settled` remembers it. */
  private async appearance(
    key: string,
    provider: InfrastructureProvider,
    view: ClusterView,
  ): Promise<string> {
    const { clock, stop } = this.options;
    const { clusterUid } = view;
    const scope = { cluster: key, ...(clusterUid !== undefined && { clusterUid }) };
    return appearanceOf(await provider.inventory(callContext(clock, stop), scope));
  }

  /** Shows a cluster on which no work is done, as it was seen last. */
  private async showAsItIs(key: string, about: Partial<ClusterView>): Promise<void> {
    const { source, clock, providers } = this.options;
    const memory = this.memoryOf(key);
    const {
      doing: _ended,
      trouble: _old,
      message: _said,
      ...known
    } = memory.view ?? { phase: "Pending" as const, records: emptyState, nowMs: 0 };
    const [first] = providers;
    const provider =
      providers.find(({ name }) => name === known.records.transaction?.target.provider) ?? first;
    if (provider === undefined) return;
    const view = { ...known, ...about, isSettled: false, nowMs: clock.now() };
    memory.view = view;
    await source.show(key, view, provider);
  }

  private providerFor({ desired }: Want): InfrastructureProvider {
    const wanted = providerValue(desired.cluster.spec)["apiVersion"];
    const provider = this.options.providers.find(({ apiVersion }) => apiVersion === wanted);
    if (provider !== undefined) return provider;
    throw new Error(`no provider for ${clusterNameOf(desired.cluster)}`);
  }

  /** Everything goes, then the objects. Forward only. */
  private async remove(key: string): Promise<WorkOutcome> {
    const { source, clock, witness, providers, stop } = this.options;
    const [namespace = "", name = ""] = key.split("/");
    const stack = stackNameOf({ metadata: { namespace, name } });
    const outcome = await this.options.withStack(stack, async (engine): Promise<WorkOutcome> => {
      const state = await engine.readState(stack);
      refuseNonOwner(state, source.owner, "destroy");
      const recorded = state.transaction?.target.provider;
      if (state.transaction === undefined && state.resources.length === 0) return done;
      const provider = providers.find((one) => one.name === recorded);
      if (provider === undefined) throw unknownProvider(key, recorded);
      witness(key, { kind: "destroying", resources: cloudResources(state).length });
      const view = await this.viewOf(key, state, provider);
      const display = new Display((shown) => source.show(key, shown, provider), clock);
      display.offer({ ...view, phase: "Deleting", message: "everything that it has is deleted" });
      const { deleted, inventory } = await destroyCluster(stack, state, {
        ...{ engine, provider, clock, timeoutMs: this.options.timeoutMs, stop },
        report: () => {},
      });
      await display.quiet();
      const { differences } = inventory;
      if (differences.length > 0) throw leftOver(key, differences);
      witness(key, { kind: "destroyed", deleted });
      return done;
    });
    await source.release(key);
    this.memories.delete(key);
    return outcome;
  }

  private async viewOf(
    key: string,
    state: StackState,
    provider: InfrastructureProvider,
  ): Promise<ClusterView> {
    const { clock, stop } = this.options;
    const clusterUid = state.transaction?.clusterUid;
    const scope = { cluster: key, ...(clusterUid !== undefined && { clusterUid }) };
    const { sightings } = await look(provider, callContext(clock, stop), scope, state);
    return {
      ...{ phase: "Deleting", records: state, sightings, isSettled: false, nowMs: clock.now() },
      ...(clusterUid !== undefined && { clusterUid }),
    };
  }
}

/** What one work on a cluster is done with. */
interface Occasion {
  readonly key: string;
  readonly intent: Want;
  readonly memory: Memory;
  readonly provider: InfrastructureProvider;
  readonly engine: Engine;
  /** Stops it between two waves. */
  readonly signal: AbortSignal;
}

/** One look, one plan, one transaction at most: toward what is wanted, under the stack's lock. */
class Pursuit {
  private readonly display: Display;
  private doing: Doing | undefined;

  constructor(
    private readonly options: ReconcilerOptions,
    private readonly occasion: Occasion,
  ) {
    const { key, provider } = occasion;
    this.display = new Display((view) => options.source.show(key, view, provider), options.clock);
  }

  async go(state: StackState): Promise<WorkOutcome> {
    const { witness, clock } = this.options;
    const { key, memory, provider, intent } = this.occasion;
    const drift = watchDrift(provider, intent.desired, {
      ...{ memory: memory.drift, nowMs: clock.now() },
    });
    const found = await this.survey(state, drift);
    const judged = drift.judged();
    memory.drift = judged?.memory ?? memory.drift;
    if (judged !== undefined) {
      const fingerprint = hasDrift(judged) ? judged.report.fingerprint : undefined;
      if (fingerprint !== memory.toldDrift) witness(key, { kind: "drift", drift: judged });
      memory.toldDrift = fingerprint;
    }
    if (found.plan.empty) return this.settle(state, found.seen, drift);
    return this.apply(state, found, drift);
  }

  private survey(state: StackState, drift: DriftWatch): Promise<Survey> {
    const { clock, by, deadlineMs, source } = this.options;
    const { intent, provider, signal, memory } = this.occasion;
    const { held } = memory;
    const revision = state.revision?.target;
    const isHeld = held !== undefined && clock.now() < held.untilMs && revision !== undefined;
    return survey({
      ...{ desired: intent.desired, positionOf: intent.positionOf, provider, state },
      context: callContext(clock, signal),
      discarded: intent.discarded,
      // What failed a moment ago is not tried again yet, but what runs is kept running.
      ...(isHeld && { instead: revision }),
      adopt: intent.clusterUid !== undefined,
      tolerance: drift.tolerance,
      newClusterUid: () => this.options.newClusterUid(),
      newDigestKey: () => this.options.newClusterUid(),
      ...{ owner: source.owner, by, deadlineMs },
    });
  }

  /** Nothing is to do: that is remembered, and shown. */
  private async settle(state: StackState, seen: Look, drift: DriftWatch): Promise<WorkOutcome> {
    const { clock } = this.options;
    const { memory, intent } = this.occasion;
    const { held } = memory;
    const frozen = drift.judged()?.freeze;
    const view = this.view(state, seen, {
      phase: frozen === undefined ? "Running" : "Frozen",
      isSettled: true,
      ...(held !== undefined && { message: held.message }),
      drift,
    });
    await this.display.settle(view);
    memory.view = view;
    memory.settled = { digest: intent.digest, appearance: appearanceOf(everything(seen)) };
    const waitMs = [
      ...(held === undefined ? [] : [held.untilMs - clock.now()]),
      ...(frozen?.thawsAtMs === undefined ? [] : [frozen.thawsAtMs - clock.now()]),
    ];
    if (waitMs.length === 0) return done;
    // What is settled would not be looked at again.
    memory.settled = undefined;
    return { kind: "retryAfter", ms: Math.max(0, Math.min(...waitMs)) };
  }

  private async apply(state: StackState, found: Survey, drift: DriftWatch): Promise<WorkOutcome> {
    const { options, occasion } = this;
    const { clock, witness, by, deadlineMs, timeoutMs } = options;
    const { key, memory, provider, engine, signal } = occasion;
    const { plan, seen, lens } = found;
    memory.settled = undefined;
    witness(key, { kind: "planned", plan });
    this.doing = doingAtFirst(plan);
    const isDrift = sameJson(plan.target.objects, state.revision?.target.objects);
    // What is derived from the objects is there, and cannot go without us, before anything is made.
    await this.display.settle(
      this.view(state, seen, { isDrift, planned: plan, isSettled: false, drift }),
    );
    // What was written back to the objects is no new wish.
    memory.digest = options.source.intentOf(key).digest;
    await engine.ensureStack(plan.stack, state);
    options.noteCluster(plan, provider);
    const begunAtMs = clock.now();
    let last = { state, seen };
    const offer = () =>
      this.display.offer(
        this.view(last.state, last.seen, { isDrift, planned: plan, isSettled: false, drift }),
      );
    let result: ApplyResult;
    try {
      result = await applyPlan(plan, state, {
        ...{ engine, provider, clock, by, deadlineMs, timeoutMs, lens, stop: signal },
        onFailure: "rollBack",
        report: (event) => {
          if (this.doing !== undefined) this.doing = doingAfter(event, this.doing);
          witness(key, { kind: "run", event, plan });
          if (event.kind !== "resource") offer();
        },
        onLook: (now, look) => {
          last = { state: now, seen: look };
          offer();
        },
      });
    } catch (error) {
      if (isCapstanError(error) && error.code === "CANCELLED") {
        witness(key, { kind: "broken off", plan, reason: messageOf(error) });
      }
      throw error;
    } finally {
      this.doing = undefined;
      await this.display.quiet();
    }
    witness(key, { kind: "ended", result, plan, tookMs: clock.now() - begunAtMs });
    return this.after(result, plan, drift);
  }

  /** What comes after a transaction that ended, one way or the other. */
  private async after(result: ApplyResult, plan: Plan, drift: DriftWatch): Promise<WorkOutcome> {
    const { clock } = this.options;
    const { memory, engine, provider, intent, signal } = this.occasion;
    const state = await engine.readState(plan.stack);
    const scope = { cluster: plan.cluster, clusterUid: plan.transaction.clusterUid };
    const seen = await look(provider, callContext(clock, signal), scope, state);
    if (result.kind === "done") {
      if (memory.held?.untilMs !== undefined && clock.now() >= memory.held.untilMs) {
        memory.held = undefined;
      }
      // A further stage, or drift beyond this transaction's budget: the next look tells.
      const more = plan.stage !== undefined || (drift.judged()?.items.length ?? 0) > 0;
      memory.drift = drift.judged()?.memory ?? memory.drift;
      if (more || memory.held !== undefined) {
        memory.view = this.view(state, seen, { phase: "Running", isSettled: true });
        await this.display.settle(memory.view);
        return { kind: "retryAfter", ms: 0 };
      }
      return this.settle(state, seen, watchNothing);
    }
    const held = heldAfter(memory.held, intent.digest, heldText(result), clock.now());
    memory.held = held;
    memory.view = this.view(state, seen, {
      phase: result.kind === "rolledBack" ? (result.toNothing ? "Pending" : "Running") : "Failed",
      isSettled: result.kind === "rolledBack",
      message: held.message,
      ...(result.kind === "stopped" && {
        trouble: { reason: "UpdateError" as const, message: held.message },
      }),
    });
    await this.display.settle(memory.view);
    return { kind: "retryAfter", ms: held.untilMs - clock.now() };
  }

  private view(
    state: StackState,
    { sightings }: Look,
    about: Pick<ClusterView, "isSettled"> &
      Partial<Pick<ClusterView, "phase" | "message" | "trouble">> & {
        readonly planned?: Plan;
        readonly isDrift?: boolean;
        readonly drift?: DriftWatch;
      },
  ): ClusterView {
    const { clock } = this.options;
    const { doing } = this;
    const { planned, isDrift = false, drift, phase, message, trouble, isSettled } = about;
    const clusterUid = state.transaction?.clusterUid ?? planned?.transaction.clusterUid;
    const driftStatus = driftStatusOf(drift?.judged());
    const isRecorded = state.transaction?.number === planned?.transaction.number;
    return {
      ...{ records: state, sightings, isSettled, nowMs: clock.now() },
      phase:
        phase ??
        (doing === undefined ? "Running" : phaseDuring(doing, { records: state }, isDrift)),
      ...(planned !== undefined && !isRecorded && { planned: planned.target }),
      ...(doing !== undefined && { doing }),
      ...(driftStatus !== undefined && { drift: driftStatus }),
      ...(clusterUid !== undefined && { clusterUid }),
      ...(message !== undefined && { message }),
      ...(trouble !== undefined && { trouble }),
    };
  }
}

const watchNothing: DriftWatch = {
  tolerance: () => {
    throw new Error("nothing is looked at any more");
  },
  judged: () => undefined,
};

/** Everything that a listing of the cluster shows. */
function everything({ sightings, strangers }: Look): Observed[] {
  return [...[...sightings.values()].filter((one) => one !== "gone"), ...strangers];
}

function heldText(result: Exclude<ApplyResult, { kind: "done" }>): string {
  const { failure } = result;
  switch (result.kind) {
    case "rolledBack":
      return `taken back as revision ${result.number}: ${failure.message}`;
    case "stopped":
      return `${stoppedText[result.result]}: ${failure.message}`;
  }
}

const stoppedText = {
  untouched: "nothing was changed",
  kept: "what exists is kept",
  forwardOnly: "past its point of no return, so there is only forward",
  owing: "committed, but not all that it supersedes is deleted",
  incomplete: "rolled back incompletely",
} as const;

function broken(key: string, reason: string): CapstanError {
  return new CapstanError({
    code: "CANCELLED",
    source: "user",
    subject: key,
    message: `the change of ${key} is broken off: ${reason}`,
  });
}

function unknownProvider(key: string, name: string | undefined): CapstanError {
  return new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: key,
    message: `cannot work on ${key}: this release has no provider ${name ?? "of its records"}`,
    hint: "run the release that made it",
  });
}

function leftOver(key: string, differences: readonly string[]): CapstanError {
  return new CapstanError({
    code: "CLOUD_FAILED",
    source: "cloud",
    subject: key,
    message: `cannot destroy ${key}: ${differences.join("; ")}`,
    hint: "it is tried again",
    retryable: true,
  });
}
