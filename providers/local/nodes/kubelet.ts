import { createHash } from "node:crypto";
import { arch, cpus, release, totalmem } from "node:os";
import type { Json } from "../../../src/api/json.js";
import type { NodeReport } from "../../../src/provider/port.js";
import { type HttpsClient, HttpsError } from "./https-client.js";
import { loopback } from "./host-folder.js";

/** What a Node is to be. */
interface KubeletNode {
  readonly name: string;
  readonly providerId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly Json[];
  readonly kubeletPort: number;
}

interface NodeObject {
  readonly metadata: { readonly uid: string };
}

interface PodObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly containers: readonly { readonly name: string; readonly image: string }[];
  };
  readonly status?: { readonly phase?: string };
}

/** A program of a control plane, which has a pod by which others know of it. */
export interface StaticPod {
  readonly component: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const leaseSeconds = 40;
const mirrorAnnotation = "kubernetes.io/config.mirror";

/**
 * Stands for the kubelet of a host of processes: registers its Node, keeps its lease and status, and says of pods that are bound to it
 * that they run, and that they have ended once they are deleted. No container runs.
 */
export class Kubelet {
  private uid = "";

  constructor(
    /** By the Node's own credentials. */
    private readonly api: HttpsClient,
    private readonly about: KubeletNode,
  ) {}

  /** Makes the Node, or finds it, and says what it is. */
  async register(report: NodeReport): Promise<void> {
    const { name, providerId, labels, annotations, taints } = this.about;
    const hostname = { "kubernetes.io/hostname": name };
    const system = { "kubernetes.io/os": process.platform, "kubernetes.io/arch": architecture() };
    await this.api.ensure("/api/v1/nodes", {
      metadata: { name, labels: { ...hostname, ...system, ...labels }, annotations },
      spec: { providerID: providerId, taints },
    });
    const { metadata } = await this.api.get<NodeObject>(`/api/v1/nodes/${name}`);
    this.uid = metadata.uid;
    await this.heartbeat(report);
  }

  /** The lease, and with it the status: what the Node can do and runs. */
  async heartbeat(report: NodeReport): Promise<void> {
    const { name } = this.about;
    await this.api.patch(`/api/v1/nodes/${name}/status`, { status: this.statusOf(report) });
    const lease = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases`;
    const renewTime = new Date().toISOString().replace("Z", "000Z");
    const spec = { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime };
    try {
      await this.api.patch(`${lease}/${name}`, { spec });
    } catch (error) {
      if (!(error instanceof HttpsError) || error.status !== 404) throw error;
      await this.api.ensure(lease, { metadata: { name }, spec });
    }
  }

  private statusOf({ kubelet, containerRuntime, osImage }: NodeReport) {
    const { name, kubeletPort } = this.about;
    const digits = createHash("sha256").update(this.about.providerId).digest("hex").slice(0, 32);
    const room = {
      cpu: String(cpus().length),
      memory: `${Math.floor(totalmem() / 1_024)}Ki`,
      pods: "110",
    };
    const now = new Date().toISOString();
    const condition = (type: string, status: string, reason: string) => ({
      type,
      status,
      reason,
      message: reason,
      lastHeartbeatTime: now,
    });
    return {
      capacity: room,
      allocatable: room,
      addresses: [
        { type: "InternalIP", address: loopback },
        { type: "Hostname", address: name },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
      conditions: [
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID"),
        condition("Ready", "True", "KubeletReady"),
      ],
      nodeInfo: {
        machineID: digits,
        systemUUID: digits,
        bootID: digits,
        kernelVersion: release(),
        osImage: osImage ?? "",
        containerRuntimeVersion: `${containerRuntime?.name ?? ""}://${containerRuntime?.version ?? ""}`,
        kubeletVersion: `v${kubelet}`,
        kubeProxyVersion: "",
        operatingSystem: process.platform,
        architecture: architecture(),
      },
    };
  }

  /** Shows the programs of a control plane as a kubelet shows its static pods. */
  async show(pods: readonly StaticPod[]): Promise<void> {
    const { name } = this.about;
    for (const { component, annotations } of pods) {
      await this.api.ensure("/api/v1/namespaces/kube-system/pods", {
        metadata: {
          name: `${component}-${name}`,
          labels: { component, tier: "control-plane" },
          annotations: { ...annotations, [mirrorAnnotation]: this.uid },
          ownerReferences: [
            { apiVersion: "v1", kind: "Node", name, uid: this.uid, controller: true },
          ],
        },
        spec: {
          nodeName: name,
          hostNetwork: true,
          priorityClassName: "system-node-critical",
          tolerations: [{ operator: "Exists", effect: "NoExecute" }],
          containers: [{ name: component, image: `process/${component}` }],
        },
      });
    }
  }

  /** What has come runs, and what is deleted ends. */
  async tendPods(): Promise<void> {
    const selector = encodeURIComponent(`spec.nodeName=${this.about.name}`);
    const { items } = await this.api.get<{ readonly items: readonly PodObject[] }>(
      `/api/v1/pods?fieldSelector=${selector}`,
    );
    for (const pod of items) await this.tend(pod);
  }

  private async tend({ metadata, spec, status }: PodObject): Promise<void> {
    const { namespace, name, uid, deletionTimestamp } = metadata;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    try {
      if (deletionTimestamp !== undefined) {
        await this.api.delete(path, { gracePeriodSeconds: 0, preconditions: { uid } });
      } else if (status?.phase === "Pending" || status?.phase === undefined) {
        await this.api.patch(`${path}/status`, { status: runningStatus(spec.containers) });
      }
    } catch (error) {
      // It has gone, or another one has come, in between.
      if (!(error instanceof HttpsError) || ![404, 409].includes(error.status)) throw error;
    }
  }
}

function runningStatus(containers: PodObject["spec"]["containers"]) {
  const startedAt = new Date().toISOString();
  const condition = (type: string) => ({ type, status: "True", lastTransitionTime: startedAt });
  return {
    phase: "Running",
    startTime: startedAt,
    hostIP: loopback,
    podIP: loopback,
    podIPs: [{ ip: loopback }],
    conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition),
    containerStatuses: containers.map(({ name, image }) => ({
      name,
      image,
      imageID: "",
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt } },
    })),
  };
}

/** As Kubernetes calls it. */
function architecture(): string {
  return arch() === "x64" ? "amd64" : arch();
}
