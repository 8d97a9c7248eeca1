import { type CapstanError, isCapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { clusterNameLabel } from "../../api/schema.js";
import { keyOf, type NodeKey, nodeName } from "../../graph/graph.js";
import { hostKeysInName, isHostKey } from "../../records/host-name.js";
import { type Observation, presentAmong } from "../../plan/observation.js";
import type { OrphanedResource, RemainingPlan } from "../../plan/plan.js";
import { drainingAmong } from "../../plan/step.js";
import { type Backoff, backoffMs } from "../../provider/backoff.js";
import { mapBounded } from "../../provider/bounded.js";
import type { Observed } from "../../provider/port.js";
import { desiredIn, keepsControlPlane, type Target } from "../../records/target.js";
import { hostMachines } from "../../records/host-machine.js";
import { deadlineOf } from "../../transaction/lifecycle.js";
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
  hooksIn,
  type HookStage,
} from "../../workload/drain/deletion-terms.js";
import { Cordons } from "./cordons.js";
import { deletionHeld, keptWith } from "./held-hosts.js";
import { HostClearing } from "./host-clearing.js";
import { clusterOf, hasNodes } from "./own-cluster.js";
import { nodeHostOf } from "./node-host.js";
import { refuseTwins } from "./recover.js";
import type { Recovery } from "./recovery-progress.js";
import type { Waits } from "./waits.js";
import type { WorkloadCluster } from "./workload-cluster.js";

/** How often pods are asked to go whose budget does not let them. */
const roundBackoff: Backoff = { firstMs: 500, factor: 2, maxMs: 10_000 };
/** How long a cluster that does not answer is asked to let pods go before its hosts go all the same. */
const silencePatienceMs = 60_000;
/** As many as an API server answers without asking to slow down. */
const drainsAtATime = 8;

/**
 * Moves pods away from hosts before they are deleted, or changed in a way that disturbs what runs there. No engine runs meanwhile, and
 * nothing of it is recorded: whoever goes on asks for the next round. Nobody waits for ever: after the time that a deletion may take, or
 * where the cluster does not answer, it is done to hosts all the same, and that is told. Source: docs/adr/0041, docs/adr/0049.
 */
export class Drains {
  /** The cluster has not answered for long enough: until it does it is asked once for each pass, and not waited for. */
  private isSilent = false;

  private readonly cordons: Cordons;

  /** `follow`: another run was under way before this one. */
  constructor({ follow }: { readonly follow: boolean }) {
    this.cordons = new Cordons({ follow });
  }

  /** As `Cordons.lift` does. */
  lift(plan: () => RemainingPlan, observation: Observation, waits: Waits): Promise<void> {
    return this.cordons.lift(plan, observation, waits);
  }

  /** As `Cordons.unready` tells. */
  unready(): ReadonlyMap<NodeKey, string> {
    return this.cordons.unready();
  }

  /**
   * Which deletions of a pass may go now. Until no pod that has to go is left on any of the hosts that it deletes or disturbs, and no volume
   * on those that go, or the time is up; a host that a hook holds stays, with everything that it needs. Before a commit, hosts that stay take pods again.
   */
  async departures({ plan, keys, deletions }: WantedPass, waits: Waits): Promise<Departures> {
    if (keys === undefined) await this.cordons.liftAll(waits);
    const draining = drainingAmong(plan.steps);
    const disturbed = (keys ?? []).filter((key) => draining.has(key));
    const leaving = [...leavingAmong(deletions, waits), ...disturbedAmong(disturbed, waits)];
    if (hasNodes(waits)) this.cordons.add(disturbed);
    const held = await this.cleared(leaving, presentAmong, waits);
    return departuresOf(deletions, held, waits);
  }

  /**
   * The same of what a command left that nobody recorded: it may have run for long, with pods on it. What lives with a host that goes
   * stays where a hook holds that; the host itself is drained when its turn comes. Throws SEVERAL_FOUND where somebody has copied it.
   */
  async removal({ resources }: OrphanRemoval, waits: Waits): Promise<OrphanDepartures> {
    refuseTwins(resources);
    const goes = new Set(resources.filter(({ letGo }) => letGo !== true).map(({ id }) => id));
    const found: Finding = (asked, observation) => {
      const own = observation.unrecorded.filter(({ id }) => goes.has(id));
      return new Map([
        ...presentAmong(asked, observation),
        ...own.map((host) => [keyOf(host.who), host] as const),
      ]);
    };
    const keys = resources.map(({ who }) => keyOf(who));
    const now = leavingAmong(keys, waits);
    const later = leavingAmong(leavingHostsOf(keys, waits), waits).map((one): Leaving => ({
      ...one,
      fate: "goesLater",
    }));
    const clearing = await this.cleared([...now, ...later], found, waits);
    const departures = departuresOf(keys, clearing, waits);
    const isGoing = ({ who }: OrphanedResource) => departures.going.includes(keyOf(who));
    return {
      going: resources.filter(isGoing),
      staying: resources.filter((one) => !isGoing(one)),
      held: departures.held,
    };
  }

