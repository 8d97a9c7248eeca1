import { join } from "node:path";
import { HostShell } from "./host-shell.js";
import { type NamespaceRoot, output, scriptPath, startNamespaces } from "./namespaces.js";
import { type HostNetwork, type HostPlug, unplug } from "./network.js";

/** What a host is made from. */
interface HostPlace {
  /** Name of its cgroups, of nothing else on this machine. */
  readonly group: string;
  /** Its host name. */
  readonly name: string;
  readonly network: HostNetwork;
  readonly plug: HostPlug;
  /** Where it keeps what it writes: a new folder, gone with the host. */
  readonly folder: string;
}

/**
 * A host made of namespaces and cgroups: its own processes, files, name and network, on the machine's kernel and
 * with the machine's programs. Like a cloud's image it has a container runtime that is not started yet.
 */
export class NamespaceHost extends HostShell {
  private constructor(
    private readonly place: HostPlace,
    private readonly root: NamespaceRoot,
  ) {
    super(place.group, root.pid);
  }

  static async start(place: HostPlace): Promise<NamespaceHost> {
    const { group, name, network, plug, folder } = place;
    const root = await startNamespaces(scriptPath("run-host.sh"), [group, folder, name]);
    await network.plugIn(root.pid, plug);
    const host = new NamespaceHost(place, root);
    await host.setUpNetwork();
    return host;
  }

  get name(): string {
    return this.place.name;
  }

  /** Where other hosts reach it. */
  get address(): string {
    return this.place.plug.address;
  }

  /** Fulfilled when it is gone, however that came. */
  get ended(): Promise<unknown> {
    return this.root.ended;
  }

  private async setUpNetwork(): Promise<void> {
    const { address, name } = this;
    const { endpoint, bits } = this.place.network.addresses;
    await this.run("ip", "addr", "add", `${address}/${bits}`, "dev", "eth0");
    await this.run("ip", "link", "set", "eth0", "up");
    await this.run("ip", "route", "add", "default", "via", endpoint);
    await this.write("/etc/hosts", "0644", `127.0.0.1 localhost\n${address} ${name}\n`);
    // Nobody answers there, and says so at once.
    await this.write("/etc/resolv.conf", "0644", `nameserver ${endpoint}\n`);
  }

  /** Gives its pods addresses, as a network add-on would. */
  async setUpPods(podCidr: string): Promise<void> {
    await this.write("/etc/cni/net.d/10-pods.conflist", "0644", podNetwork(podCidr));
  }

  /** The ends of its logs, and what its console shows, for people who look for what went wrong. */
  async story(): Promise<string> {
    const logs = ["capstan-bootstrap", "kubelet", "containerd"].map((name) =>
      join("/var/log", `${name}.log`),
    );
    const tails = `tail -n 20 ${logs.join(" ")} /dev/console 2>&1 || true`;
    return `${this.name}\n${await this.run("sh", "-c", tails)}`;
  }

  async end(): Promise<void> {
    await this.root.end();
    await unplug(this.place.network.file, this.place.plug.link);
  }
}

/** Ends what there is of a host, whoever has made it and however that has ended. */
export async function removeHost(group: string, folder: string): Promise<void> {
  await output(scriptPath("remove-host.sh"), [group, folder]);
}

function podNetwork(subnet: string): string {
  const routes = [{ dst: "0.0.0.0/0" }];
  return JSON.stringify({
    cniVersion: "0.4.0",
    name: "pods",
    plugins: [{ type: "ptp", ipam: { type: "host-local", subnet, routes } }],
  });
}
