import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isJsonObject, type JsonObject } from "../../api/json.js";
import { toldAsStorage } from "../../api/storage-failure.js";
import { parseCheckpoint } from "./checkpoint.js";
import { moveFile, nameTwice } from "./durable-files.js";
import { fileBackendRoot, projectName } from "./project.js";
import type { Workspace } from "./workspace.js";

/** A copy of a stack's state that can be read as a whole. */
interface GoodCopy {
  readonly file: string;
  /** When Pulumi had written what it holds, as it says. */
  readonly writtenAt: string;
}

/** What is read of a copy before it is chosen. */
interface Candidate {
  readonly file: string;
  readonly text: string;
}

type Place = Pick<Workspace, "backendUrl" | "checkpointFile">;

/**
 * Whether a state was cut off in writing, so that it is no JSON any more. Where a disk is full, Pulumi's
 * file backend puts the part that it could write in the state's place (gocloud.dev, Bucket.WriteAll closes
 * a writer that failed); and where the power fails, a file that it has not synced may have its name and no data. What is whole but not understood is no damage: Pulumi has to say what it is. Pure.
 */
export function isCutOff(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}

/**
 * The newest of those that can be read and are of the same stack as `kept`, by the salt that encrypts
 * it: another stack may have had its name before. Undefined when none can be. Pure.
 */
export function newestGood(
  candidates: readonly Candidate[],
  kept: Candidate | undefined,
): GoodCopy | undefined {
  const all = kept === undefined ? candidates : [kept, ...candidates];
  const readable = all.flatMap(({ file, text }) => {
    const deployment = parseCheckpoint(text)?.deployment;
    if (deployment === undefined) return [];
    return [{ file, writtenAt: writtenAtOf(deployment), secrets: secretsOf(deployment) }];
  });
  const own = readable.find(({ file }) => file === kept?.file)?.secrets;
  const same = readable.filter(({ secrets }) => own === undefined || secrets === own);
  const [newest] = same.sort((left, right) => timeOf(right.writtenAt) - timeOf(left.writtenAt));
  return newest === undefined ? undefined : { file: newest.file, writtenAt: newest.writtenAt };
}

function writtenAtOf({ manifest }: JsonObject): string {
  const time = isJsonObject(manifest) ? manifest["time"] : undefined;
  return typeof time === "string" ? time : "";
}

function secretsOf({ secrets_providers: providers }: JsonObject): string {
  return JSON.stringify(providers ?? null);
}

/** "0001-01-01T00:00:00Z" of a state that no engine has written yet is the oldest of all. */
function timeOf(writtenAt: string): number {
  const ms = Date.parse(writtenAt);
  return Number.isNaN(ms) ? Number.NEGATIVE_INFINITY : ms;
}

/**
 * The copy to go on from when a stack's state was cut off; undefined when it was not, when it is not in a
 * plain file of ours, or when there is no copy. Reads only.
 */
export function copyInsteadOf(workspace: Place, stack: string): GoodCopy | undefined {
  const file = workspace.checkpointFile(stack);
  if (file?.endsWith(".json") !== true) return undefined;
  const text = textOf(file);
  if (text === undefined || !isCutOff(text)) return undefined;
  const kept = candidate(keptFile(file));
  const copies = [`${file}.bak`, ...pulumiCopies(workspace, stack)];
  return newestGood(
    copies.flatMap((one) => candidate(one) ?? []),
    kept,
  );
}

/** Pulumi's own copies, one per update each: of its history, and of its backups. */
function pulumiCopies({ backendUrl }: Place, stack: string): string[] {
  const root = fileBackendRoot(backendUrl);
  if (root === undefined) return [];
  return ["history", "backups"].flatMap((folder) => {
    const path = join(root, ".pulumi", folder, projectName, stack);
    const names = existsSync(path) ? readdirSync(path) : [];
    const copies = names.filter(
      (name) => name.endsWith(".json") && !name.endsWith(".history.json"),
    );
    return copies.map((name) => join(path, name));
  });
}

/**
 * Whether a state, written at that time, is still the copy that `restore` put in its place: no engine has
 * written it since. What was done between the copy and the write that was cut off is then in the cloud
 * only. Reads only.
 */
export function isStillCopy(workspace: Place, stack: string, writtenAt: string): boolean {
  const file = workspace.checkpointFile(stack);
  if (file === undefined || !existsSync(dirname(file))) return false;
  const folder = dirname(file);
  const damaged = readdirSync(folder).filter((name) =>
    name.startsWith(`${basename(file)}.damaged-`),
  );
  return damaged.some((name) => statSync(join(folder, name)).mtimeMs >= timeOf(writtenAt));
}

/**
 * Puts a good copy in the place of a state that was cut off; the damaged file stays beside it. Takes no
 * room: both are names of files that are there. Returns the damaged file's new name. For whoever holds
 * the stack's lock, while no engine runs. Throws NO_SPACE or NOT_WRITABLE.
 */
export function restore(workspace: Place, stack: string, { file: good }: GoodCopy): string {
  const file = workspace.checkpointFile(stack) ?? "";
  const aside = freeName(`${file}.damaged`);
  const fresh = `${file}.${process.pid}.tmp`;
  try {
    nameTwice(file, aside);
    nameTwice(good, fresh);
    moveFile(fresh, file);
    return aside;
  } catch (error) {
    rmSync(fresh, { force: true });
    throw toldAsStorage(error, file);
  }
}

/**
 * Keeps the present state under a second name before an engine runs, and makes it last: Pulumi replaces states, it never
 * writes into them. Its own `.bak` does not last, since after a write that failed the next one copies
 * what is cut off over it. Does nothing for a state that is cut off itself, or is not in a plain file.
 */
export function keepState(workspace: Place, stack: string): void {
  const file = workspace.checkpointFile(stack);
  if (file?.endsWith(".json") !== true || !existsSync(file)) return;
  if (isCutOff(textOf(file) ?? "")) return;
  const fresh = `${keptFile(file)}.${process.pid}.tmp`;
  try {
    rmSync(fresh, { force: true });
    nameTwice(file, fresh);
    moveFile(fresh, keptFile(file));
    // Where both were one file already, a rename leaves both names.
    rmSync(fresh, { force: true });
  } catch (error) {
    throw toldAsStorage(error, dirname(file));
  }
}

/** Removes the copy that `keepState` has made, of a stack that the backend has no more. */
export function dropKeptState(workspace: Place, stack: string): void {
  const file = workspace.checkpointFile(stack);
  if (file !== undefined) rmSync(keptFile(file), { force: true });
}

/** Pulumi takes only names that end like a format for states. */
function keptFile(file: string): string {
  return `${file}.kept`;
}

function freeName(path: string): string {
  for (let number = 1; ; number += 1) {
    const name = `${path}-${number}`;
    if (!existsSync(name)) return name;
  }
}

function candidate(file: string): Candidate | undefined {
  const text = textOf(file);
  return text === undefined ? undefined : { file, text };
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined; // Gone, or nobody's to read: then it is no copy for us either.
  }
}

/** What people are told about a state that was cut off. Pure. */
export function damageText(
  stack: string,
  { file, writtenAt }: GoodCopy,
  aside: string | undefined,
): string {
  const from = `${basename(file)}, written at ${writtenAt}`;
  const what = `the state of ${stack} was cut off in writing, as on a full disk or by a power failure`;
  return aside === undefined
    ? `${what}; this is read from its last good copy (${from}) and may be older than the cloud; the next command that changes ${stack} restores it`
    : `${what}; it was restored from its last good copy (${from}) and is held against the cloud; the damaged file is kept as ${aside}`;
}
