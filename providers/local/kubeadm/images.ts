import { createHash } from "node:crypto";
import {
  createReadStream,
  cpSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { output } from "./namespaces.js";

/** A program of this machine as a container image: linked statically, since nothing else is in it. */
export interface ProgramImage {
  /** As registries name it, with its tag. Several names share the image. */
  readonly names: readonly string[];
  /** Where it stands on this machine. */
  readonly program: string;
  /** Where it stands in the image. */
  readonly path: string;
  readonly entrypoint: readonly string[];
  /** Scripts and other texts beside it, by their path. */
  readonly texts?: Readonly<Record<string, string>>;
}

interface Blob {
  readonly digest: string;
  readonly size: number;
}

const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/**
 * Writes an archive that `ctr images import` takes, into a new folder; its path. Source: OCI image layout 1.0.
 */
export async function writeImageArchive(
  folder: string,
  images: readonly ProgramImage[],
): Promise<string> {
  const layout = join(folder, "layout");
  mkdirSync(join(layout, "blobs", "sha256"), { recursive: true });
  const manifests: object[] = [];
  for (const [index, image] of images.entries()) {
    const manifest = await writeImage(layout, join(folder, `root-${index}`), image);
    const described = { mediaType: "application/vnd.oci.image.manifest.v1+json", ...manifest };
    for (const name of image.names) {
      manifests.push({ ...described, annotations: { "io.containerd.image.name": name } });
    }
  }
  writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  writeFileSync(join(layout, "index.json"), JSON.stringify({ schemaVersion: 2, manifests }));
  const archive = join(folder, "images.tar");
  await output("tar", ["-cf", archive, "-C", layout, "."]);
  rmSync(layout, { recursive: true });
  return archive;
}

async function writeImage(layout: string, root: string, image: ProgramImage): Promise<Blob> {
  const { program, path, entrypoint, texts = {} } = image;
  mkdirSync(dirname(join(root, path)), { recursive: true });
  cpSync(program, join(root, path), { dereference: true });
  for (const [name, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text, { mode: 0o755 });
  }
  const tar = `${root}.tar`;
  await output("tar", ["--owner=0", "--group=0", "-cf", tar, "-C", root, "."]);
  rmSync(root, { recursive: true });
  const layer = await moveToBlobs(layout, tar);
  const config = await writeBlob(layout, {
    architecture: architectures[process.arch],
    os: "linux",
    config: { Entrypoint: entrypoint, Env: ["PATH=/usr/local/bin:/bin"] },
    rootfs: { type: "layers", diff_ids: [layer.digest] },
  });
  return writeBlob(layout, {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: { mediaType: "application/vnd.oci.image.config.v1+json", ...config },
    layers: [{ mediaType: "application/vnd.oci.image.layer.v1.tar", ...layer }],
  });
}

async function writeBlob(layout: string, content: object): Promise<Blob> {
  const file = join(layout, "new.json");
  writeFileSync(file, JSON.stringify(content));
  return moveToBlobs(layout, file);
}

async function moveToBlobs(layout: string, file: string): Promise<Blob> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  const digest = hash.digest("hex");
  const { size } = statSync(file);
  renameSync(file, join(layout, "blobs", "sha256", digest));
  return { digest: `sha256:${digest}`, size };
}
