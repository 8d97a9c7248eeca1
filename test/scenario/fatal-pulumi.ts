import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ensurePulumi } from "#toolchain";

const companions = ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"];

/** A pulumi that kills whoever started it, with no chance to say goodbye, before or after one of its passes. */
export class FatalPulumi {
  private constructor(
    /** For CAPSTAN_PULUMI. */
    readonly program: string,
    private readonly place: string,
  ) {}

  /** Made in a folder of the test's; harmless until it is told otherwise. */
  static async in(folder: string): Promise<FatalPulumi> {
    const { bin } = await ensurePulumi();
    const place = join(folder, "fatal-pulumi");
    mkdirSync(place);
    for (const name of companions) symlinkSync(join(dirname(bin), name), join(place, name));
    const program = join(place, "pulumi");
    writeFileSync(program, scriptOf(place, bin));
    chmodSync(program, 0o755);
    return new FatalPulumi(program, place);
  }

  /** At the pass of this number, counted from 1 from now on. */
  killAt(when: "before" | "after", pass: number): void {
    writeFileSync(join(this.place, "passes"), "0");
    writeFileSync(join(this.place, "kill"), `${when} ${pass}`);
  }

  spare(): void {
    rmSync(join(this.place, "kill"), { force: true });
  }
}

function scriptOf(place: string, bin: string): string {
  return `#!/bin/sh
if [ "$1" != up ] || [ ! -f '${place}/kill' ]; then exec '${bin}' "$@"; fi
pass=$(( $(cat '${place}/passes') + 1 ))
echo $pass > '${place}/passes'
kill=$(cat '${place}/kill')
if [ "$kill" = "before $pass" ]; then kill -9 $PPID; exit 1; fi
'${bin}' "$@"
code=$?
if [ "$kill" = "after $pass" ]; then kill -9 $PPID; fi
exit $code
`;
}
