import assert from "node:assert/strict";
import { goneHosts, membersAmong } from "../../src/engine/run/member-hosts.js";
import type { ObservedResource } from "../../src/plan/observation.js";
import { nodeKey } from "../../src/graph/graph.js";
import { FakeEngine } from "../support/fake-engine.js";
import { cluster, desiredOf, machine } from "../support/manifests.js";

describe("the members that a new host would join", () => {
  const member = (name: string) => machine(name, { controlPlane: "1.34.2" });

  it("are no recorded hosts that are positively gone, also where no listing shows them", async () => {
    const engine = await FakeEngine.running(desiredOf([cluster(), member("cp-0"), member("cp-1")]));
    const { prior } = engine;
    const { target } = prior.transaction ?? assert.fail();
    const hosts = engine.hosts().map(({ who }) => who);
    const [first, second] = hosts;
    assert.ok(first !== undefined && second !== undefined);
    const known = { target, records: prior, hostKind: first.kind, observed: [] };
    const observedResources = new Map<ReturnType<typeof nodeKey>, ObservedResource>([
      [nodeKey(second.kind, second.name), "gone"],
    ]);
    const gone = goneHosts({ observedResources }, prior, first.kind);
    assert.deepEqual([...gone], [second.name]);
    assert.equal(membersAmong({ ...known, gone: new Set() }, first.name).hasOtherMember, true);
    assert.equal(membersAmong({ ...known, gone }, first.name).hasOtherMember, false);
  });
});
