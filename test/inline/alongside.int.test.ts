import assert from "node:assert/strict";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";

const rolling = (size: "small" | "large"): ScenarioCluster => ({
  machines: { "cp-0": { controlPlane: true } },
  deployments: {
    web: { replicas: 2, maxSurge: 1, maxUnavailable: 0, template: { size, bootMs: 1_500 } },
  },
});

describe("a plain pulumi up while capstan up runs", () => {
  let sandbox: Sandbox;

  copyForEachTest(rolling("small"), (copy) => {
    sandbox = copy;
  });

  it("is refused again and again, and ends nothing", async () => {
    sandbox.write(rolling("large"));
    const up = sandbox.startUp();
    await until("it has begun", () => up.said.includes("wave 1"));
    let refused = 0;
    while (!up.hasEnded) {
      const told = up.said.length;
      const plain = sandbox.startPlain("up", demoStack, "--yes", "--skip-preview");
      const { code, stdout, stderr } = await plain.finished;
      // What comes before the begin or behind the commit finds nothing to be refused for.
      if (code !== 0) refused += 1;
      else assert.match(stdout + stderr, /unchanged/);
      // One after the other without a pause, they could have the lock for all the time that a pass waits for it.
      await until("the other one goes on", () => up.hasEnded || up.said.length > told);
    }
    const { code, stdout, stderr } = await up.finished;
    assert.equal(code, 0, stdout + stderr);
    assert.ok(refused > 0, "none was refused");
    await sandbox.assertSound(demoStack);
  });
});
