// Which network interfaces a call of RunInstances wants: its own parameters say it, or a list of interfaces.

import { omitUndefined } from "../../../../src/api/omit-undefined.js";
import { ApiError, invalidValue } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { Scope } from "../model/scope.js";
import { groupNamed } from "./group-rows.js";
import { checkedGroups } from "./interfaces.js";
import { mustGet } from "./kinds.js";

/** An interface that an instance gets. */
export interface InstanceInterface {
  readonly subnetId: string;
  readonly groupIds: readonly string[];
  readonly description: string;
  readonly privateIp?: string;
  readonly isPublic: boolean;
  readonly deleteOnTermination: boolean;
}

/** At least one; throws for what cannot be together. */
export function interfaceWishes(
  scope: Scope,
  params: Params,
  zone: string | undefined,
): readonly [InstanceInterface, ...InstanceInterface[]] {
  const subnetId = params.text("SubnetId");
  const groups = [
    ...params.texts("SecurityGroupId"),
    ...params.texts("SecurityGroup").map((name) => groupNamed(scope, undefined, name).id),
  ];
  const lists = params.objects("NetworkInterface");
  if (lists.length > 0 && (subnetId !== undefined || groups.length > 0)) {
    const what = subnetId === undefined ? "security groups" : "subnet ID";
    throw new ApiError(
      "InvalidParameterCombination",
      `Network interfaces and an instance-level ${what} may not be specified on the same request`,
    );
  }
  const [first, ...more] = lists;
  if (first === undefined) {
    const privateIp = params.text("PrivateIpAddress");
    return [wishOf(scope, { subnetId, zone, groups, privateIp })];
  }
  return [listed(scope, first, zone), ...more.map((one) => listed(scope, one, zone))];
}

function listed(scope: Scope, list: Params, zone: string | undefined): InstanceInterface {
  list.ignore("DeviceIndex", "NetworkCardIndex", "InterfaceType");
  return wishOf(scope, {
    subnetId: list.text("SubnetId"),
    zone,
    groups: list.texts("SecurityGroupId"),
    privateIp: list.text("PrivateIpAddress"),
    isPublic: list.flag("AssociatePublicIpAddress"),
    deleteOnTermination: list.flag("DeleteOnTermination"),
    description: list.text("Description"),
  });
}

interface Asked {
  readonly subnetId: string | undefined;
  readonly zone: string | undefined;
  readonly groups: readonly string[];
  readonly privateIp: string | undefined;
  readonly isPublic?: boolean | undefined;
  readonly deleteOnTermination?: boolean | undefined;
  readonly description?: string | undefined;
}

function wishOf(scope: Scope, asked: Asked): InstanceInterface {
  const subnet = subnetOf(scope, asked);
  const { privateIp, isPublic, deleteOnTermination = true, description = "" } = asked;
  return omitUndefined<InstanceInterface>({
    subnetId: subnet.id,
    groupIds: checkedGroups(scope, asked.groups, subnet.vpcId),
    description,
    isPublic: isPublic ?? subnet.mapPublicIp,
    deleteOnTermination,
    privateIp,
  });
}

/** The named subnet, or the default one of the zone. */
function subnetOf(scope: Scope, { subnetId, zone }: Asked) {
  if (subnetId !== undefined) {
    const subnet = mustGet(scope, "subnets", subnetId);
    if (zone === undefined || zone === "" || subnet.zone === zone) return subnet;
    throw invalidValue(
      `The Availability Zone '${zone}' is not that of subnet '${subnet.id}', which is in '${subnet.zone}'`,
    );
  }
  const standard = scope.db
    .all("subnets")
    .find((one) => one.isDefault && (zone === undefined || zone === "" || one.zone === zone));
  if (standard !== undefined) return standard;
  throw new ApiError(
    "VPCIdNotSpecified",
    "No default VPC for this user. GroupName is only supported for EC2-Classic and default VPC.",
  );
}
