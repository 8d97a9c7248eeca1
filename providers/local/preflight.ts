import { counted } from "../../src/api/counted.js";
import type { PlannedStep, PreflightFinding } from "../../src/provider/port.js";
import type { LocalResource } from "./file/resource.js";

export const quotaHint = "raise machineQuota in the Cluster's providerSpec or delete machines";

/**
 * What the machine quota of a cluster's network leaves a plan, whose steps may change the quota itself. `resources` is
 * all that the cloud holds. Pure.
 */
export function quotaFindings(
  steps: readonly PlannedStep[],
  resources: readonly LocalResource[],
): PreflightFinding[] {
  const { networkId, quota } = networkOf(steps, resources);
  if (quota === undefined) return [];
  const alive = resources.filter(
    ({ kind, state, spec }) =>
      kind === "LocalHost" && state !== "terminated" && spec["networkId"] === networkId,
  );
  const ids = new Set(alive.map(({ id }) => id));
  const hosts = steps.filter(({ kind }) => kind === "LocalHost");
  const made = hosts.filter(({ does }) => does === "create").length;
  const going = hosts.filter(
    ({ does, current }) => does === "delete" && ids.has(current?.id ?? ""),
  ).length;
  const most = alive.length + made;
  const inTheEnd = most - going;
  if (inTheEnd > quota) {
    const message = `${counted(inTheEnd, "machine is", "machines are")} wanted, and the quota is ${quota}`;
    return [{ code: "QUOTA", message, hint: quotaHint }];
  }
  if (made === 0 || most <= quota) return [];
  const message = `up to ${counted(most, "machine")} at once while others are replaced, and the quota is ${quota}`;
  return [{ code: "QUOTA", severity: "warning", message, hint: quotaHint }];
}

/** The network that new hosts come into, as the plan wants it to be. */
function networkOf(
  steps: readonly PlannedStep[],
  resources: readonly LocalResource[],
): { readonly networkId?: unknown; readonly quota?: number | undefined } {
  const host = steps.find(({ kind, does }) => kind === "LocalHost" && does === "create");
  const networkId = host?.wanted?.["networkId"];
  const wanted = steps.find(({ kind, does }) => kind === "LocalNetwork" && does !== "delete");
  const spec = wanted?.wanted ?? resources.find(({ id }) => id === networkId)?.spec;
  const quota = spec?.["machineQuota"];
  return { networkId, quota: typeof quota === "number" ? quota : undefined };
}
