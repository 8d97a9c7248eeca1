import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { sampleToken } from "../bootstrap/sample-host.js";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publicKeyHash } from "../../src/bootstrap/certificates/certificate.js";
import { type ClusterKeys, newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { hostBootstrap, type HostSettings } from "../../src/bootstrap/host/host-bootstrap.js";
import { criSocketOf } from "../../src/bootstrap/host/software.js";
import { userDataOf } from "../../src/bootstrap/host/user-data.js";
import type { NodeSettings } from "../../src/bootstrap/kubeadm/settings.js";
import { upgradeBundle, upgradeCommand } from "../../src/bootstrap/upgrade/upgrade-bundle.js";
import {
  type HostSetup,
  upgradeOf,
  type UpgradeRole,
} from "../../src/bootstrap/upgrade/upgrade-steps.js";
import { boot } from "../../providers/local/kubeadm/cloud-init.js";
import { runtimeOfMachine } from "../../providers/local/kubeadm/containerd-version.js";
import { NamespaceHost } from "../../providers/local/kubeadm/host.js";
import { HostImage } from "../../providers/local/kubeadm/host-image.js";
import type { KubernetesPrograms } from "../../providers/local/kubeadm/kubernetes-programs.js";
import { administrator } from "./client.js";
import { Network } from "./network.js";
import { untilTrue } from "./until-true.js";
import { removeFolder } from "../support/folders.js";

export type Role = HostSettings["role"]["kind"];

/** What a test says of a Node; the rest is the same for all. */
export type NodeAbout = Pick<NodeSettings, "labels" | "taints" | "providerId">;

/** A control plane of several members on a busy machine. */
const bootTimeoutMs = 8 * 60_000;

/** A machine may have cgroups of version 1. */
const ignorePreflightErrors = ["SystemVerification"];

const upgradeRoles: Readonly<Record<Role, UpgradeRole>> = {
  init: "firstMember",
  joinControlPlane: "member",
  joinWorker: "worker",
};

interface Member {
  readonly host: NamespaceHost;
  /** That its user data was made from. */
  readonly settings: HostSettings;
}

/** A cluster of hosts of this machine, each made by the user data that Capstan renders for it. */
export class NodeCluster {
  /** By name, in the order in which they came. */
  private readonly members = new Map<string, Member>();

  private constructor(
    private image: HostImage,
    readonly folder: string,
    private readonly network: Network,
    readonly keys: ClusterKeys,
  ) {}

  /** Of Kubernetes, on all hosts. */
  get version(): string {
    return this.image.programs.version;
  }

  /** Has no host yet; those that come first are its control plane. */
  static async start(programs: KubernetesPrograms): Promise<NodeCluster> {
    const folder = mkdtempSync(join(tmpdir(), "capstan-nodes-"));
    const keys = await newClusterKeys(Date.now(), "ECDSA-P256");
    const network = await Network.start(folder);
    const image = await HostImage.make(folder, programs);
    const cluster = new NodeCluster(image, folder, network, keys);
    const config = await administrator({ trusted: keys.ca, signer: keys.ca });
    writeFileSync(cluster.kubeconfig, config, { mode: 0o600 });
    return cluster;
  }

  /** Boots a new host with the user data of its role. Its image holds everything that the role needs. */
  async addHost(name: string, role: Role, about: NodeAbout): Promise<void> {
    const { network, image } = this;
    const { plug, podCidr } = network.nextPlug();
    const host = await NamespaceHost.start({
      group: `capstan-${process.pid}-${name}`,
      name,
      network: network.hosts,
      plug,
      folder: join(this.folder, name),
    });
    await host.setUpPods(podCidr);
    const settings = await this.settingsOf(role, about);
    this.members.set(name, { host, settings });
    network.leadTo(this.controlPlane.map((member) => this.host(member).address));
    await image.putOnto(host, isMember(settings));
    await this.boot(host, settings);
  }

  /** Brings all hosts to another version in place, one after the other, by what Capstan renders for that. */
  async upgrade(programs: KubernetesPrograms): Promise<void> {
    const image = await HostImage.make(this.folder, programs);
    this.image = image;
    for (const { host, settings } of this.members.values()) {
      await image.installPrograms(host, `/var/lib/packages/${programs.version}`);
      await image.importImages(host, isMember(settings));
      await this.upgradeHost(host, settings);
    }
  }

  /**
   * An upgrade may begin only while the control plane answers, and may be repeated: a kubelet that was upgraded starts
   * its API server again at a time of its own.
   */
  private async upgradeHost(host: NamespaceHost, settings: HostSettings): Promise<void> {
    // The image has said what it holds; from here on it is as if packages had brought it.
    const from: HostSetup = { ...settings, source: "apt" };
    const to = { ...from, node: { ...from.node, kubernetesVersion: this.version } };
    const upgrade = upgradeOf(from, to, upgradeRoles[settings.role.kind]);
    assert.ok(upgrade.kind === "steps", JSON.stringify(upgrade));
    const bundle = upgradeBundle(upgrade.steps, to);
    const input = upgradeCommand(bundle);
    await untilTrue(`${host.name} is upgraded`, async () => {
      for (const name of this.controlPlane) await this.serves(name);
      await host.runWith({ input, timeoutMs: bootTimeoutMs }, "sh");
      return true;
    });
    assert.equal(await host.run("cat", bundle.sentinel), `${bundle.id}\n`);
  }

  private get controlPlane(): string[] {
    const members = [...this.members].filter(([, { settings }]) => isMember(settings));
    return members.map(([name]) => name);
  }

  /** Throws an Error unless the API server of a member of the control plane is ready. */
  async serves(name: string): Promise<void> {
    const asking = ["--server", `https://${name}:6443`, "get", "--raw", "/readyz"];
    await this.host(name).run("kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", ...asking);
  }

  private async boot(host: NamespaceHost, settings: HostSettings): Promise<void> {
    const userData = userDataOf(hostBootstrap(settings), "cloud-config");
    try {
      await boot(host, userData, bootTimeoutMs);
    } catch (error) {
      throw new Error(`${host.name} does not become a node:\n${await this.story()}`, {
        cause: error,
      });
    }
  }

  private async settingsOf(kind: Role, about: NodeAbout): Promise<HostSettings> {
    return {
      cluster: {
        name: "prod",
        endpoint: Network.endpoint,
        serviceCidrs: ["10.96.0.0/12"],
        podCidrs: ["192.168.0.0/16"],
        serviceDomain: "cluster.local",
        keyAlgorithm: "ECDSA-P256",
      },
      node: {
        ...about,
        name: { command: "hostname" },
        address: { command: "hostname -I | cut -d' ' -f1" },
        kubernetesVersion: this.version,
        criSocket: criSocketOf("containerd"),
        isSchedulable: false,
        // The machine may have cgroups of version 1, and swap.
        kubeletConfiguration: { failCgroupV1: false, failSwapOn: false },
        ignorePreflightErrors,
      },
      role: await this.roleOf(kind),
      runtime: found(runtimeOfMachine()),
      source: "image",
    };
  }

  private async roleOf(kind: Role): Promise<HostSettings["role"]> {
    const { keys } = this;
    if (kind === "init") return { kind, keys, token: sampleToken };
    const join = {
      token: await this.newToken(),
      caCertHashes: [publicKeyHash(keys.ca.certificatePem)],
    };
    return kind === "joinWorker" ? { kind, join } : { kind, keys, join };
  }

  private async newToken(): Promise<string> {
    const creating = ["token", "create", "--ttl", "15m", "--kubeconfig", this.kubeconfig];
    return (await this.network.hosts.run(this.image.programs.path("kubeadm"), ...creating)).trim();
  }

  /** As an administrator whose certificate our authority has signed. */
  kubectl(...args: readonly string[]): Promise<string> {
    return this.kubectlAs(this.kubeconfig, ...args);
  }

  /** As whom a file with a kubeconfig names. */
  kubectlAs(kubeconfig: string, ...args: readonly string[]): Promise<string> {
    return this.network.hosts.run(
      this.image.programs.path("kubectl"),
      "--kubeconfig",
      kubeconfig,
      ...args,
    );
  }

  private get kubeconfig(): string {
    return join(this.folder, "admin.conf");
  }

  /** Throws an Error for a host that was not added. */
  host(name: string): NamespaceHost {
    const host = this.members.get(name)?.host;
    if (host === undefined) throw new Error(`there is no host ${name}`);
    return host;
  }

  /** What the logs of all hosts end with. */
  async story(): Promise<string> {
    const stories = await Promise.all([...this.members.values()].map(({ host }) => host.story()));
    return stories.join("\n\n");
  }

  async end(): Promise<void> {
    await Promise.all([...this.members.values()].map(({ host }) => host.end()));
    await this.network.end();
    removeFolder(this.folder);
  }
}

function found<T>(what: T | undefined): T {
  assert.ok(what !== undefined);
  return what;
}

function isMember({ role }: HostSettings): boolean {
  return role.kind !== "joinWorker";
}
