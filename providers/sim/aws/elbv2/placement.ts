// Where load balancers of both APIs may be, and what stays of them for a while.

import { later, type Scope } from "../model/scope.js";
import type { SubnetRow } from "../model/tables.js";
import { ApiError } from "../protocol/api-error.js";

/** Throws SubnetNotFound. */
export function mustHaveSubnet({ db }: Scope, id: string): SubnetRow {
  const subnet = db.get("subnets", id);
  if (subnet !== undefined) return subnet;
  throw new ApiError("SubnetNotFound", `The subnet ID '${id}' does not exist`);
}

/** Throws for subnets outside of the VPC, and for two of one zone. Source: API reference, CreateLoadBalancer and SetSubnets. */
export function checkSubnets(subnets: readonly SubnetRow[], vpcId: string): void {
  const outside = subnets.find((one) => one.vpcId !== vpcId);
  if (outside !== undefined) {
    throw new ApiError(
      "InvalidConfigurationRequest",
      `The subnet '${outside.id}' is not in VPC '${vpcId}' of the load balancer`,
    );
  }
  const zones = new Set(subnets.map(({ zone }) => zone));
  if (zones.size === subnets.length) return;
  throw new ApiError(
    "InvalidConfigurationRequest",
    "A load balancer cannot be attached to multiple subnets in the same Availability Zone",
  );
}

/** Throws for groups that there are not, or that are of another VPC. */
export function checkedGroups(
  { db }: Scope,
  ids: readonly string[],
  vpcId: string,
): readonly string[] {
  const wrong = ids.find((id) => db.get("groups", id)?.vpcId !== vpcId);
  if (wrong === undefined) return ids;
  throw new ApiError(
    "InvalidSecurityGroup",
    `The security group '${wrong}' does not exist in VPC '${vpcId}'`,
  );
}

/** Throws where as many load balancers of an API are as may be. */
export function checkRoom(count: number, quota: number): void {
  if (count < quota) return;
  throw new ApiError(
    "TooManyLoadBalancers",
    "The maximum number of load balancers has been reached",
  );
}

/** Throws for one that is to be reached from outside where nothing is. */
export function checkWayIn({ db }: Scope, vpcId: string, scheme: string): void {
  const isOpen = db.all("internetGateways").some((gateway) => gateway.vpcId === vpcId);
  if (scheme !== "internet-facing" || isOpen) return;
  throw new ApiError("InvalidSubnet", `VPC ${vpcId} has no internet gateway`);
}

/** What a load balancer has left stays for a while, and blocks what it uses. */
export function linger(scope: Scope, interfaceIds: readonly string[]): void {
  const { interfacesLingerMs } = scope.settings.durations;
  for (const id of interfaceIds) later(scope, "interfaceGoes", id, interfacesLingerMs);
}
