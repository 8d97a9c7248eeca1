import type { Json, JsonObject } from "../../../src/api/json.js";
import { nodeKey, type Ref, refTo } from "../../../src/graph/graph.js";
import type { SharedPart } from "../../../src/provider/definition.js";
import { present } from "../../../src/provider/host-spec.js";
import type { AwsKind } from "../kinds/kinds.js";
import type { AwsCluster } from "../specs/cluster-spec.js";
import { defaultVpcRange, zoneRanges } from "./ranges.js";

/** A subnet of a cluster, made or there. */
interface PlannedSubnet {
  /** In the graph. */
  readonly name: string;
  readonly zone: string;
  readonly public: boolean;
  /** Of one that is made. */
  readonly cidr?: string;
  /** Of one that is there. */
  readonly id?: string;
  /** Of one that is made. */
  readonly tags?: AwsCluster["tags"];
}

const everywhere = "0.0.0.0/0";

/** Availability zones of a cluster, in the order in which they are named: none where subnets that are looked up tell them. Pure. */
export function zonesOf({ region, zones, subnets, subnetFilters }: AwsCluster): readonly string[] {
  if (subnetFilters !== undefined) return zones ?? [];
  if (subnets !== undefined) {
    const hosting = subnets.some((one) => one.public !== true)
      ? subnets.filter((one) => one.public !== true)
      : subnets;
    const named = [...new Set(hosting.map(({ zone }) => zone))];
    return zones === undefined ? named : zones.filter((zone) => named.includes(zone));
  }
  // Only where nothing was looked up: records of earlier releases, and commands that ask no cloud.
  return zones ?? ["a", "b", "c"].map((letter) => `${region}${letter}`);
}

/** The subnets of a cluster: those that are named, or a public and a private one for each zone. Pure. */
export function subnetsOf(cluster: AwsCluster): readonly PlannedSubnet[] {
  const { subnets, vpc } = cluster;
  if (subnets === undefined) {
    const whole = vpc?.cidr ?? defaultVpcRange;
    return zonesOf(cluster).flatMap((zone, index): PlannedSubnet[] => {
      const ranges = zoneRanges(whole, index);
      return [
        { name: `public-${zone}`, zone, public: true, cidr: ranges.public },
        { name: `private-${zone}`, zone, public: false, cidr: ranges.private },
      ];
    });
  }
  const taken = new Map<string, number>();
  return subnets.map(({ public: isPublic = false, ...one }) => {
    const stem = `${isPublic ? "public" : "private"}-${one.zone}`;
    const count = (taken.get(stem) ?? 0) + 1;
    taken.set(stem, count);
    return { ...one, public: isPublic, name: count === 1 ? stem : `${stem}-${count}` };
  });
}

/** Whether the VPC is made. */
function hasOwnVpc({ vpc }: AwsCluster): boolean {
  return vpc?.id === undefined;
}

/** VPC, subnets and their ways in and out, of a Cluster without filters. Pure. */
export function networkParts(cluster: AwsCluster): SharedPart[] {
  const { tags } = cluster;
  const existing = cluster.vpc?.id;
  const vpc: SharedPart =
    existing === undefined
      ? resource("AwsVpc", "vpc", {
          cidr: cluster.vpc?.cidr ?? defaultVpcRange,
          dnsHostnames: true,
          dnsSupport: true,
          tags,
        })
      : { kind: "AwsVpc", name: "vpc", external: existing };
  const subnets = subnetsOf(cluster);
  return [
    vpc,
    ...(needsGateway(cluster, subnets)
      ? [resource("AwsInternetGateway", "internet", { vpcId: refTo("AwsVpc", "vpc"), tags })]
      : []),
    ...subnets.map((one) => subnetPart(one, tags)),
    ...gatewayParts(cluster, subnets),
    ...routeParts(cluster, subnets),
  ];
}

function subnetPart(subnet: PlannedSubnet, tags: AwsCluster["tags"]): SharedPart {
  const { name, id, cidr, zone } = subnet;
  if (id !== undefined) return { kind: "AwsSubnet", name, external: id };
  return resource("AwsSubnet", name, {
    vpcId: refTo("AwsVpc", "vpc"),
    cidr,
    zone,
    public: subnet.public,
    tags: subnet.tags === undefined ? tags : { ...tags, ...subnet.tags },
  });
}

