import { ailmentsText, type EtcdHealth, isEtcdWell } from "../workload/etcd/etcd-health.js";
import type { ConditionState } from "./status-parts.js";

/**
 * EtcdClusterHealthy: all members are well, as they say themselves. None where nobody has asked, or can. Pure.
 * Source: Cluster API's condition of that name on control planes, with its reasons.
 */
export function etcdStates(etcd: EtcdHealth | undefined): ConditionState[] {
  if (etcd === undefined || etcd.length === 0) return [];
  const isUnknown = etcd.some(({ state }) => state === "unknown");
  const isHealthy = isEtcdWell(etcd);
  return [
    {
      type: "EtcdClusterHealthy",
      status: isHealthy ? "True" : isUnknown ? "Unknown" : "False",
      reason: isHealthy ? "Healthy" : isUnknown ? "HealthUnknown" : "NotHealthy",
      message: ailmentsText(etcd),
    },
  ];
}
