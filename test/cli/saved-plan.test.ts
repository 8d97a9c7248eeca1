import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newPlanKey, planKeyOf } from "../../src/cli/plan-key.js";
import { pruneBindings } from "../../src/cli/gone-clusters.js";
import { readSavedPlan, SavedPlanCheck, savePlan } from "../../src/cli/saved-plan.js";
import type { StackState } from "../../src/engine/backend/state.js";
import { type Binding, bindingOf, whatMoved } from "../../src/plan/saved.js";
import type { Plan } from "../../src/plan/plan.js";
import { expectDefined } from "../../src/api/error.js";
import { objectsOf } from "../../src/api/types.js";
import { cluster, desiredOf, machine } from "../support/manifests.js";
import type { TransactionRecord } from "../../src/records/transaction.js";
import { failsWith } from "../support/errors.js";
import { scratchFolder } from "../support/scratch.js";
import { SecretValues } from "../../src/provider/secret-values.js";

/** As a survey finds a cluster that nothing is recorded of. */
function newCluster(): Parameters<typeof bindingOf>[0] {
  const objects = objectsOf(desiredOf([cluster(), machine("cp-0")]));
  const target = { cluster: "default/prod", provider: "local", objects, machines: [], nodes: [] };
  const transaction = { number: 1 };
  const plan = { target, stack: "default.prod", cluster: "default/prod", steps: [], transaction };
  return {
    plan: plan as unknown as Plan,
    state: { resources: [], pending: [] },
    observation: { observedResources: new Map(), unrecorded: [] },
  };
}

it("a saved plan does not say that a cluster was destroyed that this state may never have held", () => {
  const now = bindingOf(newCluster(), "a key");
  assert.deepEqual(whatMoved({ ...now, state: { "LocalNetwork/network": "ab" } }, now), [
    "Cluster default/prod is not recorded in this state: it was destroyed since, or the plan was made with another state",
  ]);
});

describe("the file of a saved plan", () => {
  const scratch = scratchFolder();
  const binding: Binding = {
    stack: "default.demo",
    cluster: "default/demo",
    transaction: 1,
    target: "ab",
    objects: { "Cluster default/demo": "ab" },
    state: {},
    inventory: {},
    steps: ["create x"],
  };
  const plan = { files: ["clusters"], clusters: [binding], prune: [] };
  const file = () => join(scratch.path, "saved.json");

  it("is read as it was written", () => {
    savePlan(file(), plan, new SecretValues({}));
    const { clusters, files, prune } = readSavedPlan(file());
    assert.deepEqual({ clusters, files, prune }, plan);
  });

  it("binds what --prune destroys to what somebody has seen of it", () => {
    const gone = (number: number, clusterUid = "uid-1") => {
      const transaction = { clusterUid, number } as TransactionRecord;
      const state: StackState = { resources: [], pending: [], foreign: [], transaction };
      return [{ stack: "default.old", cluster: "default/old", state }];
    };
    savePlan(file(), { ...plan, prune: pruneBindings(gone(3)) }, new SecretValues({}));
    const check = new SavedPlanCheck(file(), readSavedPlan(file()));
    check.all([binding], pruneBindings(gone(3)));
    for (const moved of [gone(4), gone(3, "uid-2"), []]) {
      assert.throws(
        () => check.all([binding], pruneBindings(moved)),
        failsWith("PLAN_STALE", /what --prune destroys/),
      );
    }
  });

  const workspace = (passphrase?: string) => ({
    passphrase: () => passphrase,
  });

  it("of a cluster that is not there yet is opened with the passphrase that it was made with alone", async () => {
    const { salt, key } = expectDefined(await newPlanKey(workspace("right")), "a key");
    assert.notEqual((await newPlanKey(workspace("right")))?.key, key);
    assert.equal(await planKeyOf(salt, workspace("right")), key);
    savePlan(file(), { ...plan, salt }, new SecretValues({}));
    const check = new SavedPlanCheck(file(), readSavedPlan(file()));
    await check.open(workspace("right"));
    for (const other of [workspace("wrong"), workspace()]) {
      await assert.rejects(check.open(other), failsWith("PLAN_STALE", /the state's passphrase/));
    }
  });

  it("of a cluster that is not there yet has no key where no passphrase is yet, and makes none", async () => {
    assert.equal(await newPlanKey(workspace()), undefined);
  });

  it("of a cluster that is not there yet has other digests with each key, of whatever object", () => {
    const found = newCluster();
    const [one, other] = ["a", "b"].map((newKey) => bindingOf(found, newKey));
    const digestsOf = (of?: Binding) => [of?.target, ...Object.values(of?.objects ?? {})];
    assert.ok(digestsOf(one).length > 2);
    const same = digestsOf(one).filter((digest) => digestsOf(other).includes(digest));
    assert.deepEqual(same, []);
  });

  const whole = { format: 1, release: "0.1.0", ...plan };
  const cases: { name: string; content: unknown; told: RegExp }[] = [
    { name: "no object", content: null, told: /its format is undefined$/ },
    { name: "of another format", content: { ...whole, format: 2 }, told: /its format is 2$/ },
    { name: "without clusters", content: { ...whole, clusters: undefined }, told: /is missing$/ },
    { name: "without files", content: { ...whole, files: "clusters" }, told: /is missing$/ },
    { name: "without prune", content: { ...whole, prune: undefined }, told: /is missing$/ },
    {
      name: "with half a cluster",
      content: { ...whole, clusters: [{ ...binding, state: undefined }] },
      told: /is missing$/,
    },
    {
      name: "with a salt that is none",
      content: { ...whole, salt: 7 },
      told: /is missing$/,
    },
    {
      name: "with digests that are none",
      content: { ...whole, clusters: [{ ...binding, inventory: { x: 1 } }] },
      told: /is missing$/,
    },
  ];
  for (const { name, content, told } of cases) {
    it(`is refused, by its name, when it is ${name}`, () => {
      writeFileSync(file(), JSON.stringify(content));
      assert.throws(
        () => readSavedPlan(file()),
        (error: Error) => failsWith("INVALID_INPUT", told)(error) && error.message.includes(file()),
      );
    });
  }
});
