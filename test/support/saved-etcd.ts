import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { awsProvider } from "../../providers/aws/provider.js";
import { digestOf } from "../../src/api/digest.js";
import { allDefinitions } from "../../src/api/identity-crd.js";
import { removeFolder } from "./folders.js";
import { noClients } from "../providers/aws/no-clients.js";

/** What `capstan install` installs. */
export const installedDefinitions = allDefinitions([awsProvider(noClients)]);

const cache = fileURLToPath(new URL("../../../.setup/saved-etcd/", import.meta.url));

/**
 * The data folder of an etcd whose API server knows our kinds. Each toolchain and each version of the
 * definitions has one of its own in the suite's cache.
 *
 * @param fill makes such a data folder at a path; called where the cache has none
 * @returns a folder to be copied, never to be written to
 */
export async function savedEtcd(
  binDir: string,
  fill: (dataDir: string) => Promise<void>,
): Promise<string> {
  const saved = join(cache, versionOf(binDir));
  if (existsSync(saved)) return saved;
  mkdirSync(cache, { recursive: true });
  removeOld();
  const folder = mkdtempSync(join(cache, "making-"));
  try {
    const dataDir = join(folder, "data");
    await fill(dataDir);
    trimLogs(dataDir);
    moveTo(saved, dataDir);
  } finally {
    removeFolder(folder);
  }
  return saved;
}

/** Old enough that no process uses it: of another version, or of a process that was killed while it made one. */
const oldMs = 60 * 60_000;

function removeOld(): void {
  for (const name of readdirSync(cache)) {
    const { mtimeMs } = statSync(join(cache, name), { throwIfNoEntry: false }) ?? {};
    if (mtimeMs !== undefined && mtimeMs < Date.now() - oldMs) removeFolder(join(cache, name));
  }
}

/** Copies a saved data folder to where an etcd shall have its own. */
export function copyEtcd(saved: string, dataDir: string): void {
  cpSync(saved, dataDir, { recursive: true });
}

function versionOf(binDir: string): string {
  const programs = ["etcd", "kube-apiserver"].map((name) => {
    const { size, mtimeMs } = statSync(join(binDir, name));
    return { name, size, mtimeMs };
  });
  return digestOf([binDir, programs, installedDefinitions], 16);
}

/** Several processes may make the same: the first one's stays. */
function moveTo(saved: string, made: string): void {
  try {
    renameSync(made, saved);
  } catch (error) {
    if (!existsSync(saved)) throw error;
  }
}

/** Etcd allocates 64 MB for its log ahead, all zeros, which it does again as it opens the log. */
function trimLogs(dataDir: string): void {
  const folder = join(dataDir, "member", "wal");
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".wal"))) {
    const file = join(folder, name);
    const written = readFileSync(file).findLastIndex((byte) => byte !== 0) + 1;
    // Zeros after the last record are what tells its end.
    const end = (Math.floor(written / sectorBytes) + 2) * sectorBytes;
    truncateSync(file, Math.min(end, statSync(file).size));
  }
}

const sectorBytes = 512;
