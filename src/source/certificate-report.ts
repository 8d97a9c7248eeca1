import { omitUndefined } from "../api/omit-undefined.js";
import { authorityNames } from "../bootstrap/certificates/authorities.js";
import { validityOf } from "../bootstrap/certificates/certificate.js";
import type { ClusterKeys } from "../bootstrap/certificates/cluster-keys.js";

/** Days before an expiry at which people are told; 0: it has expired. The first one comes first. */
const thresholdsDays = [60, 30, 7, 0] as const;
const dayMs = 24 * 3_600_000;

/** Until when one certificate of a cluster counts. */
export interface CertificateExpiry {
  /** As `capstan certificates show` names it; "kubeconfig" is the one in the Secret of that name. */
  readonly name: (typeof authorityNames)[number] | "kubeconfig";
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number;
  /** Days: the last threshold that was passed; absent while there is time. */
  readonly withinDays?: (typeof thresholdsDays)[number];
}

/** What may be told of a cluster's certificates: nothing of it is secret. */
export interface CertificateReport {
  /** None of a cluster without keys. */
  readonly expiries: readonly CertificateExpiry[];
  /** Secrets of somebody else under names of this cluster's, with other contents: "default/prod-ca". */
  readonly conflicts: readonly string[];
}

/** Of a cluster of which nothing is known, or that has no keys. */
export const noCertificates: CertificateReport = { expiries: [], conflicts: [] };

/** Until when a cluster's authorities count. Pure. */
export function authorityExpiries(
  keys: ClusterKeys | undefined,
  nowMs: number,
): CertificateExpiry[] {
  if (keys === undefined) return [];
  return authorityNames.map((name) =>
    expiryOf(name, validityOf(keys[name].certificatePem).untilMs, nowMs),
  );
}

/** What people should know of a cluster's authorities now; nothing while there is time. Pure. */
export function expiryWarnings(keys: ClusterKeys | undefined, nowMs: number): string[] {
  const passed = authorityExpiries(keys, nowMs).filter(
    ({ withinDays }) => withinDays !== undefined,
  );
  return passed.map(expiryText);
}

/** An expiry as it is now. Pure. */
export function expiryOf(
  name: CertificateExpiry["name"],
  expiresAtMs: number,
  nowMs: number,
): CertificateExpiry {
  const withinDays = thresholdsDays.findLast((days) => expiresAtMs - nowMs <= days * dayMs);
  return omitUndefined({ name, expiresAtMs, withinDays });
}

/** "certificate ca expires on 2026-12-21, in less than 30 days"; the same until the next threshold. Pure. */
export function expiryText({ name, expiresAtMs, withinDays }: CertificateExpiry): string {
  const day = new Date(expiresAtMs).toISOString().slice(0, 10);
  if (withinDays === undefined) return `certificate ${name} expires on ${day}`;
  if (withinDays === 0) return `certificate ${name} has expired on ${day}`;
  return `certificate ${name} expires on ${day}, in less than ${withinDays} days`;
}

/** What is wrong with Secrets of somebody else, and what to do. Pure. */
export function conflictText(conflicts: readonly string[]): string {
  const names = conflicts.map((name) => `Secret ${name}`).join(", ");
  const [is, it] = conflicts.length === 1 ? ["is", "it"] : ["are", "them"];
  return `${names} ${is} not ours and ${is === "is" ? "does" : "do"} not hold what the cluster was made with, so ${is} left alone; delete ${it}, and ours are made`;
}
