// Rules of security groups as they are written in calls: permissions with several peers each.

import { ApiError, invalidValue } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { WireObject } from "../protocol/xml.js";
import type { Scope } from "../model/scope.js";
import type { RulePeer, RuleRow } from "../model/tables.js";
import { groupNamed } from "./group-rows.js";
import { mustGet } from "./kinds.js";
import { normalRange } from "./ranges.js";

/** What a rule lets through; two rules of a group with the same are one. */
export type RuleWish = Pick<RuleRow, "protocol" | "fromPort" | "toPort" | "peer"> & {
  readonly description?: string;
};

/** The rules that a call names, one for each peer: of its list of permissions, or of its own parameters. */
export function ruleWishes(scope: Scope, params: Params, vpcId: string): RuleWish[] {
  const lists = params.objects("IpPermissions");
  const wishes = lists.flatMap((list) =>
    peersOf(scope, list, vpcId).map((peer) => ({ ...portsOf(list), ...peer })),
  );
  const cidr = params.text("CidrIp");
  const group = params.text("SourceSecurityGroupName");
  if (cidr === undefined && group === undefined) return wishes;
  const peer: RulePeer =
    cidr === undefined
      ? { kind: "group", value: groupNamed(scope, undefined, group).id }
      : { kind: "cidr", value: normalRange(cidr) };
  return [...wishes, { ...portsOf(params), peer }];
}

/** The one rule that is written as a whole, with one peer. */
export function wholeRule(scope: Scope, rule: Params, vpcId: string): RuleWish {
  const group = rule.text("ReferencedGroupId");
  const cidr = rule.text("CidrIpv4");
  const peers: (RulePeer | undefined)[] = [
    cidr === undefined ? undefined : { kind: "cidr", value: normalRange(cidr) },
    peerOf("cidr6", rule.text("CidrIpv6")),
    peerOf("prefixList", rule.text("PrefixListId")),
    group === undefined ? undefined : { kind: "group", value: inVpc(scope, group, vpcId) },
  ];
  const [peer, ...more] = peers.flatMap((one) => one ?? []);
  if (peer === undefined || more.length > 0) {
    throw invalidValue("A security group rule has exactly one source or destination");
  }
  const description = rule.text("Description");
  return { ...portsOf(rule), peer, ...described(description) };
}

function peerOf(kind: RulePeer["kind"], value: string | undefined): RulePeer | undefined {
  return value === undefined ? undefined : { kind, value };
}

function described(description: string | undefined): Pick<RuleWish, "description"> {
  return description === undefined ? {} : { description: checkedDescription(description) };
}

function peersOf(
  scope: Scope,
  list: Params,
  vpcId: string,
): Pick<RuleWish, "peer" | "description">[] {
  const many = (name: string, peerOf: (one: Params) => RulePeer) =>
    list.objects(name).map((one) => {
      const description = one.text("Description");
      const peer = peerOf(one);
      return description === undefined
        ? { peer }
        : { peer, description: checkedDescription(description) };
    });
  return [
    ...many("IpRanges", (one) => ({ kind: "cidr", value: normalRange(one.required("CidrIp")) })),
    ...many("Ipv6Ranges", (one) => ({ kind: "cidr6", value: one.required("CidrIpv6") })),
    ...many("PrefixListIds", (one) => ({
      kind: "prefixList",
      value: one.required("PrefixListId"),
    })),
    ...many("Groups", (one) => ({ kind: "group", value: peerGroup(scope, one, vpcId) })),
  ];
}

function peerGroup(scope: Scope, pair: Params, vpcId: string): string {
  pair.ignore("UserId", "VpcId");
  const name = pair.text("GroupName");
  const id = pair.text("GroupId") ?? groupNamed(scope, undefined, name).id;
  return inVpc(scope, id, vpcId);
}

function inVpc(scope: Scope, id: string, vpcId: string): string {
  if (mustGet(scope, "groups", id).vpcId === vpcId) return id;
  throw new ApiError(
    "InvalidGroup.NotFound",
    `You have specified two resources that belong to different networks.`,
  );
}

