import { digestOf } from "../api/digest.js";
import { fileOwner } from "./hand-over.js";

// A cluster's UID goes into the create call of everything that it has in a cloud, and never changes. It says who has made
// the cluster, so that somebody else whose state knows nothing of it can be told so. Pure.

/** The last group of the UIDs of all clusters that one owner makes. */
declare const ownerMark: unique symbol;
export type OwnerMark = string & { readonly [ownerMark]: never };

/**
 * The mark of an owner: of an API server wherever its stacks are, of files by the state that they are recorded in (`place`).
 * 12 hexadecimal digits, of which nobody can tell what they are made from.
 */
export function ownerMarkOf(owner: string, place: () => string): OwnerMark {
  return digestOf(["owner", owner, ...(owner === fileOwner ? [place()] : [])], 12) as OwnerMark;
}

const uuid = /^([0-9a-f]{8}-[0-9a-f]{4})-[0-9a-f]([0-9a-f]{3}-[89ab][0-9a-f]{3})-[0-9a-f]{12}$/;

/**
 * A cluster UID that says who makes the cluster: `random`, a random UUID, with the maker's mark as its last group. It stays a UUID, of
 * version 8 (RFC 9562: what its digits mean is ours to say), with 74 random bits. Throws for anything but a UUID.
 */
export function clusterUidOf(random: string, maker: OwnerMark): string {
  const [, head, middle] = uuid.exec(random) ?? [];
  if (head === undefined || middle === undefined) throw new Error(`${random} is no UUID`);
  return `${head}-8${middle}-${maker}`;
}

/** The mark of whoever has made a cluster; undefined of UIDs that tell nothing, as those of early releases. */
export function makerOf(clusterUid: string): OwnerMark | undefined {
  const isTelling = uuid.test(clusterUid) && clusterUid[14] === "8";
  return isTelling ? (clusterUid.slice(-12) as OwnerMark) : undefined;
}
