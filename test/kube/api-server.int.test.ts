import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { until } from "../scenario/until.js";
import { descendantsOf, isAlive } from "../scenario/process-tree.js";

/** Starts one and says where, then waits for its end. */
const starter = `
import { ApiServer } from ${JSON.stringify(new URL("../support/api-server.js", import.meta.url))};
const server = await ApiServer.start();
process.stdout.write(server.folder + "\\n");
setInterval(() => {}, 1000);
`;

// All else that it does is what tests use it for.
describe("an API server whose test was killed", () => {
  it("ends, with everything of it", async () => {
    const test = spawn(process.execPath, ["--input-type=module", "--eval", starter], {
      cwd: fileURLToPath(new URL(".", import.meta.url)),
      stdio: ["ignore", "pipe", "inherit"],
    });
    assert.ok(test.pid !== undefined);
    const [said] = (await once(test.stdout, "data")) as [Buffer];
    const folder = said.toString().trim();
    const children = descendantsOf(test.pid);
    assert.ok(existsSync(folder));
    assert.ok(children.length >= 3, "etcd, the API server, and who watches over them");
    test.kill("SIGKILL");
    await until("they have ended", () => !children.some(isAlive));
    assert.ok(!existsSync(folder));
  });
});
