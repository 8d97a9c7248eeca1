// Network load balancers. Their interfaces stay for a while after them, and block what they use.

import { canonicalJson } from "../../../../src/api/json.js";
import { omitUndefined } from "../../../../src/api/omit-undefined.js";
import { addInterface, removeInterface } from "../ec2/interfaces.js";
import { type Handler, later, never, newId, type Scope } from "../model/scope.js";
import type { LoadBalancerRow, LoadBalancerSubnet, SubnetRow } from "../model/tables.js";
import { ApiError } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import { type WireObject, wireTime } from "../protocol/xml.js";
import {
  changedAttributes,
  checkElbName,
  elbArn,
  elbPage,
  namedRows,
  tagList,
  tagsGiven,
  validationError,
} from "./elb-basics.js";
import {
  checkedGroups,
  checkRoom,
  checkSubnets,
  checkWayIn,
  linger,
  mustHaveSubnet,
} from "./placement.js";

/** A subnet that a load balancer is to be in. */
interface SubnetWish {
  readonly subnet: SubnetRow;
  readonly allocationId?: string;
}

const createLoadBalancer: Handler = (scope, params) => {
  const name = params.required("Name");
  checkElbName(name, "load balancer");
  const type = params.text("Type") ?? "application";
  if (type !== "network") {
    throw validationError(`The simulator has load balancers of type network, and not '${type}'`);
  }
  params.ignore("IpAddressType");
  const scheme = params.text("Scheme") ?? "internet-facing";
  const wishes = subnetWishes(scope, params);
  checkSubnets(
    wishes.map(({ subnet }) => subnet),
    vpcOf(wishes),
  );
  const groupIds = checkedGroups(scope, params.texts("SecurityGroups"), vpcOf(wishes));
  const tags = tagsGiven(params);
  const before = scope.db.all("loadBalancers").find((one) => one.name === name);
  if (before !== undefined)
    return { LoadBalancers: [wireOf(sameAs(before, { scheme, wishes, groupIds, tags }), scope)] };
  checkPlace(scope, wishes, scheme);
  const row = addLoadBalancer(scope, { name, scheme, groupIds, tags }, wishes);
  return { LoadBalancers: [wireOf(row, scope)] };
};

/** Created again with the same settings it is the one that is there; otherwise DuplicateLoadBalancerName. */
function sameAs(
  before: LoadBalancerRow,
  asked: Pick<LoadBalancerRow, "scheme" | "groupIds" | "tags"> & {
    readonly wishes: readonly SubnetWish[];
  },
): LoadBalancerRow {
  const settings = (
    { scheme, groupIds, tags }: Pick<LoadBalancerRow, "scheme" | "groupIds" | "tags">,
    subnets: readonly string[],
  ) =>
    canonicalJson({ scheme, tags, groupIds: [...groupIds].sort(), subnets: [...subnets].sort() });
  const had = settings(
    before,
    before.subnets.map(({ subnetId }) => subnetId),
  );
  if (
    had ===
    settings(
      asked,
      asked.wishes.map(({ subnet }) => subnet.id),
    )
  )
    return before;
  throw new ApiError(
    "DuplicateLoadBalancerName",
    `A load balancer with the same name '${before.name}' exists, but with different settings`,
  );
}

function subnetWishes(scope: Scope, params: Params): readonly SubnetWish[] {
  const named = params.texts("Subnets").map((id) => ({ subnet: mustHaveSubnet(scope, id) }));
  const mapped = params.objects("SubnetMappings").map((mapping) =>
    omitUndefined<SubnetWish>({
      subnet: mustHaveSubnet(scope, mapping.required("SubnetId")),
      allocationId: mapping.text("AllocationId"),
    }),
  );
  const wishes = [...named, ...mapped];
  if (wishes.length === 0) throw validationError("At least one subnet must be specified");
  return wishes;
}

function vpcOf([first]: readonly SubnetWish[]): string {
  return first?.subnet.vpcId ?? "";
}