/** Only subnets that are made get ways of ours. */
function madeOnes(subnets: readonly PlannedSubnet[]): readonly PlannedSubnet[] {
  return subnets.filter(({ id }) => id === undefined);
}

/** A VPC has one Internet gateway: one that is there may have it. */
function needsGateway(cluster: AwsCluster, subnets: readonly PlannedSubnet[]): boolean {
  if (cluster.internetGatewayId !== undefined) return false;
  return hasOwnVpc(cluster) || madeOnes(subnets).some((one) => one.public);
}

/** Names of the NAT gateways, by the zones that go out through them. */
function gatewayZones(
  { natGateways }: AwsCluster,
  subnets: readonly PlannedSubnet[],
): ReadonlyMap<string, string> {
  const made = madeOnes(subnets);
  const offered = [...new Set(made.filter((one) => one.public).map(({ zone }) => zone))];
  const [first] = offered;
  if (natGateways === "none" || first === undefined) return new Map();
  const leaving = [...new Set(made.filter((one) => !one.public).map(({ zone }) => zone))];
  return new Map(
    leaving.map((zone) => [
      zone,
      natGateways === "perZone" && offered.includes(zone) ? zone : first,
    ]),
  );
}

/** Names of the elastic addresses that private hosts go out with. Pure. */
export function natNames(cluster: AwsCluster): readonly string[] {
  const zones = new Set(gatewayZones(cluster, subnetsOf(cluster)).values());
  return [...zones].map((zone) => `nat-${zone}`);
}

function gatewayParts(cluster: AwsCluster, subnets: readonly PlannedSubnet[]): SharedPart[] {
  const { tags } = cluster;
  const zones = new Set(gatewayZones(cluster, subnets).values());
  return [...zones].flatMap((zone): SharedPart[] => {
    const home = madeOnes(subnets).find((one) => one.public && one.zone === zone);
    if (home === undefined) return [];
    // A gateway that moves gets another address: one is taken as long as the other gateway is there.
    const subnetId = refTo("AwsSubnet", home.name);
    const address = resource("AwsElasticIp", `nat-${zone}`, { subnetId, tags });
    const gateway = resource("AwsNatGateway", `nat-${zone}`, {
      subnetId,
      allocationId: refTo("AwsElasticIp", `nat-${zone}`),
      tags,
    });
    // It is of no use before its subnet has a way to the Internet.
    return [address, { ...gateway, dependsOn: [nodeKey("AwsRouteTable", "public")] }];
  });
}

/** One table for the public subnets, and one for the private ones of each zone. */
function routeParts(cluster: AwsCluster, subnets: readonly PlannedSubnet[]): SharedPart[] {
  const { tags, internetGatewayId } = cluster;
  const made = madeOnes(subnets);
  const vpcId = refTo("AwsVpc", "vpc");
  const isPublic = made.filter((one) => one.public);
  const gatewayId = internetGatewayId ?? refTo("AwsInternetGateway", "internet");
  const gateways = gatewayZones(cluster, subnets);
  const leaving = [...new Set(made.filter((one) => !one.public).map(({ zone }) => zone))];
  const tableOf = (name: string, members: readonly PlannedSubnet[], routes: JsonObject[]) =>
    resource("AwsRouteTable", name, { vpcId, routes, subnetIds: members.map(idOf), tags });
  return [
    ...(isPublic.length === 0
      ? []
      : [tableOf("public", isPublic, [{ to: everywhere, gatewayId }])]),
    ...leaving.map((zone) => {
      const through = gateways.get(zone);
      const members = made.filter((one) => !one.public && one.zone === zone);
      const routes =
        through === undefined
          ? []
          : [{ to: everywhere, natGatewayId: refTo("AwsNatGateway", `nat-${through}`, "readyId") }];
      return tableOf(`private-${zone}`, members, routes);
    }),
  ];
}

function idOf({ name }: PlannedSubnet): Ref {
  return refTo("AwsSubnet", name);
}

/** A resource that machines share, without what is undefined. Pure. */
export function resource(
  kind: AwsKind,
  name: string,
  { tags, ...spec }: Parameters<typeof present>[0],
): SharedPart & { readonly spec: JsonObject } {
  return { kind, name, spec: present({ ...spec, tags: anyTags(tags) }) };
}

/** AWS does not tell no tags from none that were asked for. */
function anyTags(tags: Json | undefined): Json | undefined {
  return typeof tags === "object" && tags !== null && Object.keys(tags).length === 0
    ? undefined
    : tags;
}
