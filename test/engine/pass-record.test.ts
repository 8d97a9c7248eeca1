import assert from "node:assert/strict";
import { isPassRecorded, livingAs } from "../../src/engine/run/pass-record.js";
import { type NodeKey, nodeKey } from "../../src/graph/graph.js";
import type { RecordedResource } from "../../src/records/prior-state.js";
import { type AllowedChanges, revisionKey } from "../../src/transaction/pass.js";

const plan = { transaction: { number: 2 } } as Parameters<typeof isPassRecorded>[0];
const none: ReadonlySet<string> = new Set();

function record(kind: string, name: string, change: Partial<RecordedResource> = {}) {
  return {
    urn: `${kind}::${name}`,
    key: nodeKey(kind, name),
    kind,
    name,
    type: "resource" as const,
    id: `id-of-${name}`,
    inputs: {},
    secretInputs: [],
    outputs: {},
    dependsOn: [],
    unfinished: false,
    deleting: false,
    ...change,
  };
}

function makes(...keys: NodeKey[]): AllowedChanges {
  return { kind: "change", allowed: new Set(keys), deletions: new Set() };
}

describe("a pass in which something was put off", () => {
  const web = record("LocalHost", "web-1");

  it("is recorded with all that it has made", () => {
    const changes = { allowed: makes(web.key), deleted: none };
    assert.equal(isPassRecorded(plan, { resources: [web] }, changes), true);
    assert.equal(isPassRecorded(plan, { resources: [] }, changes), false);
  });

  it("is recorded without what it has deleted", () => {
    const changes = { allowed: makes(), deleted: new Set([livingAs(web)]) };
    assert.equal(isPassRecorded(plan, { resources: [] }, changes), true);
    assert.equal(isPassRecorded(plan, { resources: [web] }, changes), false);
  });

  it("does not take a successor of the same name for what it has deleted", () => {
    const replaced = record("LocalHost", "web-1", { id: "an-older-one", deleting: true });
    const changes = { allowed: makes(), deleted: new Set([livingAs(replaced)]) };
    assert.equal(isPassRecorded(plan, { resources: [web] }, changes), true);
    assert.equal(isPassRecorded(plan, { resources: [web, replaced] }, changes), false);
  });

  it("has committed once Revision itself says so", () => {
    const commit: AllowedChanges = { kind: "commit", allowed: new Set(), deletions: new Set() };
    const changes = { allowed: commit, deleted: none };
    const revision = (number: number) => record("Revision", "revision", { inputs: { number } });
    assert.equal(revision(2).key, revisionKey);
    assert.equal(isPassRecorded(plan, { resources: [revision(2)] }, changes), true);
    assert.equal(isPassRecorded(plan, { resources: [revision(1)] }, changes), false);
    assert.equal(isPassRecorded(plan, { resources: [] }, changes), false);
  });
});
