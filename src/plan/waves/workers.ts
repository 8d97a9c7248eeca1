import type { MachineDeploymentObject } from "../../api/types.js";
import type { NodeKey } from "../../graph/graph.js";
import { isRollingUpdate } from "../../sets/fenceposts.js";
import type { RemainingPlan } from "../plan.js";
import {
  type HostSet,
  hostOf,
  type Round,
  settled,
  unavailable,
  type WantedHost,
} from "./host-set.js";
import { rolloutRound } from "./rollout.js";

/**
 * What may happen to the workers next, once the control plane serves. Machines and MachineSets of users
 * at once, unless a wave before has made what lives with a host and that is not ready, and of those that drain one
 * after the other, first those that do not serve; each MachineDeployment as far as its bounds allow. Whatever was changed has to be available
 * before anything more is: so the waves of an apply are those that its plan has shown, but for hosts that have failed before. Pure.
 */
export function workersRound(plan: RemainingPlan, hosts: HostSet): Round {
  const workers = hosts.hosts.filter(({ controlPlane }) => !controlPlane);
  const waiting = unavailable(workers);
  const deployments = rollingDeployments(plan);
  const isHeld = workers.some(({ open, incomplete }) => open === undefined && incomplete);
  const free = workers.filter(
    ({ open, owner }) =>
      !isHeld && open !== undefined && !deployments.has(owner?.machineDeployment ?? ""),
  );
  const rounds = [...(waiting.length > 0 ? [] : deployments.values())].map((deployment) =>
    rolloutRound(deployment, hosts, plan.transaction),
  );
  const broken = free.filter((host) => isBroken(host, hosts));
  const held = waitingToDrain(free, waiting.length + broken.length > 0);
  const now = free.filter((host) => !held.includes(host));
  const keys = [...now.map(hostOf), ...rounds.flatMap((round) => round.changes)];
  const deletions = [...failedBefore(now, hosts), ...rounds.flatMap((round) => round.deletions)];
  if (keys.length + deletions.length === 0) {
    return waiting.length === 0
      ? settled
      : { kind: "wait", keys: waiting, reason: "every new host has to run first" };
  }
  const turns = held.length > 0 ? "one machine drains at a time" : "";
  const reasons = [turns, ...rounds.map(({ reason }) => reason)].filter((text) => text !== "");
  const hasMembers = workers.length < hosts.hosts.length;
  const reason = reasons.length > 0 ? reasons.join("; ") : hasMembers ? membersServe : noMembers;
  return { kind: "change", keys, deletions, reason };
}

/** Whether its machine serves nobody until it is done: a host that is down is mended, or another one takes its place. */
export function isBroken({ open, available, name }: WantedHost, { leaving }: HostSet): boolean {
  if (available) return false;
  const hadOne = leaving.some((one) => one.machine === name && !one.available);
  return open === "update" || (open === "create" && hadOne);
}

/**
 * Nobody says how many may drain at once, and the pods of one have to go somewhere: those that serve take turns, and wait for one that does not.
 * What is left to be done to that one may mend it, so it waits for nobody.
 */
function waitingToDrain(free: readonly WantedHost[], isBusy: boolean): WantedHost[] {
  const serving = free.filter(({ drains, available }) => drains && available);
  return isBusy ? serving : serving.slice(1);
}

/**
 * Hosts that were made for the same machines in vain: each goes as the next one comes, so that there are never more of them, however
 * often that fails. Rollouts count them with their deployments.
 */
function failedBefore(next: readonly WantedHost[], { leaving }: HostSet): NodeKey[] {
  const made = new Set(next.filter(({ open }) => open === "create").map(({ name }) => name));
  return leaving
    .filter(
      ({ machine, controlPlane, serves, available }) =>
        !controlPlane && !serves && !available && made.has(machine),
    )
    .map(hostOf);
}

const membersServe = "the control plane runs, workers follow";
const noMembers = "workers alone: the cluster has no control plane";

/** Deployments whose machines come and go within bounds; the others only scale. */
function rollingDeployments({ target }: RemainingPlan): Map<string, MachineDeploymentObject> {
  const rolling = target.objects.filter(
    (object): object is MachineDeploymentObject =>
      object.kind === "MachineDeployment" && isRollingUpdate(object.spec) && !object.spec.paused,
  );
  return new Map(rolling.map((object) => [object.metadata.name, object]));
}
