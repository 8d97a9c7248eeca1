import type { NetworkInterface, SecurityGroup } from "@aws-sdk/client-ec2";
import { CapstanError, isCapstanError } from "../../../src/api/error.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { CallContext } from "../../../src/provider/port.js";
import { ifThere } from "./ask.js";
import { type AskEc2, filters } from "./ec2-kind.js";
import { type AskAws, classicTagsOfAll, tagsOfAll } from "./elb-kind.js";
import { describedBalancers } from "./load-balancer.js";
import { controllerAdvice, type ControllerMade, controllerMade } from "./leftover-owner.js";
import type { Tag } from "./marks.js";

/** What may stand in the way of a deletion: filters of what uses the resource. */
interface Users {
  /** Of network interfaces, e.g. "group-id". */
  readonly interfaces?: string;
  /** Of security groups whose rules name it; a group that fits several is named once. */
  readonly groups?: readonly string[];
  /** Of what else a VPC holds. */
  readonly insideVpc?: true;
}

/** Something that stands in the way, and who has made it, as far as its tags tell. */
interface Blocker {
  readonly text: string;
  readonly made?: ControllerMade;
}

/**
 * Deletes what may be gone already. "DependencyViolation" says nothing of what stands in the way, so that is looked up:
 * IN_USE with names that people find in the console, who has made it, and what they can do.
 */
export async function removed(
  aws: AskAws,
  ctx: CallContext,
  id: string,
  { deletion, users }: { readonly deletion: () => Promise<unknown>; readonly users: Users },
): Promise<void> {
  try {
    await ifThere(deletion());
  } catch (error) {
    if (!isCapstanError(error) || error.code !== "IN_USE") throw error;
    const found = await blockersOf(aws, ctx, id, users);
    // Few are named: first those of which somebody knows what to do about them.
    const [known, others] = [true, false].map((isKnown) =>
      found.filter(({ made }) => (made !== undefined) === isKnown),
    ) as [Blocker[], Blocker[]];
    const blockedBy = [...known, ...others].map(({ text }) => text);
    const { code, source, message } = error;
    const hint = controllerAdvice(known.flatMap(({ made }) => made ?? []));
    throw new CapstanError(omitUndefined({ code, source, message, blockedBy, hint, cause: error }));
  }
}

async function blockersOf(
  aws: AskAws,
  ctx: CallContext,
  id: string,
  { interfaces, groups = [], insideVpc }: Users,
): Promise<Blocker[]> {
  const { ec2 } = aws;
  const found: Blocker[] = [];
  if (interfaces !== undefined) {
    const Filters = filters({ [interfaces]: [id] });
    const { NetworkInterfaces = [] } = await ec2(
      ctx,
      "DescribeNetworkInterfaces",
      (client, options) => client.describeNetworkInterfaces({ Filters }, options),
    );
    found.push(...(await interfaceBlockers(aws, ctx, NetworkInterfaces)));
  }
  const naming = new Map<string, Blocker>();
  for (const filter of groups) {
    const Filters = filters({ [filter]: [id] });
    const { SecurityGroups = [] } = await ec2(ctx, "DescribeSecurityGroups", (client, options) =>
      client.describeSecurityGroups({ Filters }, options),
    );
    for (const group of SecurityGroups) {
      // Rules that name their own group go with it.
      if (group.GroupId === id) continue;
      naming.set(group.GroupId ?? "", groupBlocker(group, "rules of "));
    }
  }
  found.push(...naming.values());
  if (insideVpc === true) found.push(...(await insideOf(ec2, ctx, id)));
  return found;
}

/** A load balancer whose interfaces are in the way. */
interface BlockingBalancer {
  readonly kind: "load balancer" | "classic load balancer";
  readonly name: string;
  readonly interfaces: readonly NetworkInterface[];
}

/** Those of one load balancer are one blocker: it is what people know and can delete. */
async function interfaceBlockers(
  aws: AskAws,
  ctx: CallContext,
  interfaces: readonly NetworkInterface[],
): Promise<Blocker[]> {
  const balancers = new Map<string, BlockingBalancer>();
  const others: Blocker[] = [];
  for (const one of interfaces) {
    const named = balancerNamedBy(one);
    if (named === undefined) {
      others.push(interfaceBlocker(one));
      continue;
    }
    const key = `${named.kind} ${named.name}`;
    const { interfaces: known = [] } = balancers.get(key) ?? {};
    balancers.set(key, { ...named, interfaces: [...known, one] });
  }
  const found: Blocker[] = [];
  for (const one of balancers.values()) found.push(...(await balancerBlockers(aws, ctx, one)));
  return [...found, ...others];
}

