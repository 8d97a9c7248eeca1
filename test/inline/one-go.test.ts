import assert from "node:assert/strict";
import { refuseInline } from "../../src/inline/refuse.js";
import { inlineNotes } from "../../src/inline/inline-notes.js";
import { failsWith } from "../support/errors.js";
import {
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  type Manifest,
} from "../support/manifests.js";
import { FakeEngine } from "../support/fake-engine.js";

async function planned(before: readonly Manifest[] | undefined, after: readonly Manifest[]) {
  const engine = new FakeEngine();
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
});
