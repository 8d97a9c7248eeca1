// Network interfaces: what instances, NAT gateways and load balancers have in a subnet, and why it cannot be deleted.

import { omitUndefined } from "../../../../src/api/omit-undefined.js";
import { ApiError, invalidValue } from "../protocol/api-error.js";
import { type WireObject, wireTime } from "../protocol/xml.js";
import { type Handler, newId, onceByToken, type Scope } from "../model/scope.js";
import type { AddressRow, InterfaceRow } from "../model/tables.js";
import { mustGet } from "./kinds.js";
import { describer } from "./listing.js";
import { freeAddress, holdsRange } from "./ranges.js";
import { tagSet, tagsOfNew } from "./tagging.js";
import { privateName, publicName } from "./zones.js";

/** What an interface is to be; the rest follows from its subnet. */
export type InterfaceWish = Pick<InterfaceRow, "subnetId" | "groupIds" | "description" | "type"> &
  Partial<InterfaceRow>;

/** Makes an interface with an address in its subnet: the wished one, or the lowest that is free. */
export function addInterface(scope: Scope, wish: InterfaceWish): InterfaceRow {
  const subnet = mustGet(scope, "subnets", wish.subnetId);
  const siblings = scope.db.all("interfaces").filter(({ subnetId }) => subnetId === subnet.id);
  const taken = new Set(siblings.map(({ privateIp }) => privateIp));
  if (wish.privateIp !== undefined) checkAddress(wish.privateIp, subnet.cidr, taken);
  const row: InterfaceRow = {
    id: newId(scope, "eni"),
    tags: {},
    vpcId: subnet.vpcId,
    zone: subnet.zone,
    privateIp: freeAddress(subnet.cidr, taken),
    sourceDestCheck: true,
    ...wish,
  };
  scope.db.put("interfaces", row);
  return row;
}

function checkAddress(address: string, cidr: string, taken: ReadonlySet<string>): void {
  if (!holdsRange(cidr, `${address}/32`)) {
    throw invalidValue(`Address ${address} does not fall within the subnet's address range`);
  }
  if (taken.has(address)) {
    throw new ApiError("InvalidIPAddress.InUse", `Address ${address} is in use.`);
  }
}

/** Takes an interface away; an address that is mapped to it stays, mapped to nothing. */
export function removeInterface(scope: Scope, id: string): void {
  const address = addressOn(scope, id);
  if (address !== undefined) scope.db.put("addresses", unmapped(address));
  scope.db.remove("interfaces", id);
}

/** An address that is mapped to nothing. */
export function unmapped({ id, tags, publicIp }: AddressRow): AddressRow {
  return { id, tags, publicIp };
}

/** The elastic address that is mapped to an interface. */
export function addressOn({ db }: Scope, interfaceId: string): AddressRow | undefined {
  return db.all("addresses").find((address) => address.interfaceId === interfaceId);
}

/** How an interface is reached from outside: at an elastic address, or at its own. */
export function publicAddressOf(scope: Scope, { id, publicIp }: InterfaceRow): string | undefined {
  return addressOn(scope, id)?.publicIp ?? publicIp;
}

/** An address of the range that is kept for documents, which nobody else has. */
export function newPublicAddress(scope: Scope): string {
  const { db } = scope;
  const taken = new Set([
    ...db.all("addresses").map(({ publicIp }) => publicIp),
    ...db.all("interfaces").flatMap(({ publicIp }) => publicIp ?? []),
  ]);
  for (;;) {
    const [one = 0, other = 0] = (scope.digits(4).match(/../g) ?? []).map((hex) =>
      parseInt(hex, 16),
    );
    const address = `198.${18 + (one % 2)}.${other}.${(Number.parseInt(scope.digits(2), 16) % 254) + 1}`;
    if (!taken.has(address)) return address;
  }
}

/** The groups of a call, checked: all in the interface's VPC, and no more than an interface may have. */
export function checkedGroups(
  scope: Scope,
  ids: readonly string[],
  vpcId: string,
): readonly string[] {
  const { groupsPerInterface } = scope.settings.quotas;
  if (ids.length > groupsPerInterface) {
    throw new ApiError(
      "SecurityGroupsPerInterfaceLimitExceeded",
      `The maximum number of security groups per interface has been reached.`,
    );
  }
  for (const id of ids) {
    if (mustGet(scope, "groups", id).vpcId !== vpcId) {
      throw invalidValue(`You have specified two resources that belong to different networks.`);
    }
  }
  if (ids.length > 0) return ids;
  const standard = scope.db
    .all("groups")
    .find((one) => one.vpcId === vpcId && one.name === "default");
  return standard === undefined ? [] : [standard.id];
}

const createNetworkInterface: Handler = (scope, params) => {
  const id = onceByToken(scope, "CreateNetworkInterface", params, (clientToken) => {
    const subnet = mustGet(scope, "subnets", params.required("SubnetId"));
    const privateIp = params.text("PrivateIpAddress");
    const wish = omitUndefined<InterfaceWish>({
      subnetId: subnet.id,
      groupIds: checkedGroups(scope, params.texts("SecurityGroupId"), subnet.vpcId),
      description: params.text("Description") ?? "",
      type: "interface",
      tags: tagsOfNew(scope, params, "interfaces"),
      privateIp,
      clientToken,
    });
    return addInterface(scope, wish).id;
  });
  const row = mustGet(scope, "interfaces", id);
  const { clientToken } = row;
  return { networkInterface: interfaceWire(row, scope), clientToken };
};

