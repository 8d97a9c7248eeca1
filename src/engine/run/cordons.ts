import { type CapstanError, isCapstanError } from "../../api/error.js";
import type { NodeKey } from "../../graph/graph.js";
import { type Observation, presentAmong } from "../../plan/observation.js";
import type { RemainingPlan } from "../../plan/plan.js";
import { drainingAmong } from "../../plan/step.js";
import { type Backoff, backoffMs } from "../../provider/backoff.js";
import type { Observed } from "../../provider/port.js";
import type { StackState } from "../backend/state.js";
import { clusterOf, hasNodes } from "./own-cluster.js";
import { nodeHostOf } from "./node-host.js";
import type { Waits } from "./waits.js";
import type { NodeReadiness } from "./workload-cluster.js";

/** How often a cluster is asked that does not answer before a commit. */
const askBackoff: Backoff = { firstMs: 500, factor: 2, maxMs: 10_000 };
/** How long it may hold the commit up. */
const commitPatienceMs = 60_000;
/** A cluster that does not answer, or refuses, holds up every look, so it is not asked at each for what nobody waits for. */
const failureMs = 30_000;

/** How far a host has come that is disturbed where it is. */
type Disturbance =
  /** A step is left that disturbs it. */
  | { readonly kind: "open" }
  /** It was changed then, milliseconds since the epoch, and its Node has not said since that it is ready. `why`: as a person reads it. */
  | { readonly kind: "changed"; readonly sinceMs: number; readonly why: string }
  /** Its Node has, or nobody may ask. */
  | { readonly kind: "proven" };

type PresentHost = readonly [NodeKey, Observed];

/**
 * The hosts that stay, and that steps of this change disturb: each counts again, and its Node takes pods again, once nothing is left to be
 * done to it that disturbs it, and its Node has said since that it is ready. Source: docs/adr/0049.
 */
export class Cordons {
  private readonly hosts = new Map<NodeKey, Disturbance>();
  /** Hosts that another run may have disturbed, until their Nodes tell; undefined until the first look of a run that follows one. */
  private left: Set<NodeKey> | undefined;
  private failsUntilMs = 0;

  /** `follow`: another run was under way before this one. */
  constructor({ follow }: { readonly follow: boolean }) {
    this.left = leftBefore(follow);
  }

  /** Those are disturbed now. */
  add(hosts: readonly NodeKey[]): void {
    for (const host of hosts) this.hosts.set(host, { kind: "open" });
  }

  /** Hosts that were changed and do not count yet, whatever their cloud says of them, each with the reason. */
  unready(): ReadonlyMap<NodeKey, string> {
    return new Map(
      [...this.hosts].flatMap(([key, one]) => (one.kind === "changed" ? [[key, one.why]] : [])),
    );
  }

  /** At a look. What fails is tried again at a later one. `plan`: what is left, made only where a host may be disturbed. */
  async lift(plan: () => RemainingPlan, observation: Observation, waits: Waits): Promise<void> {
    const present = this.present(observation, waits);
    if (present.length === 0) return;
    const open = drainingAmong(plan().steps);
    for (const [key] of present) this.note(key, open, waits);
    await this.prove(present, open, { observation, waits });
    const due = present.filter(([key, { phase }]) => takesPodsAgain(phase, this.hosts.get(key)));
    if (waits.clock.now() < this.failsUntilMs) return;
    const failure = await this.uncordon(due, observation, waits);
    if (failure !== undefined) this.failsUntilMs = waits.clock.now() + failureMs;
  }

  /**
   * Before a commit: also of hosts that do not run, as long as the cluster may take to answer. What it refuses, or does not answer for too
   * long, is told, and left to whoever looks at the cluster once it is settled.
   */
  async liftAll(waits: Waits): Promise<void> {
    if (!hasNodes(waits) || this.isIdle()) return;
    const { clock, stop, timeoutMs, report } = waits;
    const observation = await waits.observe();
    const untilMs = clock.now() + Math.min(timeoutMs, commitPatienceMs);
    for (let asked = 1; ; asked += 1) {
      const failure = await this.uncordon(this.present(observation, waits), observation, waits);
      if (failure === undefined) return;
      const isOver = !failure.retryable || clock.now() >= untilMs;
      const way = isOver
        ? "; capstan up lets those take pods that do not, and so does kubectl uncordon"
        : "";
      const reason = `hosts that stay have to take pods again: ${failure.message}${way}`;
      if (asked === 1 || isOver) report({ kind: "waiting", keys: [], reason });
      if (isOver) return;
      await clock.sleep(backoffMs(askBackoff, asked), stop);
    }
  }

  private isIdle(): boolean {
    return this.left?.size === 0 && this.hosts.size === 0;
  }

  private present(observation: Observation, waits: Waits): PresentHost[] {
    if (!hasNodes(waits) || this.isIdle()) return [];
    const wanted = waits.goal.target.machines.map(({ host }) => host);
    const present = [...presentAmong(wanted, observation)];
    const left = (this.left ??= new Set(present.map(([key]) => key)));
    return present.filter(([key]) => left.has(key) || this.hosts.has(key));
  }

