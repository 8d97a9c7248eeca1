import { type DomainOffer, namedDomain } from "../api/failure-domains.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { deleteMachineAnnotation } from "../api/delete-marks.js";
import {
  type DeletePolicy,
  type DeletionCandidate,
  type DeletionRequest,
  goReasonOf,
  selectForDeletion,
} from "./deletion-order.js";
import type {
  Expanded,
  ExpandedMachine,
  GoingMachine,
  MachineOwner,
  RecordedMachine,
  ResolvedMachineSet,
} from "./expanded.js";
import { type Profile, profileOf } from "../api/set-profile.js";

/** The machines of a MachineSet that no deployment made. Pure. */
export function expandSet(
  set: ResolvedMachineSet,
  recorded: readonly RecordedMachine[],
  { nowMs, domains }: Pick<GoFirst, "nowMs" | "domains">,
): Expanded {
  const { name } = set.metadata;
  return membersOf({
    owner: { machineSet: name },
    replicas: set.spec.replicas,
    template: { spec: set.spec.template.spec },
    existing: recorded.filter(
      ({ owner }) => owner?.machineSet === name && owner.machineDeployment === undefined,
    ),
    taken: namesFromElsewhere(recorded, name),
    keepSpec: true,
    goFirst: { ...goFirst(set), policy: set.spec.deletePolicy, nowMs, domains },
  });
}

/** Who goes first when there are too many. */
interface GoFirst {
  readonly profile: Profile;
  readonly policy?: DeletePolicy;
  /** Names that a user has marked. */
  readonly marked: ReadonlySet<string>;
  readonly nowMs: number;
  /** What the machines are spread over, if anything. */
  readonly domains: DomainOffer | undefined;
  /** Failure domains of machines that are spread with these and belong to other sets. */
  readonly besides?: readonly string[];
}

/** Machines of sets in files have no object to annotate: the annotation stands on their set, with their names. */
export function goFirst(object: {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}): Pick<GoFirst, "profile" | "marked"> {
  const profile = profileOf(object);
  const marked = object.metadata.annotations?.[deleteMachineAnnotation[profile]] ?? "";
  return { profile, marked: new Set(marked.split(/[\s,]+/).filter((name) => name !== "")) };
}

interface Membership {
  readonly owner: Omit<MachineOwner, "ordinal">;
  readonly replicas: number;
  /** What new machines get. */
  readonly template: Pick<ExpandedMachine, "spec" | "lookedUp">;
  /** Recorded machines of the set. */
  readonly existing: readonly RecordedMachine[];
  /** Names that no new machine may get. */
  readonly taken: ReadonlySet<string>;
  /** Whether they keep the spec that they were made with. */
  readonly keepSpec: boolean;
  readonly goFirst: GoFirst;
}

/** Names that machines of a set have taken along to another one. Pure. */
export function namesFromElsewhere(
  recorded: readonly RecordedMachine[],
  machineSet: string,
): ReadonlySet<string> {
  const moved = recorded.filter(
    ({ name, owner }) =>
      owner !== undefined &&
      owner.machineSet !== machineSet &&
      name !== memberName(owner.machineSet, owner.ordinal),
  );
  return new Set(moved.map(({ name }) => name));
}

function memberName(machineSet: string, ordinal: number): string {
  return `${machineSet}-${ordinal}`;
}

/** Its place in its set. */
function ordinalOf({ owner }: RecordedMachine): number {
  return owner?.ordinal ?? 0;
}

/** Whether it has a host, and nobody has deleted it. Pure. */
export function isStanding({ missing, discarded }: RecordedMachine): boolean {
  return missing !== "host" && discarded !== true;
}

/**
 * A machine that stays keeps its ordinal and name, and so does one that has lost its host, for as long as the set wants so many. New
 * machines take the lowest free ordinals. Pure.
 */
