import {
  type AccountTables,
  type AccountRow,
  type Living,
  livingIn,
  marksOf,
  plainName,
} from "./account.js";

/** What a cluster consists of, one line for each resource with what matters of it; names stand for ids. Pure. */
export function linesOf(account: AccountTables, cluster: string): string[] {
  const living = livingIn(account).filter(({ row }) => marksOf(row).cluster === cluster);
  const names = new Map(living.map(({ row }) => [row.id, plainName(marksOf(row).name)]));
  for (const { row } of living.filter(({ table }) => table === "addresses")) {
    names.set(`${text(row["publicIp"])}/32`, `the address of ${names.get(row.id) ?? ""}`);
  }
  const of = (id: unknown) => names.get(String(id)) ?? "somebody else's";
  const peerOf = ({ kind, value }: Peer) =>
    kind === "group" ? of(value) : (names.get(value) ?? value);
  const own = living.flatMap((one) => lineOf(one, { of, peerOf }) ?? []);
  const groups = new Set(
    living.filter(({ table }) => table === "targetGroups").map(({ row }) => row.id),
  );
  const targets = livingIn(account)
    .filter(({ table, row }) => table === "targets" && groups.has(String(row["targetGroupArn"])))
    .map(
      ({ row }) =>
        `target ${of(row["targetId"])}:${text(row["port"])} in ${of(row["targetGroupArn"])}, ${text(row["state"])}`,
    );
  return [...own, ...targets].sort();
}

type NameOf = (id: unknown) => string;

/** Who is let in by a rule: a group, or a range. */
interface Peer {
  readonly kind: string;
  readonly value: string;
}

interface Names {
  readonly of: NameOf;
  readonly peerOf: (peer: Peer) => string;
}

function lineOf({ table, row }: Living, { of, peerOf }: Names): string | undefined {
  // Names of rules say what the rules are.
  if (table === "rules") return ruleText(row, of, peerOf);
  const name = plainName(marksOf(row).name);
  const say = lines[table];
  return say === undefined ? undefined : `${table} ${name}: ${say(row, of)}${tagsText(row)}`;
}

const lines: Readonly<Record<string, (row: AccountRow, of: NameOf) => string>> = {
  vpcs: ({ cidr, dnsSupport, dnsHostnames }) =>
    `${text(cidr)}, dns ${text(dnsSupport)} ${text(dnsHostnames)}`,
  internetGateways: ({ vpcId }, of) => `attached to ${of(vpcId)}`,
  subnets: ({ vpcId, zone, mapPublicIp }, of) =>
    `${of(vpcId)} ${text(zone)}, public ${text(mapPublicIp)}`,
  addresses: ({ associationId }) => `mapped ${associationId !== undefined}`,
  natGateways: ({ subnetId, allocationId, state }, of) =>
    `in ${of(subnetId)} with ${of(allocationId)}, ${text(state)}`,
  routeTables: ({ vpcId, routes, associations }, of) =>
    `${of(vpcId)}, to ${list(routes, routeText(of))}, of ${list(associations, ({ subnetId }) => of(subnetId))}`,
  groups: ({ vpcId, description }, of) => `${of(vpcId)}, ${text(description)}`,
  loadBalancers: ({ scheme, vpcId, subnets, groupIds, attributes }, of) =>
    `${text(scheme)} ${of(vpcId)}, in ${list(subnets, ({ subnetId }) => of(subnetId))}, ${ids(groupIds, of)}, cross zone ${attribute(attributes, "load_balancing.cross_zone.enabled")}`,
  targetGroups: ({ vpcId, port, attributes }, of) =>
    `${of(vpcId)} port ${text(port)}, delay ${attribute(attributes, "deregistration_delay.timeout_seconds")}, client address ${attribute(attributes, "preserve_client_ip.enabled")}`,
  listeners: ({ loadBalancerArn, port, targetGroupArn }, of) =>
    `${of(loadBalancerArn)} port ${text(port)} to ${of(targetGroupArn)}`,
  instances: ({ instanceType, zone, subnetId, state, metadata }, of) => {
    const { httpTokens, httpPutResponseHopLimit } = metadata as Readonly<Record<string, unknown>>;
    return `${text(instanceType)} in ${of(subnetId)} ${text(zone)}, ${text(state)}, tokens ${text(httpTokens)}, hops ${text(httpPutResponseHopLimit)}`;
  },
  volumes: ({ sizeGib, type, encrypted, attachment }, of) => {
    const { instanceId, device, state } = (attachment ?? {}) as Readonly<Record<string, unknown>>;
    return `${text(sizeGib)} GiB ${text(type)}, encrypted ${text(encrypted)}, ${text(state)} to ${of(instanceId)} as ${text(device)}`;
  },
};

function ruleText(
  { groupId, isEgress, protocol, fromPort, toPort, peer }: AccountRow,
  of: NameOf,
  peerOf: Names["peerOf"],
): string {
  const way = isEgress === true ? "out of" : "into";
  return `${way} ${of(groupId)}, ${text(protocol)} ${text(fromPort)}-${text(toPort)} from ${peerOf(peer as Peer)}`;
}

/** Tags that users have set; those of the provider and of Kubernetes follow from what is said otherwise. */
function tagsText({ tags = {} }: Pick<AccountRow, "tags">): string {
  const own = Object.entries(tags).filter(
    ([key]) => !/^(capstan:|kubernetes\.io\/|Name$)/.test(key),
  );
  const told = own.map(([key, value]) => `${key}=${value}`).sort();
  return told.length === 0 ? "" : `, tags ${told.join(" ")}`;
}

function routeText(of: NameOf): (route: AccountRow) => string {
  return ({ destination, target }) => {
    const { kind, id } = target as { readonly kind: string; readonly id: string };
    return kind === "local" ? "local" : `${text(destination)} by ${of(id)}`;
  };
}

function list(values: unknown, say: (row: AccountRow) => string): string {
  return (values as readonly AccountRow[]).map(say).sort().join(" ");
}

function ids(values: unknown, of: NameOf): string {
  return (values as readonly unknown[]).map(of).sort().join(" ");
}

function attribute(values: unknown, name: string): string {
  return text((values as Readonly<Record<string, unknown>>)[name]);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "none");
}
