import assert from "node:assert/strict";
import fc from "fast-check";
import {
  aimAtMachine,
  type Boundary,
  boundaryText,
  fileBoundaries,
  startUpTo,
} from "../chaos/boundary.js";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import type { Command, Outcome } from "../scenario/command.js";
import type { Sandbox } from "../scenario/sandbox.js";

/** How often each story is told, each time with a kill at another boundary. CAPSTAN_TRIES tells them more often. */
const tries = Number(process.env["CAPSTAN_TRIES"] ?? 1);

/** A call of the cloud before or after which a command is killed; of a host, its name begins with the machine's. */
const call = (
  side: Boundary["side"],
  what: string,
  name: string | null = null,
  nth = 1,
): Boundary => ({ side, kind: "call", what, name, nth });
const around = (what: string, name: string) => [
  call("before", what, name),
  call("after", what, name),
];
/** After the first observations: of a command that has begun, and that has only planned. */
const early = [call("after", "list"), call("after", "list", null, 3)];
const stateWrites = (...nths: readonly number[]) =>
  fileBoundaries(Math.max(...nths)).filter(({ nth }) => nths.includes(nth));

const usual: ScenarioCluster = {
  machines: { "cp-0": { controlPlane: true }, "db-0": {}, "web-0": {} },
};
const tagged: ScenarioCluster = {
  machines: { ...usual.machines, "db-0": { tags: { team: "a" } }, "web-1": {} },
};
const larger: ScenarioCluster = {
  machines: { "cp-0": { controlPlane: true }, "db-0": { size: "large" }, "web-1": {} },
};

const adopting = [
  call("after", "list", "db-0"),
  ...["web-1", "db-0"].flatMap((name) => around("create", name)),
  ...["web-0", "db-0"].flatMap((name) => around("terminate", name)),
];
const destroying = [
  ...["web-0", "cp-0", "network"].flatMap((name) => around("terminate", name)),
  ...stateWrites(1, 5, 10, 20),
];
const rollingBack = [
  ...around("update", "db-0"),
  ...around("terminate", "web-1"),
  ...stateWrites(1, 5, 10),
];

describe("a running cluster is not lost", function () {
  this.timeout(300_000 * tries);
  let sandbox: Sandbox;
  copyForEachTest(usual, (copy) => {
    sandbox = copy;
  });

  /** Tells a story in a copy of the running cluster, with a kill at so many of a command's boundaries. */
  async function told(
    boundaries: readonly Boundary[],
    story: (there: Sandbox, at: Boundary) => Promise<void>,
  ) {
    const many = Math.min(tries, boundaries.length);
    const some = fc.shuffledSubarray([...boundaries], { minLength: many, maxLength: many });
    for (const boundary of fc.sample(some, 1).flat()) {
      const there = sandbox.copy();
      try {
        await story(there, boundary);
      } catch (error) {
        throw new Error(`killed ${boundaryText(boundary)}: ${String(error)}`, { cause: error });
      } finally {
        await there.close();
      }
    }
  }

  async function killedAt(there: Sandbox, at: Boundary, start: () => Command): Promise<void> {
    const command = await startUpTo(there, at, start, { aim: aimAtMachine });
    await command.killTree();
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
    told(
      [...early, call("after", "list", "db-0"), call("after", "get", "web-0")],
      async (there, at) => {
        await there.cloud.kill("web-0");
        const healthy = idsIn(there);
        there.loseState(demoStack);
        await there.cloud.fault("create", "fail", { name: "web-0" });
        await there.up(1, "--adopt");
        mustStill(there, healthy);
        there.loseState(demoStack);
        await there.cloud.fault("create", "fail", { name: "web-0" });
        await killedAt(there, at, () => there.startUp("--adopt"));
        const { code } = await rollback(there);
        assert.ok(code === 0 || code === 1, `rollback ends with ${String(code)}`);
        mustStill(there, healthy);
        await there.cloud.clearFaults();
        await there.up(0, "--adopt");
        mustStill(there, healthy);
        await there.assertSound(demoStack);
      },
    ));

  it("by an adoption with other manifests, which leaves nothing in no record", () =>
    told([...early, ...adopting], async (there, at) => {
      there.loseState(demoStack);
      there.write(larger);
      await killedAt(there, at, () => there.startUp("--adopt"));
      await there.up(0, "--adopt");
      await there.plan(0);
      await there.assertSound(demoStack);
      assert.equal(there.alive().filter(({ kind }) => kind === "LocalHost").length, 3);
    }));

  it("by a rollback of an interrupted destroy, as long as its control plane stands", () =>
    told([...early, ...destroying], async (there, at) => {
      const member = there.hostOf("cp-0").id;
      await killedAt(there, at, () => there.start("destroy", demoStack, "--yes"));
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
      // It is past its point of no return.
      assert.ok(code === 65 || stderr.includes("it was destroyed at"), stdout + stderr);
      assert.deepEqual(there.mutations(begun), []);
      await there.capstan(0, "destroy", demoStack, "--yes");
      assert.deepEqual(there.alive(), []);
    }));

  it("by the same rollback again, however it was interrupted", () =>
    told([...early, ...rollingBack], async (there, at) => {
      there.write(tagged);
      await there.up();
      await killedAt(there, at, () => there.start("rollback", demoStack, "--yes"));
      assert.equal((await rollback(there)).code, 0);
      const reached = there.ledgerEnd();
      assert.equal((await rollback(there)).code, 0);
      assert.deepEqual(there.mutations(reached), [], "it stays where it has led");
      there.write(usual);
      await there.plan(0);
      await there.assertSound(demoStack);
    }));

  it("by taking a member back from where its plan knew no way back", () =>
    told(
      [call("after", "list"), call("after", "list", "web-1"), ...around("get", "web-1")],
      async (there, at) => {
        const member = there.hostOf("cp-0").id;
        there.write({
          machines: { ...usual.machines, "cp-0": { controlPlane: true, diskGib: 60 }, "web-1": {} },
        });
        const { stdout } = await there.plan(2);
        assert.match(stdout, /Undo: only until LocalHost\/cp-0-\S+ is updated/);
        await there.cloud.fault("create", "fail", { name: "web-1", times: 2 });
        await there.up(4);
        await killedAt(there, at, () => there.startUp());
        assert.equal((await rollback(there)).code, 65);
        await there.cloud.clearFaults();
        await there.up();
        assert.equal(there.hostOf("cp-0").id, member);
        await there.assertSound(demoStack);
      },
    ));
});
