import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { commandLine } from "./sandbox.js";

/** A PATH on which `capstan` is the repository's command line, by a script in the folder's bin. */
export function pathWithCommand(folder: string): string {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const script = join(bin, "capstan");
  writeFileSync(script, `#!/bin/sh\nexec "${process.execPath}" "${commandLine}" "$@"\n`);
  chmodSync(script, 0o755);
  return [bin, process.env["PATH"]].join(delimiter);
}
