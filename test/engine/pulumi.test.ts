import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { runPulumi } from "../../src/engine/pulumi/pulumi.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { isAlive } from "../scenario/process-tree.js";
import { until } from "../scenario/until.js";
import { failsWith } from "../support/errors.js";
import { scratchFolder } from "../support/scratch.js";

describe("an engine run", () => {
  const scratch = scratchFolder();

  type Told = Pick<Parameters<typeof runPulumi>[2], "onBegin" | "onEnd" | "stop">;

  const start = (script: string, told: Told) => {
    const program = join(scratch.path, "engine");
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o755);
    return runPulumi(program, workspace(), { args: [], ...told });
  };

  const workspace = () => {
    const options = { stateDir: scratch.path, pulumiBinDir: scratch.path, env: process.env };
    const made = new Workspace(options);
    made.prepare();
    return made;
  };

  const refused = new Error("it cannot be written down");

  it("that cannot be told of does nothing, and ends with that error", async () => {
    let seen: number | undefined;
    const trace = join(scratch.path, "begun");
    const onBegin = (pid: number) => {
      seen = pid;
      return Promise.reject(refused);
    };
    await assert.rejects(start(`touch ${trace}`, { onBegin }), refused);
    assert.ok(seen !== undefined && !isAlive(seen));
    assert.ok(!existsSync(trace));
  });

  it("begins once it is told of, as the process that was told", async () => {
    let seen: number | undefined;
    const trace = join(scratch.path, "begun");
    const onBegin = async (pid: number) => {
      seen = pid;
      await setTimeout(100);
      assert.ok(!existsSync(trace));
    };
    const { code, stdout } = await start(`touch ${trace}; echo $$`, { onBegin });
    assert.deepEqual([code, Number(stdout)], [0, seen]);
  });

  it("that is asked to stop before it begins is told so when it does", async () => {
    const asked = new AbortController();
    const onBegin = async () => {
      await setTimeout(50);
      asked.abort();
    };
    const { code } = await start("exec sleep 600", { onBegin, stop: asked.signal });
    assert.equal(code, null);
  });

  it("whose end alone cannot be written down ends as it did", async () => {
    const onEnd = () => Promise.reject(refused);
    assert.deepEqual(await start("echo done; exit 3", { onEnd }), {
      code: 3,
      stdout: "done\n",
      stderr: "",
    });
  });

  it("ends unbegun when whoever starts it dies before it is told of", async () => {
    const trace = join(scratch.path, "begun");
    const program = join(scratch.path, "engine");
    writeFileSync(program, `#!/bin/sh\ntouch ${trace}\n`, { mode: 0o755 });
    const module = new URL("../../src/engine/pulumi/pulumi.js", import.meta.url).href;
    const text = `
      const { runPulumi } = await import(${JSON.stringify(module)});
      const workspace = { workDir: ${JSON.stringify(scratch.path)}, engineEnv: () => process.env };
      const onBegin = (pid) => (console.log(pid), process.kill(process.pid, "SIGKILL"), new Promise(() => {}));
      await runPulumi(${JSON.stringify(program)}, workspace, { args: [], onBegin });`;
    const { stdout, signal } = spawnSync(process.execPath, ["--input-type=module", "-e", text]);
    assert.equal(signal, "SIGKILL");
    await until("its shell has ended", () => !isAlive(Number(stdout)));
    assert.ok(!existsSync(trace));
  });

  it("is no run where there is no program", async () => {
    const missing = runPulumi(join(scratch.path, "nowhere"), workspace(), { args: [] });
    await assert.rejects(missing, failsWith("TOOLCHAIN", /cannot start .*nowhere/));
  });
});
