import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/api/json.js";
import { type NodeKey, nodeKey } from "../../../src/graph/graph.js";
import { judge } from "../../../src/plan/decisions/verdicts.js";
import {
  bothCompensable,
  type Compensable,
  replaceableOnTheWayBack,
} from "../../../src/plan/undo/compensable.js";
import type { RecordedResource } from "../../../src/records/prior-state.js";
import { verdictByField } from "../../../src/provider/fields.js";

const web = nodeKey("Host", "web");

describe("what is compensable by two plans", () => {
  const bounded = (...fields: string[]): Compensable => ({
    compensable: [web],
    compensableFields: { [web]: fields },
  });
  const unbounded: Compensable = { compensable: [web] };
  const nothing: Compensable = { compensable: [] };
  const cases: readonly [string, Compensable, Compensable, Compensable][] = [
    ["is nothing, if neither has any", nothing, nothing, nothing],
    ["is what one of them has", nothing, bounded("disk"), bounded("disk")],
    ["has the fields of both", bounded("disk"), bounded("size", "disk"), bounded("disk", "size")],
    ["is so whatever it is like, as one of them says", bounded("disk"), unbounded, unbounded],
  ];
  for (const [name, first, second, both] of cases) {
    it(name, () => {
      assert.deepEqual(bothCompensable(first, second), both);
      assert.deepEqual(
        new Set(Object.values(bothCompensable(second, first).compensableFields ?? {}).flat()),
        new Set(Object.values(both.compensableFields ?? {}).flat()),
      );
    });
  }
});

describe("what a rollback may replace", () => {
  const replaced = { kind: "replace", reason: "it is fixed" } as const;
  const rules = { disk: replaced, size: replaced, tags: { kind: "inPlace" } } as const;
  const wanted = { disk: 20, size: "small", tags: {} };
  const mayReplace = (known: Compensable, actual: JsonObject, before: NodeKey[] = [web]) => {
    const recorded: RecordedResource = {
      urn: "urn:pulumi:s::p::capstan:index:Host::web",
      type: "resource",
      kind: "Host",
      name: "web",
      key: web,
      id: "1",
      secretInputs: [],
      dependsOn: [],
      inputs: { spec: actual },
      outputs: {},
      deleting: false,
      unfinished: false,
    };
    const verdict = (_kind: string, from: JsonObject, to: JsonObject) =>
      verdictByField(rules, from, to);
    const [judged] = judge({ hostKind: "LocalHost", verdict }, [recorded], wanted, new Map());
    assert.ok(judged !== undefined);
    return replaceableOnTheWayBack(new Set(before), known)(judged);
  };
  const disk: Compensable = { compensable: [web], compensableFields: { [web]: ["disk"] } };

  it("is what was not there before", () => {
    assert.equal(mayReplace({ compensable: [] }, { ...wanted, size: "large" }, []), true);
  });
  it("is not what the transaction was not to change", () => {
    assert.equal(mayReplace({ compensable: [] }, { ...wanted, disk: 30 }), false);
  });
  it("is what cannot follow in a field that the transaction was to change", () => {
    assert.equal(mayReplace(disk, { ...wanted, disk: 30 }), true);
    assert.equal(mayReplace(disk, { ...wanted, disk: 30, size: "large" }), true);
  });
  it("is not what cannot follow in another field, which somebody else has changed", () => {
    assert.equal(mayReplace(disk, { ...wanted, size: "large" }), false);
    assert.equal(mayReplace(disk, { ...wanted, size: "large", tags: { by: "hand" } }), false);
  });
  it("is whatever a record without fields names", () => {
    assert.equal(mayReplace({ compensable: [web] }, { ...wanted, size: "large" }), true);
  });
});
