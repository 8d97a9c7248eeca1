import type { IpPermission, SecurityGroup, SecurityGroupRule } from "@aws-sdk/client-ec2";
import type { JsonObject } from "../../../src/api/json.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import { present } from "../../../src/provider/host-spec.js";
import type { Found } from "../../../src/provider/port.js";
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
import { clusterTag, shownTags, tagsFor, whoOf } from "./marks.js";

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

/** What stands for the ports of a protocol that has none. */
const noPort = -1;

function shownRule(rule: SecurityGroupRule): Found {
  const { SecurityGroupRuleId, GroupId, IpProtocol, FromPort, ToPort, Tags } = rule;
  return omitUndefined<Found>({
    id: must(SecurityGroupRuleId, "SecurityGroupRuleId"),
    who: whoOf(Tags),
    phase: "ready",
    spec: present({
      groupId: GroupId,
      protocol: IpProtocol,
      fromPort: FromPort ?? noPort,
      toPort: ToPort ?? noPort,
      cidr: rule.CidrIpv4,
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
      return { resources: SecurityGroupRules.map(shownRule), next: NextToken };
    },
  };
}

/** A group has the same rule once: whoever has made it is compared by the token. Rules that others add are a matter of the group. */
export function securityGroupRuleCalls(ask: AskEc2): MachineCalls {
  const kind = ruleKind(ask);
  return {
    ...lookingCalls(ask, kind),
    create(ctx, who, spec) {
      const GroupId = text(spec, "groupId");
      const wanted = {
        GroupId,
        IpPermissions: [permissionOf(spec, who.name)],
        ...tagged("security-group-rule", who, {}),
      };
      const made = ask(ctx, "AuthorizeSecurityGroupIngress", (ec2, options) =>
        ec2.authorizeSecurityGroupIngress(wanted, options),
      ).then(({ SecurityGroupRules = [] }) => {
        const [rule] = SecurityGroupRules;
        return { ...shownRule(must(rule, "SecurityGroupRules")), who, spec };
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

function permissionOf(spec: JsonObject, Description: string): IpPermission {
  const { protocol, fromPort, toPort, cidr, sourceGroupId } = spec;
  return omitUndefined<IpPermission>({
    IpProtocol: String(protocol),
    FromPort: Number(fromPort),
    ToPort: Number(toPort),
    IpRanges: typeof cidr === "string" ? [{ CidrIp: cidr, Description }] : undefined,
    UserIdGroupPairs:
      typeof sourceGroupId === "string" ? [{ GroupId: sourceGroupId, Description }] : undefined,
  });
}
