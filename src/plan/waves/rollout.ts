import { omitUndefined } from "../../api/omit-undefined.js";
import type { MachineDeploymentObject } from "../../api/types.js";
import type { NodeKey } from "../../graph/graph.js";
import type { TransactionRecord } from "../../records/transaction.js";
import { reasonText } from "../../sets/counts.js";
import { deleteMachineAnnotation } from "../../api/delete-marks.js";
import { selectForDeletion } from "../../sets/deletion-order.js";
import { planInPlace } from "../../sets/in-place.js";
import { goFirst } from "../../sets/expand-set.js";
import { maxSurgeOf, type RolloutBounds } from "../../sets/fenceposts.js";
import { planRollout, type RolloutMachine, type RolloutSet } from "../../sets/rollout.js";
import { type HostSet, hostOf, type OldHost, type WantedHost } from "./host-set.js";

/** What a MachineDeployment may do next. */
interface RolloutRound {
  readonly changes: readonly NodeKey[];
  readonly deletions: readonly NodeKey[];
  /** "web: 2 above 8 may exist"; empty where its bounds hold nothing back. */
  readonly reason: string;
}

/** Whichever profile reads it. */
const deleteMarks = Object.fromEntries(
  Object.values(deleteMachineAnnotation).map((annotation) => [annotation, "true"]),
);

const nothing: RolloutRound = { changes: [], deletions: [], reason: "" };

/** The hosts of one MachineDeployment. */
interface MachineGroup {
  readonly deployment: MachineDeploymentObject;
  readonly bounds: RolloutBounds;
  readonly wanted: readonly WantedHost[];
  readonly old: readonly OldHost[];
}

/**
 * Cluster API's arithmetic on hosts: those of the target are the new MachineSet, all others are old
 * ones. Old hosts that nobody has to make room for go with the commit, as late as they can. What is
 * changed in place may not serve meanwhile, so it takes its turn after what comes and goes; what serves
 * on while it is changed takes none. On a way back no host that serves goes before its successor serves. Pure.
 */
export function rolloutRound(
  deployment: MachineDeploymentObject,
  { hosts, leaving }: HostSet,
  transaction: Pick<TransactionRecord, "startedAtMs" | "direction">,
): RolloutRound {
  const { name } = deployment.metadata;
  const isOurs = ({ owner, controlPlane }: WantedHost | OldHost) =>
    owner?.machineDeployment === name && !controlPlane;
  const wanted = hosts.filter(isOurs);
  const bounds = { ...deployment.spec, replicas: wanted.length };
  const group = { deployment, bounds, wanted, old: leaving.filter(isOurs) };
  const quiet = wanted.filter(({ isQuiet }) => isQuiet).map(hostOf);
  const round = loudRound(group, transaction);
  return { ...round, changes: [...quiet, ...round.changes] };
}

function loudRound(
  group: MachineGroup,
  { startedAtMs, direction }: Pick<TransactionRecord, "startedAtMs" | "direction">,
): RolloutRound {
  const open = group.wanted.filter((host) => host.open !== undefined && !host.isQuiet);
  if (open.length === 0) return nothing;
  const moved = direction === "back" ? movesBack(group, startedAtMs) : movesOf(group, startedAtMs);
  const isLast = moved.changes.length === open.length;
  const old = isLast ? [] : moved.deletions;
  if (moved.changes.length + old.length > 0) return { ...moved, deletions: old };
  return updatesOf(group);
}

/**
 * Who comes and who goes on a way back. The cloud may have refused a creation just before, and may refuse the next one: a host that serves
 * goes only while more serve than are wanted. So its successor comes first, one above the bounds where nothing else can move.
 */
function movesBack(group: MachineGroup, nowMs: number): RolloutRound {
  const round = keepingServing(group, movesOf(group, nowMs));
  if (round.changes.length + round.deletions.length > 0) return round;
  const { strategy } = group.bounds;
  const rollingUpdate = { ...strategy?.rollingUpdate, maxSurge: maxSurgeOf(group.bounds) + 1 };
  const bounds = { ...group.bounds, strategy: { ...strategy, rollingUpdate } };
  return keepingServing(group, movesOf({ ...group, bounds }, nowMs));
}

