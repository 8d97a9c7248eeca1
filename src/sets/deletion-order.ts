import { byName } from "./counts.js";
import type { Profile } from "../api/set-profile.js";
import { deleteMachineAnnotation } from "../api/delete-marks.js";

export type DeletePolicy = "Random" | "Newest" | "Oldest";

/** A Machine as far as it matters who goes first. */
export interface DeletionCandidate {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly createdAtMs?: number;
  readonly deleting: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly errorReason?: string;
  readonly errorMessage?: string;
  readonly ready?: boolean;
  readonly available?: boolean;
  /** Whether it can be told to be unhealthy; a Machine is healthy when it is ready otherwise. */
  readonly healthy?: boolean;
  /** It is being changed in place. */
  readonly updating?: boolean;
  /** Where its host is, and whether it may stay there; absent where nothing is offered. */
  readonly failureDomain?: { readonly name: string; readonly isOffered: boolean };
}

export interface DeletionRequest<M extends DeletionCandidate> {
  readonly profile: Profile;
  /** Random without one. */
  readonly policy?: DeletePolicy;
  /** How many machines shall go. */
  readonly count: number;
  readonly machines: readonly M[];
  readonly nowMs: number;
  /** What decides between equals: their names without. v1alpha1 leaves it open. */
  readonly ties?: "byName" | "asGiven";
  /** Failure domains of machines that count with these and cannot be chosen, one for each. None without. */
  readonly besides?: readonly string[];
}

const updateInProgressAnnotation = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress";

/** Ten days: in that time a Machine's age gains two thirds of its weight. */
const ageScaleSeconds = 864_000;

/**
 * The machines that a set deletes, in order: none for a count of 0 or less, never more than there
 * are. "Random" is not random but leaves age out. Ties go by name today; v1alpha1 leaves them open,
 * and there machines that are not available go before others. Before ties decide, machines go whose failure domain is
 * offered no more, then those of the domain with the most. Pure. Source: docs/cluster-api.md#machinesets.
 */
export function selectForDeletion<M extends DeletionCandidate>(request: DeletionRequest<M>): M[] {
  const { profile, count, machines, ties, besides = [] } = request;
  if (count <= 0) return [];
  const priority = profile === "modern" ? priorityModern : priorityV1alpha1;
  const ranked = machines.map((machine): Ranked<M> => ({
    machine,
    rank: priority(machine, request),
    isSpared: !(profile === "v1alpha1" && machine.available === false),
  }));
  const ordered = ranked.sort(
    (left, right) =>
      byUrgency(left, right) ||
      (ties === "asGiven" ? 0 : byName(left.machine.name, right.machine.name)),
  );
  const isSpread = machines.some(({ failureDomain }) => failureDomain !== undefined);
  const chosen = isSpread ? fromFullestDomains(ordered, count, besides) : ordered.slice(0, count);
  return chosen.map(({ machine }) => machine);
}

/** A machine with all that goes before its failure domain. */
interface Ranked<M> {
  readonly machine: M;
  /** The greatest goes first. */
  readonly rank: number;
  readonly isSpared: boolean;
}

function byUrgency(left: Ranked<unknown>, right: Ranked<unknown>): number {
  return right.rank - left.rank || Number(left.isSpared) - Number(right.isSpared);
}

/** One after the other: of those that are as urgent as the first, the first in the domain that is fullest by then. */
function fromFullestDomains<M extends DeletionCandidate>(
  ordered: readonly Ranked<M>[],
  count: number,
  besides: readonly string[],
): Ranked<M>[] {
  const counts = new Map<string, number>();
  const add = (domain: string, by: number) => counts.set(domain, (counts.get(domain) ?? 0) + by);
  for (const domain of besides) add(domain, 1);
  for (const { machine } of ordered) if (machine.failureDomain) add(machine.failureDomain.name, 1);
  const crowdOf = ({ machine: { failureDomain } }: Ranked<M>) =>
    failureDomain?.isOffered === false ? Infinity : (counts.get(failureDomain?.name ?? "") ?? 0);
  const chosen: Ranked<M>[] = [];
  let waiting = [...ordered];
  for (let [first] = waiting; first !== undefined && chosen.length < count; [first] = waiting) {
    const urgency = first;
    const next = waiting
      .filter((one) => byUrgency(one, urgency) === 0)
      .reduce((fullest, one) => (crowdOf(one) > crowdOf(fullest) ? one : fullest));
    chosen.push(next);
    if (next.machine.failureDomain) add(next.machine.failureDomain.name, -1);
    waiting = waiting.filter((one) => one !== next);
  }
  return chosen;
}

