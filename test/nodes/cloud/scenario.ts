import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Observed } from "../../../src/provider/port.js";
import { Sandbox } from "../../scenario/sandbox.js";
import type { Programs } from "../programs.js";
import { HostCloud } from "./host-cloud.js";
import { clusterObjects, type NodesCluster, stack } from "./manifests.js";
import { cloudVariable } from "./provider.js";

/** The real command line, whose clusters consist of real nodes. */
export class NodesScenario {
  private constructor(
    readonly cloud: HostCloud,
    /** Runs commands in the network of the hosts. */
    readonly sandbox: Sandbox,
    private readonly programs: Programs,
  ) {}

  static async start(programs: Programs, cluster: NodesCluster): Promise<NodesScenario> {
    const cloud = await HostCloud.start(programs);
    const provider = fileURLToPath(new URL("provider.js", import.meta.url));
    const sandbox = await Sandbox.make(
      { objects: clusterObjects(programs.version, cluster) },
      {
        runner: cloud.network.entering,
        env: { [cloudVariable]: cloud.folder, CAPSTAN_PROVIDERS: provider },
      },
    );
    return new NodesScenario(cloud, sandbox, programs);
  }

  write(cluster: NodesCluster): void {
    this.sandbox.writeObjects(clusterObjects(this.programs.version, cluster));
  }

  /** As whom `capstan kubeconfig` gives out now. */
  async kubectl(...args: readonly string[]): Promise<string> {
    return this.kubectlAs(await this.kubeconfig("admin"), ...args);
  }

  /** As whom a file of a kubeconfig names. */
  kubectlAs(kubeconfig: string, ...args: readonly string[]): Promise<string> {
    const kubectl = this.programs.path("kubectl");
    return this.cloud.network.run(kubectl, "--kubeconfig", kubeconfig, ...args);
  }

  /** Path of a file with a new one. */
  async kubeconfig(name: string): Promise<string> {
    const file = join(this.sandbox.folder, `${name}.conf`);
    await this.sandbox.capstan(0, "kubeconfig", stack, "--out", file);
    return file;
  }

  /** Those that are not gone. */
  async hosts(): Promise<Observed[]> {
    return (await this.cloud.list()).filter(({ phase }) => phase !== "gone");
  }

  async end(): Promise<void> {
    await this.sandbox.close();
    await this.cloud.end();
  }
}
