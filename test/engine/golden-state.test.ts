import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeProviders } from "../../providers/index.js";
import { isCapstanError } from "../../src/api/error.js";
import type { JsonObject } from "../../src/api/json.js";
import { parseExport, type StackState } from "../../src/engine/backend/state.js";
import { readDesired } from "../../src/manifest/desired.js";
import { readSources } from "../../src/manifest/files.js";
import type { Step } from "../../src/plan/step.js";
import { makePlan } from "../../src/plan/planner/make-plan.js";
import { asRecorded } from "../../src/plan/undo/point-of-no-return.js";
import { stateSchemaVersion } from "../../src/records/transaction.js";
import { systemClock } from "../../src/provider/clock.js";
import { migrate } from "../../src/transaction/migrate.js";

const root = join(fileURLToPath(import.meta.url), "..", "..", "..", "..");
const golden = (file: string) => readFileSync(join(root, "test", "golden", file), "utf8");

/** What the manifests of all these states want to be done. */
function stepsToward(prior: StackState): readonly Step[] {
  const providers = makeProviders("unused", systemClock).all;
  const sources = readSources([join(root, "test", "golden", "state-v1")]);
  const { clusters } = readDesired(sources, providers);
  const [desired, provider] = [clusters[0], providers[0]];
  assert.ok(desired !== undefined && provider !== undefined);
  const plan = makePlan({
    planGoal: { kind: "objects", desired },
    provider,
    prior,
    observedResources: asRecorded(prior),
    unrecorded: [],
    newClusterUid: "not used",
    nowMs: 0,
    owner: "files",
    goal: { kind: "up" },
    by: "user@host",
    deadlineMs: 60_000,
  });
  return plan.steps;
}

describe("states of earlier releases", () => {
  for (const version of [1, 2]) {
    it(`a state of schemaVersion ${version} is read, and its manifests change nothing but the network, once`, () => {
      const prior = parseExport(golden(`state-v${version}.json`), "default.quickstart");
      assert.equal(prior.transaction?.number, prior.revision?.number);
      assert.equal(prior.transaction?.target.machines.length, 3);
      assert.deepEqual(prior.foreign, []);
      assert.equal(prior.transaction?.cloud, undefined, "nobody knew which cloud it is");
      // A release of schemaVersion 3 began to record the Cluster's networks.
      const [step, ...others] = stepsToward(prior);
      assert.deepEqual(others, []);
      assert.deepEqual([step?.kind, step?.key], ["update", "LocalNetwork/network"]);
      const paths =
        step?.kind === "update" ? step.changes.map(({ path, from }) => [path, from]) : [];
      assert.deepEqual(
        paths,
        ["services", "pods", "serviceDomain"].map((path) => [path, undefined]),
      );
    });
  }

  it("a state of schemaVersion 3 is read as it is, and its manifests change nothing", () => {
    const prior = parseExport(golden("state-v3.json"), "default.quickstart");
    assert.deepEqual(prior.foreign, []);
    assert.equal(prior.transaction?.number, prior.revision?.number);
    assert.equal(prior.transaction?.target.machines.length, 3);
    assert.notEqual(prior.transaction?.cloud, undefined);
    assert.deepEqual(prior.transaction?.goal, { kind: "up" });
    assert.deepEqual(stepsToward(prior), []);
  });

  it("a newer schemaVersion is refused before its payload is looked at", () => {
    const state = JSON.parse(golden("state-v1.json")) as {
      deployment: { resources: { type: string; inputs: JsonObject }[] };
    };
    for (const { type, inputs } of state.deployment.resources) {
      if (!type.endsWith(":Transaction")) continue;
      Object.assign(inputs, { schemaVersion: stateSchemaVersion + 1, payload: "not even gzip" });
    }
    assert.throws(
      () => parseExport(JSON.stringify(state), "default.quickstart"),
      (error) => isCapstanError(error) && error.code === "SCHEMA_NEWER",
    );
  });
});

