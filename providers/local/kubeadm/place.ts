import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import type { LocalResource } from "../file/resource.js";
import type { NetworkAddresses } from "./network.js";

// How the parts of a cluster of namespaces are called on this machine, and by which addresses they are reached: all of it
// follows from ids and addresses in the cloud's file, so that whoever comes later finds it again.

/** Name of the cgroups of a host. Pure. */
export function groupOf(hostId: string): string {
  return `capstan-${hostId}`;
}

/** The addresses of the network that a load balancer stands in, whose range is "10.0.0.0/16": this machine has the first. Pure. */
export function addressesOf(
  { id, status }: Pick<LocalResource, "id" | "status">,
  cidr: string,
): NetworkAddresses {
  const [network, bits] = ipaddr.parseCIDR(cidr);
  const first = network.toByteArray();
  first[first.length - 1] = (first.at(-1) ?? 0) + 1;
  const machine = { address: ipaddr.fromByteArray(first).toString(), link: linkOf(id) };
  return { endpoint: String(status["address"]), bits, machine };
}

/** Name of the cable that a host or this machine is plugged in by: at most 15 characters, as the kernel wants it. Pure. */
export function linkOf(id: string): string {
  return `${id[0] ?? ""}-${id.slice(-12)}`;
}

/** A network that this machine is in already and whose addresses a range has, too: "eth0 192.0.2.0/24". */
export function overlapOf(cidr: string, interfaces = networkInterfaces()): string | undefined {
  for (const [name, addresses = []] of Object.entries(interfaces)) {
    const taken = addresses.find((one) => one.cidr !== null && overlap(one.cidr, cidr));
    if (taken !== undefined) return `${name} ${String(taken.cidr)}`;
  }
  return undefined;
}

function overlap(left: string, right: string): boolean {
  const [one, oneBits] = ipaddr.parseCIDR(left);
  const [other, otherBits] = ipaddr.parseCIDR(right);
  if (one.kind() !== other.kind()) return false;
  const bits = Math.min(oneBits, otherBits);
  return one.match(other, bits);
}
