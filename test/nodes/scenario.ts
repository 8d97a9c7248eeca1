import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LocalCloud } from "../../providers/local/cloud.js";
import { observe } from "../../providers/local/handlers.js";
import { HostShell } from "../../providers/local/kubeadm/host-shell.js";
import type { KubernetesPrograms } from "../../providers/local/kubeadm/kubernetes-programs.js";
import { groupOf, linkOf } from "../../providers/local/kubeadm/place.js";
import { output } from "../../providers/local/kubeadm/namespaces.js";
import { processesNaming } from "../../providers/local/nodes/processes-naming.js";
import { systemClock } from "../../src/provider/clock.js";
import type { Observed } from "../../src/provider/port.js";
import { Sandbox } from "../scenario/sandbox.js";
import { clusterObjects, type NodesCluster, stack, workersCheck } from "./manifests.js";
import {
  cgroupsNamed,
  linksNamed,
  mountsBelow,
  nameOf,
  processesInGroup,
  processesThatMount,
} from "./traces.js";

/** The real command line, whose clusters consist of real nodes. */
export class NodesScenario {
  /** Path of the file that `kubectl` takes. */
  private admin: Promise<string> | undefined;

  private constructor(
    readonly sandbox: Sandbox,
    private readonly programs: KubernetesPrograms,
  ) {}

  static async start(programs: KubernetesPrograms, cluster: NodesCluster): Promise<NodesScenario> {
    const objects = [...clusterObjects(programs.version, cluster), workersCheck];
    return new NodesScenario(await Sandbox.make({ objects }), programs);
  }

  /** Of Kubernetes, on all hosts. */
  get version(): string {
    return this.programs.version;
  }

  write(cluster: NodesCluster, version = this.version): void {
    this.sandbox.writeObjects([...clusterObjects(version, cluster), workersCheck]);
  }

  /** As an administrator whom `capstan kubeconfig` has made since the last rotation of keys. */
  async kubectl(...args: readonly string[]): Promise<string> {
    this.admin ??= this.kubeconfig("admin");
    return this.kubectlAs(await this.admin, ...args);
  }

  /** Brings the cluster's certificates to other keys. */
  async rotate(to: string): Promise<void> {
    await this.sandbox.capstan(0, "certificates", "rotate", stack, "--to", to, "--yes");
    this.admin = undefined;
  }

  /** As whom a file of a kubeconfig names. */
  kubectlAs(kubeconfig: string, ...args: readonly string[]): Promise<string> {
    return output(this.programs.path("kubectl"), ["--kubeconfig", kubeconfig, ...args]);
  }

  /** Path of a file with a new one. */
  async kubeconfig(name: string): Promise<string> {
    const file = join(this.sandbox.folder, `${name}.conf`);
    await this.sandbox.capstan(0, "kubeconfig", stack, "--out", file);
    return file;
  }

  /** Runs programs on a host. */
  shell({ id }: Observed): HostShell {
    const pid = readFileSync(join(this.folders, id, "disk", "pid"), "utf8");
    return new HostShell(groupOf(id), Number(pid));
  }

  /** Those that are not gone, as the cloud's file has them. */
  async hosts(): Promise<Observed[]> {
    const all = await this.everything();
    return all.filter(({ who, phase }) => who.kind === "LocalHost" && phase !== "gone");
  }

  async loadBalancer(): Promise<Observed> {
    const all = await this.everything();
    const found = all.find(
      ({ who, phase }) => who.kind === "LocalLoadBalancer" && phase !== "gone",
    );
    if (found === undefined) throw new Error("there is no load balancer");
    return found;
  }

  private async everything(): Promise<Observed[]> {
    const cloud = new LocalCloud(this.sandbox.cloudFile, systemClock, "reads");
    try {
      return (await cloud.everything()).map(observe);
    } finally {
      cloud.close();
    }
  }

  /** Kills a program of a host, which nobody starts again. */
  killProgram({ id }: Observed, program: string): void {
    const killed = processesInGroup(groupOf(id)).filter((pid) => nameOf(pid) === program);
    assert.notDeepEqual(killed, [], `${program} runs`);
    for (const pid of killed) process.kill(Number(pid), "SIGKILL");
  }

  /** Kills the process of a host, which keeps it, or of a load balancer, and nothing else. */
  killKeeper(id: string): void {
    for (const pid of this.keepers(id)) process.kill(pid, "SIGKILL");
  }

  private keepers(id: string): number[] {
    return processesNaming(join(this.folders, id), new Set(["node"]));
  }

  private get folders(): string {
    return `${this.sandbox.cloudFile}.hosts`;
  }

  /** Whatever there is of everything that ever was in the cloud: folders, cables, cgroups, mounts, processes and with them namespaces. */
  async traces(): Promise<string[]> {
    const ids = (await this.everything()).map(({ id }) => id);
    return [
      ...readdirSync(this.folders),
      ...linksNamed(ids.map(linkOf)),
      ...ids.flatMap((id) => cgroupsNamed(groupOf(id))),
      ...mountsBelow(this.folders),
      ...processesThatMount(this.folders),
      ...ids.flatMap((id) => this.keepers(id)).map(String),
    ];
  }

  /** What its hosts could tell about what goes wrong. */
  async story(): Promise<string> {
    const stories = (await this.hosts()).map(async ({ id, who, phase }) => {
      const log = join(this.folders, id, "log");
      const logs = [...readdirSync(log).map((name) => join(log, name))];
      const own = ["kubelet", "containerd"].map((name) =>
        join(this.folders, id, "disk", "var", "log", `${name}.log`),
      );
      const tails = await output("sh", [
        "-c",
        'tail -n 20 "$@" 2>&1 || true',
        "sh",
        ...logs,
        ...own,
      ]);
      return `${who.name} is ${phase}\n${tails}`;
    });
    return (await Promise.all(stories)).join("\n\n");
  }

  /** Also of hosts that a failed test has left. */
  async end(): Promise<void> {
    await this.sandbox.start("destroy", stack, "--yes").finished;
    await this.sandbox.close();
  }
}
