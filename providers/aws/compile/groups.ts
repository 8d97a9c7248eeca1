import { assertNever } from "../../../src/api/error.js";
import type { JsonObject } from "../../../src/api/json.js";
import { type Ref, refTo } from "../../../src/graph/graph.js";
import type { SharedPart } from "../../../src/provider/definition.js";
import type { Satellite } from "../../../src/provider/port.js";
import { apiServerPort, type AwsCluster, type SecurityGroupRole } from "../specs/cluster-spec.js";
import { natNames, resource } from "./network.js";

/**
 * Roles of security groups: members of the control plane, all hosts, what controllers in the cluster open, and the load
 * balancer before the API servers.
 */
const roles = ["controlPlane", "node", "lb", "apiServerLb"] as const satisfies SecurityGroupRole[];
type Role = SecurityGroupRole;

const graphNames: Readonly<Record<Role, string>> = {
  controlPlane: "controlplane",
  node: "node",
  lb: "lb",
  apiServerLb: "apiserver-lb",
};

const descriptions: Readonly<Record<Role, string>> = {
  controlPlane: "Kubernetes control plane",
  node: "Kubernetes nodes",
  lb: "Load balancers of Kubernetes Services",
  apiServerLb: "Load balancer of the Kubernetes API",
};

/** From where a rule lets in: a range, the address of a NAT gateway, or what is in a group. */
type Source =
  | { readonly kind: "range"; readonly cidr: string }
  | { readonly kind: "nat"; readonly address: string }
  | { readonly kind: "group"; readonly group: Role };

interface PlannedRule {
  readonly into: Role;
  readonly protocol: string;
  readonly ports: readonly [number, number];
  readonly from: readonly Source[];
}

const everywhere = "0.0.0.0/0";

/** Also of protocols that have no ports. */
const allPorts = -1;

/** What the pod network needs between hosts where nobody says another one: what Calico does. */
const calico: NonNullable<AwsCluster["ingressRules"]> = [
  { protocol: "tcp", fromPort: 179, toPort: 179 },
  { protocol: "4" },
];

const hosts: readonly Source[] = [
  { kind: "group", group: "controlPlane" },
  { kind: "group", group: "node" },
];

/**
 * API servers, etcd, kubelets, node ports, and the pod network. Source: cluster-api-provider-aws 0.3
 * (services/ec2/securitygroups.go), without a bastion, and with a group for the load balancer as later releases have it.
 */
function plannedRules(cluster: AwsCluster, egress: readonly string[]): readonly PlannedRule[] {
  const { ingressRules = calico } = cluster;
  const tcp = (into: Role, ports: readonly [number, number], from: readonly Source[]) => ({
    into,
    protocol: "tcp",
    ports,
    from,
  });
  const between = ingressRules.flatMap(({ protocol, ...ports }): PlannedRule[] => {
    const { fromPort = allPorts, toPort = fromPort } = ports;
    return (["controlPlane", "node"] as const).map((into) => ({
      into,
      protocol,
      ports: [fromPort, toPort] as const,
      from: hosts,
    }));
  });
  const api: readonly [number, number] = [apiServerPort, apiServerPort];
  return [
    tcp("apiServerLb", api, apiClients(cluster, egress)),
    tcp("controlPlane", api, [{ kind: "group", group: "apiServerLb" }, ...hosts]),
    tcp("controlPlane", [2379, 2380], [{ kind: "group", group: "controlPlane" }]),
    tcp("controlPlane", [10_250, 10_250], hosts),
    tcp("node", [30_000, 32_767], nodePortClients(cluster)),
    tcp("node", [10_250, 10_250], hosts),
    ...between,
  ];
}

/**
 * Sources that may reach the API. The cluster's own hosts always may: private hosts come with the address of a NAT gateway, which the
 * cluster makes or which was looked up (`egress`). A public host has a rule of its own (`hostRule`).
 */
function apiClients(cluster: AwsCluster, egress: readonly string[]): readonly Source[] {
  const { allowedCidrs } = cluster.apiServer ?? {};
  if (allowedCidrs === undefined) return [{ kind: "range", cidr: everywhere }];
  const found = needsHostRules(cluster) ? egress : [];
  const ranges = [...allowedCidrs, ...found].map((cidr): Source => ({ kind: "range", cidr }));
  const ways = natNames(cluster).map((address): Source => ({ kind: "nat", address }));
  return [...ranges, ...hosts, ...ways];
}

