import { renewalDaysOf } from "../api/certificate-renewal.js";
import { timeText } from "../api/time-text.js";
import type { NodeKey } from "../graph/graph.js";
import type { Observation } from "../plan/observation.js";
import { isOpen, type PriorState } from "../records/prior-state.js";
import { isServing } from "../workload/node-readiness.js";
import type { HealthRules } from "./health.js";

const dayMs = 24 * 3_600_000;

/** Until when the certificates of a host count, and how many days before that it is replaced. JSON data. */
export interface Expiry {
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number;
  readonly days: number;
}

/**
 * Hosts of the control plane whose certificates expire so soon that their Cluster wants new ones, by key. Nothing is said of a cluster
 * that does not ask for it, while a transaction is open, nor of hosts whose expiry nobody has seen. Pure.
 */
export function expiringHosts(
  state: PriorState,
  observation: Certified,
  rules: HealthRules,
): ReadonlyMap<NodeKey, Expiry> {
  const expiries = expiriesOf(state, observation, rules);
  return new Map(expiries.filter(([, expiry]) => dueMs(expiry) < rules.nowMs));
}

/** When the next one of them is due that is not yet, milliseconds since the epoch; undefined: none that anybody knows of. Pure. */
export function nextRenewalMs(
  state: PriorState,
  observation: Certified,
  rules: HealthRules,
): number | undefined {
  const expiries = expiriesOf(state, observation, rules).map(([, expiry]) => dueMs(expiry));
  const later = expiries.filter((ms) => ms >= rules.nowMs);
  return later.length === 0 ? undefined : Math.min(...later) + 1_000;
}

type Certified = Pick<Observation, "observedResources" | "certificates">;

function dueMs({ expiresAtMs, days }: Expiry): number {
  return expiresAtMs - days * dayMs;
}

function expiriesOf(
  state: PriorState,
  { observedResources, certificates }: Certified,
  { objects }: Pick<HealthRules, "objects">,
): (readonly [NodeKey, Expiry])[] {
  const days = renewalDaysOf(objects);
  const { transaction } = state;
  if (days === undefined || transaction === undefined || isOpen(state)) return [];
  return transaction.target.machines.flatMap(({ controlPlane, host }) => {
    const expiresAtMs = certificates?.get(host);
    return controlPlane && expiresAtMs !== undefined && isServing(observedResources.get(host))
      ? [[host, { expiresAtMs, days }] as const]
      : [];
  });
}

/** "its certificates expire on 2027-05-04T10:11:12Z, and 30 days before that it is replaced". Pure. */
export function expiringText({ expiresAtMs, days }: Expiry): string {
  return `its certificates expire on ${timeText(expiresAtMs)}, and ${days} days before that it is replaced`;
}
