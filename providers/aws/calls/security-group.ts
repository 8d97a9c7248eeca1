import type { IpPermission, SecurityGroup, SecurityGroupRule } from "@aws-sdk/client-ec2";
import type { JsonObject } from "../../../src/api/json.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import { CapstanError } from "../../../src/api/error.js";
import { present } from "../../../src/provider/host-spec.js";
import type { CallContext, Found } from "../../../src/provider/port.js";
import { addedRules, addedRulesField, revokeAdded } from "./added-rules.js";
import { ifThere } from "./ask.js";
import {
  type AskEc2,
  type Ec2Kind,
  filters,
  lookingCalls,
  madeBefore,
  madeOnce,
  must,
  tagged,
  text,
  updateTags,
} from "./ec2-kind.js";
import type { AskAws } from "./elb-kind.js";
import { deleteGroup } from "./group-deletion.js";
import { clusterTag, shownTags, tagsFor, valueOf, whoOf } from "./marks.js";

/** The group that controllers in the cluster open for load balancers: they take the only one of a host that bears this tag. */
const openedByControllers = /^lb(-|$)/;

function shownGroup(
  { GroupId, Description = "", VpcId, Tags }: SecurityGroup,
  added?: readonly JsonObject[],
): Found {
  return omitUndefined<Found>({
    id: must(GroupId, "GroupId"),
    who: whoOf(Tags),
    phase: "ready",
    spec: present({
      vpcId: VpcId,
      description: Description,
      [addedRulesField]: added && [...added],
      tags: shownTags(Tags),
    }),
    status: {},
  });
}

function groupKind(ask: AskEc2): Ec2Kind {
  return {
    idFilter: "group-id",
    async page(ctx, query) {
      const answer = await ask(ctx, "DescribeSecurityGroups", (ec2, options) =>
        ec2.describeSecurityGroups({ ...query, MaxResults: 1_000 }, options),
      );
      const { SecurityGroups = [], NextToken } = answer;
      const added = await addedRules(ask, ctx, SecurityGroups);
      const shown = SecurityGroups.map((one) => shownGroup(one, added.get(one.GroupId ?? "")));
      return { resources: shown, next: NextToken };
    },
  };
}

/** A VPC has a name once, and the name is made of the token. */
export function securityGroupCalls(aws: AskAws): MachineCalls {
  const { ec2: ask } = aws;
  const kind = groupKind(ask);
  return {
    ...lookingCalls(ask, kind),
    create(ctx, who, spec) {
      const [GroupName, VpcId] = [`capstan-${who.token}`, text(spec, "vpcId")];
      const more = openedByControllers.test(who.name) ? clusterTag(who) : {};
      const Tags = tagsFor(who, { tags: spec["tags"], more });
      const wanted = {
        GroupName,
        VpcId,
        Description: text(spec, "description"),
        TagSpecifications: [{ ResourceType: "security-group" as const, Tags }],
      };
      const made = ask(ctx, "CreateSecurityGroup", (ec2, options) =>
        ec2.createSecurityGroup(wanted, options),
      ).then(({ GroupId }) => ({
        ...shownGroup(omitUndefined({ ...wanted, GroupId, Tags })),
        who,
      }));
      return madeOnce("AwsSecurityGroup", made, () =>
        madeBefore(kind, ctx, who, {
          Filters: filters({ "vpc-id": [VpcId], "group-name": [GroupName] }),
        }),
      );
    },
    async update(ctx, current, spec) {
      await revokeAdded(ask, ctx, current);
      await updateTags(ask, ctx, current, spec);
      return { ...current, spec };
    },
    remove: (ctx, { id, who: { clusterUid } }) =>
      deleteGroup(aws, ctx, id, (tags) => whoOf(tags)?.clusterUid === clusterUid),
  };
}

/** A filter takes so many values. Source: EC2 API reference, "Filter". */
const mostValues = 200;

/** What stands for the ports of a protocol that has none. */
const noPort = -1;

/** On a rule that lets a public host in: the id of its instance. EC2 shows the address alone. */
const instanceKey = "capstan:instance";

/** `addresses`: public ones of instances that have one now, by id. A rule for another address is shown by its range, which is drift. */
function shownRule(rule: SecurityGroupRule, addresses: PublicAddresses): Found {
  const { SecurityGroupRuleId, GroupId, IpProtocol, FromPort, ToPort, Tags } = rule;
  const instanceId = valueOf(Tags ?? [], instanceKey);
  const range = instanceId === undefined ? undefined : addresses.get(instanceId);
  const isRight = instanceId !== undefined && (range ?? rule.CidrIpv4) === rule.CidrIpv4;
  return omitUndefined<Found>({
    id: must(SecurityGroupRuleId, "SecurityGroupRuleId"),
    who: whoOf(Tags),
    phase: "ready",
    spec: present({
      groupId: GroupId,
      protocol: IpProtocol,
      fromPort: FromPort ?? noPort,
      toPort: ToPort ?? noPort,
      cidr: isRight ? undefined : rule.CidrIpv4,
      instanceId: isRight ? instanceId : undefined,
      sourceGroupId: rule.ReferencedGroupInfo?.GroupId,
    }),
    status: {},
  });
}

