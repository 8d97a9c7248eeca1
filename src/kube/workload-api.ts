import { trustedPem } from "../bootstrap/certificates/key-ring.js";
import {
  AppsV1Api,
  CoreV1Api,
  KubeConfig,
  PatchStrategy,
  StorageV1Api,
  type V1ConfigMap,
  type V1Node,
  V1Secret,
} from "@kubernetes/client-node";
import { CapstanError } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { issueUserCertificate } from "../bootstrap/certificates/user-certificate.js";
import type { KubeadmObject } from "../bootstrap/kubeadm/configuration.js";
import { kubeconfigOf, withAuthority } from "../bootstrap/kubeconfig/kubeconfig.js";
import {
  bootstrapTokenSecret,
  expirationText,
  newBootstrapToken,
  tokenHostLabel,
  tokenNamespace,
} from "../bootstrap/tokens/bootstrap-token.js";
import type {
  AskedHost,
  MarkedHost,
  NodeHost,
  NodeReadiness,
  WorkloadCluster,
  WorkloadAccess,
} from "../engine/run/workload-cluster.js";
import { mapBounded } from "../provider/bounded.js";
import type { Identity, NodeReport } from "../provider/port.js";
import { cordonedAtMsOf } from "../workload/cordon.js";
import type { MachineDrainRule } from "../workload/drain/drain-rule.js";
import type { DrainLook } from "../workload/drain/eviction-round.js";
import { parseProviderId, type ProviderId, sameProviderId } from "../workload/provider-id.js";
import { marksPatch, otherMarksOf } from "../workload/node-marks.js";
import { readyAtMsOf } from "../workload/node-heartbeat.js";
import { nodeReportOf } from "../workload/node-report.js";
import type { EtcdReport } from "../workload/etcd/etcd-report.js";
import type { MemberNode } from "./etcd-member.js";
import { removeEtcdMember, reportOfEtcd } from "./etcd-members.js";
import { writeAddons, writeKubeadmConfig } from "./control-plane-objects.js";
import { keepConnections } from "./kept-connections.js";
import { drainRound, uncordonOurs } from "./node-drain.js";
import { attachedVolumes } from "./node-volumes.js";
import { mayPass, saidBy, statusOf, until, within } from "./requests.js";
import { timeLimit } from "./time-limit.js";

/** How long the certificate is good that these calls are made with. */
const accessTtlMs = 60 * 60_000;
/** Whoever only looks does not wait for a cluster that cannot be reached. */
const nodesWithinMs = 5_000;
/** The same of one that asks the members of its etcd, all calls of it together. */
const etcdWithinMs = 15_000;
const removalWithinMs = 45_000;
/** As many as an API server answers without asking to slow down. */
const marksAtATime = 8;
/** What kubeadm shows to hosts that join. */
const clusterInfo = { name: "cluster-info", namespace: "kube-public" };
/** Tokens are random: one id that is taken is a rare chance, several in a row are not. */
const attempts = 5;

/** A cluster by its own API server, which nothing is asked before something is wanted of it. Tokens are Secrets there. */
export class WorkloadApi implements WorkloadCluster {
  private opened: { readonly config: Promise<KubeConfig>; readonly renewAtMs: number } | undefined;

  constructor(private readonly access: WorkloadAccess) {}

  async announce(authoritiesPem: string): Promise<void> {
    await this.call("tell hosts what to trust", async (api) => {
      const { data } = await clusterInfoIn(api);
      const kubeconfig = withAuthority(data?.["kubeconfig"] ?? "", authoritiesPem);
      if (kubeconfig === undefined) return;
      const body = { data: { kubeconfig } };
      await api.patchNamespacedConfigMap(
        { ...clusterInfo, body },
        within(PatchStrategy.MergePatch),
      );
    });
  }

  configure(wanted: KubeadmObject): Promise<string | undefined> {
    return this.call("write its ConfigMap kubeadm-config", (api) =>
      writeKubeadmConfig(wanted, api),
    );
  }

  updateAddons(configuration: KubeadmObject): Promise<readonly string[]> {
    return this.call("update kube-proxy and CoreDNS", (_api, config) =>
      writeAddons(configuration, config.makeApiClient(AppsV1Api)),
    );
  }

  async issue(host: Identity, expiresAtMs: number): Promise<string> {
    for (let attempt = 1; ; attempt += 1) {
      const token = newBootstrapToken();
      const secret = bootstrapTokenSecret(token, host, expiresAtMs);
      const body = Object.assign(new V1Secret(), secret);
      const isMade = await this.call(`create a token for ${host.name}`, async (api) => {
        try {
          await api.createNamespacedSecret({ namespace: tokenNamespace, body }, within());
          return true;
        } catch (error) {
          if (statusOf(error) !== 409 || attempt >= attempts) throw error;
          return false;
        }
      });
      if (isMade) return token;
    }
  }