  /** Whether a step is left for a host that is disturbed, or was done since the last look. */
  private note(key: NodeKey, open: ReadonlySet<NodeKey>, waits: Waits): void {
    const known = this.hosts.get(key);
    if (known === undefined) return;
    if (open.has(key)) this.hosts.set(key, { kind: "open" });
    else if (known.kind === "open") {
      const sinceMs = changedAtMs(key, waits.recorded()) ?? waits.clock.now();
      this.hosts.set(key, { kind: "changed", sinceMs, why: unasked });
    }
  }

  /** Asks the Nodes of hosts that were changed, at every look, as the run waits for them. */
  private async prove(
    present: readonly PresentHost[],
    open: ReadonlySet<NodeKey>,
    { observation, waits }: { readonly observation: Observation; readonly waits: Waits },
  ): Promise<void> {
    const left = waits.clock.now() < this.failsUntilMs ? undefined : this.left;
    const asked = present.filter(
      ([key, { phase }]) =>
        left?.has(key) === true || (phase === "ready" && this.hosts.get(key)?.kind === "changed"),
    );
    if (asked.length === 0) return;
    const nodes = await readinessOf(asked, observation, waits);
    if (nodes === "silent") {
      if (left !== undefined && left.size > 0) this.failsUntilMs = waits.clock.now() + failureMs;
      return;
    }
    const nodeOf = ({ who }: Observed) => (nodes === "refused" ? nodes : nodes.get(who.name));
    for (const [key, host] of asked) {
      const node = nodeOf(host);
      if (left?.delete(key) === true && !this.hosts.has(key)) {
        const sinceMs = node === "refused" ? 0 : node?.cordonedAtMs;
        if (sinceMs === undefined) continue;
        this.add([key]);
        this.note(key, open, waits);
        // It was only drained, perhaps for a deletion that nobody wants any more.
        const isAsItWas = (changedAtMs(key, waits.recorded()) ?? Infinity) < sinceMs;
        if (isAsItWas && !open.has(key)) this.hosts.set(key, { kind: "proven" });
      }
      const known = this.hosts.get(key);
      if (known?.kind === "changed") this.hosts.set(key, judged(known, node));
    }
  }

  /** What some of them failed with: who takes pods again already is left as it is at the next try. */
  private async uncordon(
    due: readonly PresentHost[],
    observation: Observation,
    waits: Waits,
  ): Promise<CapstanError | undefined> {
    if (due.length === 0) return undefined;
    try {
      await uncordon(due, observation, waits);
    } catch (error) {
      if (!isCapstanError(error)) throw error;
      return error;
    }
    for (const [key] of due) {
      this.hosts.delete(key);
      this.left?.delete(key);
    }
    return undefined;
  }
}

const unasked = "running, but its cluster does not say whether its Node is ready";

/** The hosts that another run may have disturbed, before any look: none where no run was under way. */
export function leftBefore(follow: boolean): Set<NodeKey> | undefined {
  return follow ? undefined : new Set();
}

/** Whether the Node of a host takes pods again: the host runs, and its Node has proven itself since the change. Pure. */
export function takesPodsAgain(
  phase: Observed["phase"],
  disturbance: Disturbance | undefined,
): boolean {
  return phase === "ready" && disturbance?.kind === "proven";
}

/** By the word of its Node, as far as that is newer than the change. Pure. */
export function judged(
  changed: Extract<Disturbance, { kind: "changed" }>,
  node: NodeReadiness | "refused" | undefined,
): Disturbance {
  // A change in place takes no Node away: of a host without one nobody can tell which it is.
  if (node === "refused" || node === undefined) return { kind: "proven" };
  const { name, readyAtMs = -Infinity } = node;
  if (readyAtMs >= changed.sinceMs) return { kind: "proven" };
  return { ...changed, why: `running, but its Node ${name} has not become ready since its change` };
}

/** The Nodes of these hosts take pods again. Throws as `clusterOf` and `WorkloadCluster.uncordon` do. */
export async function uncordon(
  due: readonly PresentHost[],
  observation: Observation,
  waits: Waits,
): Promise<void> {
  const hosts = due.map(([, host]) => host);
  const cluster = await clusterOf(hosts, observation, waits);
  await cluster?.uncordon(hosts.map(nodeHostOf));
}

/** By the hosts' names. "silent": it may answer later; "refused": nobody may ask, so what the cloud says has to do. */
async function readinessOf(
  asked: readonly PresentHost[],
  observation: Observation,
  waits: Waits,
): Promise<ReadonlyMap<string, NodeReadiness> | "silent" | "refused"> {
  const hosts = asked.map(([, host]) => host);
  try {
    const cluster = await clusterOf(hosts, observation, waits);
    return (await cluster?.readiness(hosts.map(nodeHostOf))) ?? "refused";
  } catch (error) {
    if (!isCapstanError(error)) throw error;
    return error.retryable ? "silent" : "refused";
  }
}

/** When the record of a host was last changed, milliseconds since the epoch, where it tells. */
function changedAtMs(key: NodeKey, { resources, times }: StackState): number | undefined {
  const record = resources.find((one) => one.key === key && !one.deleting);
  return record && times?.get(record.urn)?.modifiedMs;
}
