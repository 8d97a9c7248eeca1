import assert from "node:assert/strict";
import { nodeKey } from "../../../src/graph/graph.js";
import { kindLines } from "../../../src/plan/changes/kinds.js";
import type { Step } from "../../../src/plan/step.js";

function steps(kind: "create" | "delete", of: string, count: number): Step[] {
  return Array.from({ length: count }, (_, at): Step => ({
    kind,
    key: nodeKey(of, `${of}-${at}`),
    reason: "",
  }));
}

describe("a plan of many resources", () => {
  it("is counted by kind for each deed, the most frequent kind first", () => {
    const many = [
      ...steps("create", "Network", 1),
      ...steps("create", "Rule", 12),
      ...steps("create", "Host", 2),
      ...steps("create", "Address", 2),
      ...steps("delete", "Host", 1),
    ];
    assert.deepEqual(kindLines({ steps: many, orphaned: [] }), [
      "create: 12 Rule, 2 Address, 2 Host, 1 Network",
      "delete: 1 Host",
    ]);
  });

  it("is not counted where it is small, or of a single kind", () => {
    const few = [...steps("create", "Rule", 4), ...steps("create", "Host", 6)];
    assert.deepEqual(kindLines({ steps: few, orphaned: [] }), []);
    assert.deepEqual(kindLines({ steps: steps("create", "Host", 40), orphaned: [] }), []);
  });
});
