import assert from "node:assert/strict";
import type { NodeKey } from "../../src/graph/graph.js";
import { inlineNotes } from "../../src/inline/inline-notes.js";
import { inTurns } from "../../src/inline/joining/turns.js";
import { refuseInline } from "../../src/inline/refuse.js";
import { programOf } from "../../src/transaction/pass.js";
import { failsWith } from "../support/errors.js";
import {
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  type Manifest,
} from "../support/manifests.js";
import { plainWorld } from "../support/fake-cloud.js";
import { type EngineSetup, FakeEngine } from "../support/fake-engine.js";

async function planned(
  before: readonly Manifest[] | undefined,
  after: readonly Manifest[],
  setup: EngineSetup = {},
) {
  const engine = new FakeEngine(setup);
  if (before !== undefined) await engine.settle(desiredOf([cluster(), ...before]));
  const plan = await engine.plan(desiredOf([cluster(), ...after]));
  const place = { root: "/shop", stack: "dev", files: ["/shop/clusters"] };
  return { plan, state: { ...engine.prior, foreign: [] }, observedResources: new Map(), place };
}

const web = (shape: object, replicas = 4) => machineDeployment("web", replicas, shape);

describe("a plain pulumi up, which does everything in one go", () => {
  it("says so, and nothing of waves", async () => {
    const { plan } = await planned(undefined, [web({})]);
    assert.deepEqual(inlineNotes(plan), [
      "Plan: 6 to create; all that is new first, deletions last",
    ]);
  });

  it("says where that is more hosts than maxSurge allows", async () => {
    const { plan } = await planned([web({ size: "small" })], [web({ size: "large" })]);
    assert.deepEqual(inlineNotes(plan).slice(1), [
      "MachineDeployment web will have 8 hosts for a while, 5 are allowed; capstan up goes in waves",
    ]);
  });

  it("says where more change at once than may be missing", async () => {
    const { plan } = await planned([web({ diskGib: 20 })], [web({ diskGib: 30 })]);
    assert.deepEqual(inlineNotes(plan).slice(1), [
      "MachineDeployment web: 4 machines change at once, 1 may; capstan up goes in waves",
    ]);
  });

  it("says nothing of a deployment that stays within its bounds", async () => {
    const { plan } = await planned([web({}, 2)], [web({}, 3)]);
    assert.equal(inlineNotes(plan).length, 1);
    assert.deepEqual(inlineNotes((await planned([web({})], [web({})])).plan), []);
  });

  const members = (shape: object) =>
    ["cp-0", "cp-1", "cp-2"].map((name) => machine(name, { controlPlane: "1.34.2", ...shape }));

  it("refuses to change several members of a control plane together", async () => {
    const several = await planned(members({}), members({ tags: { team: "a" } }));
    assert.throws(
      () => refuseInline(several),
      failsWith("TRANSACTION_OPEN", /control-plane machines cp-0, cp-1, cp-2 change one at a time/),
    );
    const [first = {}] = members({ tags: { team: "a" } });
    const one = await planned(members({}), [first, ...members({}).slice(1)]);
    refuseInline(one);
  });

  it("refuses to delete what is to be forgotten, but for what is recorded to outlive its host", async () => {
    const volume = (size: string) =>
      machine("db", { size, dataVolume: { gib: 1, whenHostGoes: "keep" } });
    const kept = await planned([volume("small")], [volume("large")]);
    refuseInline(kept);
    // As a release recorded it that did not say so.
    const resources = kept.state.resources.map((one) => {
      const { keep: _keep, ...inputs } = one.inputs;
      return { ...one, inputs };
    });
    assert.throws(
      () => refuseInline({ ...kept, state: { ...kept.state, resources } }),
      failsWith(
        "TRANSACTION_OPEN",
        /it would delete LocalVolume\/db-\S+-data, which is to be forgotten/,
      ),
    );
  });

  describe("with hosts that join each other", () => {
    const joins = { traits: { ...plainWorld, joins: true } } as const;

    it("makes each after those that it joins, and after what lives with them", async () => {
      const member = (name: string, shape: object) =>
        machine(name, { controlPlane: "1.34.2", ...shape });
      const wanted = [member("cp-0", { dataVolume: { gib: 1 } }), member("cp-1", {})];
      const { plan, state } = await planned(undefined, [...wanted, machine("web")], joins);
      const whole = {
        kind: "commit",
        allowed: new Set(plan.steps.map(({ key }) => key)),
        deletions: new Set<NodeKey>(),
      } as const;
      const program = programOf(plan, state, whole, { transaction: "t", revision: "r" });
      const { registrations } = inTurns(program, plan, undefined);
      const short = (key: string) => key.replace(/-[0-9a-f]{8}-\d+/, "");
      const hosts = registrations.filter(({ kind }) => kind === "LocalHost");
      const waits = hosts.map(({ key, dependsOn }) => {
        const before = dependsOn.filter((one) => /^Local(Host|Volume)/.test(one));
        return [short(key), before.map(short)];
      });
      assert.deepEqual(waits, [
        ["LocalHost/cp-0", []],
        ["LocalHost/cp-1", ["LocalHost/cp-0", "LocalVolume/cp-0-data"]],
        ["LocalHost/web", ["LocalHost/cp-0", "LocalHost/cp-1"]],
      ]);
      const order = registrations.map(({ key }) => key);
      for (const { key, dependsOn } of registrations) {
        const late = dependsOn.filter((one) => order.indexOf(one) > order.indexOf(key));
        assert.deepEqual(late, [], key);
      }
    });

    it("leaves a pass as it is whose hosts do not", async () => {
      const { plan, state } = await planned(undefined, [...members({}), machine("web")]);
      const nothing = { kind: "begin" } as const;
      const program = programOf(plan, state, nothing, { transaction: "t", revision: "r" });
      assert.equal(inTurns(program, plan, undefined), program);
    });

    it("takes no member out beside others, which its program could not ask etcd for", async () => {
      const before = members({});
      const one = await planned(before, before.slice(0, 2), joins);
      assert.throws(
        () => refuseInline(one),
        failsWith("TRANSACTION_OPEN", /control-plane machine cp-2 has to leave etcd/),
      );
      refuseInline(await planned(before, before.slice(0, 2)));
      refuseInline(await planned(before, [...before, machine("web")], joins));
    });
  });
});
