// Security groups.

import { ApiError, dependencyViolation, invalidValue } from "../protocol/api-error.js";
import type { WireObject } from "../protocol/xml.js";
import type { Handler, Scope } from "../model/scope.js";
import type { GroupRow, RuleRow } from "../model/tables.js";
import { groupNamed, addGroup, rulesOf, vpcOf } from "./group-rows.js";
import { describeRows, type Filters, rowsOf } from "./listing.js";
import { permissionsOf } from "./permissions.js";
import { tagSet, tagsOfNew } from "./tagging.js";
import { ec2Arn } from "./zones.js";

const textForm = /^[a-zA-Z0-9. _\-:/()#,@[\]+=&;{}!$*]{1,255}$/;

const createSecurityGroup: Handler = (scope, params) => {
  const name = params.required("GroupName");
  const description = params.required("GroupDescription");
  const vpcId = vpcOf(scope, params.text("VpcId"));
  if (!textForm.test(name) || name.startsWith("sg-")) {
    throw invalidValue(
      `Value (${name}) for parameter GroupName is invalid. Character sets beyond ASCII are not supported, and it may not start with sg-.`,
    );
  }
  if (!textForm.test(description)) {
    throw invalidValue(
      "Invalid security group description. Valid descriptions are strings less than 256 characters from the following set:  a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*",
    );
  }
  const groups = scope.db.all("groups");
  if (groups.some((one) => one.vpcId === vpcId && one.name === name)) {
    throw new ApiError(
      "InvalidGroup.Duplicate",
      `The security group '${name}' already exists for VPC '${vpcId}'`,
    );
  }
  if (groups.length >= scope.settings.quotas.securityGroups) {
    throw new ApiError(
      "SecurityGroupLimitExceeded",
      "The maximum number of security groups has been reached.",
    );
  }
  const tags = tagsOfNew(scope, params, "groups");
  const { id } = addGroup(scope, { vpcId, name, description, tags });
  const securityGroupArn = ec2Arn(scope, "security-group", id);
  return { return: true, groupId: id, tagSet: tagSet(tags), securityGroupArn };
};

const deleteSecurityGroup: Handler = (scope, params) => {
  const { db } = scope;
  const { id, name } = groupNamed(scope, params.text("GroupId"), params.text("GroupName"));
  if (name === "default") {
    throw new ApiError(
      "CannotDelete",
      `the specified group: "${id}" name: "default" cannot be deleted by a user`,
    );
  }
  const isReferenced = db
    .all("rules")
    .some(({ groupId, peer }) => groupId !== id && peer.kind === "group" && peer.value === id);
  const isUsed =
    db.all("interfaces").some(({ groupIds }) => groupIds.includes(id)) ||
    db.all("loadBalancers").some(({ groupIds }) => groupIds.includes(id));
  if (isReferenced || isUsed) throw dependencyViolation(`resource ${id} has a dependent object`);
  for (const rule of rulesOf(scope, id)) db.remove("rules", rule.id);
  db.remove("groups", id);
  return { return: true, groupId: id };
};

const describeSecurityGroups: Handler = (scope, params) => {
  const names = params.texts("GroupName").map((name) => groupNamed(scope, undefined, name).id);
  const rows = rowsOf(scope, "groups", [...params.texts("GroupId"), ...names]);
  return describeRows(scope, params, rows, { set: "securityGroupInfo", filters, wire: wireOf });
};

function wireOf(row: GroupRow, scope: Scope): WireObject {
  const { id, name, description, vpcId, tags } = row;
  const rules = rulesOf(scope, id);
  return {
    ownerId: scope.account,
    groupId: id,
    groupName: name,
    groupDescription: description,
    securityGroupArn: ec2Arn(scope, "security-group", id),
    ipPermissions: permissionsOf(
      scope,
      rules.filter(({ isEgress }) => !isEgress),
    ),
    ipPermissionsEgress: permissionsOf(
      scope,
      rules.filter(({ isEgress }) => isEgress),
    ),
    vpcId,
    tagSet: tagSet(tags),
  };
}

/** Filters that look at the rules of one direction, under names with a prefix. */
function ruleFilters(prefix: string, isEgress: boolean): Filters<GroupRow> {
  const of = (value: (rule: RuleRow) => string | undefined) => (row: GroupRow, scope: Scope) =>
    rulesOf(scope, row.id)
      .filter((rule) => rule.isEgress === isEgress)
      .map(value);
  const peer = (kind: string) =>
    of((rule) => (rule.peer.kind === kind ? rule.peer.value : undefined));
  return {
    [`${prefix}.cidr`]: peer("cidr"),
    [`${prefix}.group-id`]: peer("group"),
    [`${prefix}.from-port`]: of(({ fromPort }) => String(fromPort)),
    [`${prefix}.to-port`]: of(({ toPort }) => String(toPort)),
    [`${prefix}.protocol`]: of(({ protocol }) => protocol),
  };
}

const filters: Filters<GroupRow> = {
  "group-id": ({ id }) => [id],
  "group-name": ({ name }) => [name],
  "vpc-id": ({ vpcId }) => [vpcId],
  description: ({ description }) => [description],
  "owner-id": (_, { account }) => [account],
  ...ruleFilters("ip-permission", false),
  ...ruleFilters("egress.ip-permission", true),
};

export const groupLooks = { DescribeSecurityGroups: describeSecurityGroups };
export const groupChanges = {
  CreateSecurityGroup: createSecurityGroup,
  DeleteSecurityGroup: deleteSecurityGroup,
};
