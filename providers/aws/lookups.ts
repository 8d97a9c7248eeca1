import type { _InstanceType, Filter, RouteTable } from "@aws-sdk/client-ec2";
import { CapstanError } from "../../src/api/error.js";
import type { JsonObject } from "../../src/api/json.js";
import { whoOf } from "./calls/marks.js";
import { natAddresses, natsIn, routesOf, routeTablesIn } from "./calls/ways-out.js";
import { needsHostRules } from "./compile/groups.js";
import { present } from "../../src/provider/host-spec.js";
import type { CallContext, LookupQuestion } from "../../src/provider/port.js";
import type { AskEc2 } from "./calls/ec2-kind.js";
import type { FoundSubnet } from "./compile/found.js";
import type { AwsCluster, SecurityGroupRole } from "./specs/cluster-spec.js";
import type { AwsMachine } from "./specs/machine-spec.js";

/** Fields of the provider's objects by which something is looked up. */
export const lookupInputs = {
  machine: ["instanceType", "image", "subnet", "securityGroups"],
  cluster: ["region", "vpc"],
  clusterOnly: ["subnets", "subnetFilters", "securityGroups", "apiServer"],
} as const;

/** Canonical's accounts by partition. Source: documentation.ubuntu.com/aws, "Find Ubuntu images on AWS". */
const canonical = { standard: "099720109477", gov: "513442679011", china: "837727238323" };

type Filters = NonNullable<NonNullable<AwsMachine["image"]>["filters"]>;

/**
 * The newest image, and what filters find. Throws WRONG_CLOUD where the credentials lead to another region than the
 * Cluster's, NOT_FOUND and SEVERAL_FOUND.
 */
export async function lookUp(
  ask: AskEc2,
  ctx: CallContext,
  question: LookupQuestion,
  region: string,
): Promise<JsonObject> {
  const cluster = question.clusterSpec as unknown as Partial<AwsCluster>;
  if (cluster.region !== undefined && cluster.region !== region) {
    throw otherRegion(cluster.region, region);
  }
  if (question.kind === "cluster") {
    return findFor(ask, ctx, cluster);
  }
  const machine = question.providerSpec as unknown as Partial<AwsMachine>;
  const groupIds: string[] = [];
  for (const { filters } of machine.securityGroups ?? []) {
    if (filters !== undefined) groupIds.push(await groupBy(ask, ctx, filters));
  }
  return present({
    imageId:
      machine.image?.id === undefined ? await newestImage(ask, ctx, machine, region) : undefined,
    ...(await subnetOf(ask, ctx, machine.subnet)),
    groupIds: groupIds.length === 0 ? undefined : groupIds,
  });
}

/** What a Cluster names by filters: its VPC first, in which all others have to be. */
async function findFor(
  ask: AskEc2,
  ctx: CallContext,
  cluster: Partial<AwsCluster>,
): Promise<JsonObject> {
  const { vpc = {}, subnets = [], subnetFilters, securityGroups = {} } = cluster;
  const searched = vpc.filters === undefined ? undefined : await vpcBy(ask, ctx, vpc.filters);
  const vpcId = vpc.id ?? searched;
  const inVpc = vpcId === undefined ? [] : [{ name: "vpc-id", values: [vpcId] }];
  const subnetIds: string[] = [];
  for (const { filters, zone } of subnets) {
    if (filters === undefined) continue;
    const wanted = [...filters, { name: "availability-zone", values: [zone] }, ...inVpc];
    subnetIds.push(String((await subnetOf(ask, ctx, { filters: wanted }))["subnetId"]));
  }
  const groupIds: Partial<Record<SecurityGroupRole, string>> = {};
  for (const [role, group] of Object.entries(securityGroups)) {
    if (typeof group === "string") continue;
    const wanted = [...group.filters, ...inVpc];
    groupIds[role as SecurityGroupRole] = await groupBy(ask, ctx, wanted);
  }
  const makesSubnets = cluster.subnets === undefined && subnetFilters === undefined;
  const zones = makesSubnets ? await zonesIn(ask, ctx) : undefined;
  const found = subnetFilters && (await subnetsBy(ask, ctx, [...subnetFilters, ...inVpc]));
  const egress =
    vpcId === undefined || !needsHostRules(cluster) ? undefined : await natRanges(ask, ctx, vpcId);
  return present({
    egressRanges: egress,
    zones: zones?.length === 0 ? undefined : zones,
    vpcId: searched,
    subnetIds: subnetIds.length === 0 ? undefined : subnetIds,
    subnets: found?.map((one) => ({ ...one })),
    groupIds: Object.keys(groupIds).length === 0 ? undefined : groupIds,
  });
}

