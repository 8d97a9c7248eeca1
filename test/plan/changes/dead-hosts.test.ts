import assert from "node:assert/strict";
import { planTree } from "../../../src/plan/changes/tree.js";
import {
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  type Manifest,
} from "../../support/manifests.js";
import { FakeEngine } from "../../support/fake-engine.js";

const member = machine("cp", { controlPlane: "1.34.2" });
const gone = "its host is gone from the cloud";

interface Change {
  readonly from: Manifest;
  readonly to: readonly Manifest[];
  /** What becomes of the host of web meanwhile. */
  readonly harm?: "kill" | "announce";
}

/** The lines of a plan toward other objects once the host of web is lost. */
async function linesAfterLoss({ from, to, harm = "kill" }: Change): Promise<string[]> {
  const engine = await FakeEngine.running(desiredOf([cluster(), member, from]));
  const lost = engine.hosts().find(({ who }) => who.name.startsWith("web-"));
  assert.ok(lost !== undefined);
  engine.cloud[harm](lost.id);
  const plan = await engine.plan(desiredOf([cluster(), member, ...to]));
  return planTree(plan).flatMap(({ kind, detail }) => (kind === "group" ? [] : [detail]));
}

describe("a plan over a dead host", () => {
  const cases = [
    {
      name: "tells it beside the field of a Machine that changes as well",
      from: machine("web", { size: "small" }),
      to: [machine("web", { size: "large" })],
      want: `${gone}; size small -> large`,
    },
    {
      name: "tells it beside the new template of its MachineDeployment",
      from: machineDeployment("web", 1, { size: "small" }),
      to: [machineDeployment("web", 1, { size: "large" })],
      want: /^of web-\S+-0: its host is gone from the cloud; size small -> large \(this provider cannot resize\)$/,
    },
    {
      name: "tells it of a Machine that is asked for no more",
      from: machine("web"),
      to: [],
      want: `${gone}; nothing asks for it any more`,
    },
    {
      name: "tells of a host that the cloud takes away, too",
      harm: "announce" as const,
      from: machineDeployment("web", 1, { size: "small" }),
      to: [machineDeployment("web", 1, { size: "large" })],
      want: /^of web-\S+-0: the cloud takes its host away at \S+; size small -> large \(/,
    },
  ];
  for (const { name, want, ...change } of cases) {
    it(name, async () => {
      const lines = await linesAfterLoss(change);
      const told = lines.filter((line) => /gone|takes/.test(line));
      assert.equal(told.length, 1, lines.join("\n"));
      if (typeof want === "string") assert.equal(told[0], want);
      else assert.match(told[0] ?? "", want);
    });
  }
});
