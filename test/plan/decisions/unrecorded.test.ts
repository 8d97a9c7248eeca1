import assert from "node:assert/strict";
import { newerThanRecords, supersededKeys } from "../../../src/plan/decisions/unrecorded.js";
import type { PriorState } from "../../../src/records/prior-state.js";
import type { Target } from "../../../src/records/target.js";
import type { TransactionRecord } from "../../../src/records/transaction.js";
import { FakeEngine } from "../../support/fake-engine.js";
import { cluster, desiredOf, machine, type Manifest } from "../../support/manifests.js";

const goal = (...objects: Manifest[]) => desiredOf([cluster(), ...objects]);
const member = machine("cp", { controlPlane: "1.34.2" });
const withVolume = goal(member, machine("db", { dataVolume: { gib: 1 } }));
const withoutVolume = goal(member, machine("db"));

/** Records of a time when the hosts of `transaction` are gone, and nothing else is planned any more. */
function recordsWithout(transaction: TransactionRecord, target: Target): PriorState {
  return { resources: [], pending: [], transaction: { ...transaction, target } };
}

/** Records of a change that wanted a volume, and of one that does not want it any more. */
async function recordsOfBoth() {
  const engine = await FakeEngine.running(withVolume);
  const wanting = engine.prior;
  const volumes = engine.alive().filter(({ who }) => who.kind === "LocalVolume");
  await engine.settle(withoutVolume);
  const [volume] = volumes;
  return {
    wanting,
    after: engine.prior,
    volumes,
    volume: `LocalVolume/${volume?.who.name}`,
    removed: (await engine.plan(goal(member))).target,
  };
}

describe("what earlier targets wanted", () => {
  it("is told for as long as the host is there that it lived with", async () => {
    const { wanting, after, volume, removed } = await recordsOfBoth();
    const transaction = after.transaction ?? assert.fail("it is recorded");
    assert.deepEqual(supersededKeys(wanting, transaction.target, "LocalHost"), [volume]);
    assert.deepEqual(supersededKeys(after, transaction.target, "LocalHost"), [volume]);
    assert.deepEqual(supersededKeys(after, removed, "LocalHost"), [volume]);
    const later = recordsWithout(transaction, removed);
    assert.deepEqual(supersededKeys(later, removed, "LocalHost"), []);
  });

  it("is not newer than the records, and would be without it", async () => {
    const { after, volumes } = await recordsOfBoth();
    const transaction = after.transaction ?? assert.fail("it is recorded");
    const { superseded, ...silent } = transaction;
    assert.equal(superseded?.length, 1);
    assert.deepEqual(newerThanRecords(after, { unrecorded: volumes }, "LocalHost"), []);
    assert.deepEqual(
      newerThanRecords({ ...after, transaction: silent }, { unrecorded: volumes }, "LocalHost"),
      volumes,
    );
  });

  it("does not count for what lived with a host that is no longer there: its name is spent", async () => {
    const { after, volumes, removed } = await recordsOfBoth();
    const { superseded: _superseded, ...silent } = after.transaction ?? assert.fail("recorded");
    const prior = recordsWithout(silent, removed);
    assert.deepEqual(newerThanRecords(prior, { unrecorded: volumes }, "LocalHost"), []);
  });
});
