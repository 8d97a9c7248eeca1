import assert from "node:assert/strict";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { changesAmong, countOf, rostersAfter, rostersOf } from "../scenario/host-roster.js";
import { type ScenarioCluster, demoStack, type ScenarioMachine } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";

interface Template {
  readonly size: "small" | "medium" | "large";
  readonly kubelet: string;
}

const good: Template = { size: "small", kubelet: "1.34.1" };
/** Another size needs new hosts, so old ones have gone by the time it stops. */
const bad: Template = { size: "medium", kubelet: "1.34.99" };
const workers = (template: ScenarioMachine): ScenarioCluster => ({
  machines: { "cp-0": { controlPlane: true } },
  deployments: {
    web: {
      replicas: 4,
      maxSurge: 1,
      maxUnavailable: 1,
      progressDeadlineSeconds: 3,
      template: { joinMs: 50, ...template },
    },
  },
});
const stopped = /MachineDeployment web has made no progress for 3 s: LocalHost\/web-/;

/** Every worker is of this template and serves, and nothing is left to do. */
async function assertAll(sandbox: Sandbox, { size, kubelet }: Template) {
  const hosts = sandbox.alive().filter(({ name }) => name.startsWith("web-"));
  assert.deepEqual(
    hosts.map(({ spec }) => [spec["size"], spec["kubelet"]]),
    Array.from({ length: 4 }, () => [size, kubelet]),
  );
  const last = rostersOf(sandbox.cloudFile).at(-1);
  assert.equal(countOf(last?.serving ?? new Set(), "web"), 4);
  await sandbox.plan(0);
  await sandbox.assertSound(demoStack);
}

// Each correction, and a rollback, behind hosts that never run: test/transaction/stuck-rollouts.test.ts; changes in place: failed-changes.test.ts.
describe("a version that never joins, in the middle of a rollout", () => {
  let sandbox: Sandbox;

  copyForEachTest(workers(good), (copy) => {
    sandbox = copy;
  });

  it("is taken back at the deployment's progress deadline, and history tells it", async () => {
    sandbox.write(workers(bad));
    const begin = sandbox.ledgerEnd();
    const { stderr } = await sandbox.up(1);
    assert.match(stderr, stopped);
    const rosters = rostersAfter(sandbox.cloudFile, begin);
    const gone = changesAmong(rosters).filter((change) => change.startsWith("terminate web-"));
    assert.ok(gone.length > 1, `an old host was deleted before it stopped: ${gone.join()}`);
    for (const { seq, serving } of rosters) {
      assert.ok(countOf(serving, "web") >= 3, `fewer than 3 serve at ledger entry ${seq}`);
    }
    sandbox.write(workers(good));
    await assertAll(sandbox, good);
    const { stdout } = await sandbox.capstan(0, "history", demoStack);
    assert.match(stdout, /^ *2 .*rolled back/m);
    const shown = await sandbox.capstan(0, "history", "show", "2", demoStack);
    assert.match(shown.stdout, stopped);
  });

  it("whose hosts are kept shows them beside the old ones, and goes on to another edit on top", async () => {
    sandbox.write(workers(bad));
    const { stderr } = await sandbox.up(4, "--no-rollback");
    assert.match(stderr, stopped);
    const stuck = sandbox.alive().filter(({ spec }) => spec["kubelet"] === bad.kubelet);
    assert.ok(stuck.length > 0, "they stay");

    const { stdout } = await sandbox.capstan(0, "status", demoStack);
    const rows = stdout.split("\n").filter((line) => line.startsWith("web-"));
    assert.ok(
      rows.some((row) => /^web-\S+ +ready, to go +\S/.test(row)),
      stdout,
    );
    assert.ok(
      rows.some((row) => /^web-\S+ +(pending|failed|ready) +\S/.test(row)),
      stdout,
    );
    const status = JSON.parse((await sandbox.capstan(0, "status", demoStack, "--json")).stdout) as {
      machines: { host: string; leaving?: true }[];
    };
    const alive = sandbox.alive().filter(({ kind }) => kind === "LocalHost");
    assert.deepEqual(
      status.machines
        .map(({ host }) => host)
        .filter((host) => host !== "")
        .sort(),
      alive.map(({ id }) => id).sort(),
    );
    assert.ok(status.machines.some(({ leaving }) => leaving === true));

    const corrected = { size: "large", kubelet: "1.34.2" } as const;
    sandbox.write(workers(corrected));
    const begin = sandbox.ledgerEnd();
    await sandbox.up();
    for (const { seq, serving } of rostersAfter(sandbox.cloudFile, begin)) {
      assert.ok(countOf(serving, "web") >= 3, `fewer than 3 serve at ledger entry ${seq}`);
    }
    await assertAll(sandbox, corrected);
  });
});
