import { CapstanError } from "../api/error.js";
import type { ResourceEvent } from "../dynamic/cloud-resource.js";
import { identityOf } from "../compile/compile.js";
import { keyOf, nodeKey, type NodeKey } from "../graph/graph.js";
import type { Plan } from "../plan/plan.js";
import type { PriorState } from "../plan/target.js";
import type { Clock, Identity, InfrastructureProvider, Observed } from "../provider/port.js";
import { nextAction } from "../transaction/admit.js";
import { type Admission, type Payloads, programOf } from "../transaction/pass.js";
import { encodePayload } from "./codec.js";
import { type Engine, engineFailed } from "./engine.js";
import type { PulumiResult } from "./pulumi.js";
import { type RecoveryTools, refreshRecords, resolvePendingCreates } from "./recover.js";
import { callContext, stepwiseSession } from "./session.js";
import type { StackState } from "./state.js";

/** Told how an apply goes, for people and for logs. */
export type ApplyEvent =
  | {
      readonly kind: "pass";
      readonly number: number;
      readonly keys: readonly NodeKey[];
      readonly reason: string;
    }
  | { readonly kind: "waiting"; readonly keys: readonly NodeKey[]; readonly reason: string }
  | { readonly kind: "ready"; readonly key: NodeKey }
  | { readonly kind: "resource"; readonly event: ResourceEvent }
  | { readonly kind: "committed"; readonly revision: number };

export interface ApplyOptions {
  readonly engine: Engine;
  readonly provider: InfrastructureProvider;
  readonly clock: Clock;
  /** How long hosts may take to become ready, and deletions to take effect, milliseconds. */
  readonly timeoutMs: number;
  readonly stop: AbortSignal;
  report(event: ApplyEvent): void;
}

const firstPollMs = 25;
const longestPollMs = 1_000;

/**
 * Carries out a plan stepwise: pass, look, decide, pass again, until the revision is committed and
 * what it supersedes is deleted. `state` is what the plan was made from. Throws what stopped it;
 * everything that exists by then is recorded, and the same command goes on from there.
 */
export async function applyPlan(
  plan: Plan,
  state: StackState,
  options: ApplyOptions,
): Promise<{ readonly passes: number }> {
  const run = new Apply(plan, options);
  return run.toTheEnd(state);
}

class Apply {
  private readonly failures: ResourceEvent[] = [];
  private readonly applied = new Set<NodeKey>();
  private readonly payloads: Payloads;
  private passes = 0;

  constructor(
    private readonly plan: Plan,
    private readonly options: ApplyOptions,
  ) {
    this.payloads = payloadsOf(plan);
  }

  async toTheEnd(initial: StackState): Promise<{ passes: number }> {
    const { engine } = this.options;
    const { stack } = this.plan;
    let state = await refreshRecords(stack, initial, this.plan.stale, this.tools());
    await this.removeAbandoned();
    let ready: ReadonlySet<NodeKey> = await this.readyHosts();
    for (;;) {
      this.options.stop.throwIfAborted();
      const action = nextAction(this.plan, { applied: this.applied, ready });
      if (action.kind === "wait") {
        this.options.report({ ...action, kind: "waiting" });
        ready = await this.waitUntilReady(action.keys, ready);
        continue;
      }
      if (action.kind === "commit") {
        state = await resolvePendingCreates(stack, state, this.tools());
        await this.pass(state, {
          admitted: this.applied,
          deletions: new Set(action.deletions),
          commit: true,
        });
        this.options.report({ kind: "committed", revision: this.plan.transaction.number });
        return { passes: this.passes };
      }
      this.passes += 1;
      this.options.report({ ...action, kind: "pass", number: this.passes });
      const admitted = new Set([...this.applied, ...action.keys]);
      await this.pass(state, { admitted, deletions: new Set(), commit: false });
      for (const key of action.keys) this.applied.add(key);
      state = await engine.readState(stack);
      ready = await this.readyHosts();
    }
  }

  /** Newest first, as nothing of it is in the engine's record, which would know the order. */
  private async removeAbandoned(): Promise<void> {
    const { lookup } = this.tools().session();
    for (const { id, who } of this.plan.abandoned.toReversed()) {
      await lookup(who.kind).delete(id, { who });
    }
  }

  private async pass(state: PriorState, admission: Admission): Promise<void> {
    const program = programOf(this.plan, state, admission, this.payloads);
    const result = await this.options.engine.pass(this.plan.stack, program, this.session());
    this.check(result, "cannot apply");
  }