/**
 * Ranges of the addresses that the NAT gateways of a VPC go out with, sorted. NAT gateways of clusters are left out: a cluster has
 * rules for its own, and a rule for the same address would be refused as there already.
 */
async function natRanges(ask: AskEc2, ctx: CallContext, vpcId: string): Promise<string[]> {
  const found = await natsIn(ask, ctx, [vpcId]);
  const theirs = found.filter(({ Tags }) => whoOf(Tags) === undefined);
  return theirs.flatMap((one) => natAddresses(one).map((address) => `${address}/32`)).sort();
}

/** So many zones a cluster without `zones` is spread over. */
const defaultZones = 3;

/** Zones that the account may use, by name, without those of cities: not every region has a, b and c, and not for everybody. */
async function zonesIn(ask: AskEc2, ctx: CallContext): Promise<string[]> {
  const Filters = ec2Filters([
    { name: "zone-type", values: ["availability-zone"] },
    { name: "state", values: ["available"] },
  ]);
  const { AvailabilityZones = [] } = await ask(ctx, "DescribeAvailabilityZones", (ec2, options) =>
    ec2.describeAvailabilityZones({ Filters }, options),
  );
  const names = AvailabilityZones.flatMap(({ ZoneName }) => ZoneName ?? []);
  return names.sort().slice(0, defaultZones);
}

/** All subnets that filters find; a route to an Internet gateway makes one public. Source: VPC user guide, "Subnet types". */
async function subnetsBy(
  ask: AskEc2,
  ctx: CallContext,
  wanted: Filters,
): Promise<readonly FoundSubnet[]> {
  const { Subnets = [] } = await ask(ctx, "DescribeSubnets", (ec2, options) =>
    ec2.describeSubnets({ Filters: ec2Filters(wanted) }, options),
  );
  if (Subnets.length === 0) {
    throw notFound("subnet", wanted, "correct subnetFilters, or name subnets by their ids");
  }
  const vpcs = [...new Set(Subnets.flatMap(({ VpcId }) => VpcId ?? []))];
  const RouteTables = await routeTablesIn(ask, ctx, vpcs);
  const found = Subnets.map(({ SubnetId: id = "", AvailabilityZone: zone = "", VpcId }) => ({
    id,
    zone,
    public: isPublic(RouteTables, id, VpcId),
  }));
  return found.sort((one, other) =>
    `${one.zone} ${one.id}` < `${other.zone} ${other.id}` ? -1 : 1,
  );
}

function isPublic(tables: readonly RouteTable[], id: string, vpcId: string | undefined): boolean {
  return routesOf(tables, id, vpcId).some(({ GatewayId }) => GatewayId?.startsWith("igw-"));
}

async function newestImage(
  ask: AskEc2,
  ctx: CallContext,
  { image, instanceType = "" }: Partial<AwsMachine>,
  region: string,
): Promise<string> {
  const architecture = await architectureOf(ask, ctx, instanceType);
  const short = architecture === "arm64" ? "arm64" : "amd64";
  const wanted = image?.filters ?? [
    { name: "name", values: [`ubuntu/images/hvm-ssd*/ubuntu-noble-24.04-${short}-server-*`] },
  ];
  const owner = image === undefined ? canonicalIn(region) : image.owner;
  const fixed = { state: ["available"], architecture: [architecture] };
  const Filters = [
    ...ec2Filters(wanted),
    ...Object.entries(fixed).map(([Name, Values]) => ({ Name, Values })),
  ];
  const input = owner === undefined ? { Filters } : { Filters, Owners: [owner] };
  const { Images = [] } = await ask(ctx, "DescribeImages", (ec2, options) =>
    ec2.describeImages(input, options),
  );
  const [newest] = [...Images].sort((one, other) =>
    (one.CreationDate ?? "") < (other.CreationDate ?? "") ? 1 : -1,
  );
  if (newest?.ImageId !== undefined) return newest.ImageId;
  throw notFound("image", wanted, "name one by image.id, or other filters by image.filters");
}

