/** A member as etcd lists it. */
export interface EtcdMember {
  /** A number of 64 bits, as text. */
  readonly ID: string;
  /** kubeadm calls it by its Node; absent of one that was added and has never run. */
  readonly name?: string;
  /** "https://10.0.0.11:2380". */
  readonly peerURLs?: readonly string[];
  /** It has not caught up yet, and does not count for the majority. */
  readonly isLearner?: boolean;
}

/** The Node of a host, by which its member is known. */
export interface MemberNode {
  readonly name: string;
  readonly addresses: readonly string[];
  /** Names of the other Nodes: an address may have passed on to one of them. */
  readonly others: ReadonlySet<string>;
}

/**
 * The member of a Node: by its name, or by an address where no other Node has that name. A cloud gives an address that has become free
 * to the next host, and taking that one out for the one before would cost the others a member that serves. Pure.
 */
export function memberOf(members: readonly EtcdMember[], node: MemberNode): EtcdMember | undefined {
  const named = members.find(({ name }) => name === node.name);
  if (named !== undefined) return named;
  const unclaimed = members.filter(({ name }) => name === undefined || !node.others.has(name));
  return unclaimed.find((one) => hostsOf(one).some((host) => node.addresses.includes(host)));
}

function hostsOf({ peerURLs = [] }: EtcdMember): string[] {
  return peerURLs.map((url) => new URL(url).hostname.replace(/^\[|\]$/g, ""));
}
