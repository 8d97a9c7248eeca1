import { symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheRoot } from "#cache-root";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { NodeReport } from "../../../src/provider/port.js";
import { nodeOf } from "../file/node.js";
import type { LocalResource } from "../file/resource.js";
import { giveRoom, takeRoom } from "../nodes/full-disk.js";
import { HostFolder } from "../nodes/host-folder.js";
import type { HostRunner } from "../nodes/host-runner.js";
import { memberPrograms } from "../nodes/member-programs.js";
import type { LoadBalancerPlace, ProcessRecords } from "../nodes/process-records.js";
import { boot } from "./cloud-init.js";
import { NamespaceHost, removeHost } from "./host.js";
import { HostImage } from "./host-image.js";
import { programsOn } from "./host-programs.js";
import { kubernetesPrograms } from "./kubernetes-programs.js";
import { HostNetwork, unplug } from "./network.js";
import { addressesOf, groupOf, linkOf } from "./place.js";

/** A member of a control plane on a busy machine. */
const bootTimeoutMs = 8 * 60_000;

const kubectl = ["kubectl", "--kubeconfig", "/etc/kubernetes/kubelet.conf"] as const;

/** The part of a Node that is looked at. */
interface SeenNode {
  readonly metadata: { readonly uid: string };
  readonly spec: { readonly podCIDR?: string };
  readonly status: {
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
    readonly nodeInfo: {
      readonly kubeletVersion: string;
      readonly osImage: string;
      readonly containerRuntimeVersion: string;
    };
  };
}

/** How far a host is. */
type HostPhase =
  | { readonly kind: "new" }
  /** kubeadm has done its part; whether its pods have addresses. */
  | { readonly kind: "joining"; readonly host: NamespaceHost; readonly hasPods: boolean }
  | { readonly kind: "ready"; readonly report: NodeReport }
  /** It becomes no node, and is kept for those who want to know why. */
  | { readonly kind: "failed" };

/** A host in namespaces of its own, which its user data makes a node of. It lives as long as this process. */
export class KubeadmHostRunner implements HostRunner {
  private phase: HostPhase = { kind: "new" };
  private network: HostNetwork | undefined;

  constructor(
    private readonly folder: HostFolder,
    private readonly records: ProcessRecords,
  ) {}

  async step(resource: LocalResource): Promise<void> {
    this.keepFull();
    switch (this.phase.kind) {
      case "new":
        return this.begin(resource);
      case "joining":
        return this.look(resource, this.phase);
      case "ready":
        // It is told until it is heard: a host that nobody has looked at since its creation has not begun to run in the file.
        if (resource.readySinceMs === undefined) await this.records.tell(true, this.phase.report);
        return;
      case "failed":
        return;
    }
  }

  /** The kubelet starts containers again, and knows of no disk that is full. */
  private keepFull(): void {
    const { folder } = this;
    for (const program of memberPrograms.filter((one) => folder.isFull(one))) {
      const pids = programsOn(folder.id, program).map(([pid]) => pid);
      takeRoom(pids);
      // Whoever frees the disk takes the mark away first, and may have given room to these before.
      if (!folder.isFull(program)) giveRoom(pids);
    }
  }

  async end(): Promise<void> {
    await removeHost(groupOf(this.folder.id), this.folder.disk);
    if (this.network !== undefined) await unplug(this.network.file, linkOf(this.folder.id));
  }

  private async begin(resource: LocalResource): Promise<void> {
    if (this.folder.hasBegun) return this.records.lose("what kept it has ended");
    const place = await this.records.place();
    if (place?.loadBalancer.readySinceMs === undefined) {
      throw new Error("the load balancer of its cluster does not answer yet");
    }
    const network = networkOf(this.folder, place);
    this.network = network;
    this.folder.noteBegin();
    const host = await this.orFail("it cannot be made", () => this.start(network, resource));
    void host.ended.then(() => this.records.lose("its processes have ended"));
    await this.orFail("its user data makes no node of it", () =>
      boot(host, this.folder.userData(), bootTimeoutMs),
    );
    this.phase = { kind: "joining", host, hasPods: false };
  }

  /** What has failed is on the console; the file is not told what may be a secret. */
  private async orFail<T>(reason: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.phase = { kind: "failed" };
      await this.records.fail({ code: "CLOUD_FAILED", reason });
      throw error;
    }
  }

  /** With its image, as a cloud gives it to a new host. */
  private async start(network: HostNetwork, resource: LocalResource): Promise<NamespaceHost> {
    const { id, who, spec, status } = resource;
    const version = String(spec["controlPlane"] ?? spec["kubelet"]);
    const image = await HostImage.make(cacheRoot(process.env), kubernetesPrograms(version));
    const { disk } = this.folder;
    symlinkSync(join(disk, "console"), this.folder.log("console"));
    const host = await NamespaceHost.start({
      group: groupOf(id),
      name: who.name,
      network,
      plug: { address: String(status["address"]), link: linkOf(id) },
      folder: disk,
    });
    const facts = { instance_id: id, availability_zone: spec["zone"] };
    await host.write("/run/cloud-init/instance-data.json", "0644", JSON.stringify(facts));
    await image.putOnto(host, isMember(resource));
    return host;
  }

  /** By the credentials of its kubelet, which may read its own Node. */
  private async look(
    resource: LocalResource,
    { host, hasPods }: { readonly host: NamespaceHost; readonly hasPods: boolean },
  ): Promise<void> {
    const text = await host.run(...kubectl, "get", "node", host.name, "-o", "json");
    const node = JSON.parse(text) as SeenNode;
    const { podCIDR } = node.spec;
    if (!hasPods && podCIDR !== undefined) {
      await host.setUpPods(podCIDR);
      this.phase = { kind: "joining", host, hasPods: true };
    }
    const isReady = node.status.conditions.some(
      ({ type, status }) => type === "Ready" && status === "True",
    );
    if (!isReady) return;
    if (isMember(resource)) {
      const server = `https://${host.address}:6443`;
      await host.run(...kubectl, "--server", server, "get", "--raw", "/readyz");
    }
    const report = reportOf(resource, node);
    await this.records.tell(true, report);
    this.phase = { kind: "ready", report };
  }
}

function isMember({ spec }: LocalResource): boolean {
  return spec["role"] === "controlPlane";
}

function networkOf(folder: HostFolder, { loadBalancer, cidr }: LoadBalancerPlace): HostNetwork {
  const { network } = new HostFolder(join(dirname(folder.path), loadBalancer.id));
  return new HostNetwork(network, addressesOf(loadBalancer, cidr));
}

/** What the Node says of itself, and of the control plane what runs by user data. Pure. */
function reportOf({ spec }: LocalResource, { metadata, status }: SeenNode): NodeReport {
  const { kubeletVersion, osImage, containerRuntimeVersion } = status.nodeInfo;
  const [name = "", version = ""] = containerRuntimeVersion.split("://");
  return omitUndefined({
    ...nodeOf(spec),
    kubelet: kubeletVersion.replace(/^v/, ""),
    osImage,
    containerRuntime: { name, version },
    uid: metadata.uid,
  });
}