function keepingServing({ wanted, old }: MachineGroup, round: RolloutRound): RolloutRound {
  const serving = new Set(old.filter(({ available }) => available).map(hostOf));
  const spare = serving.size + wanted.filter(({ available }) => available).length - wanted.length;
  const going = round.deletions.filter((host) => serving.has(host)).slice(0, Math.max(spare, 0));
  const deletions = round.deletions.filter((host) => !serving.has(host) || going.includes(host));
  return { ...round, deletions };
}

/** Who comes and who goes. */
function movesOf({ deployment, bounds, wanted, old }: MachineGroup, nowMs: number): RolloutRound {
  const { profile, marked } = goFirst(deployment);
  const missing = wanted.filter(({ open }) => open === "create");
  const newSet = setOf(
    "new",
    wanted.filter(({ open }) => open !== "create"),
    marked,
  );
  const oldSets = oldSetsOf(old, marked);
  const round = planRollout({ deployment: bounds, sets: [newSet, ...oldSets], profile });
  const sizeOf = ({ name, replicas }: RolloutSet) => round.scale.get(name) ?? replicas;
  const created = missing.slice(0, Math.max(sizeOf(newSet) - newSet.replicas, 0));
  const deleted = oldSets.flatMap((set) =>
    selectForDeletion({
      profile,
      count: set.replicas - sizeOf(set),
      nowMs,
      machines: set.machines,
    }),
  );
  const isFree = old.length === 0 && missing.length === wanted.length;
  const reasons = [...new Set(round.steps.map(({ reason }) => reasonText(reason)))].join(", ");
  return {
    changes: created.map(hostOf),
    deletions: deleted.map(({ name: host }) => host as NodeKey),
    reason: isFree ? "" : `${deployment.metadata.name}: ${reasons}`,
  };
}

/** Who is changed where it is. */
function updatesOf({ deployment, bounds, wanted, old }: MachineGroup): RolloutRound {
  const standing = wanted.filter(({ open }) => open !== "create");
  const machines = [...standing, ...old].map((one) => ({
    name: one.host,
    available: one.available,
    deleting: false,
    updating: false,
    outdated: "open" in one && one.open === "update" && !one.isQuiet,
  }));
  const { start, budget } = planInPlace(bounds, machines);
  const isAll = start.length === wanted.filter(({ isQuiet }) => !isQuiet).length;
  return {
    changes: start as NodeKey[],
    deletions: [],
    reason: isAll ? "" : `${deployment.metadata.name}: at most ${budget.limit} in place at once`,
  };
}

/** Leftovers count as the oldest: whatever serves the last revision goes after them. */
function oldSetsOf(old: readonly OldHost[], marked: ReadonlySet<string>): RolloutSet[] {
  const nameOf = ({ owner, serves }: OldHost) =>
    `${serves ? "old" : "left over"} ${owner?.machineSet ?? ""}`;
  return [...new Set(old.map(nameOf))].map((name) => {
    const hosts = old.filter((host) => nameOf(host) === name);
    const set = setOf(name, hosts, marked);
    return hosts.some(({ serves }) => serves) ? set : { ...set, createdAtMs: -1 };
  });
}

/** The age of a set is that of its oldest machine. */
export function setOf(
  name: string,
  hosts: readonly (WantedHost | OldHost)[],
  marked: ReadonlySet<string>,
): RolloutSet {
  const machines = hosts.map((one): RolloutMachine =>
    omitUndefined({
      name: one.host,
      deleting: false,
      ready: one.available,
      available: one.available,
      createdAtMs: "createdAtMs" in one ? one.createdAtMs : undefined,
      errorReason: "failed" in one && one.failed ? "CreateError" : undefined,
      annotations: "machine" in one && marked.has(one.machine) ? deleteMarks : undefined,
    }),
  );
  const ages = machines.flatMap(({ createdAtMs }) => createdAtMs ?? []);
  return omitUndefined({
    name,
    isNew: name === "new",
    replicas: machines.length,
    machines,
    createdAtMs: ages.length > 0 ? Math.min(...ages) : undefined,
  });
}
