import { isCapstanError } from "../../api/error.js";
import type { NodeKey } from "../../graph/graph.js";
import { type Observation, presentAmong } from "../../plan/observation.js";
import { type Backoff, backoffMs } from "../../provider/backoff.js";
import { mapBounded } from "../../provider/bounded.js";
import type { Observed } from "../../provider/port.js";
import { keepsControlPlane } from "../../records/target.js";
import type { DrainBlocker } from "../../workload/drain/eviction-round.js";
import { callContext } from "./handler-session.js";
import { nodeHostOf } from "./run-bootstrap.js";
import type { Waits } from "./waits.js";
import type { WorkloadCluster } from "./workload-cluster.js";

/** How often pods are asked to go whose budget does not let them. */
const roundBackoff: Backoff = { firstMs: 500, factor: 2, maxMs: 10_000 };
/** How long a cluster that does not answer is asked to let pods go before its hosts go all the same. */
const silencePatienceMs = 60_000;
/** As many as an API server answers without asking to slow down. */
const drainsAtATime = 8;
/** As many as fit into a line that people read. */
const mostNamed = 3;

type Blocked = ReadonlyMap<NodeKey, readonly DrainBlocker[]>;

/**
 * Moves pods away from hosts before they are deleted. No engine runs meanwhile, and nothing of it is recorded: whoever
 * goes on asks for the next round. Nobody waits for ever: after the time that a deletion may take, or where the cluster
 * does not answer, hosts go all the same, and that is told. Source: docs/adr/0041.
 */
export class Drains {
  /** The cluster has not answered for long enough: it is not waited for again in this run. */
  private isSilent = false;
  /** Somebody before may have drained what stays now. */
  private mayBeCordoned: boolean;

  /** `follow`: another run was under way before this one. */
  constructor({ follow }: { readonly follow: boolean }) {
    this.mayBeCordoned = follow;
  }

  /** Until no pod that has to go is left on any of the hosts, or the time is up. */
  async drained(keys: readonly NodeKey[], waits: Waits): Promise<void> {
    const { clock, stop, timeoutMs, goal, report } = waits;
    if (keys.length === 0 || this.isSilent || !hasNodes(waits)) return;
    const letGo = new Set(goal.transaction.letGo);
    const observation = await waits.observe();
    // What is let go stays a host, whose pods are not ours to move.
    const hosts = hostsAmong(
      keys.filter((key) => !letGo.has(key)),
      observation,
      waits,
    );
    const sinceMs = clock.now();
    const { number, deadlineAtMs } = goal.transaction;
    // Deletions that are owed have no deadline: nothing is taken back any more.
    const isCommitted = waits.recorded().revision?.number === number;
    const untilMs = Math.min(sinceMs + timeoutMs, isCommitted ? Infinity : deadlineAtMs);
    let told = "";
    for (let rounds = 1; ; rounds += 1) {
      const round = await roundOf(hosts, observation, waits);
      if (round.kind === "drained") return;
      const endMs = round.kind === "silent" ? sinceMs + silencePatienceMs : untilMs;
      const isOver = round.kind === "refused" || clock.now() >= Math.min(untilMs, endMs);
      this.isSilent = isOver && round.kind !== "blocked";
      const reason = isOver ? `${round.reason}; hosts go all the same` : round.reason;
      if (reason !== told) report({ kind: "waiting", keys: [], reason });
      if (isOver) return;
      told = reason;
      await clock.sleep(backoffMs(roundBackoff, rounds), stop);
    }
  }

  /** Hosts that stay after all take pods again. Nothing depends on it where their cluster does not answer. */
  async uncordoned(observation: Observation, waits: Waits): Promise<void> {
    if (!this.mayBeCordoned || !hasNodes(waits)) return;
    this.mayBeCordoned = false;
    const wanted = waits.goal.target.machines.map(({ host }) => host);
    const hosts = hostsAmong(wanted, observation, waits);
    try {
      const cluster = await clusterOf(hosts, observation, waits);
      await cluster?.uncordon(hosts.map(([, host]) => nodeHostOf(host)));
    } catch (error) {
      if (!isCapstanError(error)) throw error;
    }
  }
}

type Hosts = readonly (readonly [NodeKey, Observed])[];

/** Of a cluster that goes on: one that goes as a whole takes its pods along. */
function hasNodes({ bootstrap, goal }: Waits): boolean {
  return bootstrap !== undefined && keepsControlPlane(goal.target);
}

function hostsAmong(
  keys: readonly NodeKey[],
  observation: Observation,
  { provider }: Waits,
): Hosts {
  return [...presentAmong(keys, observation)].filter(
    ([, { who, phase }]) => who.kind === provider.hostKind && phase === "ready",
  );
}

async function clusterOf(
  [first]: Hosts,
  observation: Observation,
  waits: Waits,
): Promise<WorkloadCluster | undefined> {
  if (first === undefined) return undefined;
  const context = callContext(waits.clock, waits.stop);
  return waits.bootstrap?.workloadBeside(observation, first[1], waits.recorded(), context);
}

type DrainRound =
  | { readonly kind: "drained" }
  | { readonly kind: "blocked" | "silent" | "refused"; readonly reason: string };

async function roundOf(hosts: Hosts, observation: Observation, waits: Waits): Promise<DrainRound> {
  try {
    const cluster = await clusterOf(hosts, observation, waits);
    if (cluster === undefined) return { kind: "drained" };
    const rounds = await mapBounded(hosts, drainsAtATime, async ([key, host]) => {
      return [key, await cluster.drain(nodeHostOf(host))] as const;
    });
    const blocked = new Map(rounds.filter(([, blockers]) => blockers.length > 0));
    if (blocked.size === 0) return { kind: "drained" };
    return { kind: "blocked", reason: blockedText(blocked) };
  } catch (error) {
    if (!isCapstanError(error)) throw error;
    const reason = `pods cannot be moved away first: ${error.message}`;
    return { kind: error.retryable ? "silent" : "refused", reason };
  }
}

/** "LocalHost/web-1: 2 pods have to go first: default/a (is ending), default/b (...)", host by host. */
function blockedText(blocked: Blocked): string {
  return [...blocked]
    .map(([host, pods]) => {
      const named = pods.slice(0, mostNamed).map(({ pod, why }) => `${pod} (${why})`);
      const more = pods.length > mostNamed ? [`${pods.length - mostNamed} more`] : [];
      const count = pods.length === 1 ? "1 pod has" : `${pods.length} pods have`;
      return `${host}: ${count} to go first: ${[...named, ...more].join(", ")}`;
    })
    .join("; ");
}
