import type { IpPermission, SecurityGroup, SecurityGroupRule } from "@aws-sdk/client-ec2";
import { isJsonObject, type JsonObject } from "../../../src/api/json.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { CallContext, Identity, Observed } from "../../../src/provider/port.js";
import { eachPage, ifThere } from "./ask.js";
import { type AskEc2, filters } from "./ec2-kind.js";
import { isOfCluster, makerOf } from "./leftover-owner.js";
import { clusterName, isMarked, whoOf } from "./marks.js";

/** The field of a group's spec that holds them. No goal ever has it, so that each of them is a difference. */
export const addedRulesField = "addedRules";

/** A filter takes so many values. Source: EC2 API reference, "Filter". */
const mostGroups = 200;

/**
 * What controllers in a cluster write on rules that they add to groups of its hosts. Sources: cloud-provider-aws
 * (aws_loadbalancer.go, NLBClientRuleDescription and others); aws-load-balancer-controller (networking_manager.go,
 * tgbNetworkingPermissionLabelKey).
 */
const controllersWrite = /^(kubernetes\.io\/rule\/nlb\/\w+=|elbv2\.k8s\.aws\/targetGroupBinding=)/;

/** Whose a group is, of which it may be said what was added to it. */
interface OwnGroup {
  readonly id: string;
  readonly who: Identity;
}

/**
 * Rules that let something in, in groups of ours, and that nobody is known to need: they bear no marks, neither of this
 * cluster nor of another one, and no controller in the cluster has made them. By the group's id. One call for 200 groups, and
 * one more where a rule names a group that somebody else has made.
 */
export async function addedRules(
  ask: AskEc2,
  ctx: CallContext,
  groups: readonly SecurityGroup[],
): Promise<ReadonlyMap<string, readonly JsonObject[]>> {
  const added = await nobodysRules(ask, ctx, groups);
  return new Map([...added].map(([id, rules]) => [id, rules.map(shownRule)]));
}

async function nobodysRules(
  ask: AskEc2,
  ctx: CallContext,
  groups: readonly SecurityGroup[],
): Promise<ReadonlyMap<string, readonly SecurityGroupRule[]>> {
  const own = groups.flatMap(({ GroupId: id, IpPermissions = [], Tags }): OwnGroup[] => {
    const who = whoOf(Tags);
    return id === undefined || who === undefined || IpPermissions.length === 0 ? [] : [{ id, who }];
  });
  const strange = await strangeRules(ask, ctx, own);
  const sources = strange.flatMap(({ rule }) => rule.ReferencedGroupInfo?.GroupId ?? []);
  const known = await groupsOf(ask, ctx, [...new Set(sources)]);
  const added = new Map<string, SecurityGroupRule[]>();
  for (const { rule, group } of strange) {
    const source = known.get(rule.ReferencedGroupInfo?.GroupId ?? "");
    if (source !== undefined && isControllers(source, group)) continue;
    added.set(group.id, [...(added.get(group.id) ?? []), rule]);
  }
  return added;
}

/**
 * Takes out of a group what was shown as added to it, as long as it still is: whatever has got marks or a maker
 * meanwhile, and what has come since, stays.
 */
export async function revokeAdded(
  ask: AskEc2,
  ctx: CallContext,
  { id: GroupId, spec }: Observed,
): Promise<void> {
  const shown = addedIn(spec);
  if (shown.length === 0) return;
  const Filters = filters({ "group-id": [GroupId] });
  const { SecurityGroups = [] } = await ask(ctx, "DescribeSecurityGroups", (ec2, options) =>
    ec2.describeSecurityGroups({ Filters }, options),
  );
  const still = (await nobodysRules(ask, ctx, SecurityGroups)).get(GroupId) ?? [];
  for (const rule of still.filter(({ SecurityGroupRuleId: id = "" }) => shown.includes(id))) {
    // Named by what it lets in, which a group has once: for its id one needs a right to a rule that bears none of our tags.
    const IpPermissions = [permissionOf(rule)];
    await ifThere(
      ask(ctx, "RevokeSecurityGroupIngress", (ec2, options) =>
        ec2.revokeSecurityGroupIngress({ GroupId, IpPermissions }, options),
      ),
    );
  }
}

