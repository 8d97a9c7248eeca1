import { timeText } from "../api/time-text.js";
import type { ClusterStatus } from "../api/status.js";
import { type CertificateReport, conflictText, expiryText } from "../source/certificate-report.js";
import type { ConditionState } from "./status-parts.js";

/** Until when each certificate counts; undefined of a cluster without keys. Pure. */
export function certificatesIn({ expiries }: CertificateReport): ClusterStatus["certificates"] {
  if (expiries.length === 0) return undefined;
  return expiries.map(({ name, expiresAtMs }) => ({ name, expiresAt: timeText(expiresAtMs) }));
}

/**
 * CertificatesValid: none has expired. CertificatesAvailable: the Secrets hold what the records do. None of a cluster
 * without keys. Pure.
 */
export function certificateStates({ expiries, conflicts }: CertificateReport): ConditionState[] {
  if (expiries.length === 0) return [];
  const passed = expiries.filter(({ withinDays }) => withinDays !== undefined);
  const hasExpired = passed.some(({ withinDays }) => withinDays === 0);
  return [
    {
      type: "CertificatesValid",
      status: hasExpired ? "False" : "True",
      reason: hasExpired ? "Expired" : passed.length > 0 ? "ExpiresSoon" : "Valid",
      message: passed.map(expiryText).join("; "),
    },
    {
      type: "CertificatesAvailable",
      status: conflicts.length > 0 ? "False" : "True",
      reason: conflicts.length > 0 ? "SecretConflict" : "Available",
      message: conflicts.length > 0 ? conflictText(conflicts) : "",
    },
  ];
}
