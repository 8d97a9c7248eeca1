import assert from "node:assert/strict";
import fc from "fast-check";
import { isSame, type TargetDifference } from "../../../src/plan/compare/compare.js";
import { compareClusters, type Comparison } from "../../../src/plan/compare/neutral.js";
import { keyOf } from "../../../src/graph/graph.js";
import type { Target } from "../../../src/records/target.js";
import { manifestsOf, type WantedCluster, wantedClusters } from "../../support/wanted-cluster.js";
import {
  cluster,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
  testCluster,
} from "../../support/manifests.js";
import { targetOf } from "../../support/recorded-history.js";
import { assertLaw } from "../../support/laws.js";

const usual: Comparison = { all: false, addresses: true };

/** The same objects as another cluster's: every name and label that begins with the old name has the new one. */
function renamed(objects: readonly Manifest[], name: string): Manifest[] {
  const text = JSON.stringify(objects).replace(
    new RegExp(`"${testCluster}(-[a-z0-9-]+)?"`, "g"),
    (_all, rest: string | undefined) => JSON.stringify(`${name}${rest ?? ""}`),
  );
  return JSON.parse(text) as Manifest[];
}

function said({ objects, machines, infrastructure }: TargetDifference): string[] {
  return [...objects, ...machines, ...infrastructure].flatMap((one) => {
    if (one.kind !== "changed") return [`${one.kind} ${one.item}`];
    return one.changes.map(({ path }) => `changed ${one.item} ${path}`);
  });
}

function compared(from: Manifest[], to: Manifest[], how: Partial<Comparison> = {}): string[] {
  return said(compareClusters(targetOf(from), targetOf(to), { ...usual, ...how }));
}

const objects = [
  cluster(),
  machine(`${testCluster}-cp-0`, { controlPlane: "1.34.2" }),
  machineDeployment(`${testCluster}-workers`, 2, { tags: { owner: testCluster, team: "a" } }),
  machineSet("db", 1),
];

