import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runPulumi } from "../../src/engine/pulumi/pulumi.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { isAlive } from "../scenario/process-tree.js";
import { scratchFolder } from "../support/scratch.js";

describe("an engine run", () => {
  const scratch = scratchFolder();

  const start = (script: string, onEngine: (pid: number | undefined) => void) => {
    const program = join(scratch.path, "engine");
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o755);
    const options = { stateDir: scratch.path, pulumiBinDir: scratch.path, env: process.env };
    const workspace = new Workspace(options);
    workspace.prepare();
    return runPulumi(program, workspace, { args: [], onEngine });
  };

  it("that nobody could be told of is killed, and ends with that error", async () => {
    let seen: number | undefined;
    const run = start("exec sleep 600", (pid) => {
      seen ??= pid;
      throw new Error("it cannot be written down");
    });
    await assert.rejects(run, /it cannot be written down/);
    assert.ok(seen !== undefined && !isAlive(seen));
  });

  it("whose end alone cannot be written down ends as it did", async () => {
    const run = start("echo done; exit 3", (pid) => {
      if (pid === undefined) throw new Error("it cannot be written down");
    });
    assert.deepEqual(await run, { code: 3, stdout: "done\n", stderr: "" });
  });
});
