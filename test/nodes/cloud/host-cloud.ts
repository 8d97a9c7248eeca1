import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Observed } from "../../../src/provider/port.js";
import { containerdVersion } from "../containerd-version.js";
import { hostGroupPrefix } from "../host.js";
import { cgroupsNamed, processesThatMount } from "./traces.js";
import { HostImage } from "../host-image.js";
import { Network } from "../network.js";
import type { Programs } from "../programs.js";
import type { CloudApi, HostOrder } from "./api.js";
import { CloudHost } from "./cloud-host.js";
import { serveCloud } from "./connection.js";
import { type CloudFacts, factsIn } from "./provider.js";

/**
 * A cloud whose hosts are made of namespaces of this machine. It lives in the process that starts it and ends with
 * it; other processes reach it by its folder.
 */
export class HostCloud implements CloudApi {
  /** By id, in the order in which they came. */
  private readonly hosts = new Map<string, CloudHost>();
  private server: Server | undefined;

  private constructor(
    readonly folder: string,
    readonly network: Network,
    private readonly image: HostImage,
  ) {}

  static async start(programs: Programs): Promise<HostCloud> {
    const folder = mkdtempSync(join(tmpdir(), "capstan-cloud-"));
    const network = await Network.start(folder);
    mkdirSync(join(folder, "hosts"));
    const cloud = new HostCloud(folder, network, await HostImage.make(folder, programs));
    const socketPath = join(folder, "cloud.sock");
    cloud.server = await serveCloud(cloud, socketPath);
    const facts: CloudFacts = { socketPath, containerd: await containerdVersion() };
    writeFileSync(factsIn(folder), JSON.stringify(facts));
    return cloud;
  }

  /** Of Kubernetes, on all hosts. */
  get version(): string {
    return this.image.programs.version;
  }

  async get(id: string): Promise<Observed | null> {
    return this.hosts.get(id)?.observed ?? null;
  }

  async list(): Promise<readonly Observed[]> {
    return [...this.hosts.values()].map(({ observed }) => observed);
  }

  async create(order: HostOrder): Promise<Observed> {
    const known = this.hosts.get(order.id);
    if (known !== undefined) return known.observed;
    const host = new CloudHost(order);
    this.hosts.set(order.id, host);
    this.bringUp(host).catch((error: unknown) => host.fail(error));
    return host.observed;
  }

  private async bringUp(host: CloudHost): Promise<void> {
    await host.start(this.network, join(this.folder, "hosts"));
    this.balance();
    await host.boot(this.image);
  }

  async remove(id: string): Promise<void> {
    const ended = this.hosts.get(id)?.end();
    this.balance();
    await ended;
  }

  /** As a cloud's load balancer follows the hosts of a control plane. */
  private balance(): void {
    const members = [...this.hosts.values()].filter(({ isMember }) => isMember);
    this.network.leadTo(members.flatMap(({ address }) => address ?? []));
  }

  async console(id: string): Promise<string> {
    return (await this.hosts.get(id)?.console()) ?? "";
  }

  /** What its hosts could tell about what goes wrong. */
  async story(): Promise<string> {
    const stories = await Promise.all([...this.hosts.values()].map((host) => host.story()));
    return stories.join("\n\n");
  }

  /** Whatever there is of hosts: folders, links of the network, cgroups, processes and with them namespaces and mounts. */
  async traces(): Promise<string[]> {
    const folder = join(this.folder, "hosts");
    const links = await this.network.run("ip", "-br", "link", "show", "type", "veth");
    return [
      ...readdirSync(folder),
      ...links.split("\n").filter((line) => line !== ""),
      ...cgroupsNamed(hostGroupPrefix),
      ...processesThatMount(folder),
    ];
  }

  async end(): Promise<void> {
    await Promise.all([...this.hosts.values()].map((host) => host.end()));
    this.server?.closeAllConnections();
    this.server?.close();
    await this.network.end();
  }
}
