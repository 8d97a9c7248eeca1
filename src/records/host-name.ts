import { nodeKey, type NodeKey } from "../graph/graph.js";

// What a host's name tells: "<machine>-<hash>-<incarnation>" (ADR 2).

/** "<machine>-<hash>" and the incarnation in a host's name. Throws nothing: names are ours. */
export function splitHostName(name: string): { generation: string; incarnation: number } {
  const at = name.lastIndexOf("-");
  return { generation: name.slice(0, at), incarnation: Number(name.slice(at + 1)) };
}

/** "web-7ca2dcf0" of the host "web-7ca2dcf0-a830c4ef-1". Pure. */
export function machineNameOf(host: string): string {
  return splitHostName(host).generation.replace(/-[0-9a-f]{8}$/, "");
}

/** Whether a key is that of a host. Pure. */
export function isHostKey(key: NodeKey, hostKind: string): boolean {
  return key.startsWith(nodeKey(hostKind, ""));
}

/**
 * The hosts with which something of this name may live, "web-7ca2dcf0-1" of "web-7ca2dcf0-1-data"; none of all others. What users
 * name, as "wal-20260101-1-a", may look like a host, too: which of several it is, tells which hosts there are. Pure.
 */
export function hostsInName(name: string): string[] {
  // From every place anew: a machine's name may end like a generation, as "db-20260101" does.
  return [...name.matchAll(/(?=(-[0-9a-f]{8}-[1-9]\d*)-.)/g)]
    .map(({ index, 1: { length } = "" }) => name.slice(0, index + length))
    .filter((host) => !host.startsWith("-"));
}

/** The keys of those hosts. Pure. */
export function hostKeysInName(name: string, hostKind: string): NodeKey[] {
  return hostsInName(name).map((host) => nodeKey(hostKind, host));
}

/** Whether a host's name is one of this machine's. */
export function isHostOf(machine: string, host: string): boolean {
  return host.startsWith(`${machine}-`) && /^-[0-9a-f]{8}-\d+$/.test(host.slice(machine.length));
}
