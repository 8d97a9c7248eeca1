import assert from "node:assert/strict";
import { createdInputs } from "../../src/report/created-inputs.js";
import { FakeEngine } from "../support/fake-engine.js";
import { cluster, desiredOf, machine, machineDeployment } from "../support/manifests.js";

const objects = (size: string) => [
  cluster(),
  machine("cp", { controlPlane: "1.34.2", size: "small" }),
  machineDeployment("web", 3, { size }),
];

describe("the inputs of what is new", () => {
  it("are all that each resource is made with, those alike together", async () => {
    const plan = await new FakeEngine().plan(desiredOf(objects("small")));
    const made = createdInputs(plan);
    assert.deepEqual(
      made.map(({ label, size }) => [label.replace(/-[0-9a-f]{8}-/g, "-#-"), size]),
      [
        ["LocalNetwork network", 1],
        ["LocalLoadBalancer api", 1],
        ["Machine cp", 1],
        ["Machines web-#-0 … web-#-2 (3)", 3],
      ],
    );
    const values = new Map(made[3]?.inputs.map(({ path, value }) => [path, value]));
    assert.equal(values.get("size"), "small");
    assert.equal(values.get("networkId"), "id of LocalNetwork/network");
    const hosts = plan.target.nodes.filter(({ kind }) => kind === "LocalHost").at(-1);
    assert.deepEqual([...values.keys()], Object.keys(hosts?.spec ?? {}));
  });

  it("are those of new hosts only", async () => {
    const engine = new FakeEngine();
    await engine.settle(desiredOf(objects("small")));
    assert.deepEqual(createdInputs(await engine.plan(desiredOf(objects("small")))), []);
    const [made, ...others] = createdInputs(await engine.plan(desiredOf(objects("large"))));
    assert.deepEqual([made?.size, others], [3, []]);
    assert.equal(made?.inputs.find(({ path }) => path === "size")?.value, "large");
  });
});
