import assert from "node:assert/strict";
import type { Plan } from "../../src/plan/plan.js";
import { type ChangeGraph, changeGraph } from "../../src/report/change-graph.js";
import { boxSize, layOut } from "../../src/report/formats/html/graph-layout.js";
import { planMermaid } from "../../src/report/formats/plan-mermaid.js";
import { assertGolden } from "../support/golden.js";
import {
  hostilePlan,
  largePlan,
  mixedPlan,
  samplePlans,
  unalike,
} from "../support/sample-plans.js";

const plans: { name: string; given: () => Promise<Plan> }[] = [
  ...samplePlans,
  { name: "mixed", given: mixedPlan },
  { name: "1,000 machines, all alike", given: () => largePlan(999) },
  { name: "1,000 machines, none alike", given: async () => unalike(await largePlan(999)) },
];

function namesOf({ boxes }: ChangeGraph): string[] {
  return boxes.map(({ what, name, kind }) => `${what} ${name}: ${kind}`);
}

describe("the graph of a plan", () => {
  it("has a box for each thing, machines that are alike in one", async () => {
    const names = namesOf(changeGraph(await mixedPlan())).map((name) =>
      name.replace(/-[0-9a-f]{8}/g, ""),
    );
    assert.deepEqual(names, [
      "LocalNetwork network: same",
      "LocalLoadBalancer api: same",
      "Machine cp-0: update",
      "Machine old: delete",
      "Machine db-0: same",
      "Machine db-1: same",
      "Machine db-2: same",
      "Machines db-3 … db-8 (6): delete",
      "Machine workers-0: replace",
      "Machine workers-1: replace",
      "Machines workers-2 … workers-5 (4): create",
    ]);
  });

  it("of machines that are not alike puts those of one set and kind together", async () => {
    assert.deepEqual(namesOf(changeGraph(unalike(await largePlan(999)))), [
      "LocalNetwork network: create",
      "LocalLoadBalancer api: create",
      "Machine cp-0: update",
      "MachineDeployment workers 999 changed machines: update",
    ]);
  });

  for (const { name, given } of plans) {
    it(`stays small, and every arrow leads to another box of it: ${name}`, async () => {
      const { boxes } = changeGraph(await given());
      assert.ok(boxes.length > 0 && boxes.length <= 60);
      for (const { id, needs } of boxes) {
        for (const need of needs) assert.ok(need !== id && boxes[need]?.id === need);
      }
    });

    it(`is laid out without boxes over each other, needs to the left: ${name}`, async () => {
      const graph = changeGraph(await given());
      const { boxes, width, height } = layOut(graph);
      assert.equal(boxes.length, graph.boxes.length);
      const byId = new Map(boxes.map((box) => [box.id, box]));
      for (const one of boxes) {
        assert.ok(one.x >= 0 && one.x + boxSize.width <= width);
        assert.ok(one.y >= 0 && one.y + boxSize.height <= height);
        for (const need of one.needs) assert.ok((byId.get(need)?.x ?? Infinity) < one.x);
        for (const other of boxes) {
          const apart =
            Math.abs(one.x - other.x) >= boxSize.width ||
            Math.abs(one.y - other.y) >= boxSize.height;
          assert.ok(one === other || apart, `${one.name} lies over ${other.name}`);
        }
      }
    });
  }

  it("plan-mermaid.txt", async () =>
    assertGolden("plan-mermaid", planMermaid([await mixedPlan()])));

  it("is drawn by Mermaid within its limits for 1,000 machines", async () => {
    for (const plan of [await largePlan(999), unalike(await largePlan(999))]) {
      const text = planMermaid([plan]);
      // Source: mermaid's maxTextSize and maxEdges.
      assert.ok(text.length < 50_000);
      assert.ok((text.match(/-->/g) ?? []).length < 500);
    }
  });

  it("lets no text from elsewhere end a label", async () => {
    const text = planMermaid([await hostilePlan()]);
    for (const line of text.split("\n")) {
      assert.doesNotMatch(line.replaceAll("<br/>", "").replace(" --> ", ""), /[<>`@|]/);
    }
  });
});
