import type {
  CallContext,
  PlannedResource,
  PlannedStep,
  PreflightFinding,
} from "../../src/provider/port.js";
import type { AskEc2 } from "./calls/ec2-kind.js";
import { waysOut, type EgressWay } from "./calls/ways-out.js";
import { isApiRule, needsHostRules } from "./compile/groups.js";
import { softwareOf } from "./compile/host.js";
import { natNames } from "./compile/network.js";
import { isInRange } from "./compile/ranges.js";
import type { AwsCluster } from "./specs/cluster-spec.js";

interface Reach {
  readonly steps: readonly PlannedStep[];
  /** Every resource of the cluster after the plan. */
  readonly planned: readonly PlannedResource[];
  readonly cluster: AwsCluster;
}

/** Hosts without a public address of their own, by their subnets. */
interface PrivateHosts {
  /** Names of those in subnets that the cluster makes, which go out through its NAT gateways. */
  readonly made: readonly string[];
  /** The ids of subnets that are there, in which the others are. */
  readonly there: readonly string[];
}

/** Hosts that would reach nothing, which is a warning, or not their own API, which is an error. */
export async function reachFindings(
  ask: AskEc2,
  ctx: CallContext,
  reach: Reach,
): Promise<PreflightFinding[]> {
  return [...withoutWayOut(reach), ...(await lockedOut(ask, ctx, reach))];
}

const isHost = ({ kind }: PlannedStep | PlannedResource) => kind === "AwsInstance";

/** The private ones among the planned hosts with these names. */
function privateHosts({ planned }: Reach, names: ReadonlySet<string>): PrivateHosts {
  const madeIds = planned.flatMap(({ kind, id }) => (kind === "AwsSubnet" ? (id ?? []) : []));
  const hosts = planned.filter(
    (one) => isHost(one) && names.has(one.name) && one.spec["publicIp"] !== true,
  );
  const idOf = ({ spec }: PlannedResource) => String(spec["subnetId"]);
  const isThere = (host: PlannedResource) =>
    idOf(host).startsWith("subnet-") && !madeIds.includes(idOf(host));
  return {
    made: hosts.filter((one) => !isThere(one)).map(({ name }) => name),
    there: [...new Set(hosts.filter(isThere).map(idOf))],
  };
}

function createdHosts({ steps }: Reach): ReadonlySet<string> {
  const created = steps.filter((step) => isHost(step) && step.does === "create");
  return new Set(created.map(({ name }) => name));
}

/** Private hosts of a network that is made without NAT gateways. Routes, proxies and endpoints of the user's own may do. */
function withoutWayOut(reach: Reach): PreflightFinding[] {
  const { steps, cluster } = reach;
  const { made } = privateHosts(reach, createdHosts(reach));
  if (made.length === 0 || natNames(cluster).length > 0) return [];
  const isInternal = cluster.apiServer?.scheme === "internal";
  const installs = steps.some(
    (step) => isHost(step) && step.does === "create" && softwareOf(step.wanted ?? {}) === "apt",
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

/**
 * Hosts that the cluster's own rules would keep from its API. Public hosts have rules of their own, and NAT gateways that the
 * cluster makes have theirs; the address of every other host has to be in a planned rule. Hosts that run are looked at where a
 * rule of the API changes.
 */
async function lockedOut(ask: AskEc2, ctx: CallContext, reach: Reach): Promise<PreflightFinding[]> {
  const { steps, planned, cluster } = reach;
  if (!needsHostRules(cluster)) return [];
  const changesRules = steps.some(
    ({ kind, name }) => kind === "AwsSecurityGroupRule" && isApiRule(name),
  );
  const all = new Set(planned.filter(isHost).map(({ name }) => name));
  const { made, there } = privateHosts(reach, changesRules ? all : createdHosts(reach));
  const found: PreflightFinding[] = [];
  if (made.length > 0 && natNames(cluster).length === 0) {
    found.push(unknownAddress(made, "no NAT gateway is made"));
  }
  if (there.length === 0) return found;
  const ways = await waysOut(ask, ctx, there);
  const ranges = [
    ...(cluster.apiServer?.allowedCidrs ?? []),
    ...planned.flatMap(({ kind, name, spec: { cidr } }) =>
      kind === "AwsSecurityGroupRule" && isApiRule(name) ? String(cidr) : [],
    ),
  ].filter((range) => /^[\d.]+\/\d+$/.test(range));
  return [...found, ...there.flatMap((id) => problemsOf(id, ways.get(id), ranges))];
}

function problemsOf(
  subnetId: string,
  way: EgressWay | undefined,
  ranges: readonly string[],
): PreflightFinding[] {
  switch (way?.kind) {
    case undefined: // A subnet that does not exist is told as such.
      return [];
    case "none":
      return [unknownAddress([], `${subnetId} has no route to the Internet`)];
    case "other": {
      const { through } = way;
      const reason = through.startsWith("igw-")
        ? "publicIp is not set"
        : "AWS does not tell the public address behind it";
      return [unknownAddress([], `${subnetId} leads to ${through}, and ${reason}`)];
    }
    case "nat": {
      const kept = way.addresses.filter((one) => !ranges.some((range) => isInRange(one, range)));
      if (kept.length === 0) return [];
      return [
        {
          code: "INVALID_INPUT",
          message: `hosts in ${subnetId} reach the API servers from ${kept.join(", ")}, which apiServer.allowedCidrs does not let in`,
          hint: `add ${kept.map((one) => `${one}/32`).join(", ")} to apiServer.allowedCidrs`,
        },
      ];
    }
  }
}

/** Of some hosts by name, or of all in a subnet that the reason names. */
function unknownAddress(names: readonly string[], reason: string): PreflightFinding {
  const hosts = names.length === 0 ? "hosts" : listed(names);
  return {
    code: "INVALID_INPUT",
    message: `apiServer.allowedCidrs would lock ${hosts} out of ${names.length === 1 ? "its" : "their"} own API: ${reason}`,
    hint: "set apiServer.scheme: internal, set publicIp: true of the Machines, or name a group of your own that lets these hosts in as securityGroups.apiServerLb",
  };
}

/** "a, b and 3 more". */
function listed(names: readonly string[]): string {
  const most = 3;
  const more = names.length - most;
  return `${names.slice(0, most).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