function ruleKind(ask: AskEc2): Ec2Kind {
  return {
    idFilter: "security-group-rule-id",
    async page(ctx, query) {
      const answer = await ask(ctx, "DescribeSecurityGroupRules", (ec2, options) =>
        ec2.describeSecurityGroupRules({ ...query, MaxResults: 1_000 }, options),
      );
      const { SecurityGroupRules = [], NextToken } = answer;
      const hosts = SecurityGroupRules.flatMap(
        ({ Tags }) => valueOf(Tags ?? [], instanceKey) ?? [],
      );
      const addresses = await publicAddresses(ask, ctx, hosts);
      const resources = SecurityGroupRules.map((rule) => shownRule(rule, addresses));
      return { resources, next: NextToken };
    },
  };
}

/** Ranges of one address each, by the ids of instances. */
type PublicAddresses = ReadonlyMap<string, string>;

/** Of the instances among these that have a public address now. */
async function publicAddresses(
  ask: AskEc2,
  ctx: CallContext,
  ids: readonly string[],
): Promise<PublicAddresses> {
  const found = new Map<string, string>();
  for (let from = 0; from < ids.length; from += mostValues) {
    const Filters = filters({ "instance-id": ids.slice(from, from + mostValues) });
    const { Reservations = [] } = await ask(ctx, "DescribeInstances", (ec2, options) =>
      ec2.describeInstances({ Filters }, options),
    );
    for (const { InstanceId = "", PublicIpAddress } of Reservations.flatMap(
      ({ Instances = [] }) => Instances,
    )) {
      if ((PublicIpAddress ?? "") !== "") found.set(InstanceId, `${String(PublicIpAddress)}/32`);
    }
  }
  return found;
}

/** The range that a rule lets in. Throws NOT_YET_USABLE for an instance that has no public address yet: EC2 gives it after the launch. */
async function rangeOf(
  ask: AskEc2,
  ctx: CallContext,
  { cidr, instanceId }: JsonObject,
): Promise<string | undefined> {
  if (typeof instanceId !== "string") return typeof cidr === "string" ? cidr : undefined;
  const range = (await publicAddresses(ask, ctx, [instanceId])).get(instanceId);
  if (range !== undefined) return range;
  throw new CapstanError({
    code: "NOT_YET_USABLE",
    source: "cloud",
    message: `instance ${instanceId} has no public address`,
    hint: "EC2 gives it one when it runs",
  });
}

/** A group has the same rule once: whoever has made it is compared by the token. Rules that others add are a matter of the group. */
export function securityGroupRuleCalls(ask: AskEc2): MachineCalls {
  const kind = ruleKind(ask);
  return {
    ...lookingCalls(ask, kind),
    async create(ctx, who, spec) {
      const GroupId = text(spec, "groupId");
      const { instanceId } = spec;
      const more = typeof instanceId === "string" ? { [instanceKey]: instanceId } : {};
      const wanted = {
        GroupId,
        IpPermissions: [permissionOf(spec, who.name, await rangeOf(ask, ctx, spec))],
        ...tagged("security-group-rule", who, { more }),
      };
      const made = ask(ctx, "AuthorizeSecurityGroupIngress", (ec2, options) =>
        ec2.authorizeSecurityGroupIngress(wanted, options),
      ).then(({ SecurityGroupRules = [] }) => {
        const [rule] = SecurityGroupRules;
        return { ...shownRule(must(rule, "SecurityGroupRules"), new Map()), who, spec };
      });
      return madeOnce("AwsSecurityGroupRule", made, () =>
        madeBefore(kind, ctx, who, { Filters: filters({ "group-id": [GroupId] }) }),
      );
    },
    remove: (ctx, { id, spec }) =>
      ifThere(
        ask(ctx, "RevokeSecurityGroupIngress", (ec2, options) =>
          ec2.revokeSecurityGroupIngress(
            { GroupId: text(spec, "groupId"), SecurityGroupRuleIds: [id] },
            options,
          ),
        ),
      ),
  };
}

function permissionOf(
  spec: JsonObject,
  Description: string,
  range: string | undefined,
): IpPermission {
  const { protocol, fromPort, toPort, sourceGroupId } = spec;
  return omitUndefined<IpPermission>({
    IpProtocol: String(protocol),
    FromPort: Number(fromPort),
    ToPort: Number(toPort),
    IpRanges: range === undefined ? undefined : [{ CidrIp: range, Description }],
    UserIdGroupPairs:
      typeof sourceGroupId === "string" ? [{ GroupId: sourceGroupId, Description }] : undefined,
  });
}