/** What an instance type runs: the 64 bits of Arm, or those of everybody else. */
async function architectureOf(
  ask: AskEc2,
  ctx: CallContext,
  instanceType: string,
): Promise<"x86_64" | "arm64"> {
  const InstanceTypes = [instanceType as _InstanceType];
  const { InstanceTypes: [type] = [] } = await ask(ctx, "DescribeInstanceTypes", (ec2, options) =>
    ec2.describeInstanceTypes({ InstanceTypes }, options),
  );
  const supported: readonly string[] = type?.ProcessorInfo?.SupportedArchitectures ?? [];
  return supported.includes("arm64") ? "arm64" : "x86_64";
}

function canonicalIn(region: string): string {
  if (region.startsWith("us-gov-")) return canonical.gov;
  return region.startsWith("cn-") ? canonical.china : canonical.standard;
}

async function vpcBy(ask: AskEc2, ctx: CallContext, wanted: Filters): Promise<string> {
  const Filters = ec2Filters(wanted);
  const { Vpcs = [] } = await ask(ctx, "DescribeVpcs", (ec2, options) =>
    ec2.describeVpcs({ Filters }, options),
  );
  return theOnly(
    "VPC",
    wanted,
    Vpcs.flatMap(({ VpcId }) => VpcId ?? []),
  );
}

async function groupBy(ask: AskEc2, ctx: CallContext, wanted: Filters): Promise<string> {
  const Filters = ec2Filters(wanted);
  const { SecurityGroups = [] } = await ask(ctx, "DescribeSecurityGroups", (ec2, options) =>
    ec2.describeSecurityGroups({ Filters }, options),
  );
  return theOnly(
    "security group",
    wanted,
    SecurityGroups.flatMap(({ GroupId }) => GroupId ?? []),
  );
}

async function subnetOf(
  ask: AskEc2,
  ctx: CallContext,
  subnet: AwsMachine["subnet"],
): Promise<JsonObject> {
  if (subnet === undefined) return {};
  const { id, filters: wanted = [{ name: "subnet-id", values: [id ?? ""] }] } = subnet;
  const Filters = ec2Filters(wanted);
  const { Subnets = [] } = await ask(ctx, "DescribeSubnets", (ec2, options) =>
    ec2.describeSubnets({ Filters }, options),
  );
  const subnetId = theOnly(
    "subnet",
    wanted,
    Subnets.flatMap(({ SubnetId }) => SubnetId ?? []),
  );
  return present({ subnetId, zone: Subnets[0]?.AvailabilityZone });
}

function ec2Filters(wanted: Filters): Filter[] {
  return wanted.map(({ name, values }) => ({ Name: name, Values: values }));
}

function theOnly(what: string, wanted: Filters, [one, ...others]: readonly string[]): string {
  if (one === undefined) throw notFound(what, wanted, `name it by its id, or correct the filters`);
  if (others.length === 0) return one;
  throw new CapstanError({
    code: "SEVERAL_FOUND",
    source: "user",
    message: `cannot tell which ${what} is meant: ${filterText(wanted)} finds ${[one, ...others].join(", ")}`,
    hint: "add a filter, or name it by its id",
  });
}

function notFound(what: string, wanted: Filters, hint: string): CapstanError {
  const message = `cannot find any ${what} with ${filterText(wanted)}`;
  return new CapstanError({ code: "NOT_FOUND", source: "user", message, hint });
}

function filterText(wanted: Filters): string {
  return wanted.map(({ name, values }) => `${name}=${values.join("|")}`).join(", ");
}

function otherRegion(wanted: string, region: string): CapstanError {
  return new CapstanError({
    code: "WRONG_CLOUD",
    source: "user",
    message: `cannot plan in ${region}: the Cluster is to be in region ${wanted}`,
    hint: `set AWS_REGION=${wanted}, or name another profile by AWS_PROFILE`,
  });
}
