import assert from "node:assert/strict";
import { refuseInline } from "../../src/inline/refuse.js";
import { failsWith } from "../support/errors.js";
import { FakeEngine } from "../support/fake-engine.js";
import { cluster, desiredOf, machine } from "../support/manifests.js";

const wanted = (worker?: object) =>
  desiredOf([
    cluster(),
    machine("cp", { controlPlane: "1.34.2" }),
    machine("worker-0"),
    ...(worker === undefined ? [] : [machine("worker-1", worker)]),
  ]);
const pair = wanted();
const three = wanted({});
const large = wanted({ size: "large" });
const failing = [{ at: "call", number: 0, what: "fail" }] as const;
const till = "urn:pulumi:dev::shop::shop:index:Till::till";

/** What a plain `pulumi up` with these manifests is held against. */
async function change(
  engine: FakeEngine,
  desired: typeof pair,
  { isInline = false, isShared = false } = {},
) {
  const { prior } = engine;
  const transaction = { ...prior.transaction!, ...(isInline && { inline: true as const }) };
  return {
    plan: await engine.plan(desired),
    state: { ...prior, transaction, foreign: isShared ? [till] : [] },
    observedResources: new Map(),
    place: { root: "/shop", stack: "dev", files: ["/shop/clusters"] },
  };
}

describe("a plain pulumi up behind one that failed", () => {
  const ways = { "the same manifests": three, "corrected ones": large, "the old ones": pair };
  for (const [what, desired] of Object.entries(ways)) {
    for (const isShared of [false, true]) {
      const where = isShared ? "a stack with other resources" : "a stack of the cluster alone";
      it(`goes on with ${what}, in ${where}`, async () => {
        const engine = await FakeEngine.running(pair);
        await engine.up(three, failing, "keep");
        const next = await change(engine, desired, { isInline: true, isShared });
        assert.notEqual(next.plan.open, undefined);
        refuseInline(next);
      });
    }
  }

  it("is refused behind a capstan up that failed, with the commands that go on", async () => {
    const engine = await FakeEngine.running(pair);
    await engine.up(three, failing, "keep");
    const next = await change(engine, three);
    assert.throws(
      () => refuseInline(next),
      failsWith("TRANSACTION_OPEN", /transaction 2 is not finished/),
    );
  });
});

describe("a plain pulumi up with manifests that were taken back", () => {
  it("is refused until others were applied", async () => {
    const engine = await FakeEngine.running(pair);
    assert.equal((await engine.up(three, failing)).kind, "rolledBack");
    const same = await change(engine, three);
    assert.throws(
      () => refuseInline(same),
      failsWith(
        "TRANSACTION_OPEN",
        /transaction 2 wanted these objects and was taken back: .*worker-1/,
      ),
    );
    refuseInline(await change(engine, large));
    await engine.settle(large);
    refuseInline(await change(engine, three));
  });

  it("is refused behind capstan rollback, until they are applied on purpose", async () => {
    const engine = await FakeEngine.running(pair);
    await engine.settle(three);
    assert.equal((await engine.rollback()).kind, "done");
    const same = await change(engine, three);
    assert.throws(
      () => refuseInline(same),
      failsWith(
        "TRANSACTION_OPEN",
        /transaction 2 wanted these objects and was taken back: capstan rollback went to revision 1/,
      ),
    );
    refuseInline(await change(engine, pair));
    await engine.settle(three);
    refuseInline(await change(engine, three));
    await engine.settle(pair);
    refuseInline(await change(engine, three));
  });
});
