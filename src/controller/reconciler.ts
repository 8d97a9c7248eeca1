import { counted } from "../api/counted.js";
import { CapstanError, isCapstanError } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { stackNameOf } from "../api/types.js";
import type { Diagnostic } from "../manifest/diagnostic.js";
import { timeoutWarnings } from "../manifest/timeouts.js";
import { destroyCluster, planDestroy } from "../engine/operations/destroy.js";
import { listProven, observe } from "../engine/run/observe.js";
import { settleLastCalls } from "../engine/run/recover.js";
import { callContext } from "../engine/run/handler-session.js";
import { refuseNonOwner, type StackState } from "../engine/backend/state.js";
import type { ClusterView } from "../source/cluster-view.js";
import type { Intent } from "../source/intent.js";
import { ResourcesFailed } from "../engine/run/failures.js";
import { refuseDestruction } from "../plan/refusals/protection.js";
import type { MachineAnnotations } from "../records/host-machine.js";
import { cloudResources, emptyState } from "../records/prior-state.js";
import { boundToRecorded, providerFor } from "../provider/for-cluster.js";
import type { InfrastructureProvider, InventoryScope } from "../provider/port.js";
import { StatusWriter } from "./status-writer.js";
import { ClusterState } from "./cluster-state.js";
import { ClusterReconcile } from "./cluster-reconcile.js";
import type { WorkOutcome } from "./queue.js";
import { goalIn, goalOf } from "./goal.js";
import { objectFailuresOf } from "./object-failures.js";
import type { ReconcilerOptions, Want, WorkEngine, WrongWant } from "./reconciler-options.js";
import { observedDigestOf } from "./shared-listing.js";
import { terminalErrorOf } from "./terminal-error.js";

/** How often what only a person can mend is looked at again: somebody may have mended it elsewhere. */
const recheckMs = 5 * 60_000;

const done: WorkOutcome = { kind: "done" };

/** A cluster at which nobody has looked yet: no records are known, which is not to say that there are none. */
const unseen: ClusterView = {
  phase: "Pending",
  records: emptyState,
  isBlind: true,
  isSettled: false,
  nowMs: 0,
};

/**
 * Brings one cluster after the other to where its objects want it: looks, plans, applies, shows. From
 * present objects, present records and a present look every time; what is remembered only saves work.
 * Never throws for what can happen to a cluster: that comes back as when to try again.
 */
export class Reconciler {
  /** `clusters`: what is remembered already. */
  constructor(
    readonly options: ReconcilerOptions,
    private readonly clusters = new Map<string, ClusterState>(),
  ) {}

  clusterStateOf(key: string): ClusterState {
    const known = this.clusters.get(key) ?? new ClusterState();
    this.clusters.set(key, known);
    return known;
  }

  /** Clusters that are remembered, for who looks whether they look as before. */
  remembered(): ReadonlyMap<string, ClusterState> {
    return this.clusters;
  }

  /** Stops work toward what is not wanted any more, between two waves. */
  supersede(key: string): void {
    this.clusters.get(key)?.superseded(broken(key, "its objects have changed"));
  }

  async reconcile(key: string): Promise<WorkOutcome> {
    const { source, sink, stop } = this.options;
    const cluster = this.clusterStateOf(key);
    const intent = source.intentOf(key, true);
    cluster.asked(intent);
    try {
      switch (intent.kind) {
        case "absent":
          this.clusters.delete(key);
          sink(key, { kind: "forgotten" });
          await source.forget(key);
          return done;
        case "paused":
          sink(key, { kind: "paused", reason: intent.reason });
          await this.showAsItIs(key, { phase: "Paused", message: intent.reason });
          return done;
        case "remove":
          return await this.remove(key, intent);
        case "want":
        case "invalid":
          for (const warning of cluster.warned(this.warningsOf(intent))) {
            sink(key, { kind: "warned", warning });
          }
          return await cluster.whileRunning((superseded) =>
            this.reconcileWanted(AbortSignal.any([stop, superseded]), { key, intent, cluster }),
          );
      }
    } catch (error) {
      return this.outcomeOf(key, error, { cluster, intent });
    }
  }

  private warningsOf(intent: Want | WrongWant): Diagnostic[] {
    const { timeoutMs } = this.options;
    const { positionOf, warnings = [] } = intent;
    if (intent.kind === "invalid") return [...warnings];
    return [...warnings, ...timeoutWarnings(intent.desired, timeoutMs / 1_000, positionOf)];
  }

