import { createHash, X509Certificate } from "node:crypto";
import { type Admission, type Authorities, firstStartOf } from "./first-start.js";

/** An instance as its account shows it, with what matters to a host. */
export interface InstanceFacts {
  readonly id: string;
  readonly isRunning: boolean;
  /** When kubeadm is through with it, if it lets it in: milliseconds since the epoch, in the account's time. */
  readonly dueAtMs: number;
  /** What it is told at its first start, by its user data or by what that fetches; undefined: nothing yet. */
  readonly told: string | undefined;
  /** "aws:///eu-north-1a/i-1". */
  readonly providerId: string;
  /** What `hostname -f` says there. */
  readonly hostname: string;
  readonly address: string;
}

/** A Node that was registered. */
export interface HostNode {
  readonly instance: string;
  readonly name: string;
  readonly providerId: string;
  readonly address: string;
  readonly controlPlane: boolean;
}

/** A member of etcd; it counts for the majority until it is removed. */
export interface HostMember {
  readonly id: string;
  readonly instance: string;
  readonly name: string;
  readonly address: string;
}

export interface HostSecret {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** In clear. */
  readonly data: Readonly<Record<string, string>>;
}

/** Everything that the hosts of one cluster have come to: what its etcd holds, and who is in it. */
export interface HostClusterState {
  /** Absent: none has begun. */
  readonly authorities?: Authorities;
  readonly members: readonly HostMember[];
  readonly nodes: readonly HostNode[];
  readonly secrets: readonly HostSecret[];
  /** The kubeconfig of ConfigMap cluster-info. */
  readonly clusterInfo: string;
  /** The ClusterConfiguration of ConfigMap kubeadm-config. */
  readonly kubeadmConfig: string;
  /** Instances whose first start is over. */
  readonly started: readonly string[];
  /** Why instances are not let in yet, by instance. */
  readonly refusals: Readonly<Record<string, string>>;
  /** What must never happen, whatever comes of it. */
  readonly offences: readonly string[];
}

export const nothingBegun: HostClusterState = {
  members: [],
  nodes: [],
  secrets: [],
  clusterInfo: "",
  kubeadmConfig: "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\n",
  started: [],
  refusals: {},
  offences: [],
};

/** Members of etcd whose instances run. Pure. */
export function livingMembers(
  { members }: HostClusterState,
  instances: readonly InstanceFacts[],
): HostMember[] {
  const running = new Set(instances.filter(({ isRunning }) => isRunning).map(({ id }) => id));
  return members.filter(({ instance }) => running.has(instance));
}

/** Whether etcd has its majority, so that API servers answer. Pure. */
export function hasMajority(state: HostClusterState, instances: readonly InstanceFacts[]): boolean {
  return livingMembers(state, instances).length * 2 > state.members.length;
}

/**
 * What has become of the hosts by now: each instance that runs for long enough begins a cluster or joins it, if that lets it in, and is tried
 * again later where it does not. Pure.
 */
export function caughtUp(
  before: HostClusterState,
  instances: readonly InstanceFacts[],
  times: { readonly accountMs: number; readonly nowMs: number },
): HostClusterState {
  const known = new Set(instances.map(({ id }) => id));
  let state: HostClusterState = {
    ...before,
    refusals: Object.fromEntries(Object.entries(before.refusals).filter(([id]) => known.has(id))),
  };
  const due = instances
    .filter(({ isRunning, dueAtMs }) => isRunning && dueAtMs <= times.accountMs)
    .sort((left, right) => left.dueAtMs - right.dueAtMs);
  for (const instance of due) {
    if (state.started.includes(instance.id) || instance.told === undefined) continue;
    const first = firstStartOf(instance.told);
    state =
      first.kind === "init"
        ? begun(state, instance, { authorities: first.authorities, instances })
        : joined(state, instance, { ...first, instances, nowMs: times.nowMs });
  }
  return state;
}

interface Beginning {
  readonly authorities: Authorities;
  readonly instances: readonly InstanceFacts[];
}

function begun(
  before: HostClusterState,
  instance: InstanceFacts,
  { authorities, instances }: Beginning,
): HostClusterState {
  const living = instances.filter(({ isRunning }) => isRunning).map(({ id }) => id);
  const beside = before.nodes.filter((node) => living.includes(node.instance));
  const offences = beside.map(
    ({ instance: other }) => `${instance.id} begins a second cluster beside ${other}`,
  );
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "",
        cluster: {
          server: "",
          "certificate-authority-data": Buffer.from(authorities.ca.certificatePem).toString(
            "base64",
          ),
        },
      },
    ],
  };
  return {
    authorities,
    members: [memberOf(instance)],
    nodes: [nodeOf(instance, true)],
    secrets: [],
    clusterInfo: JSON.stringify(kubeconfig),
    kubeadmConfig: nothingBegun.kubeadmConfig,
    started: [...before.started, instance.id],
    refusals: before.refusals,
    offences: [...before.offences, ...offences],
  };
}

interface Joining {
  readonly kind: "joinControlPlane" | "joinWorker";
  readonly admission: Admission;
  readonly authorities?: Authorities;
  readonly instances: readonly InstanceFacts[];
  readonly nowMs: number;
}

function joined(
  before: HostClusterState,
  instance: InstanceFacts,
  joining: Joining,
): HostClusterState {
  const refusal = refusalOf(before, joining);
  if (refusal !== undefined) {
    return { ...before, refusals: { ...before.refusals, [instance.id]: refusal } };
  }
  const isMember = joining.kind === "joinControlPlane";
  const { [instance.id]: _, ...refusals } = before.refusals;
  return {
    ...before,
    members: isMember ? [...before.members, memberOf(instance)] : before.members,
    nodes: [...before.nodes, nodeOf(instance, isMember)],
    started: [...before.started, instance.id],
    refusals,
  };
}

/** Why kubeadm does not come through; undefined where it does. */
function refusalOf(state: HostClusterState, joining: Joining): string | undefined {
  const { admission, authorities, instances, nowMs } = joining;
  if (state.authorities === undefined) return "there is no cluster";
  if (!hasMajority(state, instances)) return "etcd has no majority";
  const { certificatePem } = state.authorities.ca;
  if (!admission.caCertHashes.includes(publicKeyHash(certificatePem))) {
    return "it trusts another authority";
  }
  const [id, secret] = admission.token.split(".");
  const token = state.secrets.find(({ data }) => data["token-id"] === id);
  if (token?.data["token-secret"] !== secret) return "its token is not known";
  if (Date.parse(token?.data["expiration"] ?? "") <= nowMs) return "its token has expired";
  if (joining.kind === "joinWorker") return undefined;
  if (authorities?.ca.certificatePem !== certificatePem) return "it has other keys";
  // kubeadm adds no member to an etcd whose members do not all answer.
  return livingMembers(state, instances).length < state.members.length
    ? "a member of etcd does not answer"
    : undefined;
}

function publicKeyHash(pem: string): string {
  const der = new X509Certificate(pem).publicKey.export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(der).digest("hex")}`;
}

function memberOf({ id: instance, hostname: name, address }: InstanceFacts): HostMember {
  const digest = createHash("sha256").update(instance).digest();
  return { id: digest.readBigUInt64BE().toString(), instance, name, address };
}

function nodeOf(facts: InstanceFacts, controlPlane: boolean): HostNode {
  const { id: instance, hostname: name, providerId, address } = facts;
  return { instance, name, providerId, address, controlPlane };
}
