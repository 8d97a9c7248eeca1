import { fileURLToPath } from "node:url";
import { type NamespaceRoot, output, scriptPath, startNamespaces } from "./namespaces.js";

/** Addresses may be those of other networks on this machine: nothing leads from one to another. */
const prefix = "10.77.0";

/** A network of the test's own, without a way out, with the endpoint of a control plane. */
export class Network {
  /** Where the endpoint listens. */
  static readonly endpoint = { host: `${prefix}.1`, port: 6443 };
  private plugged = 0;

  private constructor(private readonly root: NamespaceRoot) {}

  /** The endpoint leads to those hosts that are plugged in first. The folder is removed with the network. */
  static async start(folder: string, controlPlaneMembers: number): Promise<Network> {
    const { host, port } = Network.endpoint;
    const members = Array.from({ length: controlPlaneMembers }, (_, index) => addressOf(index));
    const program = fileURLToPath(new URL("endpoint.js", import.meta.url));
    const endpoint = [process.execPath, program, host, String(port), ...members];
    const args = ["--net", scriptPath("run-network.sh"), folder, host, ...endpoint];
    return new Network(await startNamespaces("unshare", args));
  }

  /** Gives a host an address and a network for its pods. */
  async plugIn(pid: number): Promise<{ readonly address: string; readonly podCidr: string }> {
    const index = this.plugged++;
    const link = `host${index}`;
    await this.run("ip", "link", "add", link, "type", "veth", "peer", "eth0", "netns", `${pid}`);
    await this.run("ip", "link", "set", link, "master", "bridge", "up");
    return { address: addressOf(index), podCidr: `192.168.${index}.0/24` };
  }

  /** Runs a program of this machine in the network. */
  run(program: string, ...args: readonly string[]): Promise<string> {
    return output("nsenter", ["--target", String(this.root.pid), "--net", program, ...args]);
  }

  end(): Promise<void> {
    return this.root.end();
  }
}

function addressOf(index: number): string {
  return `${prefix}.${11 + index}`;
}
