import type { HostKeys } from "../../bootstrap/certificates/key-ring.js";
import type { KubeadmObject } from "../../bootstrap/kubeadm/configuration.js";
import type { Clock, Identity, NodeReport } from "../../provider/port.js";
import type { MachineDrainRule } from "../../workload/drain/drain-rule.js";
import type { NodeMarks } from "../../workload/node-marks.js";
import type { EtcdReport } from "../../workload/etcd/etcd-report.js";
import type { DrainLook } from "../../workload/drain/eviction-round.js";

/** A host as its own cluster knows it. */
export interface NodeHost {
  /** Of the host: its Node is called so, unless a provider id tells otherwise. */
  readonly name: string;
  /** providerID of its Node, where the provider tells. */
  readonly providerId?: string;
  /** What its resource says of it that may be an address. */
  readonly addresses: readonly string[];
}

export interface MarkedHost {
  readonly host: NodeHost;
  readonly marks: NodeMarks;
}

/** A host that is asked about, and what its Node is to bear; its marks are not compared without. */
export interface AskedHost extends NodeHost {
  readonly marks?: NodeMarks;
}

/** A Node, as far as it tells whether its host is as it was before it was disturbed. */
export interface NodeReadiness {
  /** Of the Node object. */
  readonly name: string;
  /** Since when a drain of ours has cordoned it, milliseconds since the epoch; absent: none has. */
  readonly cordonedAtMs?: number;
  /** Until when its kubelet may last have said that it is ready, milliseconds since the epoch; absent: it is not. */
  readonly readyAtMs?: number;
}

/**
 * How hosts join a cluster and leave it, as its own API server lets them. Every call throws API_SERVER, retryable where
 * the same may go well later.
 */
export interface WorkloadCluster {
  /** Whoever joins from now on is told to trust these authorities, as PEM. */
  announce(authoritiesPem: string): Promise<void>;
  /**
   * The ConfigMap kubeadm-config says this from now on, which hosts read when they join. What was changed, in words; undefined
   * where it said so already.
   */
  configure(wanted: KubeadmObject): Promise<string | undefined>;
  /** kube-proxy and CoreDNS have the images that belong to a control plane of this configuration. What was changed, in words. */
  updateAddons(configuration: KubeadmObject): Promise<readonly string[]>;
  /** A new token for one host. A secret. */
  issue(host: Identity, expiresAtMs: number): Promise<string>;
  /** Tokens of the host that are there are good for longer. */
  extend(host: Identity, expiresAtMs: number): Promise<void>;
  /** The Nodes of hosts that have joined, by the hosts' names: what each says of itself, undefined of one that has said nothing yet. */
  nodes(hosts: readonly AskedHost[]): Promise<ReadonlyMap<string, NodeReport | undefined>>;
  /** How the Nodes of hosts are after these were changed where they are, by the hosts' names; nothing of a host that has no Node. */
  readiness(hosts: readonly NodeHost[]): Promise<ReadonlyMap<string, NodeReadiness>>;
  /** No token of the host is good any more. Success also when there is none. */
  revoke(host: Identity): Promise<void>;
  /** No token that was made for a host is good any more, but those of some hosts. Success also when there is none. */
  revokeOthers(hosts: readonly Identity[]): Promise<void>;
  /**
   * One round of a drain: the Node takes no more pods, and those on it whose turn it is are asked to go, by the rules of its Machine in their order. What is
   * still in the way; nothing where there is no Node.
   */
  drain(host: NodeHost, rules: readonly MachineDrainRule[]): Promise<DrainLook>;
  /**
   * Nodes bear what their Machines want them to, by the hosts' names, beside what others have put there. The names of hosts whose Nodes
   * bore something else. What fails is left for the next time.
   */
  keepMarks(hosts: readonly MarkedHost[]): Promise<readonly string[]>;
  /** What is still to be detached from its Node, as people find it there; nothing where there is no Node, or none that answers. */
  attachedVolumes(host: NodeHost, rules: readonly MachineDrainRule[]): Promise<readonly string[]>;
  /** Nodes that a drain of ours has stopped from taking pods, and that stay after all, take them again. */
  uncordon(hosts: readonly NodeHost[]): Promise<void>;
  /**
   * What etcd says of itself, each of its members asked for its own word; undefined where it does not run in the cluster's own
   * pods. `hosts`: those whose members are to be told apart. Ends when the signal aborts.
   */
  etcd(hosts: readonly NodeHost[], signal: AbortSignal): Promise<EtcdReport | undefined>;
  /** A control-plane member leaves etcd, so that the others keep a majority without it. Success also when it is none. Ends when the signal aborts. */
  removeMember(host: NodeHost, signal: AbortSignal): Promise<void>;
  /** The Node of a host that is gone goes, too. Success also when there is none. */
  deleteNode(host: NodeHost): Promise<void>;
}

/** A cluster's own API server, and what it trusts. */
export interface WorkloadAccess {
  /** "default/prod". */
  readonly cluster: string;
  /** "https://10.0.0.1:6443". */
  readonly server: string;
  readonly keys: HostKeys;
  readonly clock: Clock;
}

export type OpenWorkload = (access: WorkloadAccess) => Promise<WorkloadCluster>;
