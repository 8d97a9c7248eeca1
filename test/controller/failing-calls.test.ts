import assert from "node:assert/strict";
import { CapstanError, type ErrorCode } from "../../src/api/error.js";
import { cluster, machine, machineSet, type Manifest } from "../support/manifests.js";
import { cloudPassword, FakeController } from "../support/fake-controller.js";

const member = machine("cp-0", { controlPlane: "1.34.2" });

/** A controller that has brought the objects about. */
async function running(...given: readonly Manifest[]): Promise<FakeController> {
  const controller = new FakeController();
  controller.server.apply(cluster(), member, ...given);
  assert.deepEqual(await controller.settle(), { kind: "done" });
  return controller;
}

function refuseCreations({ world }: FakeController, code: ErrorCode, message: string): void {
  world.cloud.refusal = ({ call }) =>
    call === "create" ? new CapstanError({ code, source: "cloud", message }) : undefined;
}

describe("secrets in what a cloud answers", () => {
  it("reach no status, whatever the field", async () => {
    const controller = await running(machineSet("set", 1));
    const said = `denied for ${cloudPassword} at postgres://root:hunter2@db/x`;
    refuseCreations(controller, "CLOUD_FAILED", said);
    controller.server.apply(machineSet("set", 2));
    await controller.settle();
    const statuses = controller.server.effects.filter(({ kind }) => kind === "status");
    const written = JSON.stringify(statuses.map((write) => "patch" in write && write.patch));
    assert.match(written, /denied for \[redacted\]/);
    assert.equal(written.includes(cloudPassword), false);
    assert.equal(written.includes("hunter2"), false);
  });
});