const deleteNetworkInterface: Handler = (scope, params) => {
  const { id, attachment, requester } = mustGet(
    scope,
    "interfaces",
    params.required("NetworkInterfaceId"),
  );
  if (attachment !== undefined || requester !== undefined) {
    throw new ApiError(
      "InvalidNetworkInterface.InUse",
      `Network interface '${id}' is currently in use.`,
    );
  }
  removeInterface(scope, id);
  return { return: true };
};

const modifyNetworkInterfaceAttribute: Handler = (scope, params) => {
  const row = mustGet(scope, "interfaces", params.required("NetworkInterfaceId"));
  const groups = params.texts("SecurityGroupId");
  const groupIds = groups.length > 0 ? checkedGroups(scope, groups, row.vpcId) : row.groupIds;
  const sourceDestCheck = params.object("SourceDestCheck")?.flag("Value") ?? row.sourceDestCheck;
  const description = params.object("Description")?.text("Value") ?? row.description;
  scope.db.put("interfaces", { ...row, groupIds, sourceDestCheck, description });
  return { return: true };
};

/** Groups with their names, as lists of them are shown. */
export function groupSet({ db }: Scope, ids: readonly string[]): WireObject[] {
  return ids.map((groupId) => ({ groupId, groupName: db.get("groups", groupId)?.name ?? "" }));
}

/** How an interface is reached from outside, as the wire has it. */
export function associationWire(scope: Scope, row: InterfaceRow): WireObject | undefined {
  const publicIp = publicAddressOf(scope, row);
  if (publicIp === undefined) return undefined;
  const address = addressOn(scope, row.id);
  return {
    allocationId: address?.id,
    associationId: address?.associationId,
    ipOwnerId: address === undefined ? "amazon" : scope.account,
    publicDnsName: publicName(scope, publicIp),
    publicIp,
  };
}

function interfaceWire(row: InterfaceRow, scope: Scope): WireObject {
  const { id, attachment, privateIp, groupIds, requester } = row;
  const association = associationWire(scope, row);
  const privateDnsName = privateName(scope, privateIp);
  return {
    networkInterfaceId: id,
    subnetId: row.subnetId,
    vpcId: row.vpcId,
    availabilityZone: row.zone,
    description: row.description,
    ownerId: scope.account,
    requesterId: requester,
    requesterManaged: requester !== undefined,
    status: attachment === undefined && requester === undefined ? "available" : "in-use",
    interfaceType: row.type,
    macAddress: macAddressOf(id),
    privateIpAddress: privateIp,
    privateDnsName,
    sourceDestCheck: row.sourceDestCheck,
    groupSet: groupSet(scope, groupIds),
    attachment: attachmentWire(row, scope),
    association,
    privateIpAddressesSet: [
      { privateIpAddress: privateIp, privateDnsName, primary: true, association },
    ],
    ipv6AddressesSet: [],
    tagSet: tagSet(row.tags),
  };
}

function attachmentWire(
  { id, attachment, requester }: InterfaceRow,
  { account }: Scope,
): WireObject | undefined {
  if (requester !== undefined) {
    return {
      attachmentId: `ela-attach-${id.slice("eni-".length)}`,
      instanceOwnerId: requester,
      deviceIndex: 1,
      status: "attached",
      deleteOnTermination: false,
    };
  }
  if (attachment === undefined) return undefined;
  const { instanceId, deviceIndex, deleteOnTermination, attachedAtMs } = attachment;
  return {
    attachmentId: attachment.id,
    instanceId,
    instanceOwnerId: account,
    deviceIndex,
    status: "attached",
    attachTime: wireTime(attachedAtMs),
    deleteOnTermination,
  };
}

/** Made from an interface's id, so that it stays. */
export function macAddressOf(id: string): string {
  return ["02", ...(id.slice(-10).match(/../g) ?? [])].join(":");
}

export const interfaceLooks = {
  DescribeNetworkInterfaces: describer({
    table: "interfaces",
    ids: "NetworkInterfaceId",
    set: "networkInterfaceSet",
    filters: {
      "network-interface-id": ({ id }) => [id],
      "vpc-id": ({ vpcId }) => [vpcId],
      "subnet-id": ({ subnetId }) => [subnetId],
      "availability-zone": ({ zone }) => [zone],
      "group-id": ({ groupIds }) => groupIds,
      "group-name": ({ groupIds }, { db }) => groupIds.map((id) => db.get("groups", id)?.name),
      description: ({ description }) => [description],
      "interface-type": ({ type }) => [type],
      "private-ip-address": ({ privateIp }) => [privateIp],
      "addresses.private-ip-address": ({ privateIp }) => [privateIp],
      "association.public-ip": (row, scope) => [publicAddressOf(scope, row)],
      "association.allocation-id": ({ id }, scope) => [addressOn(scope, id)?.id],
      "attachment.instance-id": ({ attachment }) => [attachment?.instanceId],
      "attachment.attachment-id": ({ attachment }) => [attachment?.id],
      "attachment.device-index": ({ attachment }) => [attachment && String(attachment.deviceIndex)],
      "requester-id": ({ requester }) => [requester],
      "requester-managed": ({ requester }) => [String(requester !== undefined)],
      status: ({ attachment, requester }) => [
        attachment === undefined && requester === undefined ? "available" : "in-use",
      ],
      "owner-id": (_, { account }) => [account],
    },
    wire: interfaceWire,
  }),
};
export const interfaceChanges = {
  CreateNetworkInterface: createNetworkInterface,
  DeleteNetworkInterface: deleteNetworkInterface,
  ModifyNetworkInterfaceAttribute: modifyNetworkInterfaceAttribute,
};