/**
 * "web" of "ELB net/web/50dc6c495c0c9188": so the service describes what it has made. "ELB web" is the one of a classic
 * load balancer.
 */
function balancerNamedBy({
  Description = "",
}: NetworkInterface): Omit<BlockingBalancer, "interfaces"> | undefined {
  const [, name, classicName] =
    /^ELB (?:(?:net|app|gwy)\/([^/]+)\/.*|([A-Za-z0-9-]+))$/.exec(Description) ?? [];
  if (name !== undefined) return { kind: "load balancer", name };
  return classicName === undefined
    ? undefined
    : { kind: "classic load balancer", name: classicName };
}

async function balancerBlockers(
  aws: AskAws,
  ctx: CallContext,
  balancer: BlockingBalancer,
): Promise<Blocker[]> {
  const { kind, name, interfaces } = balancer;
  const made = await makerOfBalancer(aws, ctx, balancer);
  if (made === undefined) return interfaces.map(interfaceBlocker);
  const ids = interfaces.map(({ NetworkInterfaceId = "" }) => NetworkInterfaceId).join(", ");
  return [{ text: `${kind} ${name}, ${made.text} (${ids})`, made }];
}

/** Undefined for one that is gone, too. What cannot be found out hides no refusal. */
async function makerOfBalancer(
  aws: AskAws,
  ctx: CallContext,
  balancer: BlockingBalancer,
): Promise<ControllerMade | undefined> {
  try {
    return controllerMade({ tags: await tagsOfBalancer(aws, ctx, balancer) });
  } catch (error) {
    ctx.signal.throwIfAborted();
    if (!isCapstanError(error)) throw error;
    return undefined;
  }
}

async function tagsOfBalancer(
  { elb, classicElb }: AskAws,
  ctx: CallContext,
  { kind, name }: BlockingBalancer,
): Promise<readonly Tag[]> {
  if (kind === "classic load balancer") {
    return (await classicTagsOfAll(classicElb, ctx, [name])).get(name) ?? [];
  }
  const { items } = await describedBalancers(elb, ctx, { Names: [name] });
  const arns = items.map(({ LoadBalancerArn = "" }) => LoadBalancerArn);
  const [tags = []] = (await tagsOfAll(elb, ctx, arns)).values();
  return tags;
}

function interfaceBlocker(one: NetworkInterface): Blocker {
  return blocker(interfaceText(one), controllerMade({ tags: one.TagSet ?? [] }));
}

/** "eni-12 (ELB net/web/1)": the description says who made it where that is a service of AWS. */
export function interfaceText(one: NetworkInterface): string {
  const { NetworkInterfaceId = "", Description = "", Attachment, RequesterId } = one;
  const owner =
    Description !== ""
      ? Description
      : (Attachment?.InstanceId ?? RequesterId ?? Attachment?.InstanceOwnerId ?? "");
  return owner === "" ? NetworkInterfaceId : `${NetworkInterfaceId} (${owner})`;
}

function groupBlocker(
  { GroupId = "", GroupName = "", Description = "", Tags = [] }: SecurityGroup,
  what = "",
): Blocker {
  const facts = { tags: Tags, group: { name: GroupName, description: Description } };
  return blocker(`${what}${GroupId} (${GroupName})`, controllerMade(facts));
}

function blocker(text: string, made: ControllerMade | undefined): Blocker {
  return made === undefined ? { text } : { text: `${text}, ${made.text}`, made };
}

async function insideOf(ask: AskEc2, ctx: CallContext, vpcId: string): Promise<Blocker[]> {
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
    ...Subnets.map(({ SubnetId = "" }) => ({ text: SubnetId })),
    ...InternetGateways.map(({ InternetGatewayId = "" }) => ({ text: InternetGatewayId })),
    ...groups.map((group) => groupBlocker(group)),
  ];
}
