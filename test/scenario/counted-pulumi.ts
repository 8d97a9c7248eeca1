import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { ensurePulumi } from "#toolchain";

const companions = ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"];

/** A pulumi that notes each of its runs before it becomes the real one. */
export class CountedPulumi {
  private constructor(
    /** For CAPSTAN_PULUMI. */
    readonly program: string,
    private readonly notes: string,
  ) {}

  /** Made in a folder of the test's. `becoming`: the lines of shell with which it becomes the real one. */
  static async in(
    folder: string,
    becoming = (bin: string) => `exec '${bin}' "$@"`,
  ): Promise<CountedPulumi> {
    const { bin } = await ensurePulumi();
    const place = join(folder, "counted-pulumi");
    mkdirSync(place);
    for (const name of companions) symlinkSync(join(dirname(bin), name), join(place, name));
    const program = join(place, "pulumi");
    const notes = join(place, "runs");
    writeFileSync(program, `#!/bin/sh\necho "$@" >> '${notes}'\n${becoming(bin)}\n`);
    chmodSync(program, 0o755);
    return new CountedPulumi(program, notes);
  }

  /** What it was run for, one line of arguments each; without what only asks for its version. */
  runs(): string[] {
    const lines = existsSync(this.notes) ? readFileSync(this.notes, "utf8").split("\n") : [];
    return lines.filter((line) => line !== "" && !line.startsWith("version"));
  }
}
