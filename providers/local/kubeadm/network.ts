import { output, scriptPath } from "./namespaces.js";

/** Where a host is plugged in. */
export interface HostPlug {
  /** The host's own. */
  readonly address: string;
  /** Name of the network's end of the cable, at most 15 characters. */
  readonly link: string;
}

/** What a network has of its own. */
export interface NetworkAddresses {
  /** Of its bridge, where the endpoint of a control plane is and hosts send what they know no way for. */
  readonly endpoint: string;
  /** Length of the prefix that all its addresses share. */
  readonly bits: number;
  /** By which the machine is plugged in; without, nothing leads there from the machine's own network. */
  readonly machine?: { readonly address: string; readonly link: string };
}

/** A network that hosts of namespaces are plugged into: a namespace that a file stands for, whoever lives. Nothing leads out of it. */
export class HostNetwork {
  constructor(
    /** That the namespace is mounted on. */
    readonly file: string,
    readonly addresses: NetworkAddresses,
  ) {}

  /** As far as it is not there. */
  async make(): Promise<void> {
    await output(scriptPath("make-network.sh"), makingArgs(this));
  }

  /** As far as it is there. Nothing may run in it any more. */
  async remove(): Promise<void> {
    await removeNetwork(this.file);
  }

  /** Puts a cable between the network and the first process of a host, whose end is eth0. */
  async plugIn(pid: number, { link }: HostPlug): Promise<void> {
    await this.run("ip", "link", "add", link, "type", "veth", "peer", "eth0", "netns", `${pid}`);
    await this.run("ip", "link", "set", link, "master", "bridge", "up");
  }

  /** Runs a program of this machine in the network; its output. */
  run(program: string, ...args: readonly string[]): Promise<string> {
    const [entering, ...words] = this.entering;
    return output(entering, [...words, program, ...args]);
  }

  /** What a command line begins with whose program is to run in the network. */
  get entering(): readonly [string, ...string[]] {
    return ["nsenter", `--net=${this.file}`];
  }
}

/** Arguments of make-network.sh. Pure. */
export function makingArgs({ file, addresses }: HostNetwork): string[] {
  const { endpoint, bits, machine } = addresses;
  const plugged = machine === undefined ? [] : [machine.link, `${machine.address}/${bits}`];
  return [file, `${endpoint}/${bits}`, ...plugged];
}

export async function removeNetwork(file: string): Promise<void> {
  await output(scriptPath("remove-network.sh"), [file]);
}

/** After the end of its host, whose cable sockets may keep for minutes otherwise. */
export async function unplug(file: string, link: string): Promise<void> {
  const unplugging = output("nsenter", [`--net=${file}`, "ip", "link", "delete", link]);
  await unplugging.catch(() => undefined); // The kernel may have been faster.
}
