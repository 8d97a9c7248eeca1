import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { previousKubernetesVersion } from "#kubernetes";
import { LocalCloud } from "../../../providers/local/cloud.js";
import { HostFolder, portsIn } from "../../../providers/local/nodes/host-folder.js";
import { HttpsClient } from "../../../providers/local/nodes/https-client.js";
import { etcdCredentialsIn } from "../../../providers/local/nodes/member-keys.js";
import { systemClock } from "../../../src/provider/clock.js";
import { Sandbox } from "../../scenario/sandbox.js";
import { laptop, type LaptopMachine, type LaptopWorkers } from "./laptop-objects.js";

interface EtcdMembers {
  readonly members: readonly { readonly name?: string; readonly isLearner?: boolean }[];
}

export const stack = "default/laptop";

/** The cluster of examples/laptop, as the command line has made it, and what its tests ask of it. */
export class LaptopCluster {
  /** What the manifests say; a test leaves what it has brought the cluster to. */
  version = previousKubernetesVersion;
  workers: LaptopWorkers = {};
  /** Of the first member. */
  tags: Readonly<Record<string, string>> | undefined;

  /** Once it has started. */
  readonly config = new KubeConfig();
  core!: CoreV1Api;

  private constructor(readonly sandbox: Sandbox) {}

  static async make(): Promise<LaptopCluster> {
    return new LaptopCluster(await Sandbox.make({ objects: laptop(previousKubernetesVersion) }));
  }

  async start(): Promise<void> {
    await this.sandbox.up();
    const file = join(this.sandbox.folder, "admin.conf");
    await this.sandbox.capstan(0, "kubeconfig", stack, "--out", file);
    this.config.loadFromFile(file);
    this.core = this.config.makeApiClient(CoreV1Api);
  }

  get folders(): string {
    return `${this.sandbox.cloudFile}.hosts`;
  }

  /** As the manifests say, but for the workers where those are given. */
  objects(workers = this.workers): object[] {
    const objects = laptop(this.version, workers) as {
      metadata: { name: string };
      spec: LaptopMachine;
    }[];
    const first = objects.find(({ metadata }) => metadata.name === "cp-0")!;
    if (this.tags !== undefined) first.spec.providerSpec.value.tags = this.tags;
    return objects;
  }

  /** Writes the manifests. */
  write(objects = this.objects()): void {
    this.sandbox.writeObjects(objects);
  }

  /** Also what an API server that was too busy at its end has left to the next command. */
  async upToTheEnd(): Promise<void> {
    for (;;) {
      const { stdout, stderr } = await this.sandbox.up();
      if (!`${stdout}${stderr}`.includes("left as it is until the next command")) return;
    }
  }

  async nodes() {
    const { items } = await this.core.listNode();
    const ready = items.filter((node) =>
      node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True"),
    );
    return ready.map(({ metadata, status }) => ({
      name: metadata?.name ?? "",
      version: status?.nodeInfo?.kubeletVersion,
      isMember: "node-role.kubernetes.io/control-plane" in (metadata?.labels ?? {}),
    }));
  }

  /** All hosts that ever were, as the cloud's file has them. */
  async everything() {
    const cloud = new LocalCloud(this.sandbox.cloudFile, systemClock);
    try {
      return await cloud.everything();
    } finally {
      cloud.close();
    }
  }

  async readyMembers(): Promise<number> {
    const found = await this.everything();
    return found.filter(
      ({ spec, readySinceMs, state }) =>
        spec["role"] === "controlPlane" && state === "running" && readySinceMs !== undefined,
    ).length;
  }

  /** Paths of those of its hosts. */
  hostFolders(): string[] {
    return readdirSync(this.folders)
      .map((name) => join(this.folders, name))
      .filter((path) => portsIn(path) !== undefined);
  }

  memberFolders(): string[] {
    return this.hostFolders().filter((path) => existsSync(join(path, "etcd")));
  }

  /** Of etcd, by any member: names, learners left out. */
  async voters(): Promise<(string | undefined)[]> {
    const path = this.memberFolders()[0]!;
    const server = `127.0.0.1:${portsIn(path)!.etcd}`;
    const etcd = new HttpsClient(server, etcdCredentialsIn(new HostFolder(path)));
    const { members } = await etcd.post<EtcdMembers>("/v3/cluster/member/list", {});
    etcd.close();
    return members.filter(({ isLearner }) => isLearner !== true).map(({ name }) => name);
  }
}
