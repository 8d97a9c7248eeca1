import { type CapstanError, isCapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { clusterNameLabel } from "../../api/schema.js";
import { type NodeKey, nodeKey } from "../../graph/graph.js";
import { type Observation, presentAmong } from "../../plan/observation.js";
import { type Backoff, backoffMs } from "../../provider/backoff.js";
import { mapBounded } from "../../provider/bounded.js";
import type { Observed } from "../../provider/port.js";
import { desiredIn, keepsControlPlane, type Target } from "../../records/target.js";
import { hostMachines } from "../../records/host-machine.js";
import { type DeletionWait, waitsText } from "../../workload/drain/deletion-stage.js";
import {
  drainRuleOf,
  type Labels,
  type MachineDrainRule,
  rulesForMachine,
} from "../../workload/drain/drain-rule.js";
import {
  type DeletionTerms,
  deletionTermsOf,
  type HookStage,
} from "../../workload/drain/deletion-terms.js";
import { callContext } from "./handler-session.js";
import { deletionHeld, keptWith } from "./held-hosts.js";
import { HostDeletion } from "./host-deletion.js";
import { nodeHostOf } from "./run-bootstrap.js";
import type { Waits } from "./waits.js";
import type { WorkloadCluster } from "./workload-cluster.js";

/** How often pods are asked to go whose budget does not let them. */
const roundBackoff: Backoff = { firstMs: 500, factor: 2, maxMs: 10_000 };
/** How long a cluster that does not answer is asked to let pods go before its hosts go all the same. */
const silencePatienceMs = 60_000;
/** As many as an API server answers without asking to slow down. */
const drainsAtATime = 8;

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

  /**
   * Which of these deletions may go now. Until no pod that has to go and no volume is left on any of the hosts, or the time is up;
   * a host that a hook holds stays, with everything that it needs.
   */
  async departures(keys: readonly NodeKey[], waits: Waits): Promise<Departures> {
    const leaving = leavingAmong(keys, waits);
    const asks = hasNodes(waits) && !this.isSilent;
    const mayBeHeld = leaving.some(({ terms }) => hooksIn(terms).length > 0);
    if (leaving.length === 0 || (!asks && !mayBeHeld)) return { going: keys };
    const observation = await waits.observe();
    const present = presentAmong(keys, observation);
    const there = leaving.flatMap((one) => {
      const host = present.get(one.key);
      return host === undefined || host.phase === "gone" ? [] : [{ ...one, host }];
    });
    // As in Cluster API, pods of a cluster that goes as a whole are nobody's to move, whoever would say when.
    const nodes = there.filter(({ host }) => hasNodes(waits) && host.phase === "ready");
    const held = heldBy("preDrain", nodes, waits);
    const free = (hosts: typeof there) =>
      hosts.filter(({ key }) => held.every((one) => one.key !== key));
    if (asks) await this.drained(free(nodes), observation, waits);
    held.push(...heldBy("preTerminate", free(there), waits));
    return departuresOf(keys, held, waits);
  }

  private async drained(
    nodes: readonly LeavingNode[],
    observation: Observation,
    waits: Waits,
  ): Promise<void> {
    const { clock, stop, report } = waits;
    const deletions = nodes.map(
      ({ key, host, terms, rules }) => new HostDeletion(key, nodeHostOf(host), terms, rules),
    );
    const hosts = nodes.map(({ host }) => host);
    const sinceMs = clock.now();
    const untilMs = untilMsOf(waits);
    let told = "";
    for (let rounds = 1; ; rounds += 1) {
      const round = await roundOf(deletions, () => clusterOf(hosts, observation, waits), waits);
      if (round.kind === "drained") return;
      const endMs = round.kind === "silent" ? sinceMs + silencePatienceMs : untilMs;
      const isOver = round.kind === "refused" || clock.now() >= Math.min(untilMs, endMs);
      this.isSilent = isOver && round.kind !== "blocked";
      const reason = isOver ? `${round.reason}; hosts go all the same` : round.reason;
      const leaving = isOver || round.kind !== "blocked" ? undefined : round.leaving;
      if (reason !== told) report(omitUndefined({ kind: "waiting", keys: [], reason, leaving }));
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
    const present = [...presentAmong(wanted, observation).values()];
    const hosts = present.filter(({ phase }) => phase === "ready");
    try {
      const cluster = await clusterOf(hosts, observation, waits);
      await cluster?.uncordon(hosts.map(nodeHostOf));
    } catch (error) {
      if (!isCapstanError(error)) throw error;
    }
  }
}

/** What a pass may delete of what was asked for. */
interface Departures {
  readonly going: readonly NodeKey[];
  /** HELD, of the others; absent: there are none. */
  readonly held?: CapstanError;
}

/** A host that is to go, and what its machine says of that. */
interface Leaving {
  readonly key: NodeKey;
  readonly terms: DeletionTerms;
  /** How its pods are drained. */
  readonly rules: readonly MachineDrainRule[];
}

interface LeavingNode extends Leaving {
  readonly host: Observed;
}

/** One whose machine nobody knows goes as any other. What is let go stays a host: its pods are not ours to move. */
function leavingAmong(keys: readonly NodeKey[], waits: Waits): Leaving[] {
  const { goal, provider, liveAnnotations } = waits;
  const letGo = new Set(goal.transaction.letGo);
  const machineOf = hostMachines(goal.target, waits.recorded(), liveAnnotations);
  const rulesFor = drainRulesIn(goal.target);
  return keys
    .filter((key) => key.startsWith(nodeKey(provider.hostKind, "")) && !letGo.has(key))
    .map((key) => {
      const { machine, annotations, labels = {} } = machineOf(key) ?? {};
      const terms = deletionTermsOf(annotations, machine?.spec.deletion);
      return { key, terms, rules: rulesFor(labels) };
    });
}

/** A selector that means nothing, which validation has refused, would leave nobody to tell what may be evicted. */
function drainRulesIn(target: Target): (machine: Labels) => readonly MachineDrainRule[] {
  const { cluster, drainRules } = desiredIn(target);
  const { namespace, name, labels: clusterLabels = {} } = cluster.metadata;
  const rules = drainRules.map(drainRuleOf);
  return (own) => {
    const labels = { [clusterNameLabel]: name, ...own };
    const chosen = rulesForMachine(rules, { namespace, labels, clusterLabels });
    if (chosen.kind === "rules") return chosen.rules;
    throw new Error(`MachineDrainRule ${namespace}/${chosen.rule} has a selector that is none`);
  };
}

function hooksIn({ hooks }: DeletionTerms) {
  return [...hooks.preDrain, ...hooks.preTerminate];
}

/** Since the transaction has wanted it, which a command after a kill knows, too. */
function heldBy(when: HookStage, leaving: readonly Leaving[], { goal }: Waits): DeletionWait[] {
  const kind = `${when}Hook` as const;
  const sinceMs = goal.transaction.startedAtMs;
  return leaving.flatMap(({ key, terms }) => {
    const hooks = terms.hooks[when];
    return hooks.length === 0 ? [] : [{ key, stage: { kind, sinceMs, hooks } }];
  });
}

function departuresOf(
  keys: readonly NodeKey[],
  held: readonly DeletionWait[],
  waits: Waits,
): Departures {
  if (held.length === 0) return { going: keys };
  const kept = keptWith(
    held.map(({ key }) => key),
    waits.recorded(),
  );
  waits.report({ kind: "waiting", keys: [], reason: waitsText(held), leaving: held });
  return {
    going: keys.filter((key) => !kept.has(key)),
    held: deletionHeld(waits.goal.cluster, held, waits.liveAnnotations !== undefined),
  };
}

/** Of a cluster that goes on: one that goes as a whole takes its pods along. */
function hasNodes({ bootstrap, goal }: Waits): boolean {
  return bootstrap !== undefined && keepsControlPlane(goal.target);
}

async function clusterOf(
  [first]: readonly Observed[],
  observation: Observation,
  waits: Waits,
): Promise<WorkloadCluster | undefined> {
  if (first === undefined) return undefined;
  const context = callContext(waits.clock, waits.stop);
  return waits.bootstrap?.workloadBeside(observation, first, waits.recorded(), context);
}

type DrainRound =
  | { readonly kind: "drained" }
  | {
      readonly kind: "blocked";
      readonly reason: string;
      readonly leaving: readonly DeletionWait[];
    }
  | { readonly kind: "silent" | "refused"; readonly reason: string };

async function roundOf(
  deletions: readonly HostDeletion[],
  open: () => Promise<WorkloadCluster | undefined>,
  { clock }: Waits,
): Promise<DrainRound> {
  try {
    const cluster = await open();
    if (cluster === undefined) return { kind: "drained" };
    const nowMs = clock.now();
    const stages = await mapBounded(deletions, drainsAtATime, async (deletion) => {
      const stage = await deletion.next(cluster, nowMs);
      return stage === undefined ? [] : [{ key: deletion.key, stage }];
    });
    const leaving = stages.flat();
    if (leaving.length === 0) return { kind: "drained" };
    return { kind: "blocked", reason: waitsText(leaving), leaving };
  } catch (error) {
    if (!isCapstanError(error)) throw error;
    const reason = `pods cannot be moved away first: ${error.message}`;
    return { kind: error.retryable ? "silent" : "refused", reason };
  }
}

/** Deletions that are owed have no deadline: nothing is taken back any more. */
function untilMsOf(waits: Waits): number {
  const { number, deadlineAtMs } = waits.goal.transaction;
  const isCommitted = waits.recorded().revision?.number === number;
  return Math.min(waits.clock.now() + waits.timeoutMs, isCommitted ? Infinity : deadlineAtMs);
}
