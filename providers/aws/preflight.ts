import type { JsonObject } from "../../src/api/json.js";
import type {
  CallContext,
  PlannedResource,
  PlannedStep,
  PreflightFinding,
} from "../../src/provider/port.js";
import { type AskEc2, filters } from "./calls/ec2-kind.js";
import { type AskSecrets, secretFindings } from "./calls/secrets.js";
import { secretTerms } from "./compile/secrets.js";
import { alternativesOf } from "./kinds/choices.js";
import { namedFindings } from "./named.js";
import { reachFindings } from "./reach.js";
import type { AwsCluster } from "./specs/cluster-spec.js";
import { type AskQuotas, vcpuFindings, vpcQuotaFindings } from "./vcpus.js";
import { volumeFindings } from "./volume-limits.js";

/** Who is asked. */
interface Asked {
  readonly ec2: AskEc2;
  readonly quotas: AskQuotas;
  readonly secrets: AskSecrets;
}

/** A plan as a preflight is given it. */
interface AwsPlan {
  readonly steps: readonly PlannedStep[];
  /** Every resource of the cluster after the plan. */
  readonly planned: readonly PlannedResource[];
  /** The provider's object of the Cluster. */
  readonly spec: JsonObject;
}

/**
 * What AWS itself tells before the first change: which of what manifests name does not exist, how many VPCs, elastic addresses
 * and vCPUs are left, which instance types a zone has, and whether Secrets Manager lets us in where hosts need it. Beside that
 * what would be refused or of no use whatever AWS says. All problems at once.
 */
export async function findings(
  { ec2, quotas, secrets }: Asked,
  ctx: CallContext,
  { steps, planned, spec }: AwsPlan,
): Promise<PreflightFinding[]> {
  const made = steps.filter(({ does }) => does === "create");
  const needsStore = made.some(({ kind }) => kind === "AwsInstance") && secretTerms.isUsedBy(spec);
  const cluster = spec as unknown as AwsCluster;
  return [
    ...(await namedFindings(ec2, ctx, made, cluster)),
    ...(await vpcQuotaFindings({ ec2, quotas }, ctx, made)),
    ...(await addressFindings(ec2, ctx, made)),
    ...(await offeringFindings(ec2, ctx, made)),
    ...(needsStore ? await secretFindings(secrets, ctx) : []),
    ...(await vcpuFindings({ ec2, quotas }, ctx, steps)),
    ...volumeFindings(steps),
    ...(await reachFindings(ec2, ctx, { steps, planned, cluster })),
  ];
}

async function addressFindings(
  ask: AskEc2,
  ctx: CallContext,
  made: readonly PlannedStep[],
): Promise<PreflightFinding[]> {
  const needed = made.filter(({ kind }) => kind === "AwsElasticIp").length;
  if (needed === 0) return [];
  const { AccountAttributes = [] } = await ask(ctx, "DescribeAccountAttributes", (ec2, options) =>
    ec2.describeAccountAttributes({ AttributeNames: [] }, options),
  );
  const named = AccountAttributes.find((one) => one.AttributeName === "vpc-max-elastic-ips");
  const limit = Number(named?.AttributeValues?.[0]?.AttributeValue);
  if (Number.isNaN(limit)) return [];
  const { Addresses = [] } = await ask(ctx, "DescribeAddresses", (ec2, options) =>
    ec2.describeAddresses({}, options),
  );
  const left = Math.max(0, limit - Addresses.length);
  if (needed <= left) return [];
  return [
    {
      code: "QUOTA",
      message: `${needed} elastic addresses are needed for NAT gateways, ${left} of ${limit} are left`,
      hint: "ask for more in the console of Service Quotas (EC2-VPC Elastic IPs), or set natGateways: one",
    },
  ];
}

async function offeringFindings(
  ask: AskEc2,
  ctx: CallContext,
  made: readonly PlannedStep[],
): Promise<PreflightFinding[]> {
  const wanted = new Map<string, Set<string>>();
  for (const { kind, wanted: inputs = {} } of made) {
    if (kind !== "AwsInstance") continue;
    for (const { instanceType, zone } of [inputs, ...alternativesOf(inputs)]) {
      if (typeof instanceType !== "string") continue;
      const zones = wanted.get(instanceType) ?? new Set();
      wanted.set(instanceType, typeof zone === "string" ? zones.add(zone) : zones);
    }
  }
  const found: PreflightFinding[] = [];
  for (const [instanceType, zones] of wanted) {
    const offered = await zonesWith(ask, ctx, instanceType);
    const missing = [...zones].filter((zone) => !offered.includes(zone));
    if (missing.length === 0) continue;
    found.push({
      code: "INVALID_INPUT",
      message: `instance type ${instanceType} is not offered in ${missing.join(", ")}`,
      hint:
        offered.length === 0
          ? "name another instanceType"
          : `name another instanceType, or zones of ${offered.join(", ")}`,
    });
  }
  return found;
}

async function zonesWith(ask: AskEc2, ctx: CallContext, instanceType: string): Promise<string[]> {
  const Filters = filters({ "instance-type": [instanceType] });
  const zones: string[] = [];
  let NextToken: string | undefined;
  do {
    const answer = await ask(ctx, "DescribeInstanceTypeOfferings", (ec2, options) =>
      ec2.describeInstanceTypeOfferings(
        { LocationType: "availability-zone", Filters, NextToken },
        options,
      ),
    );
    for (const { Location } of answer.InstanceTypeOfferings ?? []) zones.push(Location ?? "");
    ({ NextToken } = answer);
  } while (NextToken !== undefined && NextToken !== "");
  return zones.sort();
}
