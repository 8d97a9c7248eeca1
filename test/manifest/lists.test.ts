import assert from "node:assert/strict";
import type { JsonObject } from "../../src/api/json.js";
import { kinds, namesOf } from "../../src/api/kind-names.js";
import { unknownValue } from "../../src/api/unknown.js";
import { readDesired, readObjects } from "../../src/manifest/desired.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import type { Overrides } from "../../src/manifest/overrides.js";
import { parseSetting } from "../../src/manifest/override-forms.js";
import { cluster, localProvider, machine, type Manifest, textOf } from "../support/manifests.js";

function read(objects: readonly Manifest[], overrides?: Overrides) {
  const source = { file: "a.yaml", text: textOf(objects) };
  const { clusters, diagnostics } = readDesired([source], [localProvider()], overrides);
  return { clusters, said: diagnostics.map(diagnosticText) };
}

const listOf = (kind: string, items: readonly Manifest[], beside: JsonObject = {}): Manifest => ({
  apiVersion: kind === "List" ? "v1" : "cluster.k8s.io/v1alpha1",
  kind,
  ...beside,
  items,
});

/** An object as items of a typed list may be: the list tells what they are. */
const bare = ({ apiVersion: _apiVersion, kind: _kind, ...others }: Manifest): Manifest => others;

const unnamed = (stem: string): Manifest => {
  const one = machine("m");
  const { name: _name, ...metadata } = one["metadata"] as JsonObject;
  return { ...one, metadata: { ...metadata, generateName: stem } };
};

describe("lists of objects", () => {
  const objects = [cluster(), machine("cp-0", { controlPlane: "1.34.2" }), machine("web")];
  const apart = read(objects);

  it("are read as their items, each list of them", () => {
    assert.deepEqual(apart.said, []);
    const [one, ...machines] = objects as [Manifest, ...Manifest[]];
    const lists = [
      [listOf("List", objects)],
      [one, listOf("MachineList", machines)],
      [listOf("ClusterList", [bare(one)]), listOf("MachineList", machines.map(bare))],
      [listOf("List", [one, listOf("MachineList", machines)])],
      [listOf("List", objects, { metadata: { resourceVersion: "" } })],
    ];
    for (const list of lists) assert.deepEqual(read(list), apart);
  });

  it("are there of each kind", () => {
    for (const kind of kinds) {
      const list = listOf(namesOf(kind).listKind, []);
      assert.deepEqual(read([...objects, list]), apart, kind);
    }
  });

  it("show problems where the item stands", () => {
    const text = [
      "apiVersion: cluster.k8s.io/v1alpha1",
      "kind: MachineList",
      "items:",
      "  - metadata:",
      "      name: web",
      "    spec:",
      "      roles: [Chief]",
    ].join("\n");
    const { diagnostics } = readDesired([{ file: "a.yaml", text }], [localProvider()]);
    const found = diagnostics.map(diagnosticText).join("\n");
    assert.match(found, /^a\.yaml:7:15: error: Machine default\/web: spec\.roles\.0/m);
  });

  it("take variables and settings in their items", () => {
    const versioned = machine("web", { kubelet: `\${VERSION}` });
    const list = listOf("MachineList", [versioned]);
    const settings = [parseSetting("Machine/web:spec.metadata.labels.tier=a")].flatMap(
      (one) => one ?? [],
    );
    const { clusters, said } = read([cluster(), list], {
      variables: new Map([["VERSION", "1.34.1"]]),
      settings,
    });
    assert.deepEqual(said, []);
    const [only] = clusters[0]?.machines ?? [];
    assert.equal(only?.spec.versions?.kubelet, "1.34.1");
    assert.deepEqual(only?.spec.metadata?.labels, { tier: "a" });
    const unset = read([cluster(), list], { variables: new Map(), settings: [] });
    assert.equal(unset.said.length, 1, unset.said.join("\n"));
    assert.match(unset.said[0] ?? "", /items\.0\.spec\.versions\.kubelet: variable VERSION/);
  });

  const wrong: readonly { name: string; given: Manifest; want: RegExp }[] = [
    {
      name: "has no items",
      given: { ...listOf("List", []), items: null },
      want: /must have items/,
    },
    {
      name: "has another member",
      given: listOf("List", [], { item: [] }),
      want: /a\.yaml:\d+:\d+: error: List: item: unknown field "item"/,
    },
    {
      name: "goes on elsewhere",
      given: listOf("MachineList", [], { metadata: { continue: "abc" } }),
      want: /this is a part of a list/,
    },
    {
      name: "holds something else",
      given: listOf("List", [{ apiVersion: "v1", kind: "Secret" }]),
      want: /unknown object/,
    },
    { name: "holds a text", given: listOf("List", ["web" as unknown as Manifest]), want: /object/ },
    {
      name: "is of a kind that nobody knows",
      given: listOf("PodList", []),
      want: /unknown object/,
    },
  ];
  for (const { name, given, want } of wrong) {
    it(`are refused: one that ${name}`, () => {
      const { said } = read([cluster(), given]);
      assert.equal(said.length, 1, said.join("\n"));
      assert.match(said[0] ?? "", want);
    });
  }
});

describe("generateName", () => {
  const namesIn = (objects: readonly Manifest[]) => {
    const { clusters, said } = read([cluster(), ...objects]);
    return { names: clusters[0]?.machines.map(({ metadata }) => metadata.name) ?? [], said };
  };

  it("gives a name that is the same each time, and another one to each object", () => {
    const objects = [unnamed("node-"), unnamed("node-"), unnamed("db-")];
    const { names, said } = namesIn(objects);
    assert.equal(new Set(names).size, 3);
    for (const [index, name] of names.entries()) {
      assert.match(name, index < 2 ? /^node-[0-9a-f]{5}$/ : /^db-[0-9a-f]{5}$/);
      assert.ok(
        said.some((one) => one.includes(`its name is made of it: ${name}`)),
        said.join("\n"),
      );
    }
    assert.deepEqual(namesIn(objects).names, names);
    assert.deepEqual(namesIn(objects.slice(0, 1)).names, names.slice(0, 1));
  });

  it("makes no name longer than names may be", () => {
    const { names, said } = namesIn([unnamed(`${"n".repeat(70)}-`)]);
    assert.equal(names[0]?.length, 63);
    assert.equal(said.filter((one) => one.includes("error")).length, 0, said.join("\n"));
  });

  it("has no effect beside a name, of which files are warned", () => {
    const both = machine("web");
    const metadata = { ...(both["metadata"] as JsonObject), generateName: "node-" };
    const { names, said } = namesIn([{ ...both, metadata }]);
    assert.deepEqual(names, ["web"]);
    assert.match(said.join("\n"), /generateName: has no effect beside name/);
    const values = [cluster(), { ...both, metadata }].map((value) => ({ name: "x", value }));
    const { diagnostics } = readObjects(structuredClone(values), [localProvider()]);
    assert.deepEqual(diagnostics, [], "an API server keeps it beside the name that it has drawn");
  });

  it("is not made of a value that nobody knows yet", () => {
    const variables = new Map([["STEM", { typed: unknownValue }]]);
    const { said } = read([cluster(), unnamed(`\${STEM}`)], { variables, settings: [] });
    assert.equal(said.length, 1, said.join("\n"));
    assert.match(said[0] ?? "", /metadata\.name: its value is known only after/);
  });
});
