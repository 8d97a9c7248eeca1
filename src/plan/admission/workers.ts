import type { MachineDeploymentObject } from "../../api/types.js";
import type { NodeKey } from "../../graph/graph.js";
import { selectForDeletion } from "../../sets/deletion-order.js";
import { isRollingUpdate, maxUnavailableOf } from "../../sets/fenceposts.js";
import { profileOf } from "../../sets/profile.js";
import { planRollout, type RolloutMachine, type RolloutSet } from "../../sets/rollout.js";
import type { Plan } from "../plan.js";
import {
  type Fleet,
  hostOf,
  type OldHost,
  type Round,
  settled,
  unavailable,
  type WantedHost,
} from "./fleet.js";

/**
 * What may happen to the workers next, once the control plane serves. Machines and MachineSets of users
 * at once; each MachineDeployment as far as its bounds allow. Whatever was changed has to be available
 * before anything more is: so the waves of an apply are those that its plan has shown. Pure.
 */
export function workersRound(plan: Plan, fleet: Fleet): Round {
  const workers = fleet.hosts.filter(({ controlPlane }) => !controlPlane);
  const waiting = unavailable(workers);
  const deployments = rollingDeployments(plan);
  const free = workers.filter(
    ({ open, owner }) => open !== undefined && !deployments.has(owner?.machineDeployment ?? ""),
  );
  const rounds = [...(waiting.length > 0 ? [] : deployments.values())].map((deployment) =>
    rolloutRound(deployment, fleet, plan.transaction.startedAtMs),
  );
  const changes = [...free.map(hostOf), ...rounds.flatMap((round) => round.changes)];
  const deletions = rounds.flatMap((round) => round.deletions);
  if (changes.length + deletions.length === 0) {
    return waiting.length === 0
      ? settled
      : { kind: "wait", keys: waiting, reason: "every new host has to run first" };
  }
  const rolls = rounds.some((round) => round.isPartial);
  const reason = rolls
    ? "as many workers at once as their deployments allow"
    : "the control plane runs, workers follow";
  return { kind: "change", changes, deletions, reason };
}

/** Deployments whose machines come and go within bounds; the others only scale. */
function rollingDeployments({ target }: Plan): Map<string, MachineDeploymentObject> {
  const rolling = target.objects.filter(
    (object): object is MachineDeploymentObject =>
      object.kind === "MachineDeployment" && isRollingUpdate(object.spec) && !object.spec.paused,
  );
  return new Map(rolling.map((object) => [object.metadata.name, object]));
}

interface RolloutRound {
  readonly changes: readonly NodeKey[];
  readonly deletions: readonly NodeKey[];
  /** Something of the deployment is left for later waves. */
  readonly isPartial: boolean;
}

/**
 * Cluster API's arithmetic on hosts: those of the target are the new MachineSet, all others are old ones.
 * Old hosts that nobody has to make room for go with the commit, as late as they can.
 */
function rolloutRound(
  deployment: MachineDeploymentObject,
  { hosts, leaving }: Fleet,
  nowMs: number,
): RolloutRound {
  const { name } = deployment.metadata;
  const isOurs = ({ owner, controlPlane }: WantedHost | OldHost) =>
    owner?.machineDeployment === name && !controlPlane;
  const [wanted, old] = [hosts.filter(isOurs), leaving.filter(isOurs)];
  const missing = wanted.filter(({ open }) => open === "create");
  const outdated = wanted.filter(({ open }) => open === "update");
  if (missing.length + outdated.length === 0)
    return { changes: [], deletions: [], isPartial: false };
  const profile = profileOf(deployment);
  const newSet = setOf(
    "new",
    wanted.filter(({ open }) => open !== "create"),
  );
  const oldNames = [...new Set(old.map(({ owner }) => owner?.machineSet ?? ""))];
  const oldSets = oldNames.map((set) =>
    setOf(
      `old ${set}`,
      old.filter(({ owner }) => owner?.machineSet === set),
    ),
  );
  const round = planRollout({
    deployment: { ...deployment.spec, replicas: wanted.length },
    sets: [newSet, ...oldSets],
    profile,
  });
  const grown = (round.scale.get(newSet.name) ?? newSet.replicas) - newSet.replicas;
  const created = missing.slice(0, Math.max(grown, 0));
  if (created.length === missing.length && outdated.length === 0) {
    return { changes: created.map(hostOf), deletions: [], isPartial: old.length > 0 };
  }
  const deleted = oldSets.flatMap((set) => {
    const count = set.replicas - (round.scale.get(set.name) ?? set.replicas);
    return selectForDeletion({ profile, count, machines: set.machines, nowMs });
  });
  // What is changed in place may not serve meanwhile, so it takes its turn after what comes and goes.
  const moves = created.length + deleted.length > 0;
  const updated = moves
    ? []
    : outdated.slice(0, Math.max(1, maxUnavailableOf(boundsOf(deployment, wanted))));
  return {
    changes: [...created, ...updated].map(hostOf),
    deletions: deleted.map(({ name: host }) => host as NodeKey),
    isPartial: true,
  };
}

function boundsOf({ spec }: MachineDeploymentObject, wanted: readonly WantedHost[]) {
  return { ...spec, replicas: wanted.length };
}

function setOf(name: string, hosts: readonly (WantedHost | OldHost)[]): RolloutSet {
  const machines = hosts.map((one): RolloutMachine => ({
    name: one.host,
    deleting: false,
    ready: one.available,
    available: one.available,
    ...("createdAtMs" in one && { createdAtMs: one.createdAtMs }),
    ...("failed" in one && one.failed && { errorReason: "CreateError" }),
  }));
  return { name, isNew: name === "new", replicas: machines.length, machines };
}
