import type { Server } from "node:https";
import { isJsonObject, type Json, type JsonObject } from "../../../src/api/json.js";
import type { NodeReport } from "../../../src/provider/port.js";
import { nodeOf } from "../file/node.js";
import type { LocalResource } from "../file/resource.js";
import { clientUrlAnnotation, etcdStartOf, promoteEtcd } from "./etcd-joining.js";
import { configurationIn, makeFirstObjects } from "./first-objects.js";
import { type HostFolder, type HostPorts, loopback } from "./host-folder.js";
import { HttpsClient } from "./https-client.js";
import { Kubelet, type StaticPod } from "./kubelet.js";
import { serveKubelet } from "./kubelet-server.js";
import { credentialsIn, writeKubeconfig, writeMemberKeys } from "./member-keys.js";
import {
  apiServerCommand,
  clientUrlOf,
  controllerManagerCommand,
  etcdCommand,
  type EtcdStart,
  type MemberSetup,
  networkingOf,
  type ProgramCommand,
  schedulerCommand,
} from "./member-programs.js";
import type { HostRunner } from "./host-runner.js";
import type { NodeOrder } from "./node-order.js";
import type { ProcessRecords } from "./process-records.js";
import { findPrograms } from "./programs.js";
import { Supervised } from "./supervised.js";
import { joinAsWorker } from "./worker-joining.js";

const heartbeatMs = 10_000;
const setupFile = "cluster.json";
const etcdFile = "etcd.json";

/**
 * What runs on a host: nothing but a stand-in for the kubelet on a worker, and on a member etcd and the programs of the control plane, too.
 * `step` brings it one step on, or finds everything as it shall be; where it throws, it is asked again.
 */
export class NodeHostRunner implements HostRunner {
  private etcd: Supervised | undefined;
  private programs: readonly Supervised[] = [];
  /** The version that the programs are of. */
  private runs: string | undefined;
  /** Of a member, once it has its keys. */
  private setup: MemberSetup | undefined;
  /** By whose credentials they ask. */
  private readonly clients = new Map<string, HttpsClient>();
  private kubelet: Kubelet | undefined;
  private server: Server | undefined;
  private nextHeartbeatMs = 0;
  private reported: NodeReport | undefined;

  constructor(
    private readonly folder: HostFolder,
    private readonly order: NodeOrder,
    private readonly records: ProcessRecords,
  ) {}

  async step(host: LocalResource): Promise<void> {
    const report = nodeOf(host.spec);
    try {
      if (this.isMember) await this.stepMember(host);
      else if (!this.folder.has("pki/kubelet.crt")) {
        await joinAsWorker(this.folder, this.order, host.who.name);
      }
      await this.stepNode(host, report);
    } catch (error) {
      if (this.reported !== undefined) await this.records.tell(false, this.reported);
      throw error;
    }
    await this.records.tell(true, report);
    this.reported = report;
  }

  private get isMember(): boolean {
    return this.order.role !== "joinWorker";
  }

  async end(): Promise<void> {
    this.etcd?.kill();
    for (const program of this.programs) program.kill();
  }

  private async stepMember({ who, spec }: LocalResource): Promise<void> {
    const setup = await this.setUp(who.name);
    const version = String(spec["controlPlane"]);
    await this.runEtcd(setup, version);
    if (this.runs !== version) await this.runPrograms(setup, version);
    const api = this.own("admin");
    await api.get("/readyz");
    this.folder.noteVote();
    if (this.order.role === "init" && this.kubelet === undefined) {
      await makeFirstObjects(api, setup.cluster, this.folder.read("pki/ca.crt"));
    }
  }

  /** Keys and settings: made once, and read from then on. */
  private async setUp(node: string): Promise<MemberSetup> {
    if (this.setup !== undefined) return this.setup;
    const { folder, order } = this;
    const ports = await folder.ports();
    if (!folder.has(setupFile)) {
      for (const [name, content] of order.keys) folder.write(`pki/${name}`, content);
      const cluster = order.cluster ?? (await this.configuration(node));
      await writeMemberKeys(folder, namesIn(node, cluster), Date.now());
      folder.write(setupFile, JSON.stringify(cluster));
    }
    const cluster = JSON.parse(folder.read(setupFile)) as JsonObject;
    this.setup = { folder, ports, node, cluster };
    return this.setup;
  }

  /** Whoever asks for it needs a certificate before its names are known. */
  private async configuration(node: string): Promise<JsonObject> {
    await writeMemberKeys(this.folder, namesIn(node, {}), Date.now());
    return this.askCluster((api) => configurationIn(api));
  }