/**
 * Sources that may reach node ports: hosts of the cluster, and ranges that the Cluster names. Controllers of load balancers open
 * node ports to their own load balancers.
 */
function nodePortClients({ nodePortCidrs = [] }: AwsCluster): readonly Source[] {
  return [...hosts, ...nodePortCidrs.map((cidr): Source => ({ kind: "range", cidr }))];
}

/**
 * Whether hosts need rules by their public addresses to reach the API: its load balancer has public addresses, so that rules by
 * group do not count, and a group of the cluster's own lets in certain ranges only. Pure.
 */
export function needsHostRules({
  apiServer,
  securityGroups,
}: Pick<AwsCluster, "apiServer" | "securityGroups">): boolean {
  const { allowedCidrs, scheme } = apiServer ?? {};
  if (allowedCidrs === undefined || allowedCidrs.includes(everywhere)) return false;
  return scheme !== "internal" && securityGroups?.apiServerLb === undefined;
}

/** Whether a rule with this name in the graph lets into the API's load balancer. Pure. */
export function isApiRule(name: string): boolean {
  return name.startsWith(`${graphNames.apiServerLb}-`);
}

/** The rule that lets a public host in, by the address that EC2 has given it: it lives with the host. Pure. */
export function hostRule(host: () => Ref): Satellite {
  const [fromPort, toPort] = [apiServerPort, apiServerPort];
  const spec = { groupId: groupId("apiServerLb"), protocol: "tcp", fromPort, toPort };
  return {
    kind: "AwsSecurityGroupRule",
    name: "api",
    spec: { ...spec, instanceId: host() },
  };
}

/**
 * Security groups that a cluster makes, with their rules, of a Cluster without filters. A rule is a resource of its own: groups
 * name each other. `egress`: ranges of the addresses that hosts in subnets which are there come with. Pure.
 */
export function groupParts(cluster: AwsCluster, egress: readonly string[] = []): SharedPart[] {
  const { securityGroups = {}, tags } = cluster;
  const groups = roles.map((role): SharedPart => {
    const existing = securityGroups[role];
    const name = graphNames[role];
    if (typeof existing === "string") return { kind: "AwsSecurityGroup", name, external: existing };
    return resource("AwsSecurityGroup", name, {
      vpcId: refTo("AwsVpc", "vpc"),
      description: descriptions[role],
      tags,
    });
  });
  const rules = plannedRules(cluster, egress).filter(
    ({ into }) => securityGroups[into] === undefined,
  );
  const parts = new Map(rules.flatMap(ruleParts).map((part) => [part.name, part]));
  return [...groups, ...parts.values()];
}

function ruleParts({ into, protocol, ports, from }: PlannedRule): SharedPart[] {
  return from.map((source) => {
    const [place, origin] = placeOf(source);
    const [fromPort, toPort] = ports;
    return resource(
      "AwsSecurityGroupRule",
      `${graphNames[into]}-${portText(protocol, ports)}-from-${origin}`,
      { groupId: groupId(into), protocol, fromPort, toPort, ...place },
    );
  });
}

/** The inputs that say from where, and the end of the rule's name. */
function placeOf(source: Source): readonly [JsonObject, string] {
  switch (source.kind) {
    case "range": {
      const { cidr } = source;
      return [{ cidr }, cidr === everywhere ? "anywhere" : cidr.replace("/", "-")];
    }
    case "nat":
      return [{ cidr: refTo("AwsElasticIp", source.address, "range") }, source.address];
    case "group":
      return [{ sourceGroupId: groupId(source.group) }, graphNames[source.group]];
    default:
      return assertNever(source);
  }
}

/** What tells rules of a group apart, so that a rule with another description is the same rule. */
function portText(protocol: string, [from, to]: readonly [number, number]): string {
  const name = protocol === "-1" ? "all" : protocol;
  if (from === allPorts) return name;
  return from === to ? `${name}-${from}` : `${name}-${from}-${to}`;
}

/** The id of a role's group. Pure. */
export function groupId(role: Role): Ref {
  return refTo("AwsSecurityGroup", graphNames[role]);
}

/** The groups of a host. Pure. */
export function groupsOfHost(controlPlane: boolean): Ref[] {
  const own = controlPlane ? (["controlPlane"] as const) : [];
  return [...own, "node" as const, "lb" as const].map(groupId);
}
