import { isCapstanError } from "../../src/api/error.js";
import type { JsonObject } from "../../src/api/json.js";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import { unknownValue } from "../../src/api/unknown.js";
import type { CallContext, PlannedStep, PreflightFinding } from "../../src/provider/port.js";
import { type AskEc2, filters, tagged, texts } from "./calls/ec2-kind.js";
import { awsNameOf } from "./calls/errors.js";
import type { AwsCluster } from "./specs/cluster-spec.js";

/** A filter takes so many values. Source: EC2 API reference, "Filter". */
const mostValues = 200;

/**
 * What manifests name, and the account does not have: VPC, subnets and security groups by their ids, instance profiles, key
 * pairs and images. Nothing is asked about a plan that creates nothing, nor about values that a preview of a Pulumi program does not know yet.
 */
export async function namedFindings(
  ask: AskEc2,
  ctx: CallContext,
  created: readonly PlannedStep[],
  cluster: AwsCluster,
): Promise<PreflightFinding[]> {
  if (created.length === 0) return [];
  return [
    ...(await vpcFindings(ask, ctx, cluster)),
    ...(await subnetFindings(ask, ctx, cluster)),
    ...(await groupFindings(ask, ctx, created, cluster)),
    ...(await launchFindings(ask, ctx, created, cluster)),
  ];
}

async function vpcFindings(
  ask: AskEc2,
  ctx: CallContext,
  { vpc, region }: AwsCluster,
): Promise<PreflightFinding[]> {
  const id = known(vpc?.id);
  if (id === undefined) return [];
  const Filters = filters({ "vpc-id": [id] });
  const { Vpcs = [] } = await ask(ctx, "DescribeVpcs", (ec2, options) =>
    ec2.describeVpcs({ Filters }, options),
  );
  return Vpcs.length > 0 ? [] : [missing("VPC", id, region, "correct vpc.id")];
}

async function subnetFindings(
  ask: AskEc2,
  ctx: CallContext,
  { subnets = [], region, vpc }: AwsCluster,
): Promise<PreflightFinding[]> {
  const ids = subnets.flatMap(({ id }) => known(id) ?? []);
  if (ids.length === 0) return [];
  const Filters = filters({ "subnet-id": ids.slice(0, mostValues) });
  const { Subnets = [] } = await ask(ctx, "DescribeSubnets", (ec2, options) =>
    ec2.describeSubnets({ Filters }, options),
  );
  const vpcOf = new Map(Subnets.map(({ SubnetId = "", VpcId = "" }) => [SubnetId, VpcId]));
  return ids.flatMap((id) =>
    placed("subnet", id, vpcOf.get(id), { region, vpc: known(vpc?.id), hint: "correct subnets" }),
  );
}

async function groupFindings(
  ask: AskEc2,
  ctx: CallContext,
  created: readonly PlannedStep[],
  { securityGroups = {}, region, vpc }: AwsCluster,
): Promise<PreflightFinding[]> {
  const ofCluster = Object.values(securityGroups).filter((one) => typeof one === "string");
  const ofHosts = hostsIn(created).flatMap(({ inputs }) => texts(inputs, "groupIds"));
  const ids = [...new Set([...ofCluster, ...ofHosts])].filter((id) => id.startsWith("sg-"));
  if (ids.length === 0) return [];
  const Filters = filters({ "group-id": ids.slice(0, mostValues) });
  const { SecurityGroups = [] } = await ask(ctx, "DescribeSecurityGroups", (ec2, options) =>
    ec2.describeSecurityGroups({ Filters }, options),
  );
  const vpcOf = new Map(SecurityGroups.map(({ GroupId = "", VpcId = "" }) => [GroupId, VpcId]));
  const isNew = created.some(({ kind }) => kind === "AwsVpc");
  const wanted = isNew ? "the VPC that is to be created" : known(vpc?.id);
  const hint = "correct securityGroups of the Cluster or the Machine";
  return ids.flatMap((id) =>
    placed("security group", id, vpcOf.get(id), { region, vpc: wanted, hint }),
  );
}

/** A host that is to be launched. */
interface Launch {
  readonly name: string;
  readonly inputs: JsonObject;
}

function hostsIn(created: readonly PlannedStep[]): Launch[] {
  return created.flatMap(({ kind, name, wanted: inputs = {} }) =>
    kind === "AwsInstance" ? [{ name, inputs }] : [],
  );
}

/**
 * EC2 tells them by a launch that is a dry run: that checks parameters and rights, needs no right of its own, and names the
 * first problem alone, so each profile and each key pair gets a dry run of its own.
 */
