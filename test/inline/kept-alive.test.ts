import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { writeManifests } from "../scenario/manifests.js";
import { cleanEnv } from "../scenario/sandbox.js";
import { scratchFolder } from "../support/scratch.js";

const run = promisify(execFile);
const module = new URL("../../src/inline/cluster.js", import.meta.url).href;
const sdk = import.meta.resolve("@pulumi/pulumi");

describe("a program that waits for its cluster", () => {
  const scratch = scratchFolder();

  // Node.js ends a process with code 13 that waits at its top for what keeps nothing alive.
  it("goes on while that waits for a deadline that keeps no process alive", async () => {
    writeManifests(scratch.path, {
      machines: { "cp-0": { controlPlane: true, tags: { vpc: `\${vpc}` } } },
    });
    const script = `
      import { once } from "node:events";
      import pulumi from ${JSON.stringify(sdk)};
      import { cluster } from ${JSON.stringify(module)};
      await pulumi.runtime.setMocks({ call: () => ({}), newResource: () => ({ id: "", state: {} }) });
      const vpc = pulumi.output(once(AbortSignal.timeout(300), "abort").then(() => "vpc-1"));
      // It gets no further than to the state of its stack, which no engine keeps here.
      await cluster({ manifests: "cluster.yaml", values: { vpc } }).catch(({ message }) => console.log(message));
      console.log("done");
    `;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], {
      cwd: scratch.path,
      env: { ...cleanEnv(), CAPSTAN_STATE: join(scratch.path, "state") },
    });
    assert.match(stdout, /done\n$/);
  });
});
