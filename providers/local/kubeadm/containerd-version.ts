import { execFileSync } from "node:child_process";
import type { RuntimeTerms } from "../../../src/provider/port.js";

let known: RuntimeTerms | undefined;

/** The container runtime of this machine, which hosts run; undefined where there is none. Looks until it finds one. */
export function runtimeOfMachine(): RuntimeTerms | undefined {
  known ??= versionIn(answerOf("containerd", "--version"));
  return known;
}

/** Empty where the program is missing or fails. */
function answerOf(program: string, ...args: readonly string[]): string {
  try {
    return execFileSync(program, args, { encoding: "utf8", stdio: "pipe" });
  } catch {
    return "";
  }
}

function versionIn(text: string): RuntimeTerms | undefined {
  const [version] = /(?<!\d)\d+\.\d+\.\d+/.exec(text) ?? [];
  return version === undefined ? undefined : { name: "containerd", version };
}