  async extend(host: Identity, expiresAtMs: number): Promise<void> {
    const expiration = Buffer.from(expirationText(expiresAtMs)).toString("base64");
    await this.call(`extend the token for ${host.name}`, async (api) => {
      const { items } = await api.listNamespacedSecret(secretsOf(host), within());
      for (const { metadata } of items) {
        const named = { name: metadata?.name ?? "", namespace: tokenNamespace };
        const body = { data: { expiration } };
        await api.patchNamespacedSecret({ ...named, body }, within(PatchStrategy.MergePatch));
      }
    });
  }

  nodes(hosts: readonly AskedHost[]): Promise<ReadonlyMap<string, NodeReport | undefined>> {
    return this.call("look for its Nodes", async (api) => {
      const { items } = await api.listNode({}, until(AbortSignal.timeout(nodesWithinMs)));
      return new Map(
        hosts.flatMap((host) => {
          const node = nodeAmong(items, host);
          return node === undefined ? [] : [[host.name, nodeReportOf(node, host.marks)] as const];
        }),
      );
    });
  }

  readiness(hosts: readonly NodeHost[]): Promise<ReadonlyMap<string, NodeReadiness>> {
    return this.call("ask whether its Nodes are ready", async (api) => {
      const { items } = await api.listNode({}, until(AbortSignal.timeout(nodesWithinMs)));
      return new Map(
        hosts.flatMap((host): [string, NodeReadiness][] => {
          const node = nodeAmong(items, host);
          if (node === undefined) return [];
          const name = node.metadata?.name ?? host.name;
          const times = { cordonedAtMs: cordonedAtMsOf(node), readyAtMs: readyAtMsOf(node) };
          return [[host.name, omitUndefined({ name, ...times })]];
        }),
      );
    });
  }

  keepMarks(hosts: readonly MarkedHost[]): Promise<readonly string[]> {
    return this.call("mark its Nodes", async (api) => {
      const { items } = await api.listNode({}, until(AbortSignal.timeout(nodesWithinMs)));
      const changed = await mapBounded(hosts, marksAtATime, async ({ host, marks }) => {
        const node = nodeAmong(items, host);
        const name = node?.metadata?.name;
        if (node === undefined || name === undefined) return [];
        const body = marksPatch(node, marks);
        if (body === undefined) return [];
        try {
          await api.patchNode({ name, body }, within(PatchStrategy.MergePatch));
        } catch (error) {
          // Somebody has changed or deleted it meanwhile.
          if ([404, 409].includes(statusOf(error))) return [];
          throw error;
        }
        return otherMarksOf(node, marks) === undefined ? [] : [host.name];
      });
      return changed.flat();
    });
  }

  async revoke(host: Identity): Promise<void> {
    await this.call(`delete the token for ${host.name}`, (api) =>
      api.deleteCollectionNamespacedSecret(secretsOf(host), within()),
    );
  }

  async revokeOthers(hosts: readonly Identity[]): Promise<void> {
    await this.call("delete the tokens that no host needs", (api) =>
      api.deleteCollectionNamespacedSecret(secretsOfOthers(hosts), within()),
    );
  }

  drain(host: NodeHost, rules: readonly MachineDrainRule[]): Promise<DrainLook> {
    const nowMs = this.access.clock.now();
    return this.call(`drain ${host.name}`, async (core, config) => {
      const node = await nodeOf(host, core);
      const apps = config.makeApiClient(AppsV1Api);
      return node === undefined ? { blockers: [] } : drainRound(node, { core, apps, nowMs, rules });
    });
  }

  attachedVolumes(host: NodeHost, rules: readonly MachineDrainRule[]): Promise<readonly string[]> {
    const nowMs = this.access.clock.now();
    return this.call(`look for the volumes of ${host.name}`, async (core, config) => {
      const node = await nodeOf(host, core);
      const apps = config.makeApiClient(AppsV1Api);
      const storage = config.makeApiClient(StorageV1Api);
      return node === undefined ? [] : attachedVolumes(node, { core, apps, storage, nowMs, rules });
    });
  }

  async uncordon(hosts: readonly NodeHost[]): Promise<void> {
    await this.call("let its Nodes take pods again", async (core) => {
      const { items } = await core.listNode({}, within());
      await uncordonOurs(
        hosts.flatMap((host) => nodeAmong(items, host) ?? []),
        core,
      );
    });
  }

  etcd(hosts: readonly NodeHost[], signal: AbortSignal): Promise<EtcdReport | undefined> {
    const { keys, clock } = this.access;
    const limit = timeLimit(etcdWithinMs, signal);
    return this.call("ask etcd how it is", async (api, config) => {
      const { items } = await api.listNode({}, until(limit.signal));
      const nodes = hosts.map((host) => ({ host: host.name, node: memberNodeOf(items, host) }));
      return reportOfEtcd(nodes, { config, api, keys, nowMs: clock.now(), limit });
    });
  }