  /** The cluster that there is already, as an administrator. */
  private async askCluster<T>(ask: (api: HttpsClient) => Promise<T>): Promise<T> {
    const api = new HttpsClient(this.order.server, credentialsIn(this.folder, "admin"));
    try {
      return await ask(api);
    } finally {
      api.close();
    }
  }

  /** It is the same for all versions of Kubernetes. */
  private async runEtcd(setup: MemberSetup, version: string): Promise<void> {
    const { folder } = this;
    if (this.etcd === undefined) {
      const start = await this.etcdStart(setup);
      this.etcd = this.started(etcdCommand(setup, start), findPrograms(version).etcd);
    }
    if (this.order.role === "init" || folder.votes) return;
    await this.askCluster((api) => promoteEtcd(setup, api));
    folder.noteVote();
  }

  /** As it has begun once, for good. */
  private async etcdStart(setup: MemberSetup): Promise<EtcdStart> {
    const { folder } = this;
    if (!folder.has(etcdFile)) {
      const start = await (this.order.role === "init"
        ? etcdStartOf(setup, undefined)
        : this.askCluster((api) => etcdStartOf(setup, api)));
      folder.write(etcdFile, JSON.stringify(start));
    }
    return JSON.parse(folder.read(etcdFile)) as EtcdStart;
  }

  /** Those of another version end before new ones begin: they have the same ports. */
  private async runPrograms(setup: MemberSetup, version: string): Promise<void> {
    const paths = findPrograms(version);
    const running = this.programs;
    this.programs = [];
    await Promise.all(running.map((program) => program.stop()));
    const as = (user: string) => writeKubeconfig(this.folder, user, apiServerOf(setup.ports));
    const commands = [
      apiServerCommand(setup),
      controllerManagerCommand(setup, as("controller-manager")),
      schedulerCommand(setup, as("scheduler")),
    ];
    this.programs = commands.map((one) => this.started(one, paths[one.program]));
    this.runs = version;
  }

  private started({ program, args }: ProgramCommand, path: string): Supervised {
    return new Supervised({ program, path, args, folder: this.folder });
  }

  /** A client of its own API server, and of the load balancer on a worker. */
  private own(user: string): HttpsClient {
    const known = this.clients.get(user);
    if (known !== undefined) return known;
    const server = this.setup === undefined ? this.order.server : apiServerOf(this.setup.ports);
    const client = new HttpsClient(server, credentialsIn(this.folder, user));
    this.clients.set(user, client);
    return client;
  }

  private async stepNode({ who, spec, status }: LocalResource, report: NodeReport): Promise<void> {
    const { folder, order, isMember } = this;
    const isNew = JSON.stringify(report) !== JSON.stringify(this.reported);
    if (this.kubelet === undefined) {
      const ports = await folder.ports();
      if (isMember) this.server ??= await serveKubelet(folder, ports);
      const kubelet = new Kubelet(this.own("kubelet"), {
        name: who.name,
        providerId: String(status["providerId"]),
        labels: order.labels,
        annotations: textsIn(spec["nodeAnnotations"]),
        taints: order.taints,
        kubeletPort: ports.kubelet,
      });
      await kubelet.register(report);
      if (isMember) await this.markMember(who.name, kubelet, ports);
      this.kubelet = kubelet;
    }
    if (isNew || Date.now() >= this.nextHeartbeatMs) {
      await this.kubelet.heartbeat(report);
      this.nextHeartbeatMs = Date.now() + heartbeatMs;
    }
    await this.kubelet.tendPods();
  }

  /** A kubelet may not say of itself that it is of a control plane. */
  private async markMember(name: string, kubelet: Kubelet, ports: HostPorts): Promise<void> {
    const labels = { "node-role.kubernetes.io/control-plane": "" };
    await this.own("admin").patch(`/api/v1/nodes/${name}`, { metadata: { labels } });
    await kubelet.show(staticPods(clientUrlOf(ports)));
  }
}

function apiServerOf({ api }: HostPorts): string {
  return `${loopback}:${api}`;
}

function staticPods(etcdUrl: string): StaticPod[] {
  const plain = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];
  return [
    { component: "etcd", annotations: { [clientUrlAnnotation]: etcdUrl } },
    ...plain.map((component) => ({ component, annotations: {} })),
  ];
}

function namesIn(node: string, cluster: JsonObject) {
  const { apiServer } = cluster;
  const sans = isJsonObject(apiServer) ? apiServer["certSANs"] : undefined;
  return {
    node,
    serviceDomain: networkingOf(cluster, "dnsDomain"),
    serviceCidrs: networkingOf(cluster, "serviceSubnet"),
    extraSans: Array.isArray(sans) ? sans.map(String) : [],
  };
}

function textsIn(value: Json | undefined): Record<string, string> {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, String(text)]));
}
