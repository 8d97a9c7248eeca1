import { isJsonObject, type Json, type JsonObject } from "../../../src/api/json.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import { unknownValue } from "../../../src/api/unknown.js";
import type { AwsCluster } from "../specs/cluster-spec.js";
import { zonesOf } from "./network.js";

/** A subnet that is there. */
export interface FoundSubnet {
  readonly id: string;
  readonly zone: string;
  readonly public: boolean;
}

/**
 * A Cluster with what `resolve` has found in the place of its filters: `vpcId`, `subnetIds` and `groupIds` of what they name one by
 * one, `subnets` of what `subnetFilters` find. What nobody knows yet stays unknown, and without answers the ids are empty: nothing
 * is made in the place of what is there. Pure.
 */
export function withFound(cluster: AwsCluster, lookedUp: JsonObject): AwsCluster {
  const { vpc, subnets, subnetFilters, securityGroups, ...others } = cluster;
  const { vpcId, subnetIds, groupIds, subnets: found } = lookedUp;
  return omitUndefined({
    ...others,
    zones: zonesWith(cluster, lookedUp),
    vpc: vpc?.filters === undefined ? vpc : { id: text(vpcId) },
    subnets:
      subnetFilters === undefined
        ? subnets && identified(subnets, subnetIds)
        : foundSubnets(cluster, found),
    securityGroups: securityGroups && identifiedGroups(securityGroups, groupIds),
  });
}

/** The zones that a Cluster names, or else those of its region that were looked up for it. Pure. */
export function zonesWith(
  { zones }: AwsCluster,
  { zones: found }: JsonObject,
): string[] | undefined {
  if (zones !== undefined || !Array.isArray(found)) return zones;
  return found.map(String);
}

/** Ranges of the addresses that NAT gateways of a VPC which is there go out with, as they were looked up. Pure. */
export function egressRanges({ egressRanges: found }: JsonObject): string[] {
  return Array.isArray(found) ? found.map(String) : [];
}

function text(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** An answer that is unknown as a whole is so in each of its members. */
function memberOf(answer: Json | undefined, key: string | number): string {
  if (answer === unknownValue) return unknownValue;
  if (Array.isArray(answer)) return text((answer as readonly Json[])[Number(key)]);
  return isJsonObject(answer) ? text(answer[key]) : "";
}

function identified(
  subnets: NonNullable<AwsCluster["subnets"]>,
  ids: Json | undefined,
): NonNullable<AwsCluster["subnets"]> {
  const searched = subnets.filter(({ filters }) => filters !== undefined);
  return subnets.map(({ filters, ...subnet }) => {
    if (filters === undefined) return subnet;
    const place = searched.findIndex((one) => one.filters === filters);
    return { ...subnet, id: memberOf(ids, place) };
  });
}

function identifiedGroups(
  groups: NonNullable<AwsCluster["securityGroups"]>,
  ids: Json | undefined,
): NonNullable<AwsCluster["securityGroups"]> {
  return Object.fromEntries(
    Object.entries(groups).map(([role, group]) => [
      role,
      typeof group === "string" ? group : memberOf(ids, role),
    ]),
  );
}

/** In the zones that the Cluster names, if it names any. Before they are known, one of each sort in each of its zones. */
function foundSubnets(cluster: AwsCluster, found: Json | undefined): FoundSubnet[] {
  const { subnetFilters: _searched, ...plain } = cluster;
  if (!Array.isArray(found)) {
    const id = found === unknownValue ? unknownValue : "";
    return zonesOf(plain).flatMap((zone) => [
      { id, zone, public: true },
      { id, zone, public: false },
    ]);
  }
  const all = found as unknown as readonly FoundSubnet[];
  return all.filter(({ zone }) => cluster.zones?.includes(zone) !== false);
}
