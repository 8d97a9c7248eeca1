import { join } from "node:path";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { NodeReport, Observed, Phase } from "../../../src/provider/port.js";
import { boot } from "../cloud-init.js";
import { Host } from "../host.js";
import type { HostImage } from "../host-image.js";
import type { Network } from "../network.js";
import { untilTrue } from "../until-true.js";
import type { HostOrder } from "./api.js";

/** On a busy machine. */
const bootTimeoutMs = 8 * 60_000;

/** The part of a Node that is looked at. */
interface NodeObject {
  readonly metadata: { readonly uid: string };
  readonly status: {
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
    readonly nodeInfo: { readonly kubeletVersion: string; readonly osImage: string };
  };
}

/** A host of the cloud from its order to its end. */
export class CloudHost {
  private readonly createdAtMs = Date.now();
  private phase: Phase = "pending";
  private readySinceMs: number | undefined;
  private node: NodeReport | undefined;
  private host: Host | undefined;
  private isEnding = false;
  private started: Promise<Host> | undefined;
  /** What has kept it from becoming a node. */
  private fault = "";

  constructor(private readonly order: HostOrder) {}

  get observed(): Observed {
    const { order, phase, createdAtMs, readySinceMs, node } = this;
    const { id, who, spec } = order;
    const status = { providerId: `nodes://${who.name}` };
    return omitUndefined({ id, who, spec, phase, status, createdAtMs, readySinceMs, node });
  }

  get isMember(): boolean {
    return this.order.spec["role"] === "controlPlane";
  }

  /** None before it has started, and from the begin of its end. */
  get address(): string | undefined {
    return this.isEnding ? undefined : this.host?.address;
  }

  async start(network: Network, folder: string): Promise<void> {
    const { id, who } = this.order;
    this.started = Host.start({ name: who.name, network, folder: join(folder, id) });
    this.host = await this.started;
  }

  /** It is ready once its Node is, and failed if it becomes none. */
  async boot(image: HostImage): Promise<void> {
    const { host } = this;
    try {
      if (host === undefined) throw new Error("it has not started");
      await image.putOnto(host, this.isMember);
      await boot(host, this.order.userData, bootTimeoutMs);
      await untilTrue(
        `${host.name} is ready`,
        async () => this.isEnding || this.becomesReady(host),
      );
    } catch (error) {
      this.fail(error);
    }
  }

  /** By the credentials of its kubelet, which may read its own Node. */
  private async becomesReady(host: Host): Promise<boolean> {
    const kubectl = ["kubectl", "--kubeconfig", "/etc/kubernetes/kubelet.conf"] as const;
    const text = await host.run(...kubectl, "get", "node", host.name, "-o", "json");
    const { metadata, status } = JSON.parse(text) as NodeObject;
    if (!status.conditions.some((one) => one.type === "Ready" && one.status === "True")) {
      return false;
    }
    if (this.isMember) {
      const server = `https://${host.address}:6443`;
      await host.run(...kubectl, "--server", server, "get", "--raw", "/readyz");
    }
    const { kubeletVersion, osImage } = status.nodeInfo;
    this.node = { kubelet: kubeletVersion.replace(/^v/, ""), osImage, uid: metadata.uid };
    this.phase = "ready";
    this.readySinceMs = Date.now();
    return true;
  }

  fail(error: unknown): void {
    if (this.isEnding) return;
    this.phase = "failed";
    this.fault = String(error);
  }

  async console(): Promise<string> {
    if (this.address === undefined) return this.fault;
    return (await this.host?.run("tail", "-n", "40", "/dev/console")) ?? "";
  }

  /** What it could tell about what goes wrong. */
  async story(): Promise<string> {
    const { who } = this.order;
    const logs = this.address === undefined ? "" : await this.host?.story();
    return [`${who.name} is ${this.phase} ${this.fault}`, logs].join("\n");
  }

  async end(): Promise<void> {
    this.isEnding = true;
    const host = await this.started?.catch(() => undefined);
    await host?.end();
    this.phase = "gone";
    this.readySinceMs = undefined;
  }
}
