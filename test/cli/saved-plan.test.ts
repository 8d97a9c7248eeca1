import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newPlanKey, planKeyOf } from "../../src/cli/plan-key.js";
import { pruneBindings } from "../../src/cli/gone-clusters.js";
import { readSavedPlan, SavedPlanCheck, savePlan } from "../../src/cli/saved-plan.js";
import type { StackState } from "../../src/engine/backend/state.js";
import type { Binding } from "../../src/plan/saved.js";
import type { TransactionRecord } from "../../src/records/transaction.js";
import { failsWith } from "../support/errors.js";
import { scratchFolder } from "../support/scratch.js";
import { SecretValues } from "../../src/provider/secret-values.js";

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
    prepare: () => undefined,
  });

  it("of a cluster that is not there yet is opened with the passphrase that it was made with alone", async () => {
    const { salt, key } = await newPlanKey(workspace("right"));
    assert.notEqual((await newPlanKey(workspace("right"))).key, key);
    assert.equal(await planKeyOf(salt, workspace("right")), key);
    savePlan(file(), { ...plan, salt }, new SecretValues({}));
    const check = new SavedPlanCheck(file(), readSavedPlan(file()));
    await check.open(workspace("right"));
    for (const other of [workspace("wrong"), workspace()]) {
      await assert.rejects(check.open(other), failsWith("PLAN_STALE", /the state's passphrase/));
    }
  });

  it("of a cluster that is not there yet is not written where no passphrase is", async () => {
    await assert.rejects(newPlanKey(workspace()), failsWith("BAD_STATE", /no passphrase/));
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
