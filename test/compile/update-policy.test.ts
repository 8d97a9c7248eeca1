import assert from "node:assert/strict";
import fc from "fast-check";
import {
  updatePolicies,
  type UpdatePolicy,
  updatePolicyAnnotation,
} from "../../src/api/update-policy.js";
import { templateJudge } from "../../src/compile/compile.js";
import { applyPolicy, policiesOf, policyGoing } from "../../src/compile/update-policy.js";
import type { Verdict } from "../../src/provider/port.js";
import { expandMachines } from "../../src/sets/expand.js";
import { chooseVersions } from "../../src/sets/versions.js";
import {
  asking,
  cluster,
  desiredOf,
  localProvider,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";
import { assertLaw } from "../support/laws.js";

const same: Verdict = { kind: "same" };
const inPlace: Verdict = { kind: "inPlace", paths: ["kubelet", "nodeLabels"] };
const metadata: Verdict = { kind: "inPlace", paths: ["nodeLabels", "nodeAnnotations", "taints"] };
const replace: Verdict = { kind: "replace", paths: ["size", "tags"], reason: "no resizing" };
const unsupported: Verdict = { kind: "unsupported", paths: ["zone"], reason: "it stays" };

describe("an update policy", () => {
  const cases: { name: string; policy: UpdatePolicy; given: Verdict; want: Verdict }[] = [
    ...[same, inPlace, metadata, replace, unsupported].map((given) => ({
      name: `preferInPlace leaves ${given.kind} to the provider`,
      policy: "preferInPlace" as const,
      given,
      want: given,
    })),
    ...[same, inPlace, metadata, unsupported].map((given) => ({
      name: `inPlaceOnly agrees to ${given.kind}`,
      policy: "inPlaceOnly" as const,
      given,
      want: given,
    })),
    {
      name: "inPlaceOnly refuses a new host, and says what needs one",
      policy: "inPlaceOnly",
      given: replace,
      want: {
        kind: "unsupported",
        paths: ["size", "tags"],
        reason:
          "changing size, tags needs a new host (no resizing), which policy inPlaceOnly rules out",
      },
    },
    ...[same, metadata, replace, unsupported].map((given) => ({
      name: `replaceOnly agrees to ${given.kind}`,
      policy: "replaceOnly" as const,
      given,
      want: given,
    })),
    {
      name: "replaceOnly asks for a new host, whatever else is in place",
      policy: "replaceOnly",
      given: inPlace,
      want: { kind: "replace", paths: inPlace.paths, reason: "policy replaceOnly asks for it" },
    },
  ];
  for (const { name, policy, given, want } of cases) {
    it(`${name} (${"paths" in given ? given.paths.join() : ""})`, () => {
      assert.deepEqual(applyPolicy(policy, given), want);
    });
  }

  it("never makes what is refused possible, and says the same when asked twice", () => {
    const verdicts = fc.oneof(
      fc.constant(same),
      fc.record({
        kind: fc.constantFrom("inPlace" as const, "replace" as const, "unsupported" as const),
        paths: fc.array(fc.constantFrom("kubelet", "nodeLabels", "size"), { minLength: 1 }),
        reason: fc.string(),
      }),
    );
    assertLaw(
      fc.property(fc.constantFrom(...updatePolicies), verdicts, (policy, verdict) => {
        const once = applyPolicy(policy, verdict);
        assert.deepEqual(applyPolicy(policy, once), once);
        if (verdict.kind === "unsupported" || verdict.kind === "same") {
          assert.deepEqual(once, verdict);
        }
        assert.notEqual(policy === "inPlaceOnly" ? once.kind : undefined, "replace");
      }),
    );
  });

  it("goes back in place what came in place, and never by a new host where none is allowed", () => {
    assert.deepEqual(
      updatePolicies.map((policy) => policyGoing("back", policy)),
      ["preferInPlace", "inPlaceOnly", "preferInPlace"],
    );
    for (const policy of updatePolicies) assert.equal(policyGoing("forward", policy), policy);
  });
});

describe("the policy of a machine", () => {
  const ofTemplate = (manifest: Manifest, policy: string): Manifest => {
    const changed = structuredClone(manifest) as { spec: { template: { metadata: object } } };
    Object.assign(changed.spec.template.metadata, {
      annotations: { [updatePolicyAnnotation]: policy },
    });
    return changed;
  };
  const cases: { name: string; given: Manifest[]; want: UpdatePolicy }[] = [
    { name: "preferInPlace", given: [cluster(), machine("web")], want: "preferInPlace" },
    {
      name: "its Cluster's",
      given: [asking("inPlaceOnly", cluster()), machine("web")],
      want: "inPlaceOnly",
    },
    {
      name: "its own before its Cluster's",
      given: [asking("inPlaceOnly", cluster()), asking("replaceOnly", machine("web"))],
      want: "replaceOnly",
    },
    {
      name: "its own, though that is what nobody has to ask for",
      given: [asking("inPlaceOnly", cluster()), asking("preferInPlace", machine("web"))],
      want: "preferInPlace",
    },
    {
      name: "its MachineSet's before its Cluster's",
      given: [
        asking("inPlaceOnly", cluster()),
        asking("replaceOnly", machineSet("web", 1)),
        asking("preferInPlace", machineSet("other", 1)),
      ],
      want: "replaceOnly",
    },
    {
      name: "its MachineDeployment's before its Cluster's",
      given: [asking("inPlaceOnly", cluster()), asking("replaceOnly", machineDeployment("web", 1))],
      want: "replaceOnly",
    },
    {
      name: "its template's before its MachineDeployment's",
      given: [
        cluster(),
        ofTemplate(asking("replaceOnly", machineDeployment("web", 1)), "inPlaceOnly"),
      ],
      want: "inPlaceOnly",
    },
    {
      name: "its Cluster's, not that of a Machine with the set's name",
      given: [asking("inPlaceOnly", cluster()), machineDeployment("web", 1)],
      want: "inPlaceOnly",
    },
  ];
  for (const { name, given, want } of cases) {
    it(`is ${name}`, () => {
      const desired = desiredOf(given);
      const judge = templateJudge(localProvider(), desired.cluster);
      const [first] = expandMachines(desired, [], judge);
      const { cluster: root, machines, machineSets, machineDeployments } = desired;
      assert.ok(first !== undefined);
      const policyOf = policiesOf([root, ...machines, ...machineSets, ...machineDeployments]);
      assert.equal(policyOf(first), want);
    });
  }
});

describe("a MachineDeployment under a policy", () => {
  const cases = [
    { policy: "replaceOnly", change: { kubelet: "1.34.1" }, follows: false },
    { policy: "replaceOnly", change: {}, follows: true },
    { policy: "inPlaceOnly", change: { kubelet: "1.34.1" }, follows: true },
    // Refused on its machines rather than carried on in a new set.
    { policy: "inPlaceOnly", change: { size: "large" }, follows: true },
    { policy: "preferInPlace", change: { size: "large" }, follows: false },
  ] as const;
  for (const { policy, change, follows } of cases) {
    it(`${follows ? "keeps" : "leaves"} its MachineSet for ${JSON.stringify(change)} under ${policy}`, () => {
      const expand = (shape: object, before: ReturnType<typeof expandMachines>) => {
        const desired = desiredOf([cluster(), asking(policy, machineDeployment("web", 1, shape))]);
        const judge = templateJudge(localProvider(), desired.cluster);
        assert.equal(chooseVersions(desired, before, judge.offers).machineDeployments.length, 1);
        return expandMachines(desired, before, judge);
      };
      const before = expand({}, []);
      const [old, now] = [before, expand(change, before)].map(([one]) => one?.owner?.machineSet);
      assert.equal(old === now, follows, `${old} and ${now}`);
    });
  }
});
