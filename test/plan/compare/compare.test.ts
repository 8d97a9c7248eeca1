import assert from "node:assert/strict";
import type { Json } from "../../../src/api/json.js";
import { nodeKey } from "../../../src/graph/graph.js";
import {
  compareTargets,
  isSame,
  type ValueDifference,
  valueDifferences,
} from "../../../src/plan/compare/compare.js";
import { cluster, machine, machineDeployment, type Manifest } from "../../support/manifests.js";
import { targetOf } from "../../support/recorded-history.js";

/** "path from -> to", as JSON; "path changed" for what is withheld. */
function said(differences: readonly ValueDifference[]): string[] {
  const json = (value: Json | undefined) => (value === undefined ? "none" : JSON.stringify(value));
  return differences.map((one) =>
    one.kind === "withheld"
      ? `${one.path} ${one.what}`
      : `${one.path} ${json(one.from)} -> ${json(one.to)}`,
  );
}

describe("values that differ", () => {
  const cases: { name: string; from?: Json; to?: Json; want: string[] }[] = [
    { name: "the same", from: { a: [1, { b: 2 }] }, to: { a: [1, { b: 2 }] }, want: [] },
    { name: "in another order", from: { a: 1, b: 2 }, to: { b: 2, a: 1 }, want: [] },
    {
      name: "deep inside",
      from: { spec: { replicas: 2, paused: false } },
      to: { spec: { replicas: 4, paused: false } },
      want: ["spec.replicas 2 -> 4"],
    },
    {
      name: "a member more, a member less",
      from: { a: 1, b: 1 },
      to: { b: 1, c: { d: 1 } },
      want: ["a 1 -> none", "c.d none -> 1"],
    },
    { name: "null is not absent", from: { a: null }, to: {}, want: ["a null -> none"] },
    { name: "empty is not absent", from: { a: {} }, to: {}, want: ["a {} -> none"] },
    {
      name: "something put into an empty object",
      from: { a: {} },
      to: { a: { b: 1 } },
      want: ["a.b none -> 1"],
    },
    {
      name: "something put into an empty list",
      from: { a: [] },
      to: { a: [{ b: 1 }] },
      want: ["a[0].b none -> 1"],
    },
    {
      name: "lists of plain values as one",
      from: { a: ["x"] },
      to: { a: ["x", "y"] },
      want: ['a ["x"] -> ["x","y"]'],
    },
    {
      name: "lists of objects by position",
      from: { taints: [{ key: "a", effect: "NoSchedule" }] },
      to: { taints: [{ key: "a", effect: "NoExecute" }, { key: "b" }] },
      want: ['taints[0].effect "NoSchedule" -> "NoExecute"', 'taints[1].key none -> "b"'],
    },
    {
      name: "a value in the place of an object",
      from: { a: { b: 1 } },
      to: { a: 1 },
      want: ["a none -> 1", "a.b 1 -> none"],
    },
    {
      name: "names that need quotes",
      from: { labels: { "example.com/team": "a" } },
      to: { labels: { "example.com/team": "b" } },
      want: ['labels["example.com/team"] "a" -> "b"'],
    },
    {
      name: "annotations without their values",
      from: { metadata: { annotations: { a: "secret-1", b: "secret-2" } } },
      to: { metadata: { annotations: { b: "secret-3", c: "secret-4" } } },
      want: [
        "metadata.annotations.a removed",
        "metadata.annotations.b changed",
        "metadata.annotations.c added",
      ],
    },
    {
      name: "a whole part with annotations in it",
      from: {},
      to: { metadata: { annotations: { a: "secret" } } },
      want: ["metadata.annotations.a added"],
    },
    {
      name: "what a node is annotated with",
      from: { nodeAnnotations: { a: "secret" } },
      to: {},
      want: ["nodeAnnotations.a removed"],
    },
    {
      name: "references stay references",
      from: { token: { secretRef: { name: "a" } }, networkId: { $ref: "Net/a", output: "id" } },
      to: { token: { secretRef: { name: "b" } }, networkId: { $ref: "Net/b", output: "id" } },
      want: [
        'networkId {"$ref":"Net/a","output":"id"} -> {"$ref":"Net/b","output":"id"}',
        'token.secretRef.name "a" -> "b"',
      ],
    },
  ];
  for (const { name, from, to, want } of cases) {
    it(name, () => assert.deepEqual(said(valueDifferences(from, to)), want));
  }
});