function permissionOf(rule: SecurityGroupRule): IpPermission {
  const { IpProtocol, FromPort, ToPort, CidrIpv4, CidrIpv6, PrefixListId } = rule;
  const { GroupId, UserId } = rule.ReferencedGroupInfo ?? {};
  return omitUndefined<IpPermission>({
    IpProtocol,
    FromPort,
    ToPort,
    IpRanges: CidrIpv4 === undefined ? undefined : [{ CidrIp: CidrIpv4 }],
    Ipv6Ranges: CidrIpv6 === undefined ? undefined : [{ CidrIpv6 }],
    PrefixListIds: PrefixListId === undefined ? undefined : [{ PrefixListId }],
    UserIdGroupPairs: GroupId === undefined ? undefined : [omitUndefined({ GroupId, UserId })],
  });
}

function addedIn(spec: JsonObject): string[] {
  const shown = spec[addedRulesField];
  if (!Array.isArray(shown)) return [];
  return shown.flatMap((one) =>
    isJsonObject(one) && typeof one["id"] === "string" ? one["id"] : [],
  );
}

async function strangeRules(
  ask: AskEc2,
  ctx: CallContext,
  own: readonly OwnGroup[],
): Promise<{ readonly rule: SecurityGroupRule; readonly group: OwnGroup }[]> {
  const byId = new Map(own.map((group) => [group.id, group]));
  const strange: { rule: SecurityGroupRule; group: OwnGroup }[] = [];
  for (let from = 0; from < own.length; from += mostGroups) {
    const some = own.slice(from, from + mostGroups).map(({ id }) => id);
    const Filters = filters({ "group-id": some });
    const pages = eachPage(async (NextToken) => {
      const answer = await ask(ctx, "DescribeSecurityGroupRules", (ec2, options) =>
        ec2.describeSecurityGroupRules({ Filters, MaxResults: 1_000, NextToken }, options),
      );
      return { rules: answer.SecurityGroupRules ?? [], next: answer.NextToken };
    });
    for await (const { rules } of pages) {
      for (const rule of rules) {
        const group = byId.get(rule.GroupId ?? "");
        if (group !== undefined && isStrange(rule)) strange.push({ rule, group });
      }
    }
  }
  return strange;
}

function isStrange({ IsEgress, Tags = [], Description = "" }: SecurityGroupRule): boolean {
  return IsEgress !== true && !isMarked(Tags) && !controllersWrite.test(Description);
}

/** The cloud controller manager writes nothing on its rules: the load balancer's group that they name is its own. */
function isControllers(
  { GroupName = "", Description = "", Tags = [] }: SecurityGroup,
  { who }: OwnGroup,
) {
  const facts = { tags: Tags, group: { name: GroupName, description: Description } };
  return makerOf(facts) !== undefined && isOfCluster(Tags, clusterName(who));
}

async function groupsOf(
  ask: AskEc2,
  ctx: CallContext,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SecurityGroup>> {
  const found = new Map<string, SecurityGroup>();
  for (let from = 0; from < ids.length; from += mostGroups) {
    const Filters = filters({ "group-id": ids.slice(from, from + mostGroups) });
    const { SecurityGroups = [] } = await ask(ctx, "DescribeSecurityGroups", (ec2, options) =>
      ec2.describeSecurityGroups({ Filters }, options),
    );
    for (const group of SecurityGroups) found.set(group.GroupId ?? "", group);
  }
  return found;
}

/** As plans and drift tell it: "tcp 22 from 0.0.0.0/0". */
function shownRule(rule: SecurityGroupRule): JsonObject {
  const { SecurityGroupRuleId: id = "", IpProtocol = "", FromPort = -1, ToPort = FromPort } = rule;
  const { CidrIpv4, CidrIpv6, PrefixListId, ReferencedGroupInfo } = rule;
  const source = CidrIpv4 ?? CidrIpv6 ?? PrefixListId ?? ReferencedGroupInfo?.GroupId ?? "";
  const protocol = IpProtocol === "-1" ? "everything" : IpProtocol;
  const ports = FromPort === ToPort ? `${FromPort}` : `${FromPort}-${ToPort}`;
  return { id, letsIn: `${protocol}${FromPort === -1 ? "" : ` ${ports}`} from ${source}` };
}
