import assert from "node:assert/strict";
import { globSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { clearFaults } from "../scenario/cloud-faults.js";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";

const pair: ScenarioCluster = { machines: { "cp-0": { controlPlane: true }, "worker-0": {} } };
const three: ScenarioCluster = { machines: { ...pair.machines, "worker-1": {} } };

/** Where Debian's package faketime keeps what it is preloaded from. */
const libraries = "/usr/lib/*/faketime/libfaketime.so.1";

/**
 * The clock of a command and all that it starts is set while a pass runs, as NTP or a resumed machine does; what counts
 * how long something takes is not. Afterwards everybody has the right time again.
 */
describe("a clock that is set by a day in a running pass", () => {
  let sandbox: Sandbox;

  copyForEachTest(pair, (copy) => {
    sandbox = copy;
  });

  for (const jump of ["+1d", "-1d"]) {
    it(`${jump}: it ends in one of its places, and the next up reaches its goal`, async () => {
      const [library] = globSync(libraries);
      assert.ok(library !== undefined, "Debian's package faketime is installed");
      const file = join(sandbox.folder, "time");
      writeFileSync(file, "+0d\n");
      sandbox.runner = [
        "env",
        `LD_PRELOAD=${library}`,
        `FAKETIME_TIMESTAMP_FILE=${file}`,
        "FAKETIME_NO_CACHE=1",
        "FAKETIME_DONT_FAKE_MONOTONIC=1",
      ];
      sandbox.write(three);
      const fault = { call: "create", mode: "late", name: "worker-1" };
      const command = await sandbox.startHanging(fault);
      writeFileSync(file, `${jump}\n`);
      clearFaults(sandbox.cloudFile);
      const { code, stdout, stderr } = await command.finished;
      const text = `exit ${code}\n${stdout}${stderr}`;
      assert.ok([0, 1].includes(code ?? -1), text);
      assert.doesNotMatch(text, /defect of capstan/);
      if (code === 1) assert.match(text, /hint: |taken back|rolled back/);
      sandbox.runner = undefined;
      const before = sandbox.ledgerEnd();
      await sandbox.up();
      await sandbox.assertSound(demoStack);
      await sandbox.plan(0);
      const gone = sandbox.mutations(before).filter(({ call }) => call === "terminate");
      assert.deepEqual(gone, [], "no host is lost by the way back to the right time");
    });
  }
});