/** Throws where a new one cannot be. */
function checkPlace(scope: Scope, wishes: readonly SubnetWish[], scheme: string): void {
  const { db, settings } = scope;
  checkRoom(db.all("loadBalancers").length, settings.quotas.loadBalancers);
  checkWayIn(scope, vpcOf(wishes), scheme);
  for (const { allocationId } of wishes) {
    const address = allocationId === undefined ? undefined : db.get("addresses", allocationId);
    const isFree =
      allocationId === undefined || (address !== undefined && address.interfaceId === undefined);
    if (isFree) continue;
    throw new ApiError(
      "AllocationIdNotFound",
      `The allocation IDs '${allocationId}' are not available for use`,
    );
  }
}

function addLoadBalancer(
  scope: Scope,
  wish: Pick<LoadBalancerRow, "name" | "scheme" | "groupIds" | "tags">,
  wishes: readonly SubnetWish[],
): LoadBalancerRow {
  const number = scope.digits(16);
  const row: LoadBalancerRow = {
    ...wish,
    id: elbArn(scope, `loadbalancer/net/${wish.name}/${number}`),
    vpcId: vpcOf(wishes),
    state: "provisioning",
    createdAtMs: scope.nowMs,
    dnsName: `${wish.name}-${number}.elb.${scope.region}.amazonaws.com`,
    subnets: wishes.map((one) => addToSubnet(scope, { ...wish, number }, one)),
    attributes: {
      "deletion_protection.enabled": "false",
      "load_balancing.cross_zone.enabled": "false",
      "access_logs.s3.enabled": "false",
      "dns_record.client_routing_policy": "any_availability_zone",
    },
  };
  scope.db.put("loadBalancers", row);
  later(scope, "loadBalancerIsActive", row.id, scope.settings.durations.loadBalancerMs);
  return row;
}

function addToSubnet(
  scope: Scope,
  owner: { readonly name: string; readonly number: string; readonly groupIds: readonly string[] },
  { subnet, allocationId }: SubnetWish,
): LoadBalancerSubnet {
  const { id: interfaceId } = addInterface(scope, {
    subnetId: subnet.id,
    groupIds: owner.groupIds,
    description: `ELB net/${owner.name}/${owner.number}`,
    type: "network_load_balancer",
    requester: "amazon-elb",
  });
  const address = scope.db.get("addresses", allocationId ?? "");
  if (address !== undefined) {
    scope.db.put("addresses", { ...address, associationId: newId(scope, "eipassoc"), interfaceId });
  }
  return omitUndefined<LoadBalancerSubnet>({ subnetId: subnet.id, interfaceId, allocationId });
}

const deleteLoadBalancer: Handler = (scope, params) => {
  const { db } = scope;
  const row = db.get("loadBalancers", params.required("LoadBalancerArn"));
  // What is not there is deleted, says the API.
  if (row === undefined) return {};
  if (row.attributes["deletion_protection.enabled"] === "true") {
    throw new ApiError(
      "OperationNotPermitted",
      `Load balancer '${row.id}' cannot be deleted because deletion protection is enabled`,
    );
  }
  for (const listener of db.all("listeners")) {
    if (listener.loadBalancerArn === row.id) db.remove("listeners", listener.id);
  }
  linger(
    scope,
    row.subnets.map(({ interfaceId }) => interfaceId),
  );
  never(scope, "loadBalancerIsActive", row.id);
  db.remove("loadBalancers", row.id);
  return {};
};

const setSecurityGroups: Handler = (scope, params) => {
  const row = mustHaveLoadBalancer(scope, params.required("LoadBalancerArn"));
  params.ignore("EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic");
  const groupIds = checkedGroups(scope, params.texts("SecurityGroups"), row.vpcId);
  if (row.groupIds.length === 0 || groupIds.length === 0) {
    throw new ApiError(
      "InvalidConfigurationRequest",
      "A network load balancer has security groups from its creation on, or never",
    );
  }
  scope.db.put("loadBalancers", { ...row, groupIds });
  for (const { interfaceId } of row.subnets) {
    const one = scope.db.get("interfaces", interfaceId);
    if (one !== undefined) scope.db.put("interfaces", { ...one, groupIds });
  }
  return { SecurityGroupIds: groupIds };
};

