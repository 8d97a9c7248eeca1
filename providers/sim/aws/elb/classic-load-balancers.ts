// Classic load balancers. Their interfaces stay for a while after them, and block what they use.

import { canonicalJson } from "../../../../src/api/json.js";
import { omitUndefined } from "../../../../src/api/omit-undefined.js";
import { addInterface, type InterfaceWish, newPublicAddress } from "../ec2/interfaces.js";
import type { Handler, Scope } from "../model/scope.js";
import type {
  ClassicListener,
  ClassicLoadBalancerRow,
  LoadBalancerSubnet,
} from "../model/tables.js";
import { ApiError } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import { type WireObject, wireTime } from "../protocol/xml.js";
import { checkElbName, elbPage, tagsGiven, validationError } from "../elbv2/elb-basics.js";
import {
  checkedGroups,
  checkRoom,
  checkWayIn,
  checkSubnets,
  linger,
  mustHaveSubnet,
} from "../elbv2/placement.js";

/** What a call asks for. */
interface ClassicWish extends Pick<
  ClassicLoadBalancerRow,
  "id" | "tags" | "scheme" | "vpcId" | "listeners" | "groupIds"
> {
  readonly subnetIds: readonly string[];
}

const createLoadBalancer: Handler = (scope, params) => {
  const wish = wishOf(scope, params);
  const row = sameAs(scope, wish) ?? addLoadBalancer(scope, wish);
  return { DNSName: row.dnsName };
};

function wishOf(scope: Scope, params: Params): ClassicWish {
  const id = params.required("LoadBalancerName");
  checkElbName(id, "load balancer");
  const listeners = params.objects("Listeners").map(listenerOf);
  if (listeners.length === 0) throw validationError("At least one listener must be specified");
  const scheme = params.text("Scheme") ?? "internet-facing";
  if (scheme !== "internet-facing" && scheme !== "internal") {
    throw new ApiError("InvalidScheme", `The scheme '${scheme}' is not valid`);
  }
  const subnets = params.texts("Subnets").map((one) => mustHaveSubnet(scope, one));
  const [first] = subnets;
  if (first === undefined) throw validationError("At least one subnet must be specified");
  const { vpcId } = first;
  checkSubnets(subnets, vpcId);
  const groupIds = groupsOf(scope, params.texts("SecurityGroups"), vpcId);
  const subnetIds = subnets.map((subnet) => subnet.id).sort();
  return { id, tags: tagsGiven(params), scheme, vpcId, listeners, groupIds, subnetIds };
}

/** Without a certificate there are two protocols. */
const protocols = ["HTTP", "TCP"];

function listenerOf(params: Params): ClassicListener {
  const portOf = (name: string): number => {
    const port = params.number(name);
    if (port !== undefined && port >= 1 && port <= 65_535) return port;
    throw validationError(`${name} must be specified, from 1 to 65535`);
  };
  const protocol = params.required("Protocol").toUpperCase();
  const instanceProtocol = params.text("InstanceProtocol")?.toUpperCase() ?? protocol;
  if (!protocols.includes(protocol) || instanceProtocol !== protocol) {
    throw validationError(
      `The simulator has listeners of ${protocols.join(" and ")}, with the same for instances, and not of ${protocol} with ${instanceProtocol}`,
    );
  }
  const [port, instancePort] = [portOf("LoadBalancerPort"), portOf("InstancePort")];
  return { protocol, port, instanceProtocol, instancePort };
}

/** Those that are named, and otherwise the VPC's own. */
function groupsOf(scope: Scope, ids: readonly string[], vpcId: string): readonly string[] {
  if (ids.length > 0) return checkedGroups(scope, ids, vpcId).toSorted();
  if (scope.db.get("vpcs", vpcId)?.isDefault === true) {
    throw validationError(
      "The simulator does not make the group of load balancers in a default VPC: name one",
    );
  }
  const groups = scope.db.all("groups").filter((group) => group.vpcId === vpcId);
  return groups.flatMap(({ id, name }) => (name === "default" ? [id] : []));
}

/** Created again with the same settings it is the one that is there; otherwise DuplicateLoadBalancerName. */
function sameAs({ db }: Scope, wish: ClassicWish): ClassicLoadBalancerRow | undefined {
  const before = db.get("classicLoadBalancers", wish.id);
  if (before === undefined) return undefined;
  const { createdAtMs: _, dnsName: __, subnets, ...settings } = before;
  const had = { ...settings, subnetIds: subnets.map(({ subnetId }) => subnetId) };
  if (canonicalJson(had) === canonicalJson({ ...wish })) return before;
  throw new ApiError(
    "DuplicateLoadBalancerName",
    `Load Balancer named ${wish.id} already exists and it is configured with different settings`,
  );
}

