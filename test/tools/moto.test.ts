import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureMoto, findMoto } from "#moto";
import { scratchFolder } from "../support/scratch.js";

describe("the moto of the tests", () => {
  const scratch = scratchFolder();
  const lines: string[] = [];
  const surroundings = () => ({
    env: { CAPSTAN_CACHE: join(scratch.path, "cache"), PATH: join(scratch.path, "bin") },
    progress: (text: string) => void lines.push(text),
  });

  /** A Python on PATH that makes environments with itself in them; its pip ends so. */
  const writePython = (pipEndsWith: number) => {
    const folder = join(scratch.path, "bin");
    const program = join(folder, "python3");
    mkdirSync(folder, { recursive: true });
    const venv = `/bin/mkdir "$3/bin" && /bin/cp "$0" "$3/bin/python3"`;
    const pip = `echo "pip says so"; exit ${pipEndsWith}`;
    writeFileSync(program, `#!/bin/sh\nif [ "$2" = venv ]; then ${venv}; else ${pip}; fi\n`);
    chmodSync(program, 0o755);
  };

  it("is set up in the cache, and found there", async () => {
    writePython(0);
    const { env, progress } = surroundings();
    assert.equal(findMoto(env), undefined);
    const python = await ensureMoto({ env, progress });
    assert.match(python, /\/cache\/moto-[\d.]+-[^/]+\/bin\/python3$/);
    assert.equal(findMoto(env), python);
    writePython(1);
    assert.equal(await ensureMoto({ env, progress }), python, "it is not set up twice");
  });

  it("is missing with every reason, and what to do", async () => {
    writePython(1);
    await assert.rejects(ensureMoto(surroundings()), {
      code: "TOOLCHAIN",
      message: /no virtual environment \(pip says so\), no .+ \(there is no apt-get\)$/,
      hint: /install Python/,
    });
    assert.equal(findMoto(surroundings().env), undefined);
  });
});
