import {
  type Bound,
  type FreezeTime,
  driftAnnotations,
  parseBound,
  parseFreezeTime,
  boundOf,
} from "../api/drift-policy.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { AnyObject } from "../api/types.js";

/** What a cluster's annotations say about drift as a whole. */
export interface DriftBudgets {
  /** More unhealthy machines than this are not believed. */
  readonly maxUnhealthy: Bound;
  /** How many machines, control plane apart, one transaction may correct. */
  readonly maxInFlight: Bound;
  readonly freeze: FreezeTime;
  /** Fingerprint of the report that a person has approved, however implausible it looks. */
  readonly thaw?: string;
}

const defaultMaxUnhealthy: Bound = { kind: "percent", percent: 40 };
const defaultMaxInFlight: Bound = { kind: "percent", percent: 25 };

/** A control plane is corrected member by member, so that etcd keeps its quorum. */
const membersInFlight = 1;

/** Validation has seen to it that every value can be read. Pure. */
export function budgetsOf(objects: readonly AnyObject[]): DriftBudgets {
  const cluster = objects.find(({ kind }) => kind === "Cluster");
  const asked = (name: string) => cluster?.metadata.annotations?.[name];
  const { maxUnhealthy, maxInFlight, freeze, thaw } = driftAnnotations;
  const approved = asked(thaw);
  return omitUndefined({
    maxUnhealthy: parseBound(asked(maxUnhealthy) ?? "") ?? defaultMaxUnhealthy,
    maxInFlight: parseBound(asked(maxInFlight) ?? "") ?? defaultMaxInFlight,
    freeze: parseFreezeTime(asked(freeze) ?? "") ?? { kind: "never" },
    thaw: approved,
  });
}

/** How many members and how many workers one transaction may correct. Pure. */
export function roomFor(
  { maxInFlight }: DriftBudgets,
  { members, workers }: { readonly members: number; readonly workers: number },
): { readonly members: number; readonly workers: number } {
  const room = boundOf(maxInFlight, workers);
  const held = boundOf(maxInFlight, members) === 0 ? 0 : membersInFlight;
  return { members: held, workers: room };
}