function checkedDescription(text: string): string {
  if (/^[a-zA-Z0-9. _\-:/()#,@[\]+=&;{}!$*]{0,255}$/.test(text)) return text;
  throw invalidValue(
    "Invalid rule description. Valid descriptions are strings less than 256 characters from the following set:  a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*",
  );
}

const protocolNames: Readonly<Record<string, string>> = {
  "1": "icmp",
  "6": "tcp",
  "17": "udp",
  "58": "icmpv6",
  all: "-1",
};

function portsOf(params: Params): Pick<RuleRow, "protocol" | "fromPort" | "toPort"> {
  const asked = params.required("IpProtocol").toLowerCase();
  const protocol = protocolNames[asked] ?? asked;
  const fromPort = params.number("FromPort");
  const toPort = params.number("ToPort");
  if (!/^(tcp|udp|icmp|icmpv6|-1|\d{1,3})$/.test(protocol)) {
    throw new ApiError(
      "InvalidPermission.Malformed",
      `Unsupported IP protocol "${asked}"  - supported: [tcp, udp, icmp, icmpv6, -1, 0-255]`,
    );
  }
  if (!/^(tcp|udp|icmp|icmpv6)$/.test(protocol)) return { protocol, fromPort: -1, toPort: -1 };
  if (fromPort === undefined || toPort === undefined) {
    throw invalidValue(
      "Invalid value 'Must specify both from and to ports with TCP/UDP.' for portRange.",
    );
  }
  const isRange =
    protocol.startsWith("icmp") || (fromPort >= 0 && fromPort <= toPort && toPort <= 65_535);
  if (!isRange) {
    throw invalidValue(`Invalid value '${fromPort}-${toPort}' for portRange.`);
  }
  return { protocol, fromPort, toPort };
}

/** Whether two rules let the same through. */
export function isSameRule(one: RuleWish, other: RuleWish): boolean {
  return (
    one.protocol === other.protocol &&
    one.fromPort === other.fromPort &&
    one.toPort === other.toPort &&
    one.peer.kind === other.peer.kind &&
    one.peer.value === other.peer.value
  );
}

/** As EC2 words a rule in an error. */
export function ruleText({ protocol, fromPort, toPort, peer }: RuleWish): string {
  if (protocol === "-1") return `peer: ${peer.value}, ALL, ALLOW`;
  const ports = fromPort === -1 ? "" : `, from port: ${fromPort}, to port: ${toPort}`;
  return `peer: ${peer.value}, ${protocol.toUpperCase()}${ports}, ALLOW`;
}

/** Rules as permissions: one for each protocol and range of ports, with all of its peers. */
export function permissionsOf(scope: Scope, rules: readonly RuleRow[]): WireObject[] {
  const byPorts = new Map<string, RuleRow[]>();
  for (const rule of rules) {
    const key = `${rule.protocol} ${rule.fromPort} ${rule.toPort}`;
    byPorts.set(key, [...(byPorts.get(key) ?? []), rule]);
  }
  return [...byPorts.values()].map((same) => permissionWire(scope, same));
}

function permissionWire(scope: Scope, rules: readonly RuleRow[]): WireObject {
  const [first] = rules;
  const hasPorts = first !== undefined && first.protocol !== "-1" && !/^\d/.test(first.protocol);
  const peers = (kind: string, wire: (rule: RuleRow) => WireObject) =>
    rules.filter(({ peer }) => peer.kind === kind).map(wire);
  return {
    ipProtocol: first?.protocol,
    fromPort: hasPorts ? first.fromPort : undefined,
    toPort: hasPorts ? first.toPort : undefined,
    groups: peers("group", ({ peer, description }) => ({
      userId: scope.account,
      groupId: peer.value,
      description,
    })),
    ipRanges: peers("cidr", ({ peer, description }) => ({ cidrIp: peer.value, description })),
    ipv6Ranges: peers("cidr6", ({ peer, description }) => ({ cidrIpv6: peer.value, description })),
    prefixListIds: peers("prefixList", ({ peer, description }) => ({
      prefixListId: peer.value,
      description,
    })),
  };
}