  /** What an error means for when to try again. */
  private async outcomeOf(
    key: string,
    error: unknown,
    { cluster, intent }: { readonly cluster: ClusterState; readonly intent: Intent },
  ): Promise<WorkOutcome> {
    const { sink, stop, clock } = this.options;
    if (stop.aborted) return done;
    if (!isCapstanError(error)) throw error;
    // Another leads by now, or may: what is to be done is theirs to do.
    if (error.code === "NOT_LEADER") return done;
    if (error.code === "CANCELLED") return { kind: "retryAfter", ms: 0 };
    cluster.unsettled();
    const terminalError = terminalErrorOf(error);
    sink(key, { kind: terminalError === undefined ? "failed" : "refused", error });
    const { records = emptyState } = cluster.view ?? {};
    const failures = objectFailuresOf(error, { key, records, nowMs: clock.now() });
    for (const failure of failures) sink(key, { kind: "object failed", failure });
    const asked = intent.kind === "want" ? { asked: intent.desired } : {};
    const isUnmet = failures.length > 0 || terminalError !== undefined;
    const unmet = isUnmet ? { failures, machines: [], ...asked } : cluster.failedAttempt?.unmet;
    const about = omitUndefined({
      message: terminalError === undefined ? error.message : undefined,
      phase: terminalError && ("Failed" as const),
      terminalError,
      unmet,
    });
    await this.showAsItIs(key, about).catch((unshown: unknown) => {
      if (!isCapstanError(unshown)) throw unshown;
    });
    return terminalError === undefined ? { kind: "failed" } : { kind: "retryAfter", ms: recheckMs };
  }

  private async reconcileWanted(
    signal: AbortSignal,
    work: {
      readonly key: string;
      readonly intent: Want | WrongWant;
      readonly cluster: ClusterState;
    },
  ): Promise<WorkOutcome> {
    const { source, clock, providers } = this.options;
    const { key, intent, cluster } = work;
    // Whatever the records say: a Cluster keeps its provider, and credentials are those of the objects.
    const known = goalOf(key, intent, cluster.view?.records);
    if (known !== undefined) {
      const rest = await this.restOf(work, providerFor(known.desired.cluster, providers));
      if (rest !== undefined) return rest;
      await source.claim(key);
      // What was asked for when this was begun may be over by now, and its objects gone: then the claim
      // keeps nothing.
      if (source.intentOf(key).digest !== intent.digest) return { kind: "retryAfter", ms: 0 };
    }
    return this.options.withStack(stackOf(key), async (engine) => {
      signal.throwIfAborted();
      const first = known ?? goalIn(key, intent, await engine.readState(stackOf(key)));
      const provider = providerFor(first.desired.cluster, providers);
      await settleLastCalls(engine, provider, { clock, signal });
      const state = await engine.readState(stackOf(key));
      const goal = goalIn(key, intent, state);
      const request = { key, intent, goal, cluster, provider, engine, signal };
      return new ClusterReconcile(this.options, request, state).go();
    });
  }

  /** What to do about a cluster for which no engine has to be asked; undefined for any other. */
  private async restOf(
    { key, intent, cluster }: { key: string; intent: Want | WrongWant; cluster: ClusterState },
    provider: InfrastructureProvider,
  ): Promise<WorkOutcome | undefined> {
    const { source, clock } = this.options;
    const { baseline, view } = cluster;
    if (view === undefined) return undefined;
    const held = cluster.heldAttempt(clock.now());
    const isKept = held?.isTakenBack === true && view.records.revision !== undefined;
    if (held !== undefined && !isKept) {
      await source.show(key, { ...view, message: held.message }, provider);
      return { kind: "retryAfter", ms: held.untilMs - clock.now() };
    }
    if (baseline?.digest !== intent.digest) return undefined;
    const { untilMs } = baseline;
    if (untilMs !== undefined && untilMs <= clock.now()) return undefined;
    if ((await this.observedDigest(key, provider, view)) !== baseline.observedDigest)
      return undefined;
    await source.show(key, view, provider);
    return untilMs === undefined ? done : { kind: "retryAfter", ms: untilMs - clock.now() };
  }

  /** How the cloud shows a cluster, as its baseline has it. */
  private async observedDigest(
    key: string,
    provider: InfrastructureProvider,
    view: ClusterView,
  ): Promise<string> {
    const { clock, stop } = this.options;
    const { clusterUid } = view;
    const scope: InventoryScope = omitUndefined({ cluster: key, clusterUid });
    const { cloud } = view.records.transaction ?? {};
    const listed = await listProven(provider, callContext(clock, stop), scope, cloud);
    return observedDigestOf(listed, provider);
  }

  /** Shows a cluster on which no work is done, as it was seen last. */
  private async showAsItIs(key: string, about: Partial<ClusterView>): Promise<void> {
    const { source, clock, providers } = this.options;
    const cluster = this.clusterStateOf(key);
    const {
      progress: _ended,
      terminalError: _old,
      message: _said,
      unmet: _unmet,
      ...known
    } = cluster.view ?? unseen;
    const provider = shownBy(known, providers);
    if (provider === undefined) return;
    const view = { ...known, ...about, isSettled: false, nowMs: clock.now() };
    cluster.shown(view);
    await source.show(key, view, provider);
  }

