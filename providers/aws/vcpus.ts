import type { ServiceQuotas } from "@aws-sdk/client-service-quotas";
import { isCapstanError } from "../../src/api/error.js";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import type { CallContext, PlannedStep, PreflightFinding } from "../../src/provider/port.js";
import { type Ask, eachPage } from "./calls/ask.js";
import { type AskEc2, filters } from "./calls/ec2-kind.js";

export type AskQuotas = Ask<ServiceQuotas>;

/** A quota of vCPUs: instance types of some families, on demand or spot. */
interface VcpuQuota {
  readonly families: RegExp;
  readonly onDemand: string;
  readonly spot: string;
}

/**
 * By the letters that an instance type begins with; the first that fits counts. Source: Service Quotas, service code "ec2";
 * EC2 user guide, "Amazon EC2 instance type quotas".
 */
const vcpuQuotas: readonly VcpuQuota[] = [
  { families: /^(g|vt)\d/, onDemand: "L-DB2E81BA", spot: "L-3819A6DF" },
  { families: /^inf\d/, onDemand: "L-1945791B", spot: "L-B5D1601B" },
  { families: /^trn\d/, onDemand: "L-2C3B7624", spot: "L-6B0D517C" },
  { families: /^dl\d/, onDemand: "L-6E869C2A", spot: "L-85EED4F7" },
  { families: /^f\d/, onDemand: "L-74FC7D96", spot: "L-88CF9481" },
  { families: /^p\d/, onDemand: "L-417A185B", spot: "L-7212CCBC" },
  { families: /^x\d/, onDemand: "L-7295265B", spot: "L-E3A00192" },
  // A, C, D, H, I, M, R, T and Z, with what follows in their names; not those with quotas of their own.
  { families: /^(a|c|d|h|i|im|is|m|r|t|z)\d/, onDemand: "L-1216C47A", spot: "L-34B43A08" },
];

/** An instance that is there or is to be. */
interface Launch {
  readonly instanceType: string;
  readonly isSpot: boolean;
}

/** Source: Amazon VPC user guide, "Amazon VPC quotas". */
const vpcQuota = { ServiceCode: "vpc", QuotaCode: "L-F678F1CE" } as const;

/** A filter takes so many values. Source: EC2 API reference, "Filter". */
const mostTypes = 200;

/**
 * Whether the account may run what a plan makes: vCPUs of the instances that are to be launched, by quota, beside those that
 * run, whosever they are. Too few are an error, and a warning where instances go as well, since nobody knows here which of them
 * go first. What cannot be found out is a warning: the launch will tell.
 */
export async function vcpuFindings(
  { ec2, quotas }: { readonly ec2: AskEc2; readonly quotas: AskQuotas },
  ctx: CallContext,
  steps: readonly PlannedStep[],
): Promise<PreflightFinding[]> {
  const made = steps.flatMap(({ does, kind, wanted }): Launch[] => {
    const type = wanted?.["instanceType"];
    if (does !== "create" || kind !== "AwsInstance" || typeof type !== "string") return [];
    return [{ instanceType: type, isSpot: wanted?.["spot"] !== undefined }];
  });
  if (made.length === 0) return [];
  const goes = steps.some(({ does, kind }) => does === "delete" && kind === "AwsInstance");
  return unlessUnknown(ctx, "how many vCPUs are left", async () => {
    const running = await runningInstances(ec2, ctx);
    const sizes = await vcpusByType(ec2, ctx, [...made, ...running]);
    const found: PreflightFinding[] = [];
    for (const code of new Set(made.flatMap((one) => quotaCodeOf(one) ?? []))) {
      const [needed = 0, used = 0] = [made, running].map((all) => vcpusOf(all, code, sizes));
      const { limit, name } = await quotaOf(quotas, ctx, { ServiceCode: "ec2", QuotaCode: code });
      const left = Math.max(0, limit - used);
      if (needed > left) found.push(shortage({ needed, left, limit, name, code }, goes));
    }
    return found;
  });
}

/** The quota of VPCs, beside those that are there, whosever they are. */
export async function vpcQuotaFindings(
  { ec2, quotas }: { readonly ec2: AskEc2; readonly quotas: AskQuotas },
  ctx: CallContext,
  created: readonly PlannedStep[],
): Promise<PreflightFinding[]> {
  const needed = created.filter(({ kind }) => kind === "AwsVpc").length;
  if (needed === 0) return [];
  return unlessUnknown(ctx, "how many VPCs are left", async () => {
    const { limit, name } = await quotaOf(quotas, ctx, vpcQuota);
    const { Vpcs = [] } = await ec2(ctx, "DescribeVpcs", (client, options) =>
      client.describeVpcs({ MaxResults: 1_000 }, options),
    );
    const left = Math.max(0, limit - Vpcs.length);
    if (needed <= left) return [];
    return [
      {
        code: "QUOTA" as const,
        message: `${needed} VPC is needed, ${left} of ${limit} are left (${name})`,
        hint: `ask for more in the console of Service Quotas (${vpcQuota.QuotaCode}), or name a VPC that is there by vpc.id`,
      },
    ];
  });
}

