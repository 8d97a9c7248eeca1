import { isJsonObject } from "../api/json.js";
import type { MemberPath } from "../api/diagnostic-codes.js";
import { secondsOfDuration } from "../api/machine-deletion.js";
import type { Respelling } from "./respelling.js";

type Members = Record<string, unknown>;

/** What v1beta1 of Cluster API called each field of a health check, and where it stands since v1beta2. */
const formerFields: Readonly<Record<string, readonly string[]>> = {
  nodeStartupTimeout: ["checks", "nodeStartupTimeoutSeconds"],
  unhealthyConditions: ["checks", "unhealthyNodeConditions"],
  maxUnhealthy: ["remediation", "triggerIf", "unhealthyLessThanOrEqualTo"],
  unhealthyRange: ["remediation", "triggerIf", "unhealthyInRange"],
};

/**
 * Rewrites, in place, a health check as v1beta1 of Cluster API had it: nodeStartupTimeout: 10m for
 * checks.nodeStartupTimeoutSeconds: 600, and so on. Returns what was rewritten. Source: docs/cluster-api.md#health-checks.
 */
export function formerHealthCheck(spec: Members): Respelling[] {
  return Object.entries(formerFields).flatMap(([from, to]): Respelling[] => {
    if (!(from in spec) || !put(spec, to, inSeconds(spec[from]))) return [];
    delete spec[from];
    const written: MemberPath = ["spec", from];
    const now: MemberPath = ["spec", ...to];
    return [{ written, now }];
  });
}

/** A duration, or conditions with a `timeout` each. What cannot be read stays as it is, and is refused. */
function inSeconds(value: unknown): unknown {
  if (typeof value === "string") return secondsOfDuration(value) ?? value;
  if (!Array.isArray(value)) return value;
  return value.map((one: unknown) => {
    if (!isJsonObject(one) || typeof one["timeout"] !== "string") return one;
    const { timeout, ...rest } = one;
    return { ...rest, timeoutSeconds: secondsOfDuration(timeout) ?? timeout };
  });
}

/** False, and nothing is changed, where something stands there already or in its way. */
function put(parent: Members, [part = "", ...rest]: readonly string[], value: unknown): boolean {
  if (rest.length === 0) {
    if (part in parent) return false;
    parent[part] = value;
    return true;
  }
  const member = parent[part] ?? {};
  if (!isJsonObject(member) || !put(member, rest, value)) return false;
  parent[part] = member;
  return true;
}
