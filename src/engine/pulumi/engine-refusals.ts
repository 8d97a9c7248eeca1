import { CapstanError } from "../../api/error.js";
import { stackNamed } from "../../api/types.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { type StorageFailure, storageWords } from "../../api/storage-failure.js";
import { withoutPasswords } from "../backend/project.js";
import type { PulumiResult } from "./pulumi.js";
import {
  holderText,
  locksAreReadable,
  locksToldOf,
  metUnfinishedLock,
  type PulumiLock,
} from "../locks/pulumi-locks.js";
import type { StackState } from "../backend/state.js";
import type { Workspace } from "../backend/workspace.js";

// Why an engine run was refused or has failed, in words.

/** In a stack that was chosen every name means that stack: it has to be its own, or its cluster's. */
export function refuseOtherCluster(state: StackState, stack: string, workspace: Workspace): void {
  const { transaction } = state;
  const chosen = workspace.stackName(stack);
  if (transaction === undefined || stack === chosen) return;
  const { cluster } = transaction.target;
  if (stackNamed(cluster) === stack) return;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    subject: stack,
    message: `cannot work on ${stack}: stack ${chosen} of project ${workspace.projectName} holds ${cluster}`,
    hint: "a stack holds one cluster: choose that of this one with --stack",
  });
}

/** ENGINE_FAILED with the last lines that the engine printed; LOCKED when somebody's lock refused it. */
export function engineFailed(what: string, result: PulumiResult): CapstanError {
  const [lock] = refusingLocks(result);
  if (lock !== undefined) return lockedByPulumi(what, lock);
  const words = lastWords(result);
  const failure = storageFailureIn(words);
  return new CapstanError(
    omitUndefined({
      code: "ENGINE_FAILED",
      source: "engine",
      message: `${what}: ${words}`,
      hint: failure && storageWords[failure].hint,
    }),
  );
}

/** What the system says of a file, as Go words it: an engine tells of its own files in no other way. Source: golang.org/x/sys/unix, zerrors_linux.go. */
const fileErrors: readonly (readonly [words: string, failure: StorageFailure])[] = [
  ["no space left on device", "full"],
  ["disk quota exceeded", "full"],
  ["read-only file system", "refused"],
  ["permission denied", "refused"],
  ["input/output error", "broken"],
];

/** Why an engine could not use a file, if that is what it has failed of: such words stand at the end of an error. */
function storageFailureIn(words: string): StorageFailure | undefined {
  const ends = words.split("; ");
  return fileErrors.find(([text]) => ends.some((end) => end.endsWith(`: ${text}`)))?.[1];
}

/** The locks that have refused a run; none of one that ended well. */
export function refusingLocks({ code, stdout, stderr }: PulumiResult): PulumiLock[] {
  return code === 0 ? [] : locksToldOf(`${stdout}\n${stderr}`);
}

/** Whether a run came upon a lock that was just being taken or given back. */
export function metPassingLock({ code, stdout, stderr }: PulumiResult): boolean {
  return code !== 0 && metUnfinishedLock(`${stdout}\n${stderr}`);
}

/** The end of what an engine printed, without its progress lines and the backend's password. */
export function lastWords({ code, stdout, stderr }: PulumiResult): string {
  const lines = withoutPasswords(`${stdout}\n${stderr}`).split("\n");
  const said = lines.map((line) => line.trim());
  const errors = said.flatMap((line, index) => {
    if (!line.startsWith("error: ")) return [];
    // "2 errors occurred:", with an item for each of them.
    const items = line.endsWith(" occurred:") ? itemsIn(said.slice(index + 1)) : [];
    return items.length > 0 ? items : [line.slice("error: ".length)];
  });
  if (errors.length > 0) return [...new Set(errors)].join("; ");
  const last = said.filter((line) => line !== "").slice(-3);
  return last.length > 0 ? last.join("; ") : `Pulumi ended with ${code ?? "a signal"}`;
}

/** The list that lines begin with, whose items begin with a star or a number. */
function itemsIn(lines: readonly string[]): string[] {
  const bullet = /^(?:\*|\d+\)) /;
  const end = lines.findIndex((line) => line !== "" && !bullet.test(line));
  return lines
    .slice(0, end < 0 ? lines.length : end)
    .filter((line) => line !== "")
    .map((line) => line.replace(bullet, ""));
}

/** LOCKED naming the holder. */
export function lockedByPulumi(
  what: string,
  lock: PulumiLock,
  {
    unlock = "run capstan unlock STACK",
    lives = false,
  }: { readonly unlock?: string; readonly lives?: boolean } = {},
): CapstanError {
  return new CapstanError({
    code: "LOCKED",
    source: "user",
    message: `${what}: it is locked by ${holderText(lock)}`,
    hint: lives
      ? "wait until it has ended, or interrupt it"
      : `wait until it has ended; if that machine is lost for good, ${unlock}`,
    retryable: true,
  });
}

/** What removes a lock of which nobody can tell whether its holder lives. */
export function unlockHint(stack: string, workspace: Workspace): string {
  if (locksAreReadable(workspace)) return `run capstan unlock ${stack}`;
  return `run pulumi cancel --stack ${workspace.stackName(stack)}: in this backend Pulumi alone reads its locks`;
}

/** LOCKED: what was decided is void. */
export function writtenMeanwhile(stack: string): CapstanError {
  return new CapstanError({
    code: "LOCKED",
    source: "user",
    subject: stack,
    message: `cannot change ${stack}: somebody else has changed it since this command looked at it`,
    hint: "wait until they have ended; the same command then goes on from what is there",
    retryable: true,
  });
}
