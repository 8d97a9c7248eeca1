import { spawn } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { HostNetwork, type HostPlug } from "../../providers/local/kubeadm/network.js";

/** Addresses may be those of other networks on this machine: nothing leads from one to another. */
const prefix = "10.77.0";
const bits = 24;

/** A network of the test's own, without a way out, with the endpoint of a control plane. */
export class Network {
  /** Where the endpoint listens. */
  static readonly endpoint = { host: `${prefix}.1`, port: 6443 };
  private plugged = 0;

  private constructor(
    readonly hosts: HostNetwork,
    /** Of a file with the addresses that the endpoint leads to. */
    private readonly members: string,
    private readonly endEndpoint: () => void,
  ) {}

  /** The endpoint leads nowhere yet, and ends with this process. */
  static async start(folder: string): Promise<Network> {
    const { host, port } = Network.endpoint;
    const hosts = new HostNetwork(join(folder, "network"), { endpoint: host, bits });
    await hosts.make();
    const members = join(folder, "members");
    const program = fileURLToPath(new URL("endpoint.js", import.meta.url));
    const [entering, ...words] = hosts.entering;
    const args = [...words, process.execPath, program, host, String(port), members];
    const endpoint = spawn(entering, args, { stdio: ["pipe", "ignore", "inherit"] });
    endpoint.unref();
    return new Network(hosts, members, () => endpoint.kill("SIGKILL"));
  }

  /** From now on the endpoint leads to the first of these addresses that takes a connection. */
  leadTo(addresses: readonly string[]): void {
    writeFileSync(`${this.members}.new`, addresses.join("\n"));
    renameSync(`${this.members}.new`, this.members);
  }

  /** For the next host, with addresses for its pods. */
  nextPlug(): { readonly plug: HostPlug; readonly podCidr: string } {
    const index = this.plugged++;
    const plug = { address: `${prefix}.${11 + index}`, link: `host${index}` };
    return { plug, podCidr: `192.168.${index}.0/24` };
  }

  async end(): Promise<void> {
    this.endEndpoint();
    await this.hosts.remove();
  }
}
