import assert from "node:assert/strict";
import fc from "fast-check";
import { bootstrapKindOf } from "../../src/bootstrap/host/member-role.js";
import { isKubeletLabel } from "../../src/bootstrap/kubeadm/node-labels.js";
import { assertLaw } from "../support/laws.js";

describe("what a host does first", () => {
  const cases = [
    { name: "a worker joins", given: [false, false, false], want: "joinWorker" },
    { name: "a worker joins a cluster that runs", given: [false, true, true], want: "joinWorker" },
    { name: "the first member of all begins", given: [true, false, false], want: "init" },
    { name: "one beside another joins", given: [true, true, false], want: "joinControlPlane" },
    {
      name: "one beside those that ran joins",
      given: [true, true, true],
      want: "joinControlPlane",
    },
    {
      name: "one after all that ran begins nothing anew",
      given: [true, false, true],
      want: "lost",
    },
  ] as const;
  for (const { name, given, want } of cases) {
    it(name, () => {
      const [controlPlane, hasOtherMember, hasRun] = given;
      assert.equal(bootstrapKindOf({ controlPlane, hasOtherMember, hasRun }), want);
    });
  }

  // As the waves have it: whatever comes after the first member comes once every member is ready.
  it("leaves all hosts in one cluster, whichever of them are killed, and whenever", () => {
    const event = fc.constantFrom("make", "make", "ready", "ready", "kill first", "kill last");
    const law = fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const members: { cluster: number; ready: boolean }[] = [];
      const workers: { cluster: number }[] = [];
      let begun = 0;
      for (const one of events) {
        const [first] = members;
        if (one === "kill first") members.shift();
        if (one === "kill last") members.pop();
        if (one === "ready") for (const member of members) member.ready = true;
        if (one !== "make" || members.some(({ ready }) => !ready)) continue;
        if (members.length === 3) {
          workers.push({ cluster: first?.cluster ?? 0 });
          continue;
        }
        const hasOtherMember = members.length > 0;
        const hasRun = workers.length > 0;
        const kind = bootstrapKindOf({ controlPlane: true, hasOtherMember, hasRun });
        if (kind === "lost") return;
        if (kind === "init") begun += 1;
        members.push({ cluster: kind === "init" ? begun : (first?.cluster ?? 0), ready: false });
        const clusters = new Set([...members, ...workers].map(({ cluster }) => cluster));
        assert.deepEqual([...clusters], [begun]);
      }
    });
    assertLaw(law, 1_000);
  });
});

describe("labels that a kubelet gives its own Node", () => {
  const cases = [
    { label: "team", want: true },
    { label: "example.org/team", want: true },
    { label: "node.kubernetes.io/pool", want: true },
    { label: "pool.node.kubernetes.io/a", want: true },
    { label: "topology.kubernetes.io/zone", want: true },
    { label: "node-role.kubernetes.io/worker", want: false },
    { label: "kubernetes.io/role", want: false },
    { label: "a.k8s.io/b", want: false },
    { label: "notkubernetes.io/b", want: true },
  ];
  for (const { label, want } of cases) {
    it(`${label}: ${want}`, () => assert.equal(isKubeletLabel(label), want));
  }
});
