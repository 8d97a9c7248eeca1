import assert from "node:assert/strict";
import { canonicalJson, type JsonObject } from "../../src/api/json.js";
import { type Desired, providerValue } from "../../src/api/types.js";
import { readDesired } from "../../src/manifest/desired.js";
import type { InfrastructureProvider } from "../../src/provider/index.js";
import { inStorageVersions } from "../../src/records/storage-versions.js";
import type { Target } from "../../src/records/target.js";
import { takenBackLike } from "../../src/records/taken-back.js";
import { FakeEngine } from "../support/fake-engine.js";
import { textOf } from "../support/manifests.js";
import {
  alpha,
  beta,
  evolvingCluster,
  evolvingDeployment,
  evolvingMachine,
  evolvingProvider,
} from "../support/two-releases.js";

const first = evolvingProvider("first");
const second = evolvingProvider("second");

function desired(
  provider: InfrastructureProvider,
  apiVersion: string,
  memory: JsonObject,
): Desired {
  const objects = [
    evolvingCluster(apiVersion),
    evolvingMachine("web", apiVersion, memory),
    evolvingDeployment("set", 2, apiVersion, memory),
  ];
  const [cluster] = readDesired([{ file: "a.yaml", text: textOf(objects) }], [provider]).clusters;
  assert.ok(cluster !== undefined);
  return cluster;
}

/** What the first release has brought about, twice, and the second one goes on with. */
async function upgraded(): Promise<FakeEngine> {
  const setup = { provider: first };
  const engine = await FakeEngine.running(desired(first, alpha, { memory: 2048 }), setup);
  await engine.settle(desired(first, alpha, { memory: 8192 }));
  engine.upgrade(second);
  return engine;
}

const memories = (engine: FakeEngine) => engine.hosts().map(({ spec }) => spec["memory"]);

describe("records of an earlier release of a provider", () => {
  it("are read in its storage version", async () => {
    const { prior } = await upgraded();
    const { transaction, revision } = prior;
    for (const records of [transaction, revision?.target, revision?.history]) {
      assert.ok(!canonicalJson(records).includes(alpha), canonicalJson(records));
      assert.ok(canonicalJson(records).includes(beta));
    }
  });

  it("hold no empty annotations, which manifests and API servers leave out", async () => {
    const { prior } = await upgraded();
    const { transaction, revision } = prior;
    assert.ok(transaction !== undefined && revision !== undefined);
    const withEmpty = (target: Target): Target => ({
      ...target,
      objects: target.objects.map((object) => ({
        ...object,
        metadata: { annotations: {}, ...object.metadata },
      })),
    });
    const earlier = {
      ...prior,
      transaction: { ...transaction, target: withEmpty(transaction.target) },
      revision: { ...revision, target: withEmpty(revision.target) },
    };
    const read = inStorageVersions(earlier, { all: [second] });
    assert.equal(canonicalJson(read.transaction?.target), canonicalJson(transaction.target));
    assert.equal(canonicalJson(read.revision?.target), canonicalJson(revision.target));
  });

  it("leave nothing to do, however the manifests are written", async () => {
    const engine = await upgraded();
    const wanted = [
      desired(second, alpha, { memory: 8192 }),
      desired(second, beta, { memoryGib: 8 }),
    ];
    for (const one of wanted) {
      const plan = await engine.plan(one);
      assert.ok(plan.empty, plan.transaction.summary.lines.join("\n"));
    }
  });

  it("are gone on from: what is new is made, what stays is kept", async () => {
    const engine = await upgraded();
    const before = engine.hosts().map(({ id }) => id);
    const more = desired(second, beta, { memoryGib: 8 });
    await engine.settle({ ...more, machines: [] });
    assert.ok(engine.hosts().every(({ id }) => before.includes(id)));
    assert.ok((await engine.plan({ ...more, machines: [] })).empty);
  });

  it("are rolled back to, and stay there", async () => {
    const engine = await upgraded();
    assert.equal((await engine.rollback()).kind, "done");
    assert.deepEqual(memories(engine), [2048, 2048, 2048]);
    assert.ok((await engine.plan(desired(second, beta, { memoryGib: 2 }))).empty);
    await engine.settle(desired(second, beta, { memoryGib: 16 }));
    assert.equal((await engine.rollback([], 2)).kind, "done");
    assert.deepEqual(memories(engine), [8192, 8192, 8192]);
  });

  it("still tell what was taken back", async () => {
    const engine = await upgraded();
    await engine.rollback();
    const { objects } = (await engine.plan(desired(second, beta, { memoryGib: 8 }))).target;
    assert.equal(takenBackLike({ objects }, engine.prior.revision)?.number, 2);
  });

  it("stay as they are in a version that nobody serves", async () => {
    const engine = await upgraded();
    engine.upgrade({ ...second, olderVersions: [] });
    assert.ok(canonicalJson(engine.prior.revision).includes(alpha));
    assert.equal((await engine.destroy()).kind, "done");
    assert.deepEqual(engine.hosts(), []);
  });

  it("are made again from hosts after they were lost, in its storage version", async () => {
    const setup = { provider: first, adopt: true };
    const engine = await FakeEngine.running(desired(first, alpha, { memory: 8192 }), setup);
    engine.loseState();
    engine.upgrade(second);
    assert.equal((await engine.up(desired(second, beta, { memoryGib: 16 }))).kind, "done");
    const adopted = engine.prior.revision?.history[0]?.target?.machines ?? [];
    assert.deepEqual(
      adopted.map(({ spec }) => providerValue(spec)["memoryGib"]),
      [8, 8, 8],
    );
    assert.deepEqual(memories(engine), [16_384, 16_384, 16_384]);
  });
});