export function membersOf(membership: Membership): Expanded {
  const { owner, replicas, template, keepSpec, existing } = membership;
  const { standing, doubles } = onePerOrdinal(existing.filter(isStanding), owner.machineSet);
  const names = new Map(
    [...existing, ...standing].map((machine) => [ordinalOf(machine), machine.name]),
  );
  const nameOf = (ordinal: number) => names.get(ordinal) ?? memberName(owner.machineSet, ordinal);
  const discards = existing.filter(
    ({ missing, discarded }) => missing !== "host" && discarded === true,
  );
  const taken = new Set(discards.map(ordinalOf));
  const excess = excessOf(standing, membership);
  const going = new Set(excess.map(({ name }) => name));
  const kept = new Map(
    standing.filter(({ name }) => !going.has(name)).map((machine) => [ordinalOf(machine), machine]),
  );
  const lost = existing.filter((one) => !isStanding(one) && one.discarded !== true);
  const again = lost.map(ordinalOf).sort((one, other) => one - other);
  const ordinals = [...kept.keys()];
  const fill = (ordinal: number) => {
    const isFree = !ordinals.includes(ordinal) && !taken.has(ordinal);
    if (isFree && !membership.taken.has(nameOf(ordinal))) ordinals.push(ordinal);
  };
  again.slice(0, Math.max(0, replicas - ordinals.length)).forEach(fill);
  for (let ordinal = 0; ordinals.length < replicas; ordinal += 1) fill(ordinal);
  const machines = ordinals
    .sort((left, right) => left - right)
    .map((ordinal): ExpandedMachine => {
      const own = keepSpec ? kept.get(ordinal) : undefined;
      const { spec, lookedUp } = own === undefined ? template : deletedAs(template, own);
      return omitUndefined({ name: nameOf(ordinal), spec, owner: { ...owner, ordinal }, lookedUp });
    });
  const discarded = discards.map(({ name }): GoingMachine => ({
    name,
    reason: { kind: "discarded" },
  }));
  return { machines, going: [...discarded, ...doubles, ...excess] };
}

/**
 * An adoption may find several hosts of one machine, and gives each a machine of the same ordinal. One stays: of those that serve the
 * machine under its own name, if it is among them.
 */
function onePerOrdinal(
  standing: readonly RecordedMachine[],
  machineSet: string,
): { readonly standing: RecordedMachine[]; readonly doubles: GoingMachine[] } {
  const rank = (machine: RecordedMachine) =>
    2 * Number(machine.missing === undefined) +
    Number(machine.name === memberName(machineSet, ordinalOf(machine)));
  const best = new Map<number, RecordedMachine>();
  for (const machine of standing) {
    const other = best.get(ordinalOf(machine));
    if (other === undefined || rank(machine) > rank(other)) best.set(ordinalOf(machine), machine);
  }
  const staying = standing.filter((machine) => best.get(ordinalOf(machine)) === machine);
  const doubles = standing.flatMap((machine): GoingMachine[] => {
    const { name: of = "" } = best.get(ordinalOf(machine)) ?? {};
    return of === machine.name ? [] : [{ name: machine.name, reason: { kind: "double", of } }];
  });
  return { standing: staying, doubles };
}

/**
 * How its deletion goes is no matter of a machine's host: those that there are follow the template in it. Source:
 * docs/cluster-api.md#deletion.
 */
function deletedAs(
  { spec: { deletion } }: Membership["template"],
  { spec, lookedUp }: Membership["template"],
): Membership["template"] {
  const { deletion: _former, ...kept } = spec;
  return omitUndefined({ spec: omitUndefined({ ...kept, deletion }), lookedUp });
}

/** Those that go; among equals the latest first, where Cluster API leaves it open. */
function excessOf(standing: readonly RecordedMachine[], membership: Membership): GoingMachine[] {
  const { replicas, goFirst: how } = membership;
  const { profile, policy, marked, nowMs, besides } = how;
  const latestFirst = [...standing].sort((left, right) => ordinalOf(right) - ordinalOf(left));
  const candidates = latestFirst.map((machine): DeletionCandidate =>
    omitUndefined({
      name: machine.name,
      deleting: false,
      ready: machine.missing === undefined,
      createdAtMs: machine.createdAtMs,
      errorReason: machine.missing === undefined ? undefined : "CreateError",
      annotations: marked.has(machine.name)
        ? { [deleteMachineAnnotation[profile]]: "true" }
        : machine.deleteMarks,
      failureDomain: standingIn(machine, membership),
    }),
  );
  const request: DeletionRequest<DeletionCandidate> = omitUndefined({
    profile,
    policy,
    ties: profile === "v1alpha1" ? "asGiven" : undefined,
    besides,
    nowMs,
    machines: candidates,
    count: standing.length - replicas,
  });
  return selectForDeletion(request).map((machine) => ({
    name: machine.name,
    reason: goReasonOf(machine, request),
  }));
}

/** Where a machine is: it may stay where that is offered, or what it is to be says so itself. */
function standingIn(
  { failureDomain, spec }: RecordedMachine,
  { template, keepSpec, goFirst: { domains } }: Membership,
): DeletionCandidate["failureDomain"] {
  if (failureDomain === undefined || domains === undefined) return undefined;
  const named = namedDomain(keepSpec ? spec : template.spec, domains.field);
  const isOffered = failureDomain === named || domains.domains.includes(failureDomain);
  return { name: failureDomain, isOffered };
}
