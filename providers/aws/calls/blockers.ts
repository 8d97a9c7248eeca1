import type { NetworkInterface } from "@aws-sdk/client-ec2";
import { CapstanError, isCapstanError } from "../../../src/api/error.js";
import type { CallContext } from "../../../src/provider/port.js";
import { ifThere } from "./ask.js";
import { type AskEc2, filters } from "./ec2-kind.js";

/** What may stand in the way of a deletion: filters of what uses the resource. */
interface Users {
  /** Of network interfaces, e.g. "group-id". */
  readonly interfaces?: string;
  /** Of security groups whose rules name it. */
  readonly groups?: string;
  /** Of what else a VPC holds. */
  readonly insideVpc?: true;
}

/**
 * Deletes what may be gone already. "DependencyViolation" says nothing of what stands in the way, so that is looked up:
 * IN_USE with names that people find in the console.
 */
export async function removed(
  ask: AskEc2,
  ctx: CallContext,
  id: string,
  { deletion, users }: { readonly deletion: () => Promise<unknown>; readonly users: Users },
): Promise<void> {
  try {
    await ifThere(deletion());
  } catch (error) {
    if (!isCapstanError(error) || error.code !== "IN_USE") throw error;
    const blockedBy = await blockersOf(ask, ctx, id, users);
    const { code, source, message } = error;
    throw new CapstanError({ code, source, message, blockedBy, cause: error });
  }
}

async function blockersOf(
  ask: AskEc2,
  ctx: CallContext,
  id: string,
  { interfaces, groups, insideVpc }: Users,
): Promise<string[]> {
  const found: string[] = [];
  if (interfaces !== undefined) {
    const Filters = filters({ [interfaces]: [id] });
    const { NetworkInterfaces = [] } = await ask(ctx, "DescribeNetworkInterfaces", (ec2, options) =>
      ec2.describeNetworkInterfaces({ Filters }, options),
    );
    found.push(...NetworkInterfaces.map(interfaceText));
  }
  if (groups !== undefined) {
    const Filters = filters({ [groups]: [id] });
    const { SecurityGroups = [] } = await ask(ctx, "DescribeSecurityGroups", (ec2, options) =>
      ec2.describeSecurityGroups({ Filters }, options),
    );
    found.push(
      ...SecurityGroups.map(
        ({ GroupId, GroupName }) => `rules of ${GroupId ?? ""} (${GroupName ?? ""})`,
      ),
    );
  }
  if (insideVpc === true) found.push(...(await insideOf(ask, ctx, id)));
  return found;
}

/** "eni-12 (ELB net/web/1)": the description says who made it where that is a service of AWS. */
function interfaceText(one: NetworkInterface): string {
  const { NetworkInterfaceId = "", Description = "", Attachment, RequesterId } = one;
  const owner =
    Description !== ""
      ? Description
      : (Attachment?.InstanceId ?? RequesterId ?? Attachment?.InstanceOwnerId ?? "");
  return owner === "" ? NetworkInterfaceId : `${NetworkInterfaceId} (${owner})`;
}

async function insideOf(ask: AskEc2, ctx: CallContext, vpcId: string): Promise<string[]> {
  const Filters = filters({ "vpc-id": [vpcId] });
  const { Subnets = [] } = await ask(ctx, "DescribeSubnets", (ec2, options) =>
    ec2.describeSubnets({ Filters }, options),
  );
  const { SecurityGroups = [] } = await ask(ctx, "DescribeSecurityGroups", (ec2, options) =>
    ec2.describeSecurityGroups({ Filters }, options),
  );
  const attached = filters({ "attachment.vpc-id": [vpcId] });
  const { InternetGateways = [] } = await ask(ctx, "DescribeInternetGateways", (ec2, options) =>
    ec2.describeInternetGateways({ Filters: attached }, options),
  );
  const groups = SecurityGroups.filter(({ GroupName }) => GroupName !== "default");
  return [
    ...Subnets.map(({ SubnetId = "" }) => SubnetId),
    ...InternetGateways.map(({ InternetGatewayId = "" }) => InternetGatewayId),
    ...groups.map(({ GroupId = "", GroupName = "" }) => `${GroupId} (${GroupName})`),
  ];
}