  /** Everything goes, then the objects. Forward only. */
  private async remove(
    key: string,
    { clusterUid, provider, released = [], liveAnnotations }: Extract<Intent, { kind: "remove" }>,
  ): Promise<WorkOutcome> {
    const { source } = this.options;
    const stack = stackOf(key);
    const isGone = await this.options.withStack(stack, async (engine) => {
      // Somebody may have let it go, and have made another one of its name, while the stack was locked.
      if (source.intentOf(key).kind !== "remove") return false;
      const state = await engine.readState(stack);
      refuseNonOwner(state, source.owner, "destroy");
      if (state.transaction !== undefined || state.resources.length > 0) {
        refuseDestruction([state], released);
        await this.destroy(key, { stack, state, engine, released, liveAnnotations });
      } else if (clusterUid !== undefined) {
        await this.refuseLostState(key, clusterUid, provider);
      }
      return true;
    });
    if (!isGone) return { kind: "retryAfter", ms: 0 };
    await source.release(key);
    this.clusters.delete(key);
    return done;
  }

  private async destroy(
    key: string,
    { stack, state, engine, released, liveAnnotations }: ClusterToDelete,
  ): Promise<void> {
    const { source, clock, sink, providers, stop, timeoutMs, by, openWorkload } = this.options;
    const recorded = state.transaction?.target;
    const named = providers.find((one) => one.name === recorded?.provider);
    if (named === undefined) throw unknownProvider(key, recorded?.provider);
    const provider = boundToRecorded(named, recorded?.objects);
    sink(key, { kind: "destroying", resources: cloudResources(state).length });
    const view = await this.viewOf(key, state, provider);
    const statusWriter = new StatusWriter((shown) => source.show(key, shown, provider), clock);
    this.clusterStateOf(key).shown(view);
    statusWriter.offer(view);
    try {
      await settleLastCalls(engine, provider, { clock, signal: stop });
      const records = await engine.readState(stack);
      const planning = { provider, clock, stop, by };
      const destruction = await planDestroy(stack, records, { ...planning, released });
      const result = await destroyCluster(destruction, records, {
        ...planning,
        engine,
        timeoutMs,
        onFailure: "keep",
        openWorkload,
        liveAnnotations,
        // Whoever is told of it also knows by it that the work gets on.
        report: (event) => sink(key, { kind: "run", event, plan: destruction.plan }),
      });
      if (result.kind !== "done") throw leftOver(key, result.failure);
      sink(key, { kind: "destroyed", deleted: result.deleted });
    } finally {
      await statusWriter.quiet();
    }
  }

  /**
   * An empty state is no proof that there is nothing: the Cluster says that there was, and in whose cloud. Another one is not asked,
   * which may be nobody's here.
   */
  private async refuseLostState(
    key: string,
    clusterUid: string,
    named: string | undefined,
  ): Promise<void> {
    const { clock, stop, providers } = this.options;
    const context = callContext(clock, stop);
    const asked = providers.filter(({ name }) => named === undefined || name === named);
    for (const provider of asked) {
      const listed = await listProven(provider, context, { cluster: key, clusterUid }, undefined);
      const alive = listed.filter(({ phase }) => phase !== "gone").length;
      if (alive > 0) throw lostState(key, alive);
    }
  }

  private async viewOf(
    key: string,
    state: StackState,
    provider: InfrastructureProvider,
  ): Promise<ClusterView> {
    const { clock, stop } = this.options;
    const clusterUid = state.transaction?.clusterUid;
    const scope: InventoryScope = omitUndefined({ cluster: key, clusterUid });
    const { observedResources } = await observe(provider, callContext(clock, stop), scope, state);
    return omitUndefined({
      phase: "Deleting",
      message: "everything that it has is deleted",
      records: state,
      observedResources,
      isSettled: false,
      nowMs: clock.now(),
      clusterUid,
    });
  }
}

/** A cluster that goes. */
interface ClusterToDelete {
  readonly stack: string;
  readonly state: StackState;
  readonly engine: WorkEngine;
  readonly released: readonly string[];
  readonly liveAnnotations: MachineAnnotations | undefined;
}

function stackOf(key: string): string {
  const [namespace = "", name = ""] = key.split("/");
  return stackNameOf({ metadata: { namespace, name } });
}

/** The provider by which a cluster is shown; any will do as long as nothing of it is known. Pure. */
export function shownBy(
  { planned, records }: Pick<ClusterView, "planned" | "records">,
  providers: readonly InfrastructureProvider[],
): InfrastructureProvider | undefined {
  const recorded = (planned ?? records.transaction?.target)?.provider;
  return recorded === undefined ? providers[0] : providers.find(({ name }) => name === recorded);
}

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

function lostState(key: string, alive: number): CapstanError {
  return new CapstanError({
    code: "BAD_STATE",
    source: "user",
    subject: key,
    message: `cannot delete ${key}: the cloud holds ${counted(alive, "resource")} of it, and the state knows none of them`,
    hint: "restore the state that made them, or remove them with capstan sweep; nothing was changed",
  });
}

function leftOver(key: string, failure: CapstanError): CapstanError {
  const details = {
    code: "CLOUD_FAILED",
    source: "cloud",
    subject: key,
    message: `cannot destroy ${key}: ${failure.message.replaceAll("\n", "; ")}`,
    hint: "it is tried again",
    retryable: true,
  } as const;
  return new ResourcesFailed(details, failure instanceof ResourcesFailed ? failure.resources : []);
}
