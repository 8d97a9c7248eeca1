import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import type { Command, Outcome } from "../scenario/command.js";
import type { Sandbox } from "../scenario/sandbox.js";

/** How often each story is told, each time with kills at other instants. CAPSTAN_TRIES tells them more often. */
const tries = Number(process.env["CAPSTAN_TRIES"] ?? 1);

const usual: ScenarioCluster = {
  machines: { "cp-0": { controlPlane: true }, "db-0": {}, "web-0": {} },
};
const tagged: ScenarioCluster = {
  machines: { ...usual.machines, "db-0": { tags: { team: "a" } }, "web-1": {} },
};
const larger: ScenarioCluster = {
  machines: { "cp-0": { controlPlane: true }, "db-0": { size: "large" }, "web-1": {} },
};

describe("a running cluster is not lost", function () {
  this.timeout(300_000 * tries);
  let sandbox: Sandbox;
  copyForEachTest(usual, (copy) => {
    sandbox = copy;
  });

  /** Tells a story in a copy of the running cluster, at so many instants after a command's begin. */
  async function told(longestMs: number, story: (there: Sandbox, killMs: number) => Promise<void>) {
    const instants = fc.sample(fc.integer({ min: 100, max: longestMs }), tries);
    for (const instant of instants) {
      const there = sandbox.copy();
      try {
        await story(there, instant);
      } catch (error) {
        throw new Error(`killed after ${instant} ms: ${String(error)}`, { cause: error });
      } finally {
        await there.close();
      }
    }
  }

  async function killedAfter(command: Command, ms: number): Promise<boolean> {
    await Promise.race([sleep(ms), command.finished]);
    const wasRunning = !command.hasEnded;
    await command.killTree();
    return wasRunning;
  }

  const idsIn = (there: Sandbox) => there.alive().map(({ id }) => id);
  const mustStill = (there: Sandbox, ids: readonly string[]) =>
    assert.deepEqual(
      ids.filter((id) => !idsIn(there).includes(id)),
      [],
      "healthy and gone",
    );
  const rollback = (there: Sandbox, ...args: string[]): Promise<Outcome> =>
    there.start("rollback", demoStack, "--yes", ...args).finished;

  it("by a failing adoption of its lost state", () =>
    told(2_500, async (there, killMs) => {
      await there.cloud.kill("web-0");
      const healthy = idsIn(there);
      there.loseState(demoStack);
      await there.cloud.fault("create", "fail", { name: "web-0" });
      await there.up(1, "--adopt");
      mustStill(there, healthy);
      there.loseState(demoStack);
      await there.cloud.fault("create", "fail", { name: "web-0" });
      if (!(await killedAfter(there.startUp("--adopt"), killMs))) return;
      const { code } = await rollback(there);
      assert.ok(code === 0 || code === 1, `rollback ends with ${String(code)}`);
      mustStill(there, healthy);
      await there.cloud.clearFaults();
      await there.up(0, "--adopt");
      mustStill(there, healthy);
      await there.assertSound(demoStack);
    }));

  it("by an adoption with other manifests, which leaves nothing in no record", () =>
    told(2_500, async (there, killMs) => {
      there.loseState(demoStack);
      there.write(larger);
      await killedAfter(there.startUp("--adopt"), killMs);
      await there.up(0, "--adopt");
      await there.plan(0);
      await there.assertSound(demoStack);
      assert.equal(there.alive().filter(({ kind }) => kind === "LocalHost").length, 3);
    }));

  it("by a rollback of an interrupted destroy, as long as its control plane stands", () =>
    told(3_000, async (there, killMs) => {
      const member = there.hostOf("cp-0").id;
      await killedAfter(there.start("destroy", demoStack, "--yes"), killMs);
      const begun = there.ledgerEnd();
      const { code, stdout, stderr } = await rollback(there);
      if (idsIn(there).includes(member)) {
        // Killed before its begin there is nothing to take back; killed in it, it may have left an entry to clear.
        assert.ok(code === 0 || stderr.includes("no earlier revision"), stdout + stderr);
        if (code !== 0) await there.up();
        await there.plan(0);
        await there.assertSound(demoStack);
        return;
      }
      // It ended before anybody killed it, or is past its point of no return.
      assert.ok(code === 65 || stderr.includes("it was destroyed at"), stdout + stderr);
      assert.deepEqual(there.mutations(begun), []);
      await there.capstan(0, "destroy", demoStack, "--yes");
      assert.deepEqual(there.alive(), []);
    }));

  it("by the same rollback again, however it was interrupted", () =>
    told(3_000, async (there, killMs) => {
      there.write(tagged);
      await there.up();
      await killedAfter(there.start("rollback", demoStack, "--yes"), killMs);
      assert.equal((await rollback(there)).code, 0);
      const reached = there.ledgerEnd();
      assert.equal((await rollback(there)).code, 0);
      assert.deepEqual(there.mutations(reached), [], "it stays where it has led");
      there.write(usual);
      await there.plan(0);
      await there.assertSound(demoStack);
    }));

  it("by taking a member back from where its plan knew no way back", () =>
    told(4_000, async (there, killMs) => {
      const member = there.hostOf("cp-0").id;
      there.write({
        machines: { ...usual.machines, "cp-0": { controlPlane: true, diskGib: 60 }, "web-1": {} },
      });
      const { stdout } = await there.plan(2);
      assert.match(stdout, /Undo: only until LocalHost\/cp-0-\S+ is updated/);
      await there.cloud.fault("create", "fail", { name: "web-1", times: 2 });
      await there.up(4);
      await killedAfter(there.startUp(), killMs);
      assert.equal((await rollback(there)).code, 65);
      await there.cloud.clearFaults();
      await there.up();
      assert.equal(there.hostOf("cp-0").id, member);
      await there.assertSound(demoStack);
    }));
});
