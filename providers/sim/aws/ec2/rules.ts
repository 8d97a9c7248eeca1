// Rules of security groups.

import { ApiError, invalidValue, missingParameter } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { WireObject } from "../protocol/xml.js";
import { type Handler, newId, type Scope } from "../model/scope.js";
import type { GroupRow, RuleRow } from "../model/tables.js";
import { groupNamed, rulesOf } from "./group-rows.js";
import { mustGet, notFound } from "./kinds.js";
import { describer } from "./listing.js";
import { isSameRule, ruleText, type RuleWish, ruleWishes, wholeRule } from "./permissions.js";
import { tagSet, tagsOfNew } from "./tagging.js";
import { ec2Arn } from "./zones.js";

function authorize(isEgress: boolean): Handler {
  return (scope, params) => {
    const group = groupOf(scope, params, isEgress);
    const wishes = ruleWishes(scope, params, group.vpcId);
    const tags = tagsOfNew(scope, params, "rules");
    checkNew(scope, group, wishes, isEgress);
    const rows = wishes.map((wish): RuleRow => ({
      id: newId(scope, "sgr"),
      groupId: group.id,
      isEgress,
      tags,
      ...wish,
    }));
    for (const row of rows) scope.db.put("rules", row);
    return { return: true, securityGroupRuleSet: rows.map((row) => ruleWire(row, scope)) };
  };
}

/** Throws for rules that the group has already, that are named twice, or that are too many. */
function checkNew(
  scope: Scope,
  group: GroupRow,
  wishes: readonly RuleWish[],
  isEgress: boolean,
): void {
  if (wishes.length === 0) {
    throw new ApiError(
      "MissingParameter",
      "Either 'ipPermissions' or 'securityGroupRuleIds' should be provided.",
    );
  }
  if (wishes.some((wish, index) => wishes.slice(0, index).some((one) => isSameRule(one, wish)))) {
    throw invalidValue("The same permission must not appear multiple times");
  }
  const rules = rulesOf(scope, group.id).filter((rule) => rule.isEgress === isEgress);
  const known = wishes.find((wish) => rules.some((rule) => isSameRule(rule, wish)));
  if (known !== undefined) {
    throw duplicate(known);
  }
  if (rules.length + wishes.length > scope.settings.quotas.rulesPerGroup) {
    throw new ApiError(
      "RulesPerSecurityGroupLimitExceeded",
      "The maximum number of rules per security group has been reached.",
    );
  }
}

function revoke(isEgress: boolean): Handler {
  return (scope, params) => {
    const group = groupOf(scope, params, isEgress);
    const rules = rulesOf(scope, group.id).filter((rule) => rule.isEgress === isEgress);
    const ids = params.texts("SecurityGroupRuleId");
    const wishes = ruleWishes(scope, params, group.vpcId);
    const byId = ids.map((id) => rules.find((rule) => rule.id === id));
    const byWish = wishes.map((wish) => rules.find((rule) => isSameRule(rule, wish)));
    if (byId.includes(undefined)) {
      throw new ApiError(
        "InvalidSecurityGroupRuleId.NotFound",
        `The specified rule does not exist in this security group.`,
      );
    }
    if (byWish.includes(undefined)) {
      throw new ApiError(
        "InvalidPermission.NotFound",
        "The specified rule does not exist in this security group.",
      );
    }
    const gone = [...byId, ...byWish].flatMap((rule) => rule ?? []);
    for (const { id } of gone) scope.db.remove("rules", id);
    return { return: true, revokedSecurityGroupRuleSet: gone.map(revokedWire) };
  };
}

/** Egress rules are of a group with an id; those of ingress may name a group of the default VPC. */
function groupOf(scope: Scope, params: Params, isEgress: boolean): GroupRow {
  if (isEgress) return mustGet(scope, "groups", params.required("GroupId"));
  return groupNamed(scope, params.text("GroupId"), params.text("GroupName"));
}