  async removeMember(host: NodeHost, signal: AbortSignal): Promise<void> {
    const { keys, clock } = this.access;
    const limit = timeLimit(removalWithinMs, signal);
    await this.call(`take ${host.name} out of etcd`, async (api, config) => {
      const { items } = await api.listNode({}, until(limit.signal));
      const node = memberNodeOf(items, host);
      await removeEtcdMember(node, { config, api, keys, nowMs: clock.now(), limit });
    });
  }

  async deleteNode(host: NodeHost): Promise<void> {
    await this.call(`delete the Node of ${host.name}`, async (api) => {
      const node = await nodeOf(host, api);
      if (node?.metadata?.name !== undefined) await deleted(node.metadata.name, api);
    });
  }

  private async call<T>(
    what: string,
    work: (api: CoreV1Api, config: KubeConfig) => Promise<T>,
  ): Promise<T> {
    const { server, cluster } = this.access;
    try {
      const config = await this.config();
      return await work(config.makeApiClient(CoreV1Api), config);
    } catch (error) {
      throw new CapstanError({
        code: "API_SERVER",
        source: "cloud",
        subject: cluster,
        message: `cannot ${what}: API server ${server} of ${cluster}: ${saidBy(error)}`,
        hint: "its control plane has to run, and to be reached from here",
        retryable: mayPass(error),
      });
    }
  }

  private config(): Promise<KubeConfig> {
    const { clock } = this.access;
    if (this.opened === undefined || clock.now() >= this.opened.renewAtMs) {
      this.opened = { config: this.connected(), renewAtMs: clock.now() + accessTtlMs / 2 };
    }
    return this.opened.config;
  }

  /** As an administrator, whom the cluster's authority signs for. */
  private async connected(): Promise<KubeConfig> {
    const { server, cluster: name, keys, clock } = this.access;
    const request = { user: "capstan", groups: ["system:masters"], ttlMs: accessTtlMs };
    const certificate = await issueUserCertificate(keys, request, clock.now());
    const config = new KubeConfig();
    const authorityPem = trustedPem(keys, "ca");
    const credential = { kind: "certificate", certificate } as const;
    const entry = { name, user: request.user, server, authorityPem, credential };
    config.loadFromString(JSON.stringify(kubeconfigOf(entry)));
    return keepConnections(config);
  }
}

/** By what etcd may know the member of a host. */
function memberNodeOf(items: readonly V1Node[], host: NodeHost): MemberNode {
  const node = nodeAmong(items, host);
  const told = node?.status?.addresses?.map(({ address }) => address) ?? [];
  const name = node?.metadata?.name ?? host.name;
  const others = new Set(items.flatMap(({ metadata }) => metadata?.name ?? []));
  others.delete(name);
  return { name, addresses: [...told, ...host.addresses], others };
}

function secretsOf({ token }: Identity) {
  return { namespace: tokenNamespace, labelSelector: `${tokenHostLabel}=${token}` };
}

function secretsOfOthers(hosts: readonly Identity[]) {
  const names = hosts.map(({ token }) => token);
  const others = names.length === 0 ? [] : [`${tokenHostLabel} notin (${names.join(",")})`];
  return { namespace: tokenNamespace, labelSelector: [tokenHostLabel, ...others].join(",") };
}

async function nodeOf(host: NodeHost, api: CoreV1Api): Promise<V1Node | undefined> {
  const { items } = await api.listNode({}, within());
  return nodeAmong(items, host);
}

/** By its provider id, which tells for certain; by its name where Nodes have none. */
function nodeAmong(items: readonly V1Node[], { name, providerId }: NodeHost): V1Node | undefined {
  const own = parsedId(providerId);
  const isIt = (id: string | undefined) => {
    const told = parsedId(id);
    return own !== undefined && told !== undefined && sameProviderId(own, told);
  };
  return (
    items.find(({ spec }) => isIt(spec?.providerID)) ??
    items.find(({ metadata, spec }) => metadata?.name === name && spec?.providerID === undefined)
  );
}

function parsedId(id: string | undefined): ProviderId | undefined {
  const parsed = parseProviderId(id ?? "");
  return parsed.kind === "valid" ? parsed.providerId : undefined;
}

async function deleted(name: string, api: CoreV1Api): Promise<void> {
  try {
    await api.deleteNode({ name }, within());
  } catch (error) {
    if (statusOf(error) !== 404) throw error;
  }
}

/** An API server answers before kubeadm has told it what hosts are to know: then it is to come. */
async function clusterInfoIn(api: CoreV1Api): Promise<V1ConfigMap> {
  try {
    return await api.readNamespacedConfigMap(clusterInfo, within());
  } catch (error) {
    throw statusOf(error) === 404 ? new Error("it has no ConfigMap cluster-info yet") : error;
  }
}