/** What put a Machine before the others that a set could have deleted. */
export type GoReason =
  /** Somebody deleted it: another takes its place. */
  | { readonly kind: "discarded" }
  /** An adoption has found it beside another machine of the same ordinal, which serves. */
  | { readonly kind: "double"; readonly of: string }
  | { readonly kind: "marked"; readonly annotation: string }
  | { readonly kind: "failed" }
  | { readonly kind: "policy"; readonly policy: Exclude<DeletePolicy, "Random"> }
  /** No other domain has more machines of the set, or it is offered no more. */
  | { readonly kind: "domain"; readonly domain: string; readonly isOffered: boolean }
  /** Nothing but its place among equals. */
  | { readonly kind: "tie"; readonly ties: "byName" | "asGiven" };

/** Why a Machine that `selectForDeletion` has chosen goes before others. Pure. */
export function goReasonOf(
  machine: DeletionCandidate,
  {
    profile,
    policy,
    ties = "byName",
  }: Pick<DeletionRequest<DeletionCandidate>, "profile" | "policy" | "ties">,
): GoReason {
  if (isMarked[profile](machine)) {
    return { kind: "marked", annotation: deleteMachineAnnotation[profile] };
  }
  if (hasError(machine) || !(machine.healthy ?? machine.ready ?? true)) return { kind: "failed" };
  if (policy !== undefined && policy !== "Random") return { kind: "policy", policy };
  const { failureDomain } = machine;
  return failureDomain === undefined
    ? { kind: "tie", ties }
    : { kind: "domain", domain: failureDomain.name, isOffered: failureDomain.isOffered };
}

type Circumstances = Pick<DeletionRequest<DeletionCandidate>, "policy" | "nowMs">;

function priorityV1alpha1(machine: DeletionCandidate, { policy, nowMs }: Circumstances): number {
  const marked = isMarked.v1alpha1(machine) || hasError(machine);
  if (policy === undefined || policy === "Random") {
    if (machine.deleting) return 100;
    return marked ? 50 : 20;
  }
  if (machine.deleting || marked) return 100;
  const old = 100 * ageWeight(machine, nowMs);
  return policy === "Oldest" ? old : 100 - old;
}

function priorityModern(machine: DeletionCandidate, { policy, nowMs }: Circumstances): number {
  if (machine.deleting) return 100;
  if (isMarked.modern(machine)) return 80;
  if (isUpdating(machine)) return 75;
  if (!(machine.healthy ?? machine.ready ?? true)) return 50;
  if (policy === undefined || policy === "Random") return 20;
  const old = 50 * ageWeight(machine, nowMs);
  return policy === "Oldest" ? old : 50 - old;
}

/** v1alpha1 takes an empty mark for none. */
const isMarked: Readonly<Record<Profile, (machine: DeletionCandidate) => boolean>> = {
  v1alpha1: ({ annotations }) => (annotations?.[deleteMachineAnnotation.v1alpha1] ?? "") !== "",
  modern: ({ annotations }) => annotations?.[deleteMachineAnnotation.modern] !== undefined,
};

function hasError({ errorReason, errorMessage }: DeletionCandidate): boolean {
  return errorReason !== undefined || errorMessage !== undefined;
}

function isUpdating({ updating, annotations }: DeletionCandidate): boolean {
  return updating === true || annotations?.[updateInProgressAnnotation] !== undefined;
}

/** From 0, just made or of unknown age, towards 1. */
function ageWeight({ createdAtMs }: DeletionCandidate, nowMs: number): number {
  if (createdAtMs === undefined || createdAtMs > nowMs) return 0;
  return 1 - Math.exp(-(nowMs - createdAtMs) / 1000 / ageScaleSeconds);
}

/** What tells of a Machine's health today. */
interface MachineHealth {
  readonly hasNode: boolean;
  readonly conditions: readonly { readonly type: string; readonly status: string }[];
}

const healthConditions = ["NodeHealthy", "HealthCheckSucceeded"];

/** No Node, or a condition that says False. What is unknown or was never said is no illness. Pure. */
export function isMachineHealthy({ hasNode, conditions }: MachineHealth): boolean {
  const ill = conditions.some(
    ({ type, status }) => healthConditions.includes(type) && status === "False",
  );
  return hasNode && !ill;
}
