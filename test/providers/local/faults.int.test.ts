import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox } from "../../scenario/sandbox.js";

const stack = "default.demo";
const machines = {
  "cp-0": { controlPlane: true },
  "web-0": {},
  "web-1": {},
};

describe("faults of the local cloud under the real engine", () => {
  let sandbox: Sandbox;

  beforeEach(async () => {
    sandbox = await Sandbox.make({ machines });
  });
  afterEach(() => sandbox.close());

  /** Runs up until it succeeds, as a patient user would. */
  const upUntilDone = async (atMost: number): Promise<void> => {
    // Each attempt goes on where the one before stopped.
    const { code, stderr } = await sandbox.startUp("--no-rollback").finished;
    if (code === 0) return;
    assert.ok(atMost > 1, `up does not get to its end\n${stderr}`);
    await upUntilDone(atMost - 1);
  };

  const declare = (machine: string, faults: readonly object[]): void => {
    const file = join(sandbox.manifests, "cluster.yaml");
    const documents = readFileSync(file, "utf8").split("---\n");
    const changed = documents.map((text) =>
      text.includes(`name: ${machine}\n`)
        ? text.replace(
            "kind: LocalMachineProviderSpec\n",
            `$&      faults: ${JSON.stringify(faults)}\n`,
          )
        : text,
    );
    assert.notDeepEqual(changed, documents);
    writeFileSync(file, changed.join("---\n"));
  };

  for (const seed of [1, 2]) {
    it(`survives a fifth of all calls going wrong, seed ${seed}`, async () => {
      await sandbox.capstan(0, "local", "fault", "random", "--seed", String(seed), "--rate", "0.2");
      await upUntilDone(15);
      await sandbox.capstan(0, "local", "fault", "--clear");
      await sandbox.up();
      await sandbox.plan(0);
      await sandbox.assertSound(stack);
    });
  }

  it("makes no duplicate while listings lag and answers are lost", async () => {
    await sandbox.cloud.fault("create", "lag", { ms: 600_000, times: 100 });
    await sandbox.cloud.fault("create", "lose", { times: 3 });
    await upUntilDone(4);
    await sandbox.plan(0);
    await sandbox.assertSound(stack);
  });

  it("tells which machine never boots, and goes on once it is told not to", async () => {
    const { "web-1": _, ...others } = machines;
    sandbox.write({ machines: others });
    await sandbox.up();
    sandbox.write({ machines });
    declare("web-1", [{ call: "create", mode: "neverBoots" }]);
    const { stderr } = await sandbox.up(4, "--no-rollback", "--timeout", "2");
    assert.match(stderr, /not ready after 2 s: LocalHost\/web-1/);
    await sandbox.capstan(0, "local", "kill", "web-1");
    sandbox.write({ machines });
    await upUntilDone(2);
    await sandbox.plan(0);
    await sandbox.assertSound(stack);
  });

  it("tells which machine boots and dies, and makes another", async () => {
    declare("web-1", [{ call: "create", mode: "dies", ms: 1 }]);
    const { stderr } = await sandbox.startUp("--no-rollback").finished;
    assert.match(stderr, /LocalHost\/web-1-\S+ has to be created now.*its host is gone/);
    sandbox.write({ machines });
    await upUntilDone(2);
    assert.match(sandbox.hostOf("web-1").name, /-2$/);
    await sandbox.plan(0);
    await sandbox.assertSound(stack);
  });
});
