import { copyFile, mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  type NamespaceRoot,
  output,
  type ProgramOptions,
  scriptPath,
  startNamespaces,
} from "./namespaces.js";
import { Network } from "./network.js";

interface HostRequest {
  readonly name: string;
  readonly network: Network;
  /** Where it keeps what it writes: a new folder, gone with the host. */
  readonly folder: string;
}

/** What the cgroups are called of hosts that this process makes. */
export const hostGroupPrefix = `capstan-${process.pid}-`;

/**
 * A host made of namespaces and cgroups: its own processes, files, name and network, on the machine's kernel and
 * with the machine's programs. Like a cloud's image it has a container runtime that is not started yet.
 */
export class Host {
  private constructor(
    readonly name: string,
    /** Where other hosts reach it. */
    readonly address: string,
    private readonly group: string,
    private readonly root: NamespaceRoot,
  ) {}

  static async start({ name, network, folder }: HostRequest): Promise<Host> {
    const group = `${hostGroupPrefix}${name}`;
    const root = await startNamespaces(scriptPath("run-host.sh"), [group, folder, name]);
    const plug = await network.plugIn(root.pid);
    const end = async () => {
      await root.end();
      await network.unplug(plug);
    };
    const host = new Host(name, plug.address, group, { pid: root.pid, end });
    await host.setUpNetwork(plug.podCidr);
    return host;
  }

  private async setUpNetwork(podCidr: string): Promise<void> {
    const { address, name } = this;
    await this.run("ip", "addr", "add", `${address}/24`, "dev", "eth0");
    await this.run("ip", "link", "set", "eth0", "up");
    await this.run("ip", "route", "add", "default", "via", Network.endpoint.host);
    await this.write("/etc/hosts", "0644", `127.0.0.1 localhost\n${address} ${name}\n`);
    // Nobody answers there, and says so at once.
    await this.write("/etc/resolv.conf", "0644", `nameserver ${Network.endpoint.host}\n`);
    await this.write("/etc/cni/net.d/10-pods.conflist", "0644", podNetwork(podCidr));
  }

  /** Puts a program of this machine into a folder of the host: by default where it finds programs first. */
  async install(program: string, folder = "/usr/local/bin"): Promise<void> {
    const target = join("/proc", String(this.root.pid), "root", folder);
    await mkdir(target, { recursive: true });
    await copyFile(program, join(target, basename(program)));
  }

  /** Runs a program on the host, as root; its output. */
  run(program: string, ...args: readonly string[]): Promise<string> {
    return this.runWith({}, program, ...args);
  }

  runWith(options: ProgramOptions, program: string, ...args: readonly string[]): Promise<string> {
    const entering = [this.group, String(this.root.pid), program, ...args];
    return output(scriptPath("enter-host.sh"), entering, options);
  }

  async write(path: string, mode: string, content: string): Promise<void> {
    const writing = 'mkdir -p "$(dirname "$1")"; umask 077; cat > "$1"; chmod "$2" "$1"';
    await this.runWith({ input: content }, "sh", "-c", writing, "sh", path, mode);
  }

  /** The ends of its logs, and what its console shows, for people who look for what went wrong. */
  async story(): Promise<string> {
    const logs = ["capstan-bootstrap", "kubelet", "containerd"].map((name) =>
      join("/var/log", `${name}.log`),
    );
    const tails = `tail -n 20 ${logs.join(" ")} /dev/console 2>&1 || true`;
    return `${this.name}\n${await this.run("sh", "-c", tails)}`;
  }

  end(): Promise<void> {
    return this.root.end();
  }
}

/** As a network add-on would leave it on the host. */
function podNetwork(subnet: string): string {
  const routes = [{ dst: "0.0.0.0/0" }];
  return JSON.stringify({
    cniVersion: "0.4.0",
    name: "pods",
    plugins: [{ type: "ptp", ipam: { type: "host-local", subnet, routes } }],
  });
}
