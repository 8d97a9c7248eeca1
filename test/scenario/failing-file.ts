import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CountedPulumi } from "./counted-pulumi.js";

/** What goes wrong with files of a state folder, from the n-th time on in each thread that asks. */
export interface FileFault {
  /** Relative to the state folder. */
  readonly files: readonly string[];
  /** System calls that it goes wrong in. */
  readonly calls: readonly string[];
  /** EIO: the disk fails; or so many milliseconds of delay. */
  readonly what: "EIO" | { readonly delayMs: number };
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

/**
 * The same for what an engine does with the state of a stack: engines reach that through the permit of their command, whose path
 * only their environment tells.
 */
export async function failingState(
  folder: string,
  stack: string,
  { calls, what, from = 1 }: Omit<FileFault, "files">,
  log: string,
): Promise<string[]> {
  const effect = typeof what === "string" ? `error=${what}` : `delay_enter=${what.delayMs * 1_000}`;
  const inject = `inject=${calls.join(",")}:${effect}:when=${from}+`;
  const pulumi = await CountedPulumi.in(folder, (bin) =>
    [
      `root=\${PULUMI_BACKEND_URL#file://}`,
      `exec strace -f -qq -A -o '${log}' -P "\${root%%\\?*}/.pulumi/stacks/capstan/${stack}.json" -e trace=${calls.join(",")} -e ${inject} '${bin}' "$@"`,
    ].join("\n"),
  );
  return ["env", `CAPSTAN_PULUMI=${pulumi.program}`];
}

/** How many system calls something was injected into. */
export function injectedIn(log: string): number {
  if (!existsSync(log)) return 0;
  return readFileSync(log, "utf8").match(/\((INJECTED|DELAYED)\)/g)?.length ?? 0;
}
