import { refuseProgramValues } from "../../src/engine/operations/program-values.js";
import assert from "node:assert/strict";
import { failsWith } from "../support/errors.js";
import { FakeEngine } from "../support/fake-engine.js";
import { cluster, desiredOf, machine } from "../support/manifests.js";

const goal = (vpc: string) =>
  desiredOf([cluster(), machine("cp", { controlPlane: "1.34.2", tags: { vpc } })]);

describe("a cluster that takes values from a Pulumi program", () => {
  const recorded = async (foreign: readonly string[] = []) => {
    const { prior } = await FakeEngine.running(goal("vpc-1"));
    return { ...prior, foreign, transaction: { ...prior.transaction!, programValues: ["vpcId"] } };
  };

  it("is refused without them, with both ways on", async () => {
    const state = await recorded();
    assert.throws(
      () => refuseProgramValues(goal(`\${vpcId}`), state),
      failsWith(
        "INVALID_INPUT",
        /cannot plan default\/prod: its manifests take vpcId from a Pulumi program/,
      ),
    );
    assert.throws(() => refuseProgramValues(goal(`net-\${vpcId}`), state), {
      hint: "run pulumi up in that program's project, or give the value here: --var vpcId=VALUE",
    });
  });

  it("is left to that program in a stack that holds more", async () => {
    const state = await recorded(["urn:pulumi:dev::shop::aws:ec2/vpc:Vpc::net"]);
    assert.throws(() => refuseProgramValues(goal(`\${vpcId}`), state), {
      hint: /capstan up changes no such stack/,
    });
  });

  it("is anybody's with a value, and as long as no program gave any", async () => {
    refuseProgramValues(goal("vpc-2"), await recorded());
    refuseProgramValues(goal(`\${other}`), await recorded());
    const { prior } = await FakeEngine.running(goal("vpc-1"));
    refuseProgramValues(goal(`\${vpcId}`), { ...prior, foreign: [] });
  });
});
