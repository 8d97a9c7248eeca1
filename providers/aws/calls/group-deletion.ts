import type { IpPermission, SecurityGroup } from "@aws-sdk/client-ec2";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { CallContext } from "../../../src/provider/port.js";
import { eachPage, ifThere } from "./ask.js";
import { removed } from "./blockers.js";
import { type AskEc2, filters } from "./ec2-kind.js";
import type { AskAws } from "./elb-kind.js";
import type { Tag } from "./marks.js";

/** Filters of security groups by the group that their rules name, inbound and outbound. */
const namedBy = { in: "ip-permission.group-id", out: "egress.ip-permission.group-id" } as const;

/**
 * Deletes a security group that may be gone already. AWS refuses that as long as a rule of another group names it. Such a rule
 * leads nowhere once the group is deleted: it is revoked first in every group whose tags `mayChange` accepts. Throws IN_USE with
 * the names of what else is in the way.
 */
export async function deleteGroup(
  aws: AskAws,
  ctx: CallContext,
  GroupId: string,
  mayChange: (tags: readonly Tag[]) => boolean,
): Promise<void> {
  await revokeNaming(aws.ec2, ctx, GroupId, mayChange);
  await removed(aws, ctx, GroupId, {
    deletion: () =>
      aws.ec2(ctx, "DeleteSecurityGroup", (ec2, options) =>
        ec2.deleteSecurityGroup({ GroupId }, options),
      ),
    users: { interfaces: "group-id", groups: [namedBy.in, namedBy.out] },
  });
}

async function revokeNaming(
  ask: AskEc2,
  ctx: CallContext,
  id: string,
  mayChange: (tags: readonly Tag[]) => boolean,
): Promise<void> {
  const isOther = ({ GroupId, Tags = [] }: SecurityGroup) => GroupId !== id && mayChange(Tags);
  for (const group of (await groupsNaming(ask, ctx, namedBy.in, id)).filter(isOther)) {
    const { GroupId, IpPermissions } = group;
    const wanted = { GroupId, IpPermissions: naming(IpPermissions, id) };
    await ifThere(
      ask(ctx, "RevokeSecurityGroupIngress", (ec2, options) =>
        ec2.revokeSecurityGroupIngress(wanted, options),
      ),
    );
  }
  for (const group of (await groupsNaming(ask, ctx, namedBy.out, id)).filter(isOther)) {
    const { GroupId, IpPermissionsEgress } = group;
    const wanted = { GroupId, IpPermissions: naming(IpPermissionsEgress, id) };
    await ifThere(
      ask(ctx, "RevokeSecurityGroupEgress", (ec2, options) =>
        ec2.revokeSecurityGroupEgress(wanted, options),
      ),
    );
  }
}

async function groupsNaming(
  ask: AskEc2,
  ctx: CallContext,
  filter: string,
  id: string,
): Promise<SecurityGroup[]> {
  const found: SecurityGroup[] = [];
  const Filters = filters({ [filter]: [id] });
  const pages = eachPage(async (NextToken) => {
    const answer = await ask(ctx, "DescribeSecurityGroups", (ec2, options) =>
      ec2.describeSecurityGroups({ Filters, MaxResults: 1_000, NextToken }, options),
    );
    return { groups: answer.SecurityGroups ?? [], next: answer.NextToken };
  });
  for await (const { groups } of pages) found.push(...groups);
  return found;
}

/** The part of permissions that names a group, without their other peers. Pure. */
function naming(permissions: readonly IpPermission[] = [], id: string): IpPermission[] {
  return permissions.flatMap(({ IpProtocol, FromPort, ToPort, UserIdGroupPairs = [] }) =>
    UserIdGroupPairs.some(({ GroupId }) => GroupId === id)
      ? [omitUndefined({ IpProtocol, FromPort, ToPort, UserIdGroupPairs: [{ GroupId: id }] })]
      : [],
  );
}