async function launchFindings(
  ask: AskEc2,
  ctx: CallContext,
  created: readonly PlannedStep[],
  { region }: AwsCluster,
): Promise<PreflightFinding[]> {
  const fields = ["instanceProfile", "keyName"] as const;
  const found = new Map<string, PreflightFinding>();
  const tried = new Set<string>();
  for (const field of fields) {
    for (const { name, inputs } of hostsIn(created)) {
      const value = inputs[field];
      // EC2 names an unknown image as the first problem, and then nothing else.
      if ([value, inputs["imageId"], inputs["instanceType"]].includes(unknownValue)) continue;
      if (typeof value !== "string" || tried.has(`${field} ${value}`)) continue;
      tried.add(`${field} ${value}`);
      const error = await dryRun(ask, ctx, { name, inputs, field, value });
      const finding = findingOf(error, { field, value, region, imageId: inputs["imageId"] });
      if (finding !== undefined) found.set(finding.message, finding);
    }
  }
  return [...found.values()];
}

/** The error that EC2 always answers with. */
async function dryRun(
  ask: AskEc2,
  ctx: CallContext,
  { name, inputs, field, value }: Launch & { readonly field: string; readonly value: string },
): Promise<unknown> {
  const who = { cluster: "dry-run", clusterUid: "", kind: "AwsInstance", name, token: "dry-run" };
  const wanted = {
    DryRun: true,
    MinCount: 1,
    MaxCount: 1,
    ImageId: String(inputs["imageId"]),
    InstanceType: String(inputs["instanceType"]) as "t3.medium",
    ...(await anySubnet(ask, ctx, inputs)),
    // Policies may allow launches with our marks alone.
    ...tagged("instance", who, {}),
  };
  const own = field === "keyName" ? { KeyName: value } : { IamInstanceProfile: { Name: value } };
  return ask(ctx, "RunInstances", (ec2, options) =>
    ec2.runInstances({ ...wanted, ...own }, options),
  ).then(
    () => undefined,
    (error: unknown) => error,
  );
}

/**
 * A subnet that is there: the host's, or one in its zone, or any. The host's own may not be made yet, and without any subnet EC2
 * takes one of the default VPC, which an account may not have.
 */
async function anySubnet(
  ask: AskEc2,
  ctx: CallContext,
  { subnetId, zone }: JsonObject,
): Promise<{ readonly SubnetId?: string }> {
  const { Subnets = [] } = await ask(ctx, "DescribeSubnets", (ec2, options) =>
    ec2.describeSubnets({}, options),
  );
  const one =
    Subnets.find(({ SubnetId }) => SubnetId === subnetId) ??
    Subnets.find(({ AvailabilityZone }) => AvailabilityZone === zone) ??
    Subnets[0];
  return omitUndefined({ SubnetId: one?.SubnetId });
}

interface Tried {
  readonly field: "instanceProfile" | "keyName";
  readonly value: string;
  readonly region: string;
  readonly imageId: unknown;
}

function findingOf(
  error: unknown,
  { field, value, region, imageId }: Tried,
): PreflightFinding | undefined {
  if (!isCapstanError(error)) return undefined;
  const name = awsNameOf(error);
  if (name === "InvalidKeyPair.NotFound") {
    return missing("key pair", value, region, "import it into the region, or correct keyName");
  }
  if (/^InvalidAMIID\.(NotFound|Malformed|Unavailable)$/.test(name)) {
    return missing("image", String(imageId), region, "correct image");
  }
  const isProfile = name === "InvalidParameterValue" && error.code === "NOT_YET_USABLE";
  if (isProfile && field === "instanceProfile") {
    const hint =
      "create it, as stacks/aws-foundation does, or name another instanceProfile; hostSecrets: userData of the Cluster needs none";
    return { code: "NOT_FOUND", message: `instance profile ${value} does not exist`, hint };
  }
  if (error.code !== "PERMISSION") return undefined;
  const { code, message, hint } = error;
  return omitUndefined({
    code,
    message: `cannot tell whether ${field} ${value} exists: ${message}`,
    hint,
    severity: "warning" as const,
  });
}

interface Place {
  readonly region: string;
  /** The VPC in which it has to be; undefined where that is not known. */
  readonly vpc: string | undefined;
  readonly hint: string;
}

function placed(
  what: string,
  id: string,
  vpcId: string | undefined,
  { region, vpc, hint }: Place,
): PreflightFinding[] {
  if (vpcId === undefined) return [missing(what, id, region, hint)];
  if (vpc === undefined || vpcId === vpc) return [];
  return [{ code: "INVALID_INPUT", message: `${what} ${id} is in ${vpcId}, not in ${vpc}`, hint }];
}

function known(id: string | undefined): string | undefined {
  return id === unknownValue ? undefined : id;
}

function missing(what: string, id: string, region: string, hint: string): PreflightFinding {
  return { code: "NOT_FOUND", message: `${what} ${id} does not exist in ${region}`, hint };
}