describe("two clusters compared", () => {
  it("are the same under other names", () => {
    assert.deepEqual(compared(objects, renamed(objects, "staging")), []);
    assert.deepEqual(compared(objects, renamed(objects, "prod2")), []);
  });

  it("are the same in other namespaces", () => {
    const elsewhere = objects.map((object) => ({
      ...object,
      metadata: { ...(object["metadata"] as Manifest), namespace: "other" },
    }));
    assert.deepEqual(compared(objects, elsewhere), []);
  });

  it("are the same where machines were taken out of the middle of sets", () => {
    const few = [...objects.slice(0, 2), machineDeployment("web", 2), machineSet("db", 2)];
    const many = [...objects.slice(0, 2), machineDeployment("web", 4), machineSet("db", 3)];
    const gone = new Set(["db 0", "web 0", "web 2"]);
    const { machines, nodes, ...rest } = targetOf(many);
    const left = machines.filter(
      ({ owner }) =>
        !gone.has(`${owner?.machineDeployment ?? owner?.machineSet ?? ""} ${owner?.ordinal ?? ""}`),
    );
    const kept = new Set(left.flatMap(({ name, host }) => [`Machine/${name}`, host]));
    const all = new Set(machines.flatMap(({ name, host }) => [`Machine/${name}`, host]));
    const gaps: Target = {
      ...rest,
      objects: targetOf(few).objects,
      machines: left,
      nodes: nodes.filter((node) => !all.has(keyOf(node)) || kept.has(keyOf(node))),
    };
    assert.deepEqual(
      left.flatMap(({ owner }) => (owner === undefined ? [] : [owner.ordinal])),
      [1, 2, 1, 3],
    );
    assert.deepEqual(said(compareClusters(gaps, targetOf(few), usual)), []);
    assert.deepEqual(said(compareClusters(targetOf(few), gaps, usual)), []);
  });

  it("with --all tell the names too, still of the same things", () => {
    const all = compared(objects, renamed(objects, "staging"), { all: true });
    assert.ok(all.includes("changed Cluster metadata.name"));
    assert.ok(all.includes("changed Machine {cluster}-cp-0 host"));
    assert.ok(all.includes("changed Machine {cluster}-workers-*-0 owner.machineSet"));
    assert.deepEqual(
      all.filter((one) => !one.startsWith("changed")),
      [],
    );
  });

  const cases: { name: string; to: Manifest[]; how?: Partial<Comparison>; want: string[] }[] = [
    {
      name: "a template that changes the name of the set, and the machines with it",
      to: [
        ...objects.slice(0, 2),
        machineDeployment(`${testCluster}-workers`, 2, {
          size: "large",
          tags: { owner: testCluster, team: "a" },
        }),
        objects[3]!,
      ],
      want: [
        "changed MachineDeployment {cluster}-workers spec.template.spec.providerSpec.value.size",
        "changed Machine {cluster}-workers-*-0 size",
        "changed Machine {cluster}-workers-*-1 size",
      ],
    },
    {
      name: "more machines of a set, one less of its own",
      to: [objects[0]!, objects[2]!, machineSet("db", 2)],
      want: [
        "removed Machine {cluster}-cp-0",
        "changed MachineSet db spec.replicas",
        "added Machine db-1",
        "removed Machine {cluster}-cp-0",
      ],
    },
    {
      name: "a tag that does not carry the cluster's name",
      to: [
        ...objects.slice(0, 2),
        machineDeployment(`${testCluster}-workers`, 2, { tags: { owner: testCluster, team: "b" } }),
        objects[3]!,
      ],
      want: [
        "changed MachineDeployment {cluster}-workers spec.template.spec.providerSpec.value.tags.team",
        "changed Machine {cluster}-workers-*-0 tags.team",
        "changed Machine {cluster}-workers-*-1 tags.team",
      ],
    },
    {
      name: "an address range",
      to: [cluster({ cidr: "10.9.0.0/16" }), ...objects.slice(1)],
      want: [
        "changed Cluster spec.providerSpec.value.networkCidr",
        "changed LocalNetwork network cidr",
      ],
    },
    {
      name: "no address range where those are left out",
      to: [cluster({ cidr: "10.9.0.0/16" }), ...objects.slice(1)],
      how: { addresses: false },
      want: [],
    },
    {
      name: "versions, which are no addresses",
      to: [
        objects[0]!,
        machine(`${testCluster}-cp-0`, { controlPlane: "1.34.2", kubelet: "1.33.0" }),
        ...objects.slice(2),
      ],
      how: { addresses: false },
      want: [
        "changed Machine {cluster}-cp-0 spec.versions.kubelet",
        "changed Machine {cluster}-cp-0 kubelet",
      ],
    },
  ];
  for (const { name, to, how, want } of cases) {
    it(`tell ${name}`, () => {
      const found = compared(objects, renamed(to, "staging"), how);
      assert.deepEqual([...found].sort(), [...want].sort());
    });
  }

  it("hide no machine of a rollout, where two have the same place in their sets", () => {
    const before = targetOf(objects);
    const large = machineDeployment(`${testCluster}-workers`, 2, { size: "large" });
    const after = targetOf([...objects.slice(0, 2), large, objects[3]!]);
    const between: Target = {
      ...before,
      machines: [
        ...before.machines,
        ...after.machines.filter(({ name }) => !before.machines.some((one) => one.name === name)),
      ],
      nodes: [
        ...before.nodes,
        ...after.nodes.filter(({ name }) => !before.nodes.some((one) => one.name === name)),
      ],
    };
    assert.deepEqual(said(compareClusters(before, between, usual)), [
      "added Machine {cluster}-workers-*-0 (2)",
      "added Machine {cluster}-workers-*-1 (2)",
    ]);
  });
});

describe("laws of comparing clusters", () => {
  const target = (wanted: WantedCluster, name = testCluster) =>
    targetOf(renamed(manifestsOf(wanted), name));

  it("a cluster is the same as itself, also under another name", () => {
    assertLaw(
      fc.property(wantedClusters, (wanted) => {
        assert.ok(isSame(compareClusters(target(wanted), target(wanted), { ...usual, all: true })));
        assert.ok(isSame(compareClusters(target(wanted), target(wanted, "other"), usual)));
      }),
      40,
    );
  });

  it("what differs one way differs the other way", () => {
    const turned: Readonly<Record<string, string>> = { added: "removed", removed: "added" };
    assertLaw(
      fc.property(wantedClusters, wantedClusters, (left, right) => {
        const [there, back] = [target(left), target(right)].map((one, index, both) =>
          said(compareClusters(one, both[1 - index]!, usual)),
        );
        const back2 = back?.map((line) => line.replace(/^\w+/, (kind) => turned[kind] ?? kind));
        assert.deepEqual([...(there ?? [])].sort(), [...(back2 ?? [])].sort());
      }),
      40,
    );
  });

  it("clusters of which something else was wanted are not the same", () => {
    assertLaw(
      fc.property(wantedClusters, wantedClusters, (left, right) => {
        fc.pre(JSON.stringify(left) !== JSON.stringify(right));
        assert.ok(!isSame(compareClusters(target(left), target(right, "other"), usual)));
      }),
      60,
    );
  });
});