/** What cannot be found out is a warning: the call that makes it will tell. */
async function unlessUnknown(
  ctx: CallContext,
  what: string,
  look: () => Promise<PreflightFinding[]>,
): Promise<PreflightFinding[]> {
  try {
    return await look();
  } catch (error) {
    ctx.signal.throwIfAborted();
    if (!isCapstanError(error)) throw error;
    const { code, message, hint } = error;
    const unknown = `cannot tell ${what}: ${message}`;
    return [omitUndefined({ code, message: unknown, hint, severity: "warning" as const })];
  }
}

interface Shortage {
  readonly needed: number;
  readonly left: number;
  readonly limit: number;
  readonly name: string;
  readonly code: string;
}

function shortage({ needed, left, limit, name, code }: Shortage, goes: boolean): PreflightFinding {
  return omitUndefined({
    code: "QUOTA" as const,
    message: `${needed} vCPUs are needed for instances, ${left} of ${limit} are left (${name})`,
    hint: `ask for more in the console of Service Quotas (${code}), or name a smaller instanceType`,
    severity: goes ? ("warning" as const) : undefined,
  });
}

/** undefined: of a family that nobody here knows. Pure. */
function quotaCodeOf({ instanceType, isSpot }: Launch): string | undefined {
  const quota = vcpuQuotas.find(({ families }) => families.test(instanceType));
  return isSpot ? quota?.spot : quota?.onDemand;
}

function vcpusOf(
  launches: readonly Launch[],
  code: string,
  sizes: ReadonlyMap<string, number>,
): number {
  return launches
    .filter((one) => quotaCodeOf(one) === code)
    .reduce((sum, { instanceType }) => sum + (sizes.get(instanceType) ?? 0), 0);
}

async function runningInstances(ask: AskEc2, ctx: CallContext): Promise<Launch[]> {
  const Filters = filters({ "instance-state-name": ["pending", "running"] });
  const pages = eachPage(async (NextToken) => {
    const answer = await ask(ctx, "DescribeInstances", (ec2, options) =>
      ec2.describeInstances({ Filters, MaxResults: 1_000, NextToken }, options),
    );
    return { items: answer.Reservations ?? [], next: answer.NextToken };
  });
  const running: Launch[] = [];
  for await (const { items } of pages) {
    for (const { InstanceType = "", InstanceLifecycle } of items.flatMap(
      ({ Instances = [] }) => Instances,
    )) {
      running.push({ instanceType: InstanceType, isSpot: InstanceLifecycle === "spot" });
    }
  }
  return running;
}

/** By filter: a type that there is not is found by another check, and has none. */
async function vcpusByType(
  ask: AskEc2,
  ctx: CallContext,
  launches: readonly Launch[],
): Promise<ReadonlyMap<string, number>> {
  const types = [...new Set(launches.map(({ instanceType }) => instanceType))];
  const sizes = new Map<string, number>();
  for (let from = 0; from < types.length; from += mostTypes) {
    const Filters = filters({ "instance-type": types.slice(from, from + mostTypes) });
    const pages = eachPage(async (NextToken) => {
      const answer = await ask(ctx, "DescribeInstanceTypes", (ec2, options) =>
        ec2.describeInstanceTypes({ Filters, NextToken }, options),
      );
      return { items: answer.InstanceTypes ?? [], next: answer.NextToken };
    });
    for await (const { items } of pages) {
      for (const { InstanceType = "", VCpuInfo } of items) {
        sizes.set(InstanceType, VCpuInfo?.DefaultVCpus ?? 0);
      }
    }
  }
  return sizes;
}

async function quotaOf(
  ask: AskQuotas,
  ctx: CallContext,
  quota: { readonly ServiceCode: string; readonly QuotaCode: string },
): Promise<{ readonly limit: number; readonly name: string }> {
  const { Quota } = await ask(ctx, "GetServiceQuota", (quotas, options) =>
    quotas.getServiceQuota(quota, options),
  );
  return {
    limit: Quota?.Value ?? Number.POSITIVE_INFINITY,
    name: Quota?.QuotaName ?? quota.QuotaCode,
  };
}