/** Those that it is in already stay; the others' interfaces linger as those of a deleted one. */
const setSubnets: Handler = (scope, params) => {
  params.ignore("IpAddressType");
  const row = mustHaveLoadBalancer(scope, params.required("LoadBalancerArn"));
  const wishes = subnetWishes(scope, params);
  checkSubnets(
    wishes.map(({ subnet }) => subnet),
    row.vpcId,
  );
  const wanted = new Set(wishes.map(({ subnet }) => subnet.id));
  const kept = row.subnets.filter(({ subnetId }) => wanted.has(subnetId));
  const left = row.subnets.filter(({ subnetId }) => !wanted.has(subnetId));
  linger(
    scope,
    left.map(({ interfaceId }) => interfaceId),
  );
  const number = row.id.slice(row.id.lastIndexOf("/") + 1);
  const added = wishes
    .filter(({ subnet }) => !kept.some(({ subnetId }) => subnetId === subnet.id))
    .map((wish) => addToSubnet(scope, { ...row, number }, wish));
  const changed = { ...row, subnets: [...kept, ...added] };
  scope.db.put("loadBalancers", changed);
  return { AvailabilityZones: zonesWire(changed, scope), IpAddressType: "ipv4" };
};

const modifyAttributes: Handler = (scope, params) => {
  const row = mustHaveLoadBalancer(scope, params.required("LoadBalancerArn"));
  const attributes = changedAttributes(row.attributes, params, "Load balancer");
  scope.db.put("loadBalancers", { ...row, attributes });
  return { Attributes: tagList(attributes) };
};

const describeAttributes: Handler = (scope, params) => {
  const row = mustHaveLoadBalancer(scope, params.required("LoadBalancerArn"));
  return { Attributes: tagList(row.attributes) };
};

const describeLoadBalancers: Handler = (scope, params) => {
  const named = [params.texts("LoadBalancerArns"), params.texts("Names")] as const;
  const rows = namedRows(scope.db.all("loadBalancers"), named, loadBalancerNotFound);
  const { items, nextMarker } = elbPage(rows, params);
  return { LoadBalancers: items.map((row) => wireOf(row, scope)), NextMarker: nextMarker };
};

function loadBalancerNotFound(): ApiError {
  return new ApiError("LoadBalancerNotFound", "One or more load balancers not found");
}

/** Throws LoadBalancerNotFound. */
export function mustHaveLoadBalancer({ db }: Scope, arn: string): LoadBalancerRow {
  const row = db.get("loadBalancers", arn);
  if (row === undefined) throw loadBalancerNotFound();
  return row;
}

function zonesWire({ subnets }: LoadBalancerRow, { db }: Scope): WireObject[] {
  return subnets.map(({ subnetId, allocationId = "" }) => {
    const address = db.get("addresses", allocationId);
    const shown = address && [{ AllocationId: address.id, IpAddress: address.publicIp }];
    const zone = db.get("subnets", subnetId)?.zone;
    return { ZoneName: zone, SubnetId: subnetId, LoadBalancerAddresses: shown ?? [] };
  });
}

function wireOf(row: LoadBalancerRow, scope: Scope): WireObject {
  return {
    LoadBalancerArn: row.id,
    DNSName: row.dnsName,
    CanonicalHostedZoneId: "Z1UDT6IFJ4EJM",
    CreatedTime: wireTime(row.createdAtMs),
    LoadBalancerName: row.name,
    Scheme: row.scheme,
    VpcId: row.vpcId,
    State: { Code: row.state },
    Type: "network",
    AvailabilityZones: zonesWire(row, scope),
    SecurityGroups: row.groupIds,
    IpAddressType: "ipv4",
  };
}

/** What happens to load balancers by itself. */
export const loadBalancerTimers = {
  loadBalancerIsActive: ({ db }: Scope, arn: string) => {
    const row = db.get("loadBalancers", arn);
    if (row !== undefined) db.put("loadBalancers", { ...row, state: "active" });
  },
  interfaceGoes: removeInterface,
};

export const loadBalancerLooks = {
  DescribeLoadBalancers: describeLoadBalancers,
  DescribeLoadBalancerAttributes: describeAttributes,
};
export const loadBalancerChanges = {
  CreateLoadBalancer: createLoadBalancer,
  DeleteLoadBalancer: deleteLoadBalancer,
  ModifyLoadBalancerAttributes: modifyAttributes,
  SetSecurityGroups: setSecurityGroups,
  SetSubnets: setSubnets,
};
