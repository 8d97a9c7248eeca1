import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { findKubernetes, kubernetesVersion } from "#kubernetes";
import type { ClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { hostBootstrap, type HostSettings } from "../../src/bootstrap/host/host-bootstrap.js";
import { until } from "../scenario/until.js";
import { isReady } from "./api-server.js";
import { freePorts } from "./free-ports.js";
import { assertAccepted, endOf, type ProgramEnd, KubeadmHost } from "./kubeadm-host.js";
import { Servers } from "./servers.js";

const readyDeadlineMs = 180_000;
const adminFile = "/etc/kubernetes/super-admin.conf";

export interface ControlPlaneRequest {
  readonly keys: ClusterKeys;
  /** Of the first member, whose API server answers at a port of loopback. */
  readonly settings: (endpoint: HostSettings["cluster"]["endpoint"]) => HostSettings;
}

/**
 * A control plane as kubeadm makes it from a rendered configuration and a cluster's keys: etcd and an API server
 * with the arguments of its manifests, apart from where they listen, and what `kubeadm init` tells a cluster of
 * itself. Ends with the test's process if `stop` is never reached.
 */
export class KubeadmControlPlane {
  private constructor(
    private readonly servers: Servers,
    private readonly binDir: string,
    readonly host: KubeadmHost,
    readonly ports: { readonly api: number; readonly etcd: number; readonly peer: number },
  ) {}

  static async start({ keys, settings }: ControlPlaneRequest): Promise<KubeadmControlPlane> {
    const toolchain = findKubernetes(process.env);
    assert.ok(toolchain !== undefined, "no control plane: run npm test, which sets it up");
    const [api = 0, etcd = 0, peer = 0] = await freePorts(3);
    const servers = new Servers("kubeadm");
    const bootstrap = hostBootstrap(settings({ host: "127.0.0.1", port: api }));
    const host = new KubeadmHost(join(servers.folder, "host"), bootstrap);
    const ports = { api, etcd, peer };
    const controlPlane = new KubeadmControlPlane(servers, toolchain.binDir, host, ports);
    try {
      await controlPlane.startAll(keys.ca.certificatePem);
      return controlPlane;
    } catch (error) {
      await servers.endAll();
      throw error;
    }
  }

  get url(): string {
    return `https://127.0.0.1:${this.ports.api}`;
  }

  /** A member of system:masters. */
  get kubeconfig(): string {
    return this.host.path(adminFile);
  }

  kubectl(kubeconfig: string, ...args: string[]): Promise<ProgramEnd> {
    const env = { KUBECONFIG: kubeconfig, KUBECACHEDIR: join(this.servers.folder, "kubectl") };
    return endOf(join(this.binDir, "kubectl"), args, env);
  }

  /** `kubectl apply` of objects as text, by the admin. */
  async apply(objects: string): Promise<void> {
    const file = join(this.servers.folder, "objects.yaml");
    writeFileSync(file, objects);
    assertAccepted(await this.kubectl(this.kubeconfig, "apply", "-f", file));
  }

  /** Ends everything and removes its files. */
  stop(): Promise<void> {
    return this.servers.endAll();
  }

  private async startAll(authority: string): Promise<void> {
    for (const phase of ["certs all", "kubeconfig all", "etcd local", "control-plane apiserver"]) {
      await this.phase(phase);
    }
    this.startEtcd();
    this.startApiServer();
    await until(
      "the API server is ready",
      () => {
        for (const name of ["etcd", "kube-apiserver"]) this.servers.pidOf(name);
        return isReady(`${this.url}/readyz`, Buffer.from(authority));
      },
      readyDeadlineMs,
    );
    this.startSigner();
    await this.phase("upload-config kubeadm", "--kubeconfig", adminFile);
    await this.phase("upload-config kubelet", "--kubeconfig", adminFile);
    await this.phase("bootstrap-token", "--kubeconfig", adminFile);
  }

  private async phase(name: string, ...args: string[]): Promise<void> {
    const phase = ["init", "phase", ...name.split(" "), ...args];
    assertAccepted(await this.host.kubeadm(kubernetesVersion, ...phase));
  }

  private startEtcd(): void {
    const [client, peer] = [this.ports.etcd, this.ports.peer].map(
      (port) => `https://127.0.0.1:${port}`,
    );
    this.start("etcd", {
      "data-dir": join(this.servers.folder, "etcd"),
      "listen-client-urls": client,
      "advertise-client-urls": client,
      "listen-peer-urls": peer,
      "initial-advertise-peer-urls": peer,
      "initial-cluster": `host-1=${peer}`,
      "listen-metrics-urls": undefined,
      "unsafe-no-fsync": "true",
    });
  }

  private startApiServer(): void {
    this.start("kube-apiserver", {
      "bind-address": "127.0.0.1",
      "etcd-servers": `https://127.0.0.1:${this.ports.etcd}`,
    });
  }

  /** A program with the arguments of its manifest, some of them otherwise or left out. */
  private start(name: string, others: Readonly<Record<string, string | undefined>>): void {
    const manifest = parse(this.host.read(`/etc/kubernetes/manifests/${name}.yaml`)) as {
      readonly spec: { readonly containers: readonly { readonly command: readonly string[] }[] };
    };
    const own: [string, string | undefined][] = (manifest.spec.containers[0]?.command ?? [])
      .slice(1)
      .map((argument) => {
        const [, flag = "", value = ""] = /^--([^=]+)=(.*)$/.exec(argument) ?? [];
        return [flag, value.replaceAll("/etc/kubernetes", this.host.path("/etc/kubernetes"))];
      });
    const all = new Map([...own, ...Object.entries(others)]);
    const args = [...all].flatMap(([flag, value]) =>
      value === undefined ? [] : [`--${flag}=${value}`],
    );
    this.servers.start(name, join(this.binDir, name), args);
  }

  /** What signs a cluster's address for those that know one of its tokens. */
  private startSigner(): void {
    const program = "kube-controller-manager";
    this.servers.start(program, join(this.binDir, program), [
      `--kubeconfig=${this.kubeconfig}`,
      "--controllers=bootstrap-signer-controller",
      "--leader-elect=false",
      "--secure-port=0",
      `--service-account-private-key-file=${this.host.path("/etc/kubernetes/pki/sa.key")}`,
    ]);
  }
}