describe("targets that differ", () => {
  const controlPlane = machine("cp-0", { controlPlane: "1.34.2" });
  const before = targetOf([cluster(), controlPlane, machineDeployment("workers", 2)]);
  const compared = (...objects: Manifest[]) => {
    const { objects: wanted, machines, infrastructure } = compareTargets(before, targetOf(objects));
    return [...wanted, ...machines, ...infrastructure].flatMap((one) =>
      one.kind === "changed"
        ? said(one.changes).map((change) => `${one.item}: ${change}`)
        : [`${one.kind} ${one.item}`],
    );
  };
  // Hashes say which generation it is, not what differs.
  const withoutHash = (lines: string[]) =>
    lines.map((line) => line.replace(/-[0-9a-f]{8}(?=-)/g, "-#"));

  it("not from themselves", () => {
    assert.ok(isSame(compareTargets(before, before)));
    assert.deepEqual(compared(cluster(), controlPlane, machineDeployment("workers", 2)), []);
  });

  it("by what is scaled and what comes and goes", () => {
    const lines = compared(cluster(), machine("db"), machineDeployment("workers", 3));
    assert.deepEqual(withoutHash(lines), [
      "removed Machine default/cp-0",
      "added Machine default/db",
      "MachineDeployment default/workers: spec.replicas 2 -> 3",
      "removed Machine cp-0",
      "added Machine db",
      "added Machine workers-#-2",
    ]);
  });

  it("by fields of objects, and of the hosts that they come to", () => {
    const upgraded = machine("cp-0", { controlPlane: "1.34.3", kubelet: "1.34.3", diskGib: 40 });
    const lines = compared(cluster(), upgraded, machineDeployment("workers", 2));
    assert.deepEqual(lines, [
      "Machine default/cp-0: spec.providerSpec.value.diskGib 20 -> 40",
      'Machine default/cp-0: spec.versions.controlPlane "1.34.2" -> "1.34.3"',
      'Machine default/cp-0: spec.versions.kubelet "1.34.2" -> "1.34.3"',
      'Machine cp-0: controlPlane "1.34.2" -> "1.34.3"',
      "Machine cp-0: diskGib 20 -> 40",
      'Machine cp-0: kubelet "1.34.2" -> "1.34.3"',
    ]);
  });

  it("by the host that serves, when nothing else is new", () => {
    const [first] = before.machines;
    assert.ok(first !== undefined);
    const next = nodeKey("LocalHost", `${first.host.split("/")[1]?.slice(0, -1)}2`);
    const after = {
      ...before,
      machines: before.machines.map((one) => (one === first ? { ...one, host: next } : one)),
      nodes: before.nodes.map((node) =>
        `${node.kind}/${node.name}` === first.host
          ? { ...node, name: next.split("/")[1] ?? "" }
          : node,
      ),
    };
    assert.deepEqual(compareTargets(before, after), {
      objects: [],
      machines: [
        {
          kind: "changed",
          item: "Machine cp-0",
          changes: [{ kind: "value", path: "host", from: first.host, to: next }],
        },
      ],
      infrastructure: [],
    });
  });

  it("by what machines share", () => {
    const lines = compared(
      cluster({ cidr: "10.9.0.0/16" }),
      controlPlane,
      machineDeployment("workers", 2),
    );
    assert.deepEqual(lines, [
      'Cluster default/prod: spec.providerSpec.value.networkCidr "10.0.0.0/16" -> "10.9.0.0/16"',
      'LocalNetwork network: cidr "10.0.0.0/16" -> "10.9.0.0/16"',
    ]);
  });
});
