import type { CallContext, PlannedStep, PreflightFinding } from "../../src/provider/port.js";
import { eachPage } from "./calls/ask.js";
import { type AskEc2, filters } from "./calls/ec2-kind.js";
import { whoOf } from "./calls/marks.js";
import { natNames } from "./compile/network.js";
import { softwareOf } from "./compile/host.js";
import type { AwsCluster } from "./specs/cluster-spec.js";
import { isInRange } from "./compile/ranges.js";

/** Hosts that are to be created, by how they reach what is outside of the VPC. */
interface Ways {
  /** With a public address of their own, which EC2 chooses at the launch. */
  readonly public: readonly string[];
  /** In subnets that the same plan makes, through a NAT gateway if there is one. */
  readonly made: readonly string[];
  /** In subnets that are there: the ids of these. */
  readonly there: readonly string[];
}

/**
 * Hosts that reach nothing, or not the load balancer before their own API servers, and ports of hosts that the Internet reaches.
 * All are warnings: routes, proxies and endpoints of the user's own may do.
 */
export async function reachFindings(
  ask: AskEc2,
  ctx: CallContext,
  created: readonly PlannedStep[],
  cluster: AwsCluster,
): Promise<PreflightFinding[]> {
  const ways = waysOf(created);
  return [
    ...withoutWayOut(ways, created, cluster),
    ...(await shutOut(ask, ctx, ways, cluster)),
    ...openPorts(ways, cluster),
  ];
}

function waysOf(created: readonly PlannedStep[]): Ways {
  const hosts = created.filter(({ kind }) => kind === "AwsInstance");
  const own = hosts.filter(({ wanted }) => wanted?.["publicIp"] === true);
  const others = hosts.filter(({ wanted }) => wanted?.["publicIp"] !== true);
  const idOf = ({ wanted = {} }: PlannedStep) => String(wanted["subnetId"]);
  const isThere = (step: PlannedStep) => idOf(step).startsWith("subnet-");
  return {
    public: own.map(({ name }) => name),
    made: others.filter((step) => !isThere(step)).map(({ name }) => name),
    there: [...new Set(others.filter(isThere).map(idOf))],
  };
}

/** Private hosts of a network that is made without NAT gateways. */
function withoutWayOut(
  { made }: Ways,
  created: readonly PlannedStep[],
  cluster: AwsCluster,
): PreflightFinding[] {
  if (made.length === 0 || natNames(cluster).length > 0) return [];
  const isInternal = cluster.apiServer?.scheme === "internal";
  const installs = created.some(
    ({ kind, wanted }) => kind === "AwsInstance" && softwareOf(wanted ?? {}) === "apt",
  );
  const needs = [
    ...(installs ? ["packages"] : []),
    ...(cluster.hostSecrets === "userData" ? [] : ["Secrets Manager"]),
    ...(isInternal ? [] : ["the public addresses of the API's load balancer"]),
  ];
  if (needs.length === 0) return [];
  return [
    {
      code: "INVALID_INPUT",
      message: `${listed(made)} ${made.length === 1 ? "has" : "have"} no way to the Internet, since no NAT gateway is made and publicIp is not set: without routes of your own ${made.length === 1 ? "it does" : "they do"} not reach ${needs.join(", ")}`,
      hint: "set natGateways: one, or publicIp: true of the Machines",
      severity: "warning",
    },
  ];
}

/** Hosts whose addresses `allowedCidrs` does not let in, where the load balancer has public addresses. */
async function shutOut(
  ask: AskEc2,
  ctx: CallContext,
  ways: Ways,
  { apiServer, securityGroups }: AwsCluster,
): Promise<PreflightFinding[]> {
  const { allowedCidrs, scheme } = apiServer ?? {};
  const isOwnGroup = securityGroups?.apiServerLb === undefined;
  if (allowedCidrs === undefined || scheme === "internal" || !isOwnGroup) return [];
  const found: PreflightFinding[] = [];
  if (ways.public.length > 0 && !allowedCidrs.includes("0.0.0.0/0")) {
    found.push({
      code: "INVALID_INPUT",
      message: `${listed(ways.public)} ${ways.public.length === 1 ? "reaches" : "reach"} the API servers with public addresses that EC2 chooses at the launch: apiServer.allowedCidrs may not let them in`,
      hint: "leave out publicIp and set natGateways, whose addresses are let in, or set apiServer.scheme: internal",
      severity: "warning",
    });
  }
  const addresses = await natAddresses(ask, ctx, ways.there);
  const kept = addresses.filter((one) => !allowedCidrs.some((cidr) => isInRange(one, cidr)));
  if (kept.length > 0) {
    found.push({
      code: "INVALID_INPUT",
      message: `hosts in subnets that are there reach the API servers through NAT gateways with ${kept.join(", ")}: apiServer.allowedCidrs does not let them in`,
      hint: `add ${kept.map((one) => `${one}/32`).join(", ")} to apiServer.allowedCidrs`,
      severity: "warning",
    });
  }
  return found;
}

/** The public addresses of NAT gateways in the VPCs of some subnets, but for those of clusters: these have rules of their own. */
async function natAddresses(
  ask: AskEc2,
  ctx: CallContext,
  subnetIds: readonly string[],
): Promise<string[]> {
  if (subnetIds.length === 0) return [];
  const ofSubnets = filters({ "subnet-id": subnetIds });
  const { Subnets = [] } = await ask(ctx, "DescribeSubnets", (ec2, options) =>
    ec2.describeSubnets({ Filters: ofSubnets }, options),
  );
  const vpcIds = [...new Set(Subnets.flatMap(({ VpcId }) => VpcId ?? []))];
  if (vpcIds.length === 0) return [];
  const Filter = filters({ "vpc-id": vpcIds, state: ["available"] });
  const pages = eachPage(async (NextToken) => {
    const answer = await ask(ctx, "DescribeNatGateways", (ec2, options) =>
      ec2.describeNatGateways({ Filter, NextToken }, options),
    );
    return { gateways: answer.NatGateways ?? [], next: answer.NextToken };
  });
  const found: string[] = [];
  for await (const { gateways } of pages) {
    for (const { NatGatewayAddresses = [], Tags } of gateways) {
      if (whoOf(Tags) !== undefined) continue;
      found.push(...NatGatewayAddresses.flatMap(({ PublicIp }) => PublicIp ?? []));
    }
  }
  return found.sort();
}

/** The rule for node ports lets in everybody: behind a load balancer of a Service that is its client, on a public host the Internet. */
function openPorts(ways: Ways, { securityGroups }: AwsCluster): PreflightFinding[] {
  if (ways.public.length === 0 || securityGroups?.node !== undefined) return [];
  return [
    {
      code: "INVALID_INPUT",
      message: `node ports 30000 to 32767 of ${listed(ways.public)} are open to the Internet, since publicIp is set`,
      hint: "leave out publicIp, or name a group of your own as securityGroups.node",
      severity: "warning",
    },
  ];
}

/** "a, b and 3 more". */
function listed(names: readonly string[]): string {
  const most = 3;
  const more = names.length - most;
  return `${names.slice(0, most).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
