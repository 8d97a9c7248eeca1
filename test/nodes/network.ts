import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type NamespaceRoot, output, scriptPath, startNamespaces } from "./namespaces.js";

/** Addresses may be those of other networks on this machine: nothing leads from one to another. */
const prefix = "10.77.0";

/** What a host has of the network. */
interface Plug {
  readonly address: string;
  /** Addresses for its pods. */
  readonly podCidr: string;
  readonly link: string;
}

/** A network of the test's own, without a way out, with the endpoint of a control plane. */
export class Network {
  /** Where the endpoint listens. */
  static readonly endpoint = { host: `${prefix}.1`, port: 6443 };
  private plugged = 0;

  private constructor(
    private readonly root: NamespaceRoot,
    /** Of a file with the addresses that the endpoint leads to. */
    private readonly members: string,
  ) {}

  /** The endpoint leads nowhere yet. The folder is removed with the network. */
  static async start(folder: string): Promise<Network> {
    const { host, port } = Network.endpoint;
    const members = join(folder, "members");
    const program = fileURLToPath(new URL("endpoint.js", import.meta.url));
    const endpoint = [process.execPath, program, host, String(port), members];
    const args = ["--net", scriptPath("run-network.sh"), folder, host, ...endpoint];
    return new Network(await startNamespaces("unshare", args), members);
  }

  /** From now on the endpoint leads to the first of these addresses that takes a connection. */
  leadTo(addresses: readonly string[]): void {
    writeFileSync(`${this.members}.new`, addresses.join("\n"));
    renameSync(`${this.members}.new`, this.members);
  }

  async plugIn(pid: number): Promise<Plug> {
    const index = this.plugged++;
    const link = `host${index}`;
    await this.run("ip", "link", "add", link, "type", "veth", "peer", "eth0", "netns", `${pid}`);
    await this.run("ip", "link", "set", link, "master", "bridge", "up");
    return { address: `${prefix}.${11 + index}`, podCidr: `192.168.${index}.0/24`, link };
  }

  /** After the end of its host: sockets may keep a link for minutes otherwise. */
  async unplug({ link }: Plug): Promise<void> {
    const unplugging = this.run("ip", "link", "delete", link);
    await unplugging.catch(() => undefined); // The kernel may have been faster.
  }

  /** Runs a program of this machine in the network. */
  run(program: string, ...args: readonly string[]): Promise<string> {
    const [entering, ...words] = this.entering;
    return output(entering, [...words, program, ...args]);
  }

  /** What a command line begins with whose program is to run in the network. */
  get entering(): readonly [string, ...string[]] {
    return ["nsenter", "--target", String(this.root.pid), "--net"];
  }

  end(): Promise<void> {
    return this.root.end();
  }
}
