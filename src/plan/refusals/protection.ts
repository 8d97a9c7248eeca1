import { counted, wordFor } from "../../api/counted.js";
import { CapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import {
  allowedRemovals,
  allowRemovalAnnotation,
  isProtecting,
  protectAnnotation,
  protectedName,
  type Removal,
  removals,
} from "../../api/protection.js";
import { type AnyObject, isControlPlane } from "../../api/types.js";
import type { ExpandedMachine } from "../../sets/expanded.js";
import { type OwningObject, owningObjects } from "../../sets/owning-objects.js";
import { keyOf, type NodeKey, nodeName } from "../../graph/graph.js";
import { quorumOf } from "../../sets/quorum.js";
import type { PriorState } from "../../records/prior-state.js";
import type { Target, TargetMachine } from "../../records/target.js";
import { isHostKey, machineNameOf } from "../../records/host-name.js";
import type { CompiledGoal } from "../goal/compiled-goal.js";
import type { PlanInput } from "../plan-input.js";

/** Something that a cluster would lose and that nobody has allowed it to lose. */
export type RefusedRemoval =
  /**
   * No member that there is would stay, or fewer than a majority: 1 of 3. etcd itself would go on, since each member leaves it before its
   * host goes. So large a loss is rarely meant. Names in the order of the records.
   */
  | {
      readonly kind: "controlPlane";
      readonly cluster: string;
      readonly members: readonly string[];
      readonly leaving: readonly string[];
      /** Members that stay, and successors that a MachineDeployment makes. */
      readonly staying: number;
      /** What a user wrote that asks for fewer; absent where it is gone as well. */
      readonly object?: OwningObject;
    }
  /** All workers, because what owned some of them is gone. */
  | {
      readonly kind: "workers";
      readonly cluster: string;
      readonly count: number;
      /** "MachineDeployment web". */
      readonly owners: readonly string[];
    }
  | { readonly kind: "protected"; readonly object: AnyObject };

interface RemovalQuestion {
  /** Undefined of a cluster of which nothing is recorded: it has nothing to lose. */
  readonly recorded: Target | undefined;
  readonly compiledGoal: Pick<CompiledGoal, "cluster" | "objects" | "machines">;
  readonly allowed: readonly Removal[];
  readonly released: readonly string[];
}

/**
 * What the recorded cluster would lose by accident if it became what is wanted: its control plane, then
 * its workers, then protected objects in their order. A machine stays whose name stays, whatever host
 * serves it. A member that a MachineDeployment rolls has a successor, which joins before it leaves. Pure.
 */
export function refusedRemovals(question: RemovalQuestion): RefusedRemoval[] {
  const { recorded, compiledGoal: wanted, allowed, released } = question;
  if (recorded === undefined) return [];
  return [
    ...(allowed.includes("control-plane") ? [] : lostControlPlane(recorded, wanted)),
    ...(allowed.includes("workers") ? [] : lostWorkers(recorded, wanted)),
    ...protectedIn(recorded, released).filter(
      ({ object }) => !wanted.objects.some((one) => protectedName(one) === protectedName(object)),
    ),
  ];
}

function lostControlPlane(
  { cluster, machines }: Target,
  wanted: RemovalQuestion["compiledGoal"],
): RefusedRemoval[] {
  const names = new Set(
    wanted.machines.filter(({ spec }) => isControlPlane(spec)).map(({ name }) => name),
  );
  const members = machines.filter((one) => one.controlPlane && one.duplicateOf === undefined);
  const leaving = members.filter(({ name }) => !names.has(name));
  const lost = leaving.length - rolledAmong(leaving, members, wanted);
  const staying = members.length - lost;
  if (lost === 0 || staying >= quorumOf(members.length)) return [];
  const ownerOf = owningObjects(wanted.objects);
  const [object] = leaving.flatMap((machine) => ownerOf(machine) ?? []);
  return [
    omitUndefined({
      kind: "controlPlane",
      cluster,
      members: members.map(({ name }) => name),
      leaving: leaving.map(({ name }) => name),
      staying,
      object,
    }),
  ];
}

/** How many leaving members have a successor of the same MachineDeployment: 3 members of which it wants 3 others: 3. */
function rolledAmong(
  leaving: readonly TargetMachine[],
  members: readonly TargetMachine[],
  wanted: RemovalQuestion["compiledGoal"],
): number {
  const before = new Set(members.map(({ name }) => name));
  const deployments = new Set(leaving.flatMap(({ owner }) => owner?.machineDeployment ?? []));
  const counts = [...deployments].map((deployment) => {
    const isOwn = ({ owner }: Pick<ExpandedMachine, "owner">) =>
      owner?.machineDeployment === deployment;
    const successors = wanted.machines.filter(
      (one) => isOwn(one) && isControlPlane(one.spec) && !before.has(one.name),
    );
    return Math.min(leaving.filter(isOwn).length, successors.length);
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

export function lostWorkers(
  { cluster, machines, objects }: Target,
  wanted: RemovalQuestion["compiledGoal"],
): RefusedRemoval[] {
  const workers = machines.filter(({ controlPlane }) => !controlPlane);
  if (wanted.machines.some(({ spec }) => !isControlPlane(spec))) return [];
  const [before, now] = [owningObjects(objects), owningObjects(wanted.objects)];
  const orphans = workers.filter((machine) => now(machine) === undefined);
  const owners = [...new Set(orphans.map((machine) => ownerName(machine, before(machine))))];
  return orphans.length === 0 ? [] : [{ kind: "workers", cluster, count: workers.length, owners }];
}

function ownerName({ name }: ExpandedMachine, owner: OwningObject | undefined): string {
  return owner === undefined ? `Machine ${name}` : `${owner.kind} ${owner.metadata.name}`;
}

export function protectedIn(
  { objects }: Target,
  released: readonly string[],
): Extract<RefusedRemoval, { kind: "protected" }>[] {
  return objects
    .filter(({ metadata }) => isProtecting(metadata.annotations))
    .filter((object) => !released.includes(protectedName(object)))
    .map((object) => ({ kind: "protected", object }));
}

/** PROTECTED: everything that a cluster would lose by accident, a line each. */
export class RefusedRemovals extends CapstanError {
  /** `placeOf` says where somebody can mend it: "cluster.yaml:9:3". */
  constructor(
    readonly refusals: readonly RefusedRemoval[],
    readonly remedy: string,
    placeOf: (refusal: RefusedRemoval) => string | undefined = () => undefined,
  ) {
    super({
      code: "PROTECTED",
      source: "user",
      message: refusals
        .map((refusal) => {
          const place = placeOf(refusal);
          const line = `cannot remove ${lossText(refusal)}`;
          return place === undefined ? line : `${place}: ${line}`;
        })
        .join("\n"),
      hint: remedy,
    });
  }
}

function lossText(refusal: RefusedRemoval): string {
  switch (refusal.kind) {
    case "controlPlane": {
      const { cluster, members, leaving, staying: stay } = refusal;
      const all = counted(members.length, "member");
      const loss =
        stay === 0
          ? `none of its ${all} would stay`
          : `${stay} of its ${all} would stay, fewer than a majority of them (${quorumOf(members.length)})`;
      return `the control plane of Cluster ${cluster}: without Machine ${leaving.join(", ")} ${loss}`;
    }
    case "workers": {
      const { cluster, count, owners } = refusal;
      const all = `all ${counted(count, "worker")}`;
      return `${all} of Cluster ${cluster}: ${owners.join(", ")} ${wordFor(owners.length, "is", "are")} no longer asked for`;
    }
    case "protected":
      return `${protectedName(refusal.object)}: it carries the annotation ${protectAnnotation}`;
  }
}

/** The next actions. `isRecorded`: what is wanted is a recorded graph, whose annotations say nothing of now. */
function remedyOf(refusals: readonly RefusedRemoval[], isRecorded: boolean): string {
  const kinds = new Set(refusals.map(({ kind }) => kind));
  const words = removals.filter((removal) => kinds.has(removalKinds[removal])).join(",");
  const flag = `--allow-removal ${words}`;
  const annotation = `the annotation ${allowRemovalAnnotation}: "${words}" on the Cluster`;
  return [
    "nothing was touched",
    ...(words === ""
      ? []
      : [`allow it with ${isRecorded ? flag : `${flag}, or with ${annotation}`}`]),
    ...(kinds.has("protected") ? [releaseHint] : []),
  ].join("; ");
}

const removalKinds = { "control-plane": "controlPlane", workers: "workers" } as const;
const releaseHint = `first apply what is protected without the annotation ${protectAnnotation}`;

/** Where a plan goes, as far as its removals are concerned. */
export type RemovalDecision = Pick<
  PlanInput,
  "planGoal" | "prior" | "goal" | "removal" | "provider" | "observedResources" | "unrecorded"
>;

/**
 * Throws PROTECTED for everything that a plan forward would take from the last committed revision, or
 * from what was begun and may be there where nothing was committed, and that nobody has allowed. The way back is none
 * that somebody asked for: it leads to what there was. Pure.
 */
export function refuseRemovals(decision: RemovalDecision, compiledGoal: CompiledGoal): void {
  const { planGoal, prior, goal, removal = {} } = decision;
  // Who destroys a cluster means all of it: see `refuseDestruction`.
  if (removal === "accepted" || goal.kind === "takeBack" || goal.kind === "destroy") return;
  const isRecorded = planGoal.kind === "recorded";
  const refusals = refusedRemovals({
    recorded: prior.revision?.target ?? begunSoFar(decision, compiledGoal),
    compiledGoal,
    allowed: [
      ...(removal.allow ?? []),
      ...(isRecorded ? [] : allowedRemovals(compiledGoal.cluster)),
    ],
    released: removal.released ?? [],
  });
  if (refusals.length > 0) throw new RefusedRemovals(refusals, remedyOf(refusals, isRecorded));
}

/** Throws PROTECTED for the destruction of clusters that hold protected objects. Pure. */
export function refuseDestruction(
  clusters: readonly PriorState[],
  released: readonly string[] = [],
): void {
  const refusals = clusters.flatMap((prior) => {
    const recorded = recordedTarget(prior);
    return recorded === undefined ? [] : protectedIn(recorded, released);
  });
  if (refusals.length > 0) throw new RefusedRemovals(refusals, remedyOf(refusals, true));
}

/**
 * What was begun, with those of its machines whose hosts are there. One that may be there, because its creation was
 * interrupted, counts where it would leave, and helps none of the others to a majority where it would stay.
 */
export function begunSoFar(
  { prior, provider, observedResources, unrecorded }: RemovalDecision,
  wanted: Pick<CompiledGoal, "machines">,
): Target | undefined {
  const target = prior.transaction?.target;
  if (target === undefined) return undefined;
  const machinesOf = (keys: readonly NodeKey[]) =>
    new Set(
      keys
        .filter((key) => isHostKey(key, provider.hostKind))
        .map((key) => machineNameOf(nodeName(key))),
    );
  const recorded = [...observedResources].filter(([, one]) => one !== "gone").map(([key]) => key);
  const shown = unrecorded.filter(({ phase }) => phase !== "gone").map(({ who }) => keyOf(who));
  const there = machinesOf([...recorded, ...shown]);
  const perhaps = machinesOf(prior.pending.map(({ key }) => key));
  const stays = ({ name, controlPlane }: TargetMachine) =>
    wanted.machines.some((one) => one.name === name && isControlPlane(one.spec) === controlPlane);
  const counts = (machine: TargetMachine) =>
    there.has(machine.name) || (perhaps.has(machine.name) && !stays(machine));
  return { ...target, machines: target.machines.filter(counts) };
}

function recordedTarget({ revision, transaction }: PriorState): Target | undefined {
  return revision?.target ?? transaction?.target;
}