describe("from schemaVersion 1 to 2", () => {
  it("adds what rollback and history need, and loses nothing", () => {
    const record = { target: { nodes: [] }, spent: { "web-1": 3 } };
    assert.deepEqual(migrate(1, record, 2), {
      kind: "current",
      record: {
        ...record,
        direction: "forward",
        by: "unknown",
        digestKey: "",
        deadlineAtMs: Number.MAX_SAFE_INTEGER,
        summary: { create: 0, update: 0, delete: 0, lines: [] },
        attempts: [],
        history: [],
      },
    });
  });

  it("keeps what is there already", () => {
    const migrated = migrate(1, { by: "ann@laptop", history: [{ number: 1 }] }, 2);
    assert.ok(migrated.kind === "current");
    const { by, history } = migrated.record;
    assert.deepEqual([by, history], ["ann@laptop", [{ number: 1 }]]);
  });

  it("an open transaction of version 1 is gone on with, however long ago it was begun", () => {
    const { transaction } = parseExport(golden("state-v1.json"), "default.quickstart");
    assert.ok(transaction !== undefined);
    assert.ok(transaction.deadlineAtMs > Date.UTC(2100, 0));
    assert.deepEqual([transaction.direction, transaction.attempts], ["forward", []]);
  });
});

describe("from schemaVersion 2 to 3", () => {
  const migrated = (record: JsonObject) => {
    const result = migrate(2, record, 3);
    assert.ok(result.kind === "current");
    return result.record;
  };

  it("says what was asked for by the direction, and of the way back nothing", () => {
    assert.deepEqual(migrated({ direction: "forward" }), {
      direction: "forward",
      goal: { kind: "up" },
      compensable: [],
    });
    assert.deepEqual(migrated({ direction: "back" })["goal"], { kind: "takeBack" });
  });

  it("says by what an open transaction has crossed", () => {
    const crossed = [{ machine: "cp", host: "LocalHost/cp-1", version: "1.35.0" }];
    assert.deepEqual(migrated({ crossed })["crossed"], [{ kind: "version", ...crossed[0] }]);
  });
});

describe("from schemaVersion 3 to 4", () => {
  it("changes nothing: what version 4 may say is absent, and that is none of it", () => {
    const record = { goal: { kind: "up" }, compensable: [], spent: {} };
    assert.deepEqual(migrate(3, record, 4), { kind: "current", record });
  });
});

describe("from schemaVersion 4 to 5", () => {
  it("makes the keys of a cluster the first ones, and none of none", () => {
    const keys = { ca: "a", etcd: "b", frontProxy: "c", serviceAccount: "d" };
    const migrated = migrate(4, { spent: {}, keys }, 5);
    assert.deepEqual(migrated, { kind: "current", record: { spent: {}, keys: { 1: keys } } });
    assert.deepEqual(migrate(4, { spent: {} }, 5), { kind: "current", record: { spent: {} } });
    assert.equal(stateSchemaVersion, 5);
  });
});

describe("migrate", () => {
  const steps = {
    1: (record: JsonObject) => ({ ...record, second: true }),
    2: (record: JsonObject) => ({ ...record, third: record["second"] ?? false }),
  };
  const table = [
    {
      name: "goes through every version in between",
      version: 1,
      want: { kind: "current", record: { first: true, second: true, third: true } },
    },
    {
      name: "leaves the present version alone",
      version: 3,
      want: { kind: "current", record: { first: true } },
    },
    { name: "does not touch a newer one", version: 4, want: { kind: "newer", version: 4 } },
    {
      name: "refuses what is no version",
      version: "1",
      want: { kind: "unreadable", version: "1" },
    },
    {
      name: "refuses a version without a way here",
      version: 0,
      want: { kind: "unreadable", version: 0 },
    },
  ];
  for (const { name, version, want } of table) {
    it(name, () => assert.deepEqual(migrate(version, { first: true }, 3, steps), want));
  }
});