  private async waitUntilReady(
    keys: readonly NodeKey[],
    before: ReadonlySet<NodeKey>,
  ): Promise<ReadonlySet<NodeKey>> {
    const { clock, stop, timeoutMs } = this.options;
    const deadline = clock.now() + timeoutMs;
    const told = new Set(before);
    for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMs * 1.5, longestPollMs)) {
      await clock.sleep(pollMs, stop);
      const ready = await this.readyHosts(keys);
      for (const key of keys) {
        if (!ready.has(key) || told.has(key)) continue;
        told.add(key);
        this.options.report({ kind: "ready", key });
      }
      const missing = keys.filter((key) => !ready.has(key));
      if (missing.length === 0) return ready;
      if (clock.now() > deadline) throw notReady(missing, timeoutMs);
    }
  }

  /** Hosts that the cloud shows running. Throws RESOURCE_GONE when one that is waited for has died. */
  private async readyHosts(waitedFor: readonly NodeKey[] = []): Promise<ReadonlySet<NodeKey>> {
    const { provider, clock, stop } = this.options;
    const { cluster, transaction } = this.plan;
    const context = callContext(clock, stop);
    const scope = { cluster, clusterUid: transaction.clusterUid };
    const phases = new Map<NodeKey, Set<Observed["phase"]>>();
    const note = ({ who, phase }: Observed) => {
      const key = nodeKey(who.kind, who.name);
      phases.set(key, (phases.get(key) ?? new Set()).add(phase));
    };
    (await provider.inventory(context, scope)).forEach(note);
    // Listings lag: a host that must be there and is not listed is looked for by its identity.
    for (const key of this.hostsByNow().filter((one) => !phases.has(one))) {
      const who = identityIn(this.plan, key);
      const presence = await provider.handlers.get(who.kind)?.locate(context, who);
      if (presence?.found === "one") note(presence.resource);
    }
    const died = waitedFor.find((key) => {
      const seen = phases.get(key);
      return seen?.has("gone") === true && seen.size === 1;
    });
    if (died !== undefined) throw diedWaiting(died);
    return new Set([...phases].filter(([, seen]) => seen.has("ready")).map(([key]) => key));
  }

  /** Hosts of the target that no pass has still to make. */
  private hostsByNow(): NodeKey[] {
    const open = new Set(this.plan.steps.map(({ key }) => key));
    return this.plan.target.machines
      .map(({ host }) => host)
      .filter((host) => this.applied.has(host) || !open.has(host));
  }

  private tools(): RecoveryTools {
    const { engine, provider, clock, stop } = this.options;
    const context = callContext(clock, stop);
    // Recovery also acts between engine runs, under our own lock alone.
    return { engine, provider, context, session: () => this.session(() => {}) };
  }

  private session(assertEngineAlive = () => this.options.engine.assertAlive()) {
    const { provider, clock, timeoutMs } = this.options;
    this.failures.length = 0;
    return stepwiseSession({
      provider,
      clock,
      timeoutMs,
      assertEngineAlive,
      report: (event) => {
        if (event.state === "failed") this.failures.push(event);
        this.options.report({ kind: "resource", event });
      },
    });
  }

  private check(result: PulumiResult, what: string): void {
    if (result.code === 0) return;
    this.options.stop.throwIfAborted();
    if (this.failures.length === 0) throw engineFailed(`${what} ${this.plan.stack}`, result);
    const hints = [...new Set(this.failures.flatMap(({ hint }) => hint ?? []))];
    throw new CapstanError({
      code: "CLOUD_FAILED",
      source: "cloud",
      subject: this.plan.cluster,
      message: this.failures
        .map(
          ({ operation, kind, name, message }) =>
            `cannot ${operation} ${kind} ${name}: ${message ?? ""}`,
        )
        .join("\n"),
      ...(hints.length > 0 && { hint: hints.join("; ") }),
    });
  }
}

/** The identity that a node of the target has, or will have. */
function identityIn({ target, transaction }: Plan, key: NodeKey): Identity {
  const cluster = target.objects.find(({ kind }) => kind === "Cluster");
  const node = target.nodes.find((one) => keyOf(one) === key);
  if (cluster?.kind !== "Cluster" || node === undefined) throw new Error(`${key} is in no target`);
  return identityOf(cluster, transaction.clusterUid, node.kind, node.name);
}

/** What Transaction and Revision carry of a plan, encoded for state. */
export function payloadsOf({ target, transaction }: Plan): Payloads {
  return {
    transaction: encodePayload({ target, spent: transaction.spent }),
    revision: encodePayload({ target }),
  };
}

function notReady(missing: readonly NodeKey[], timeoutMs: number): CapstanError {
  return new CapstanError({
    code: "DEADLINE",
    source: "cloud",
    message: `not ready after ${timeoutMs / 1000} s: ${missing.join(", ")}`,
    hint: "the same command goes on waiting; capstan status shows what they do",
    retryable: true,
  });
}

function diedWaiting(key: NodeKey): CapstanError {
  return new CapstanError({
    code: "RESOURCE_GONE",
    source: "cloud",
    message: `${key} was terminated while it was waited for`,
    hint: "run the same command again: it plans a new host",
    retryable: true,
  });
}