  /** Answers which of them a hook holds. What comes up while the pods of others move is asked for its own, too. */
  private async cleared(
    leaving: readonly Leaving[],
    found: Finding,
    waits: Waits,
  ): Promise<DeletionWait[]> {
    const asks = hasNodes(waits);
    const goesOn = keepsControlPlane(waits.goal.target);
    const mayBeHeld = leaving.some(({ terms }) => hooksIn(terms).length > 0);
    if (leaving.length === 0 || (!asks && !mayBeHeld)) return [];
    const sinceMs = waits.clock.now();
    const asked = new Set<NodeKey>();
    for (;;) {
      const observation = await waits.observe();
      const there = thereAmong(leaving, found, observation);
      const running = there.filter(({ host }) => host.phase === "ready");
      // As in Cluster API, pods of a cluster that goes as a whole are nobody's to move, whoever would say when.
      const held = heldBy("preDrain", goesOn ? running : [], waits);
      const free = (hosts: typeof there) =>
        hosts.filter(({ key }) => held.every((one) => one.key !== key));
      const fresh = free(running).filter(
        ({ key, fate }) => fate !== "goesLater" && !asked.has(key),
      );
      const hasWaited =
        asks && fresh.length > 0 && (await this.drained(fresh, { observation, sinceMs }, waits));
      if (!hasWaited || !mayComeUp(there)) {
        return [...held, ...heldBy("preTerminate", free(there), waits)];
      }
      for (const { key } of fresh) asked.add(key);
    }
  }

  /** Answers whether it had to wait. `sinceMs`: when the first of a pass was asked. */
  private async drained(
    nodes: readonly LeavingNode[],
    { observation, sinceMs }: { readonly observation: Observation; readonly sinceMs: number },
    waits: Waits,
  ): Promise<boolean> {
    const { clock, stop, report } = waits;
    const clearings = nodes.map(
      ({ key, host, terms, rules }) => new HostClearing(key, nodeHostOf(host), terms, rules),
    );
    const hosts = nodes.map(({ host }) => host);
    const untilMs = sinceMs + waits.timeoutMs;
    const patienceMs = this.isSilent ? 0 : silencePatienceMs;
    let told = "";
    for (let rounds = 1; ; rounds += 1) {
      const round = await roundOf(clearings, () => clusterOf(hosts, observation, waits), waits);
      if (round.kind === "drained" || round.kind === "blocked") this.isSilent = false;
      // Nothing is begun after the deadline: what comes then is decided from a new look.
      if (round.kind === "drained" || clock.now() > deadlineOf(waits.goal, waits.recorded()))
        return rounds > 1;
      const endMs = round.kind === "silent" ? sinceMs + patienceMs : untilMs;
      const isOver = round.kind === "refused" || clock.now() >= Math.min(untilMs, endMs);
      if (isOver && round.kind !== "blocked") this.isSilent = true;
      const reason = isOver ? `${round.reason}; ${allTheSame(nodes)}` : round.reason;
      const leaving = isOver || round.kind !== "blocked" ? undefined : round.leaving;
      if (reason !== told) report(omitUndefined({ kind: "waiting", keys: [], reason, leaving }));
      if (isOver) return rounds > 1;
      told = reason;
      await clock.sleep(backoffMs(roundBackoff, rounds), stop);
    }
  }
}

/** What a pass is to do. */
interface WantedPass {
  readonly plan: RemainingPlan;
  /** What it makes and changes; absent: it commits. */
  readonly keys?: readonly NodeKey[];
  readonly deletions: readonly NodeKey[];
}

export type OrphanRemoval = Extract<Recovery, { kind: "remove" }>;

/** How hosts are found in what the cloud shows. */
type Finding = (
  keys: readonly NodeKey[],
  observation: Observation,
) => ReadonlyMap<NodeKey, Observed>;

/** What may be deleted of what was asked for. */
interface Departures {
  readonly going: readonly NodeKey[];
  /** HELD, of the others; absent: there are none. */
  readonly held?: CapstanError;
}

/** The same of what nobody recorded. */
interface OrphanDepartures {
  readonly going: readonly OrphanedResource[];
  readonly staying: readonly OrphanedResource[];
  readonly held: CapstanError | undefined;
}

