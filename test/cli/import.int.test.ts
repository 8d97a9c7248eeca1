import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FatalPulumi } from "../scenario/fatal-pulumi.js";
import { demoStack, type ScenarioCluster, type ScenarioMachine } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { removeFolder } from "../support/folders.js";

const shape = (machines: Readonly<Record<string, ScenarioMachine>>): ScenarioCluster => ({
  machines: { "cp-0": { controlPlane: true }, ...machines },
});
const without = shape({ b: {} });
const withDb = shape({ b: {}, db: {} });

describe("capstan import", () => {
  let folder: string;
  let pulumi: FatalPulumi;
  let sandbox: Sandbox;
  /** Runs, and is nobody's: it was let go. */
  let host: string;
  let begin: number;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "capstan-import-"));
    pulumi = await FatalPulumi.in(folder);
    const env = { CAPSTAN_PULUMI: pulumi.program };
    sandbox = await Sandbox.make(shape({ a: {}, b: {} }), { env });
    await sandbox.up();
    host = sandbox.hostOf("a").id;
    await sandbox.capstan(0, "state", "forget", demoStack, "Machine/a", "--yes");
    sandbox.write(without);
    await sandbox.up();
    begin = sandbox.ledgerEnd();
    sandbox.write(withDb);
  });
  afterEach(async () => {
    await sandbox.close();
    removeFolder(folder);
  });

  const words = (at: Sandbox = sandbox) => [
    "import",
    demoStack,
    "Machine/db",
    host,
    "--yes",
    "-f",
    at.manifests,
  ];
  const imports = (code: number, at: Sandbox = sandbox) => at.capstan(code, ...words(at));
  const rowOfHost = (at: Sandbox) => at.rows().find(({ id }) => id === host);
  const callsSince = (at: Sandbox) => at.mutations(begin).map(({ call, id }) => [call, id]);
  const mustBeOurs = async (at: Sandbox) => {
    assert.match(rowOfHost(at)?.name ?? "", /^db-[0-9a-f]{8}-1$/);
    assert.deepEqual(new Set(callsSince(at).map(([call]) => call)), new Set(["mark"]));
    assert.match((await at.up()).stdout, /No changes/);
    await at.assertSound(demoStack);
  };
  const mustBeNobodys = async (at: Sandbox) => {
    const { state, token, clusterUid } = rowOfHost(at) ?? {};
    assert.deepEqual([state, token, clusterUid], ["running", "", ""]);
    await at.assertSound(demoStack);
  };

  it("gives a host our marks and a record, and changes nothing else", async () => {
    const { stdout } = await imports(0);
    assert.match(stdout, /Machine db += import +host-\S+ is there; it gets our marks and a record/);
    assert.match(stdout, /Plan: 1 to import; 1 wave/);
    assert.deepEqual(callsSince(sandbox), [["mark", host]]);
    await mustBeOurs(sandbox);
    assert.match((await imports(0)).stdout, /No changes/);
    const { stdout: history } = await sandbox.capstan(0, "history", demoStack);
    assert.match(history, /^\d+ .*import of Machine db .*1 imported/m);

    await sandbox.capstan(0, "rollback", "--yes", demoStack);
    await mustBeNobodys(sandbox);
  });

  it("leaves to the next up what changes in place", async () => {
    sandbox.write(shape({ b: {}, db: { diskGib: 40 } }));
    const { stdout } = await imports(0);
    assert.match(stdout, /The next up changes Machine db in place: diskGib 20 -> 40/);
    assert.deepEqual(callsSince(sandbox), [["mark", host]]);
    await sandbox.up();
    assert.deepEqual(callsSince(sandbox), [
      ["mark", host],
      ["update", host],
    ]);
    await sandbox.assertSound(demoStack);
  });

  it("is refused with all fields that a host cannot follow in, and with what is in its way", async () => {
    sandbox.write(shape({ b: {}, db: { size: "large" } }));
    const { stderr } = await imports(65);
    assert.match(
      stderr,
      /cluster.yaml:\d+:\d+: cannot import Machine db: size of host-\S+ is small, and the manifests say large \(this provider cannot resize\)/,
    );
    const refused = async (code: number, ...args: string[]) => {
      const given = ["import", demoStack, ...args, "--yes", "-f", sandbox.manifests];
      return (await sandbox.capstan(code, ...given)).stderr;
    };
    assert.match(await refused(1, "Machine/db", "host-0"), /the cloud has no LocalHost of that id/);
    const other = sandbox.hostOf("b").id;
    assert.match(
      await refused(65, "Machine/db", other),
      /it is recorded already, as LocalHost\/b-/,
    );
    assert.match(await refused(65, "Machine/cp-0", host), /it has a host already, LocalHost\/cp-0/);
    assert.match(await refused(64, "md/db", host), /names no Machine/);
    assert.deepEqual(callsSince(sandbox), []);
  });

  const waysOn = {
    "import again": async (at: Sandbox) => {
      await imports(0, at);
      await mustBeOurs(at);
    },
    up: async (at: Sandbox) => {
      await at.up();
      await mustBeOurs(at);
    },
    "up without it": async (at: Sandbox) => {
      at.write(without);
      await at.up();
      await mustBeNobodys(at);
    },
    rollback: async (at: Sandbox) => {
      await at.capstan(0, "rollback", "--yes", demoStack);
      await mustBeNobodys(at);
    },
    watch: async (at: Sandbox) => {
      const watcher = at.start("watch", "--period", "1", "-f", at.manifests);
      await until(
        "the watcher has finished it",
        () => /done in .* revision \d+, 3 machines run/.exec(watcher.said) ?? undefined,
      );
      watcher.signal("SIGINT");
      await watcher.finished;
      await mustBeOurs(at);
    },
    status: async (at: Sandbox) => {
      const { stdout } = await at.capstan(0, "status", demoStack);
      assert.match(
        stdout,
        /Transaction 3 \(import of Machine db\) is not finished.*capstan .*import default\.demo Machine\/db host-\S+ goes on with it/,
      );
    },
    destroy: async (at: Sandbox) => {
      const { stderr } = await at.capstan(1, "destroy", "--yes", demoStack);
      assert.match(stderr, /is being imported, and is not ours to delete/);
      assert.equal(rowOfHost(at)?.state, "running");
    },
  };

  /** Whatever comes next, in a copy of its own each: no create, and no end of the host. */
  const mustRecover = async () => {
    for (const way of Object.values(waysOn)) {
      const at = sandbox.copy();
      try {
        await at.cloud.clearFaults();
        await way(at);
        const calls = callsSince(at).map(([call]) => call);
        assert.deepEqual(
          calls.filter((call) => !["mark", "disown"].includes(call ?? "")),
          [],
        );
      } finally {
        await at.close();
      }
    }
  };

  for (const mode of ["hang", "hangAfter"]) {
    it(`killed at the mark (${mode}) is finished or taken back`, async () => {
      const fault = { call: "mark", mode, name: "db" };
      const command = await sandbox.startHanging(fault, () => sandbox.start(...words()));
      await command.killTree();
      await mustRecover();
    });
  }

  for (const pass of [1, 2]) {
    it(`killed after pass ${pass} is finished or taken back`, async () => {
      pulumi.killAt("after", pass);
      const ended = await sandbox.start(...words()).finished;
      assert.equal(ended.code, null, "it was to be killed");
      pulumi.spare();
      await mustRecover();
    });
  }
});
