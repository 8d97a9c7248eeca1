import { createReadStream } from "node:fs";
import { join } from "node:path";
import type { Host } from "./host.js";
import { type ProgramImage, writeImageArchive } from "./images.js";
import { kubernetesImages } from "./kubernetes-images.js";
import type { Programs } from "./programs.js";

const hostPrograms = ["kubeadm", "kubelet", "kubectl"];
const importTimeoutMs = 8 * 60_000;

/** Paths of archives of container images, by the hosts that need them. */
interface Archives {
  readonly controlPlane: string;
  readonly others: string;
}

/** What hosts hold before their first start, as a cloud's image would: one version of Kubernetes. */
export class HostImage {
  private constructor(
    readonly programs: Programs,
    private readonly archives: Archives,
  ) {}

  /** Keeps its archives in a folder that may hold those of other versions. */
  static async make(folder: string, programs: Programs): Promise<HostImage> {
    const { controlPlane, others } = await kubernetesImages(programs);
    const write = (name: string, images: readonly ProgramImage[]) =>
      writeImageArchive(join(folder, `${name}-${programs.version}`), images);
    return new HostImage(programs, {
      controlPlane: await write("control-plane", controlPlane),
      others: await write("others", others),
    });
  }

  /** Puts all of it onto a new host, whose container runtime runs then. */
  async putOnto(host: Host, isMember: boolean): Promise<void> {
    await this.installPrograms(host);
    await host.run("systemctl", "start", "containerd");
    await this.importImages(host, isMember);
  }

  /** By default where the host finds programs first. */
  async installPrograms(host: Host, folder?: string): Promise<void> {
    for (const program of hostPrograms) await host.install(this.programs.path(program), folder);
  }

  /** Only members of a control plane run its programs. */
  async importImages(host: Host, isMember: boolean): Promise<void> {
    const { controlPlane, others } = this.archives;
    for (const archive of isMember ? [others, controlPlane] : [others]) {
      const input = createReadStream(archive);
      const importing = ["ctr", "-n", "k8s.io", "images", "import", "-"] as const;
      await host.runWith({ input, timeoutMs: importTimeoutMs }, ...importing);
    }
  }
}
