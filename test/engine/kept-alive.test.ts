import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const module = new URL("../../src/engine/run/kept-alive.js", import.meta.url).href;

/** Output of a process that waits for nothing but a deadline that keeps no process alive. */
async function waiting(last: string): Promise<string> {
  const script = `
    import { once } from "node:events";
    import { keptAlive } from ${JSON.stringify(module)};
    const work = () => once(AbortSignal.timeout(300), "abort");
    ${last}
    console.log("done");
  `;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script]);
  return stdout.trim();
}

describe("work that keeps its process alive", () => {
  it("ends before its process does", async () => {
    assert.equal(await waiting("await keptAlive(work);"), "done");
  });

  it("would not, if it kept it not", async () => {
    await assert.rejects(waiting("await work();"), { code: 13 });
  });

  it("lets its process end when it fails", async () => {
    const failing = "await keptAlive(async () => { throw new Error(); }).catch(() => undefined);";
    assert.equal(await waiting(failing), "done");
  });
});