function addLoadBalancer(scope: Scope, wish: ClassicWish): ClassicLoadBalancerRow {
  const { db, settings, region } = scope;
  checkRoom(db.all("classicLoadBalancers").length, settings.quotas.classicLoadBalancers);
  checkWayIn(scope, wish.vpcId, wish.scheme);
  const { subnetIds, ...asked } = wish;
  const name = `${wish.scheme === "internal" ? "internal-" : ""}${wish.id}-${scope.digits(10)}`;
  const row: ClassicLoadBalancerRow = {
    ...asked,
    createdAtMs: scope.nowMs,
    dnsName: `${name}.${region}.elb.amazonaws.com`,
    subnets: subnetIds.map((subnetId) => addToSubnet(scope, wish, subnetId)),
  };
  db.put("classicLoadBalancers", row);
  return row;
}

function addToSubnet(
  scope: Scope,
  { id, scheme, groupIds }: ClassicWish,
  subnetId: string,
): LoadBalancerSubnet {
  const wish = omitUndefined<InterfaceWish>({
    subnetId,
    groupIds,
    description: `ELB ${id}`,
    type: "interface",
    requester: "amazon-elb",
    publicIp: scheme === "internal" ? undefined : newPublicAddress(scope),
  });
  return { subnetId, interfaceId: addInterface(scope, wish).id };
}

const deleteLoadBalancer: Handler = (scope, params) => {
  const row = scope.db.get("classicLoadBalancers", params.required("LoadBalancerName"));
  // What is not there is deleted, says the API.
  if (row === undefined) return {};
  linger(
    scope,
    row.subnets.map(({ interfaceId }) => interfaceId),
  );
  scope.db.remove("classicLoadBalancers", row.id);
  return {};
};

const describeLoadBalancers: Handler = (scope, params) => {
  const names = params.texts("LoadBalancerNames");
  const rows =
    names.length === 0
      ? scope.db.all("classicLoadBalancers")
      : names.map((name) => mustHaveClassic(scope, name));
  const { items, nextMarker } = elbPage(rows, params);
  return {
    LoadBalancerDescriptions: items.map((row) => wireOf(row, scope)),
    NextMarker: nextMarker,
  };
};

/** Throws LoadBalancerNotFound. */
export function mustHaveClassic({ db }: Scope, name: string): ClassicLoadBalancerRow {
  const row = db.get("classicLoadBalancers", name);
  if (row !== undefined) return row;
  throw new ApiError("LoadBalancerNotFound", `There is no ACTIVE Load Balancer named '${name}'`);
}

function wireOf(row: ClassicLoadBalancerRow, { db, account }: Scope): WireObject {
  const { dnsName, listeners, subnets, groupIds } = row;
  const subnetIds = subnets.map(({ subnetId }) => subnetId);
  const [group] = groupIds.map((id) => db.get("groups", id));
  return {
    LoadBalancerName: row.id,
    DNSName: dnsName,
    CanonicalHostedZoneName: dnsName,
    CanonicalHostedZoneNameID: "Z23TAZ6LKFMNIO",
    ListenerDescriptions: listeners.map((one) => ({
      Listener: listenerWire(one),
      PolicyNames: [],
    })),
    Policies: {
      AppCookieStickinessPolicies: [],
      LBCookieStickinessPolicies: [],
      OtherPolicies: [],
    },
    BackendServerDescriptions: [],
    AvailabilityZones: subnetIds.map((id) => db.get("subnets", id)?.zone),
    Subnets: subnetIds,
    VPCId: row.vpcId,
    Instances: [],
    HealthCheck: healthCheckWire(listeners),
    SourceSecurityGroup: { OwnerAlias: account, GroupName: group?.name },
    SecurityGroups: groupIds,
    CreatedTime: wireTime(row.createdAtMs),
    Scheme: row.scheme,
  };
}

function listenerWire(listener: ClassicListener): WireObject {
  return {
    Protocol: listener.protocol,
    LoadBalancerPort: listener.port,
    InstanceProtocol: listener.instanceProtocol,
    InstancePort: listener.instancePort,
  };
}

/** The one that a new one has: connections to its first port. */
function healthCheckWire([first]: readonly ClassicListener[]): WireObject {
  return {
    Target: `TCP:${first?.instancePort ?? 0}`,
    Interval: 30,
    Timeout: 5,
    UnhealthyThreshold: 2,
    HealthyThreshold: 10,
  };
}

export const classicBalancerLooks = { DescribeLoadBalancers: describeLoadBalancers };
export const classicBalancerChanges = {
  CreateLoadBalancer: createLoadBalancer,
  DeleteLoadBalancer: deleteLoadBalancer,
};
