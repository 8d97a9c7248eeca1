import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/api/json.js";
import type { UpdatePolicy } from "../../../src/api/update-policy.js";
import { nodeKey } from "../../../src/graph/graph.js";
import { decideHost, type HostQuestion, wasSpent } from "../../../src/plan/decisions/hosts.js";
import type { ObservedResource } from "../../../src/plan/observation.js";
import type { RecordedResource } from "../../../src/records/prior-state.js";
import { localProvider } from "../../support/manifests.js";

const provider = localProvider();
const spec: JsonObject = { size: "small", diskGib: 20, kubelet: "1.34.2" };

/** The recorded host of machine "web": the first of its generation, unless it says otherwise. */
function recorded(name: string): RecordedResource {
  return {
    urn: name,
    key: nodeKey("LocalHost", name),
    kind: "LocalHost",
    name,
    type: "resource",
    id: `host-${name}`,
    inputs: { spec },
    outputs: { spec },
    secretInputs: [],
    dependsOn: [],
    unfinished: false,
    deleting: false,
  };
}

const first = decide(spec, {}, { recorded: [], spent: {} }).name;
const generation = first.slice(0, -2);

function decide(wanted: JsonObject, more: Partial<HostQuestion> = {}, other: object = {}) {
  const question: HostQuestion = {
    machine: "web",
    wanted,
    referenced: wanted,
    observedResources: new Map<never, ObservedResource>(),
    recorded: [],
    spent: {},
    replacesFailed: () => true,
    isDecided: false,
    policy: "preferInPlace",
    keyStage: "1",
    stageOfHost: () => "1",
    mayReplace: () => true,
    ...more,
    ...other,
  };
  return decideHost(provider, question);
}

describe("the host of a machine under a policy", () => {
  const cases: {
    policy: UpdatePolicy;
    change: JsonObject;
    want: readonly [kind: string, incarnation: string, reason: RegExp];
  }[] = [
    { policy: "preferInPlace", change: {}, want: ["same", "1", /^$/] },
    { policy: "preferInPlace", change: { kubelet: "1.34.1" }, want: ["update", "1", /^$/] },
    { policy: "preferInPlace", change: { diskGib: 9 }, want: ["replace", "2", /only grows/] },
    { policy: "inPlaceOnly", change: {}, want: ["same", "1", /^$/] },
    { policy: "inPlaceOnly", change: { kubelet: "1.34.1" }, want: ["update", "1", /^$/] },
    {
      policy: "inPlaceOnly",
      change: { diskGib: 9 },
      want: ["unsupported", "2", /changing diskGib .*only grows.* inPlaceOnly/],
    },
    { policy: "replaceOnly", change: {}, want: ["same", "1", /^$/] },
    { policy: "replaceOnly", change: { kubelet: "1.34.1" }, want: ["replace", "2", /replaceOnly/] },
    { policy: "replaceOnly", change: { taints: [] }, want: ["update", "1", /^$/] },
    { policy: "replaceOnly", change: { diskGib: 9 }, want: ["replace", "2", /only grows/] },
  ];
  for (const { policy, change, want } of cases) {
    it(`${policy}, ${JSON.stringify(change)}: ${want[0]}`, () => {
      const decision = decide(
        { ...spec, ...change },
        { policy, recorded: [recorded(first)], spent: { [generation]: 1 } },
      );
      const [kind, incarnation, reason] = want;
      assert.deepEqual([decision.kind, decision.policy], [kind, policy]);
      assert.match(decision.reasons.join("; "), reason);
      // The hash is that of what cannot change in place, so the incarnation alone tells them apart.
      assert.equal(decision.name, `${generation}-${incarnation}`);
    });
  }

  it("replaceOnly goes on with the host that an unfinished transaction planned, if it is the same", () => {
    const wanted = { ...spec, kubelet: "1.34.1" };
    const planned = { name: `${generation}-2`, spec: wanted };
    const question = {
      policy: "replaceOnly" as const,
      recorded: [recorded(first)],
      planned,
      spent: { [generation]: 2 },
    };
    assert.equal(decide(wanted, question).name, `${generation}-2`);
    const edited = decide({ ...spec, kubelet: "1.34.0" }, question);
    assert.equal(edited.name, `${generation}-3`, "another edit needs another host");
  });

  it("inPlaceOnly still lets a host that is gone be followed by its next incarnation", () => {
    const observedResources = new Map([[recorded(first).key, "gone" as const]]);
    const gone = { policy: "inPlaceOnly" as const, recorded: [recorded(first)], observedResources };
    const { kind, name } = decide(spec, { ...gone, spent: { [generation]: 1 } });
    assert.deepEqual([kind, name], ["replace", `${generation}-2`]);
  });
});

describe("the name of a host", () => {
  const spent = { "cp-0-0a1b2c3d": 2 };
  const cases = [
    { name: "was given that is one of those planned", host: "cp-0-0a1b2c3d-2", want: true },
    { name: "was not given yet", host: "cp-0-0a1b2c3d-3", want: false },
    { name: "was not given that is of another machine", host: "cp-1-0a1b2c3d-1", want: false },
    { name: "was never given that others have made", host: "master-0", want: false },
    { name: "was never given that is none", host: "", want: false },
  ];
  for (const { name, host, want } of cases) {
    it(name, () => assert.equal(wasSpent(spent, host), want));
  }
});
