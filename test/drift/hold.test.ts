import assert from "node:assert/strict";
import { driftAnnotations } from "../../src/api/drift-policy.js";
import { objectsOf } from "../../src/api/types.js";
import type { Observation } from "../../src/plan/observation.js";
import { holdOf, holdOfDestroy, refuseHeld } from "../../src/drift/hold.js";
import { cloudResources, type PriorState } from "../../src/records/prior-state.js";
import { failsWith } from "../support/errors.js";
import { annotated, cluster } from "../support/manifests.js";
import type { FakeEngine } from "../support/fake-engine.js";
import { kill, reportOn, running, desiredWith } from "./drifting.js";

/** A state, and what its cloud shows after something has happened to it. */
async function seenAfter(given: (engine: FakeEngine) => void) {
  const desired = desiredWith();
  const engine = await running(desired);
  given(engine);
  const observation = await engine.sight();
  assert.ok(!("failed" in observation));
  const { fingerprint } = await reportOn(engine);
  const rules = { provider: engine.provider, objects: objectsOf(desired) };
  return { state: engine.prior, observation, rules, fingerprint };
}

const everything = (engine: FakeEngine) => {
  for (const { id } of engine.alive()) engine.cloud.kill(id);
};
const most = (engine: FakeEngine) => {
  for (const name of ["a", "b", "c"]) kill(engine, name);
};

/** The same state with a proof of which cloud it is about. */
function proven(state: PriorState): PriorState {
  const { transaction } = state;
  assert.ok(transaction !== undefined);
  return { ...state, transaction: { ...transaction, cloud: { account: "1" } } };
}

describe("whether a look is believed", () => {
  it("it is when nothing is the matter, and when little is", async () => {
    for (const given of [() => {}, (engine: FakeEngine) => kill(engine, "a")]) {
      const { state, observation, rules } = await seenAfter(given);
      assert.equal(holdOf(state, observation, rules), undefined);
    }
  });

  it("everything gone at once is not, in the right cloud either, unless a person says so", async () => {
    const { state, observation, rules, fingerprint } = await seenAfter(everything);
    for (const one of [state, proven(state)]) {
      const held = holdOf(one, observation, rules);
      const reason = "all 6 resources are gone at once";
      assert.deepEqual(held, { reason, fingerprint });
      const hint = new RegExp(`cannot change default/prod: ${reason}`);
      assert.throws(() => refuseHeld("default/prod", held), failsWith("FROZEN", hint));
    }
    const word = holdOf(state, observation, { ...rules, thaw: fingerprint });
    assert.equal(word?.believed, "person");
    assert.doesNotThrow(() => refuseHeld("default/prod", word));
    const other = holdOf(state, observation, { ...rules, thaw: "0123456789ab" });
    assert.equal(other?.believed, undefined);
    const objects = desiredWith(annotated({ [driftAnnotations.thaw]: fingerprint }, cluster()));
    const annotation = holdOf(state, observation, { ...rules, objects: objectsOf(objects) });
    assert.equal(annotation?.believed, "person");
  });

  it("a listing that shows nothing of what is there is not", async () => {
    const { state, observation, rules } = await seenAfter((engine) => kill(engine, "a"));
    const blind: Observation = { ...observation, listed: 0 };
    assert.match(holdOf(proven(state), blind, rules)?.reason ?? "", /shows none of 6 resources/);
  });

  it("many machines gone are believed of the recorded cloud, and of no other", async () => {
    const { state, observation, rules } = await seenAfter(most);
    const reason = "3 of 4 machines are gone or failed, and 1 may be";
    assert.equal(holdOf(state, observation, rules)?.believed, undefined);
    const believed = holdOf(proven(state), observation, rules);
    assert.deepEqual([believed?.reason, believed?.believed], [reason, "proven"]);
  });

  it("what an open transaction was to delete, or no revision holds, may well be gone", async () => {
    const { state, observation, rules } = await seenAfter(everything);
    const { transaction, revision, ...rest } = state;
    assert.ok(transaction !== undefined && revision !== undefined);
    const toNothing = { ...transaction, number: 2, target: { ...transaction.target, nodes: [] } };
    assert.equal(holdOf({ ...state, transaction: toNothing }, observation, rules), undefined);
    assert.equal(holdOf({ ...rest, transaction }, observation, rules), undefined);
  });
});

describe("whether a destroy may say that something is gone", () => {
  it("of a cloud that may be another one not, unless it shows some of it or a person says so", async () => {
    const { state, observation, rules, fingerprint } = await seenAfter(everything);
    const reason = /^the cloud shows none of 6 resources, and cannot tell/;
    assert.match(holdOfDestroy(state, observation, rules)?.reason ?? "", reason);
    assert.equal(holdOfDestroy(state, observation, { ...rules, thaw: fingerprint }), undefined);
    assert.equal(holdOfDestroy(proven(state), observation, rules), undefined);
    const some = await seenAfter(most);
    assert.equal(holdOfDestroy(some.state, some.observation, some.rules), undefined);
  });

  it("what it was deleting when it was killed may be gone", async () => {
    const { state, observation, rules } = await seenAfter(everything);
    const pending = cloudResources(state).map(({ urn, key, kind, inputs }) => ({
      type: "deleting",
      urn,
      key,
      kind,
      inputs,
    }));
    assert.equal(holdOfDestroy({ ...state, pending }, observation, rules), undefined);
  });
});