function describe(isEgress: boolean): Handler {
  return (scope, params) => {
    const group = groupOf(scope, params, isEgress);
    const rules = rulesOf(scope, group.id).filter((rule) => rule.isEgress === isEgress);
    for (const wish of ruleWishes(scope, params, group.vpcId)) {
      const rule = rules.find((one) => isSameRule(one, wish));
      if (rule === undefined) {
        throw new ApiError(
          "InvalidPermission.NotFound",
          "The specified rule does not exist in this security group.",
        );
      }
      scope.db.put("rules", { ...rule, ...wish });
    }
    return { return: true };
  };
}

/** Whole rules take the place of those with their ids. */
const modifySecurityGroupRules: Handler = (scope, params) => {
  const group = mustGet(scope, "groups", params.required("GroupId"));
  for (const update of params.objects("SecurityGroupRule")) {
    const row = mustGet(scope, "rules", update.required("SecurityGroupRuleId"));
    if (row.groupId !== group.id) throw notFound("rules", row.id);
    const asked = update.object("SecurityGroupRule");
    if (asked === undefined) throw missingParameter("SecurityGroupRule.SecurityGroupRule");
    const wish = wholeRule(scope, asked, group.vpcId);
    const others = rulesOf(scope, group.id).filter(
      ({ id, isEgress }) => id !== row.id && isEgress === row.isEgress,
    );
    if (others.some((rule) => isSameRule(rule, wish))) throw duplicate(wish);
    const { id, groupId, isEgress, tags } = row;
    scope.db.put("rules", { id, groupId, isEgress, tags, ...wish });
  }
  return { return: true };
};

function duplicate(wish: RuleWish): ApiError {
  return new ApiError(
    "InvalidPermission.Duplicate",
    `the specified rule "${ruleText(wish)}" already exists`,
  );
}

function ruleWire(row: RuleRow, scope: Scope): WireObject {
  const { id, groupId, isEgress, protocol, fromPort, toPort, peer, description, tags } = row;
  const value = (kind: string) => (peer.kind === kind ? peer.value : undefined);
  return {
    securityGroupRuleId: id,
    securityGroupRuleArn: ec2Arn(scope, "security-group-rule", id),
    groupId,
    groupOwnerId: scope.account,
    isEgress,
    ipProtocol: protocol,
    fromPort,
    toPort,
    cidrIpv4: value("cidr"),
    cidrIpv6: value("cidr6"),
    prefixListId: value("prefixList"),
    referencedGroupInfo:
      peer.kind === "group" ? { groupId: peer.value, userId: scope.account } : undefined,
    description,
    tagSet: tagSet(tags),
  };
}

function revokedWire(row: RuleRow): WireObject {
  const { id, groupId, isEgress, protocol, fromPort, toPort, peer, description } = row;
  const value = (kind: string) => (peer.kind === kind ? peer.value : undefined);
  return {
    securityGroupRuleId: id,
    groupId,
    isEgress,
    ipProtocol: protocol,
    fromPort,
    toPort,
    cidrIpv4: value("cidr"),
    cidrIpv6: value("cidr6"),
    prefixListId: value("prefixList"),
    referencedGroupId: value("group"),
    description,
  };
}

export const ruleLooks = {
  DescribeSecurityGroupRules: describer({
    table: "rules",
    ids: "SecurityGroupRuleId",
    set: "securityGroupRuleSet",
    filters: {
      "group-id": ({ groupId }) => [groupId],
      "security-group-rule-id": ({ id }) => [id],
    },
    wire: ruleWire,
  }),
};
export const ruleChanges = {
  AuthorizeSecurityGroupIngress: authorize(false),
  AuthorizeSecurityGroupEgress: authorize(true),
  RevokeSecurityGroupIngress: revoke(false),
  RevokeSecurityGroupEgress: revoke(true),
  ModifySecurityGroupRules: modifySecurityGroupRules,
  UpdateSecurityGroupRuleDescriptionsIngress: describe(false),
  UpdateSecurityGroupRuleDescriptionsEgress: describe(true),
};
