import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What goes wrong with files of a state folder, from the n-th time on in each thread that asks. */
export interface FileFault {
  /** Relative to the state folder. */
  readonly files: readonly string[];
  /** System calls that it goes wrong in. */
  readonly calls: readonly string[];
  /** EIO: the disk fails; EROFS: its file system has become read-only; or so many milliseconds of delay. */
  readonly what: "EIO" | "EROFS" | { readonly delayMs: number };
  readonly from?: number;
}

/**
 * The program and its arguments by which a command is run so that its system calls on some files fail, in all its
 * processes: strace answers for the kernel. What was injected is written to `log`.
 */
export function failingFiles(
  state: string,
  { files, calls, what, from = 1 }: FileFault,
  log: string,
): string[] {
  const effect = typeof what === "string" ? `error=${what}` : `delay_enter=${what.delayMs * 1_000}`;
  const paths = files.flatMap((file) => ["-P", join(state, file)]);
  const inject = `inject=${calls.join(",")}:${effect}:when=${from}+`;
  return [
    "strace",
    "-f",
    "-qq",
    "-o",
    log,
    ...paths,
    "-e",
    `trace=${calls.join(",")}`,
    "-e",
    inject,
  ];
}

/** How many system calls something was injected into. */
export function injectedIn(log: string): number {
  if (!existsSync(log)) return 0;
  return readFileSync(log, "utf8").match(/\((INJECTED|DELAYED)\)/g)?.length ?? 0;
}
