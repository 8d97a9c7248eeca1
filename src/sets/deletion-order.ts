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
}

const updateInProgressAnnotation = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress";

/** Ten days: in that time a Machine's age gains two thirds of its weight. */
const ageScaleSeconds = 864_000;

/**
 * The machines that a set deletes, in order: none for a count of 0 or less, never more than there
 * are. "Random" is not random but leaves age out. Ties go by name today; v1alpha1 leaves them open,
 * and there machines that are not available go before others. Pure.
 * Source: docs/cluster-api.md#machinesets.
 */
export function selectForDeletion<M extends DeletionCandidate>(request: DeletionRequest<M>): M[] {
  const { profile, count, machines, ties } = request;
  if (count <= 0) return [];
  const priority = profile === "modern" ? priorityModern : priorityV1alpha1;
  const ranked = machines.map((machine) => ({ machine, rank: priority(machine, request) }));
  const unavailableFirst = (machine: M) =>
    profile === "v1alpha1" && machine.available === false ? 0 : 1;
  return ranked
    .sort(
      (left, right) =>
        right.rank - left.rank ||
        unavailableFirst(left.machine) - unavailableFirst(right.machine) ||
        (ties === "asGiven" ? 0 : byName(left.machine.name, right.machine.name)),
    )
    .slice(0, count)
    .map(({ machine }) => machine);
}

/** What put a Machine before the others that a set could have deleted. */
export type GoReason =
  /** Somebody deleted it: another takes its place. */
  | { readonly kind: "discarded" }
  | { readonly kind: "marked"; readonly annotation: string }
  | { readonly kind: "failed" }
  | { readonly kind: "policy"; readonly policy: Exclude<DeletePolicy, "Random"> }
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
  return policy === undefined || policy === "Random"
    ? { kind: "tie", ties }
    : { kind: "policy", policy };
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
