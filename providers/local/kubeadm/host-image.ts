import { createReadStream, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { digestOf } from "../../../src/api/digest.js";
import type { HostShell } from "./host-shell.js";
import { type ProgramImage, writeImageArchive } from "./images.js";
import { type KubernetesImages, kubernetesImages } from "./kubernetes-images.js";
import type { KubernetesPrograms } from "./kubernetes-programs.js";

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
    readonly programs: KubernetesPrograms,
    private readonly archives: Archives,
  ) {}

  /** Keeps its archives in a folder that may hold those of other versions, and finds them there again. Several may make the same ones at once. */
  static async make(folder: string, programs: KubernetesPrograms): Promise<HostImage> {
    const images = await kubernetesImages(programs);
    const target = join(folder, `host-images-${programs.version}-${digestOf(images, 8)}`);
    if (!existsSync(target)) await writeArchives(target, images);
    return new HostImage(programs, {
      controlPlane: join(target, "control-plane.tar"),
      others: join(target, "others.tar"),
    });
  }

  /** Puts all of it onto a new host, whose container runtime runs then. */
  async putOnto(host: HostShell, isMember: boolean): Promise<void> {
    await this.installPrograms(host);
    await host.run("systemctl", "start", "containerd");
    await this.importImages(host, isMember);
  }

  /** By default where the host finds programs first. */
  async installPrograms(host: HostShell, folder?: string): Promise<void> {
    for (const program of hostPrograms) await host.install(this.programs.path(program), folder);
  }

  /** Only members of a control plane run its programs. */
  async importImages(host: HostShell, isMember: boolean): Promise<void> {
    const { controlPlane, others } = this.archives;
    for (const archive of isMember ? [others, controlPlane] : [others]) {
      const input = createReadStream(archive);
      const importing = ["ctr", "-n", "k8s.io", "images", "import", "-"] as const;
      await host.runWith({ input, timeoutMs: importTimeoutMs }, ...importing);
    }
  }
}

/** Whole or not at all. */
async function writeArchives(target: string, images: KubernetesImages): Promise<void> {
  const folder = mkdtempSync(`${target}.tmp-`);
  try {
    const archives: readonly (readonly [string, readonly ProgramImage[]])[] = [
      ["control-plane", images.controlPlane],
      ["others", images.others],
    ];
    for (const [name, programs] of archives) {
      const archive = await writeImageArchive(join(folder, name), programs);
      renameSync(archive, join(folder, `${name}.tar`));
      rmSync(join(folder, name), { recursive: true });
    }
    renameSync(folder, target);
  } catch (error) {
    // Somebody else has been faster.
    if (!existsSync(target)) throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