/** A host that is to go or to be disturbed, and what its machine says of that. */
interface Leaving {
  readonly key: NodeKey;
  /** It goes now; only what lives with it does; or it stays, and is changed where it is. */
  readonly fate: "goes" | "goesLater" | "stays";
  readonly terms: DeletionTerms;
  /** How its pods are drained. */
  readonly rules: readonly MachineDrainRule[];
}

interface LeavingNode extends Leaving {
  readonly host: Observed;
}

/** Those that are there. */
function thereAmong(
  leaving: readonly Leaving[],
  found: Finding,
  observation: Observation,
): LeavingNode[] {
  const present = found(
    leaving.map(({ key }) => key),
    observation,
  );
  return leaving.flatMap((one) => {
    const host = present.get(one.key);
    return host === undefined || host.phase === "gone" ? [] : [{ ...one, host }];
  });
}

/** Whether some of these hosts do not run yet: they may come up, with pods, while the pods of others move. Pure. */
export function mayComeUp(there: readonly Pick<LeavingNode, "host">[]): boolean {
  return there.some(({ host }) => host.phase !== "ready");
}

/** What is let go stays a host: its pods are not ours to move. */
function leavingAmong(keys: readonly NodeKey[], waits: Waits): Leaving[] {
  const { goal, provider } = waits;
  const letGo = new Set(goal.transaction.letGo);
  return withTerms(
    keys.filter((key) => isHostKey(key, provider.hostKind) && !letGo.has(key)),
    waits,
  );
}

/** The hosts that these live with, as far as nobody wants them any more, without those that are among them. */
function leavingHostsOf(keys: readonly NodeKey[], { goal, provider }: Waits): NodeKey[] {
  const others = new Set([...goal.target.nodes.map(keyOf), ...keys]);
  const hosts = keys.flatMap((key) => hostKeysInName(nodeName(key), provider.hostKind));
  return [...new Set(hosts)].filter((host) => !others.has(host));
}

/** Hooks hold deletions alone, and volumes stay with their host. */
function disturbedAmong(keys: readonly NodeKey[], waits: Waits): Leaving[] {
  const noHooks = { preDrain: [], preTerminate: [] };
  return withTerms(keys, waits).map((one) => ({
    ...one,
    fate: "stays",
    terms: { ...one.terms, hooks: noHooks, waitsForVolumes: false },
  }));
}

/** One whose machine nobody knows is as any other. */
function withTerms(hosts: readonly NodeKey[], waits: Waits): Leaving[] {
  const { goal, liveAnnotations } = waits;
  const { heldAs } = goal.transaction;
  const machineOf = hostMachines(goal.target, waits.recorded(), { live: liveAnnotations, heldAs });
  const rulesFor = drainRulesIn(goal.target);
  return hosts.map((key) => {
    const { annotations, deletion, labels = {} } = machineOf(key) ?? {};
    const terms = deletionTermsOf(annotations, deletion);
    return { key, fate: "goes", terms, rules: rulesFor(labels) };
  });
}

/** What becomes of hosts whose pods have not moved in time. */
function allTheSame(nodes: readonly Leaving[]): string {
  if (nodes.every(({ fate }) => fate === "stays")) return "hosts are changed all the same";
  return nodes.some(({ fate }) => fate === "stays")
    ? "hosts go, or are changed, all the same"
    : "hosts go all the same";
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

/** Since the transaction has wanted it, which a command after a kill knows, too. */
export function heldBy(
  when: HookStage,
  leaving: readonly Leaving[],
  { goal }: Waits,
): DeletionWait[] {
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
    keys,
    waits.recorded(),
  );
  waits.report({ kind: "waiting", keys: [], reason: waitsText(held), leaving: held });
  return {
    going: keys.filter((key) => !kept.has(key)),
    held: deletionHeld(waits.goal, held),
  };
}

type DrainRound =
  | { readonly kind: "drained" }
  | {
      readonly kind: "blocked";
      readonly reason: string;
      readonly leaving: readonly DeletionWait[];
    }
  | { readonly kind: "silent" | "refused"; readonly reason: string };

/** One round: the pods of these hosts are asked to go. */
export async function roundOf(
  clearings: readonly HostClearing[],
  open: () => Promise<WorkloadCluster | undefined>,
  { clock }: Waits,
): Promise<DrainRound> {
  try {
    const cluster = await open();
    if (cluster === undefined) return { kind: "drained" };
    const nowMs = clock.now();
    const stages = await mapBounded(clearings, drainsAtATime, async (clearing) => {
      const stage = await clearing.next(cluster, nowMs);
      return stage === undefined ? [] : [{ key: clearing.key, stage }];
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
