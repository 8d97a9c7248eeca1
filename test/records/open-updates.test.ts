import assert from "node:assert/strict";
import { type NodeKey } from "../../src/graph/graph.js";
import { openUpdates } from "../../src/records/open-updates.js";
import { FakeEngine } from "../support/fake-engine.js";
import { desiredCluster, type WantedCluster } from "../support/wanted-cluster.js";

const sized = (size: string): WantedCluster => ({
  cluster: { cidr: "10.0.0.0/16" },
  machines: { "cp-0": { size, resizable: true, tags: {}, controlPlane: "1.34.2" } },
  sets: {},
  deployments: {},
});

describe("open updates", () => {
  const open = (engine: FakeEngine): NodeKey[] => [...openUpdates(engine.prior)];

  it("are those of the open transaction that no record calls finished", async () => {
    const engine = await FakeEngine.running(desiredCluster(sized("small")));
    assert.deepEqual(open(engine), []);
    const host = engine.prior.revision?.target.machines[0]?.host;
    await engine.up(desiredCluster(sized("large")), [
      { at: "call", number: 1, what: "killBefore" },
    ]);
    assert.deepEqual(open(engine), [host]);
    await engine.up(desiredCluster(sized("large")));
    assert.deepEqual(open(engine), []);
  });

  it("are none once a transaction is committed, whatever its records say", async () => {
    const engine = await FakeEngine.running(desiredCluster(sized("small")));
    await engine.settle(desiredCluster(sized("large")));
    engine.tamper((resources) =>
      resources.map(({ outputs: { updatedBy: _by, ...outputs }, ...one }) => ({ ...one, outputs })),
    );
    assert.deepEqual(open(engine), []);
  });
});
