import assert from "node:assert/strict";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { demoStack, type ScenarioCluster, type ScenarioMachine } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";

const shape = (machines: Readonly<Record<string, ScenarioMachine>>): ScenarioCluster => ({
  machines: { "cp-0": { controlPlane: true }, ...machines },
});
const without = shape({ b: {} });
const withDb = shape({ b: {}, db: {} });

describe("capstan import", () => {
  let sandbox: Sandbox;
  /** Runs without ownership tags: it was forgotten. */
  let host: string;
  let begin: number;

  copyForEachTest(
    shape({ a: {}, b: {} }),
    (copy) => {
      sandbox = copy;
    },
    async (first) => {
      await first.up();
      host = first.hostOf("a").id;
      await first.capstan(0, "state", "forget", demoStack, "Machine/a", "--yes");
      first.write(without);
      await first.up();
      begin = first.ledgerEnd();
      first.write(withDb);
    },
  );

  const words = () => ["import", demoStack, "Machine/db", host, "--yes", "-f", sandbox.manifests];
  const imports = (code: number) => sandbox.capstan(code, ...words());
  const rowOfHost = () => sandbox.rows().find(({ id }) => id === host);
  const callsSince = () => sandbox.mutations(begin).map(({ call, id }) => [call, id]);
  const mustBeOurs = async () => {
    assert.match(rowOfHost()?.name ?? "", /^db-[0-9a-f]{8}-1$/);
    assert.deepEqual(new Set(callsSince().map(([call]) => call)), new Set(["mark"]));
    assert.match((await sandbox.up()).stdout, /No changes/);
    await sandbox.assertSound(demoStack);
  };
  const mustBeNobodys = async () => {
    const { state, token, clusterUid } = rowOfHost() ?? {};
    assert.deepEqual([state, token, clusterUid], ["running", "", ""]);
    await sandbox.assertSound(demoStack);
  };

  it("gives a host our marks and a record, and changes nothing else", async () => {
    const { stdout } = await imports(0);
    assert.match(stdout, /Machine db += import +host-\S+ is there; it gets our marks and a record/);
    assert.match(stdout, /Plan: 1 to import; 1 wave/);
    assert.deepEqual(callsSince(), [["mark", host]]);
    await mustBeOurs();
    assert.match((await imports(0)).stdout, /No changes/);
    const { stdout: history } = await sandbox.capstan(0, "history", demoStack);
    assert.match(history, /^\d+ .*import of Machine db .*1 imported/m);

    await sandbox.capstan(0, "rollback", "--yes", demoStack);
    await mustBeNobodys();
  });

  it("leaves to the next up what changes in place", async () => {
    sandbox.write(shape({ b: {}, db: { diskGib: 40 } }));
    const { stdout } = await imports(0);
    assert.match(stdout, /The next up changes Machine db in place: diskGib 20 -> 40/);
    assert.deepEqual(callsSince(), [["mark", host]]);
    await sandbox.up();
    assert.deepEqual(callsSince(), [
      ["mark", host],
      ["update", host],
    ]);
    await sandbox.assertSound(demoStack);
  });

  // What every other verb makes of an import that was killed at any write or call: test/engine/import.test.ts.

  it("killed at its mark is shown by status, refused by destroy, and finished by watch", async () => {
    const fault = { call: "mark", mode: "hangAfter", name: "db" };
    const command = await sandbox.startHanging(fault, () => sandbox.start(...words()));
    await command.killTree();
    await sandbox.cloud.clearFaults();
    const { stdout } = await sandbox.capstan(0, "status", demoStack);
    assert.match(
      stdout,
      /Transaction 3 \(import of Machine db\) is not finished.*capstan .*import default\.demo Machine\/db host-\S+ goes on with it/,
    );
    const { stderr } = await sandbox.capstan(1, "destroy", "--yes", demoStack);
    assert.match(stderr, /is being imported, and is not ours to delete/);
    assert.equal(rowOfHost()?.state, "running");
    const watcher = sandbox.start("watch", "--period", "1", "-f", sandbox.manifests);
    await until(
      "the watcher has finished it",
      () => /done in .* revision \d+, 3 machines run/.exec(watcher.said) ?? undefined,
    );
    watcher.signal("SIGINT");
    await watcher.finished;
    await mustBeOurs();
  });
});
