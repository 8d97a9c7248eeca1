import assert from "node:assert/strict";
import { Ajv } from "ajv";
import { parseAllDocuments, stringify } from "yaml";
import {
  type CustomResourceDefinition,
  customResourceDefinitions,
  definitionsVersion,
} from "../../src/api/crd.js";
import { jsonSchemaOf } from "../../src/api/json-schema.js";
import { schemas } from "../../src/api/schema.js";
import { type StructuralSchema, structuralOf } from "../../src/api/structural.js";
import { assertGolden } from "../support/golden.js";
import { cluster, machine, machineDeployment, machineSet } from "../support/manifests.js";

const definitions = customResourceDefinitions();
const byKind = new Map(definitions.map((one) => [one.spec.names.kind, one]));

function rootOf(definition: CustomResourceDefinition | undefined): StructuralSchema {
  const schema = definition?.spec.versions[0].schema.openAPIV3Schema;
  assert.ok(schema !== undefined);
  return schema;
}

/** What a structural schema may hold. Source: Kubernetes, CustomResourceDefinition validation. */
const allowedKeywords = new Set(
  ["type", "description", "properties", "required", "additionalProperties", "items", "enum"]
    .concat(["default", "nullable", "format", "minimum", "maximum", "minLength"])
    .concat(["maxLength", "minItems", "maxItems"])
    .concat(["maxProperties", "x-kubernetes-preserve-unknown-fields"])
    .concat(["x-kubernetes-int-or-string", "x-kubernetes-validations"])
    .concat(["x-kubernetes-list-type", "x-kubernetes-list-map-keys"]),
);
const ajv = new Ajv({ strict: false, formats: { "date-time": true } });

/** Every way in which a schema would be refused by an API server, with where. */
function faultsOf(schema: StructuralSchema, path: string): string[] {
  const faults: string[] = [];
  const fault = (what: string) => faults.push(`${path}: ${what}`);
  for (const keyword of Object.keys(schema)) {
    if (!allowedKeywords.has(keyword)) fault(`keyword ${keyword}`);
  }
  const isIntOrString = schema["x-kubernetes-int-or-string"] === true;
  const keepsAll = schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (isIntOrString && schema.type !== undefined) fault("int-or-string with a type");
  if (schema.type === undefined && !isIntOrString && !keepsAll) fault("no type");
  if (schema.type === "array" && schema.items === undefined) fault("array without items");
  if (schema.type === "object" && !schema.properties && !schema.additionalProperties && !keepsAll) {
    if (path !== "metadata") fault("an object that would lose everything");
  }
  if (schema.properties !== undefined && schema.additionalProperties !== undefined) {
    fault("properties beside additionalProperties");
  }
  if (typeof schema.additionalProperties === "boolean") fault("additionalProperties is a boolean");
  for (const name of schema.required ?? []) {
    if (schema.properties?.[name] === undefined) fault(`required ${name} is no property`);
  }
  for (const { rule, message } of schema["x-kubernetes-validations"] ?? []) {
    if (/\(\?[=!<]|\\[1-9]/.test(rule)) fault("a pattern that RE2 does not know");
    if (message === "" || message.includes("\n")) fault("a message that is not one line");
  }
  if (schema.default !== undefined && !ajv.compile(plain(schema))(schema.default)) {
    fault("a default that does not fit");
  }
  const inner: [string, StructuralSchema | undefined][] = [
    ...Object.entries(schema.properties ?? {}),
    ["*", schema.additionalProperties],
    ["[]", schema.items],
  ];
  for (const [name, one] of inner) {
    if (one !== undefined) faults.push(...faultsOf(one, path === "" ? name : `${path}.${name}`));
  }
  return faults;
}

/** For ajv: int-or-string is no keyword of JSON Schema. */
function plain(schema: StructuralSchema): object {
  return schema["x-kubernetes-int-or-string"] ? { type: ["integer", "string"] } : schema;
}

/** Everything of a schema but its descriptions, one member a line. */
function outlineOf(schema: StructuralSchema, path: string): string[] {
  const { description: _, properties, items, additionalProperties, ...rest } = schema;
  const { "x-kubernetes-validations": rules = [], ...facts } = rest;
  const inner: [string, StructuralSchema | undefined][] = [
    ...Object.entries(properties ?? {}).map(([name, one]): [string, StructuralSchema] => [
      path === " " ? ` ${name}` : `${path}.${name}`,
      one,
    ]),
    [`${path}.*`, additionalProperties],
    [`${path}[]`, items],
  ];
  return [
    `${path} ${JSON.stringify(facts)}`,
    ...rules.map(({ rule, message }) => `  ${rule}  # ${message}`),
    ...inner.flatMap(([at, one]) => (one === undefined ? [] : outlineOf(one, at))),
  ];
}

describe("CustomResourceDefinitions", () => {
  it("there is one for every kind", () => {
    assert.deepEqual([...byKind.keys()], Object.keys(schemas));
  });

  for (const definition of definitions) {
    const { kind } = definition.spec.names;
    it(`${kind}: the schema is structural`, () => {
      assert.deepEqual(faultsOf(rootOf(definition), ""), []);
    });
    it(`${kind}: names, scope and approval are as an API server wants them`, () => {
      const { metadata, spec } = definition;
      assert.equal(metadata.name, `${spec.names.plural}.${spec.group}`);
      assert.equal(spec.group, "cluster.k8s.io");
      assert.equal(spec.scope, "Namespaced");
      assert.match(metadata.annotations["api-approved.kubernetes.io"] ?? "", /^unapproved, ./);
      const [version] = spec.versions;
      assert.deepEqual([version.name, version.served, version.storage], ["v1alpha1", true, true]);
      const { type, properties, ...rest } = rootOf(definition).properties?.["metadata"] ?? {};
      assert.deepEqual([type, Object.keys(properties ?? {}), rest], ["object", ["name"], {}]);
    });
    it(`${kind}: every field has words`, () => {
      const silent: string[] = [];
      const look = (schema: StructuralSchema, path: string) => {
        for (const [name, member] of Object.entries(schema.properties ?? {})) {
          if (path === "" && name === "metadata") continue;
          if (member.description === undefined) silent.push(`${path}.${name}`);
          look(member, `${path}.${name}`);
        }
        if (schema.items !== undefined) look(schema.items, `${path}[]`);
      };
      look(rootOf(definition), "");
      assert.deepEqual(silent, []);
    });
  }

  it("has the names, columns and subresources of Cluster API", () => {
    const shortNames = Object.fromEntries(
      definitions.map(({ spec }) => [spec.names.kind, spec.names.shortNames.join()]),
    );
    assert.deepEqual(shortNames, {
      Cluster: "cl",
      Machine: "ma",
      MachineSet: "ms",
      MachineDeployment: "md",
      MachineClass: "mc",
      MachineDrainRule: "mdr",
      MachineHealthCheck: "mhc",
    });
    assert.equal(byKind.get("MachineClass")?.spec.names.plural, "machineclasses");
    const scalable = definitions
      .filter(({ spec }) => spec.versions[0].subresources?.scale !== undefined)
      .map(({ spec }) => spec.names.kind);
    assert.deepEqual(scalable, ["MachineSet", "MachineDeployment"]);
    assert.equal(byKind.get("MachineClass")?.spec.versions[0].subresources, undefined);
  });

  it("shows at a glance what each object does", () => {
    const columns = Object.fromEntries(
      definitions.map(({ spec }) => {
        const [{ additionalPrinterColumns }] = spec.versions;
        const narrow = additionalPrinterColumns.filter(({ priority = 0 }) => priority === 0);
        return [spec.names.kind, narrow.map(({ name }) => name).join(" ")];
      }),
    );
    assert.deepEqual(columns, {
      Cluster: "Phase Machines Revision Transaction Message Age",
      Machine: "Cluster Phase Node ProviderID Version Age",
      MachineSet: "Cluster Desired Current Ready Available Version Age",
      MachineDeployment: "Cluster Desired Current Ready Available UpToDate Version Age",
      MachineClass: "Provider Holds Age",
      MachineDrainRule: "Behavior Order Age",
      MachineHealthCheck: "Cluster Expected Healthy Age",
    });
  });

  it("has every path that scale and columns point to", () => {
    for (const definition of definitions) {
      const [{ subresources, additionalPrinterColumns }] = definition.spec.versions;
      const paths = [
        ...Object.values(subresources?.scale ?? {}),
        ...additionalPrinterColumns.map(({ jsonPath }) => jsonPath),
      ].filter((path) => !path.startsWith(".metadata."));
      for (const path of paths) {
        const found = path
          .replace(/\[\d+\]/g, "")
          .split(".")
          .slice(1)
          .reduce<StructuralSchema | undefined>(
            (schema, name) => (schema?.items ?? schema)?.properties?.[name],
            rootOf(definition),
          );
        assert.ok(found !== undefined, `${definition.spec.names.kind} ${path}`);
      }
    }
  });

  it("accepts what users write, and still refuses what is wrong", () => {
    const objects = [
      cluster(),
      machine("cp-0", { controlPlane: "1.34.2" }),
      machineSet("old", 2),
      machineDeployment("workers", 3),
    ];
    for (const object of objects) {
      const check = ajv.compile(rootOf(byKind.get(String(object["kind"]))));
      assert.ok(check(object), `${String(object["kind"])}: ${ajv.errorsText(check.errors)}`);
    }
    const check = ajv.compile(rootOf(byKind.get("Machine")));
    assert.equal(check({ ...machine("cp-0"), spec: { versions: { kubelet: "one" } } }), false);
  });

  it("has the shape of its version; who changes it raises definitionsVersion once a release has it", () => {
    const lines = definitions.flatMap((definition) => [
      "",
      definition.spec.names.kind,
      ...outlineOf(rootOf(definition), " "),
    ]);
    assertGolden("definitions", [`version ${definitionsVersion}`, ...lines, ""].join("\n"));
  });

  it("says of every fixed field that it cannot change, by its kind", () => {
    const rules = definitions.map((definition) => [
      definition.spec.names.kind,
      ...(rootOf(definition)["x-kubernetes-validations"] ?? []).map(({ rule }) => rule),
    ]);
    const value = "spec.providerSpec.value";
    assert.deepEqual(rules, [
      [
        "Cluster",
        "self.spec.clusterNetwork == oldSelf.spec.clusterNetwork",
        `!has(self.${value}) || !has(oldSelf.${value}) || self.${value}.apiVersion.split("/")[0] == oldSelf.${value}.apiVersion.split("/")[0]`,
      ],
      ["Machine"],
      ["MachineSet", "self.spec.selector == oldSelf.spec.selector"],
      ["MachineDeployment", "self.spec.selector == oldSelf.spec.selector"],
      ["MachineClass"],
      ["MachineDrainRule"],
      ["MachineHealthCheck", "self.spec.clusterName == oldSelf.spec.clusterName"],
    ]);
  });

  it("refuses no status for what it tells", () => {
    for (const definition of definitions) {
      const text = JSON.stringify(rootOf(definition).properties?.["status"] ?? {});
      assert.doesNotMatch(text, /x-kubernetes-validations|"enum"|"maxLength"/);
    }
  });

  it("keeps a provider's object whole", () => {
    const value = ["spec", "providerSpec", "value"].reduce<StructuralSchema | undefined>(
      (schema, name) => schema?.properties?.[name],
      rootOf(byKind.get("Machine")),
    );
    assert.equal(value?.["x-kubernetes-preserve-unknown-fields"], true);
    assert.deepEqual(value.required, ["apiVersion", "kind"]);
  });

  it("survives YAML, without anchors", () => {
    const text = definitions
      .map((one) => stringify(one, { aliasDuplicateObjects: false }))
      .join("---\n");
    assert.doesNotMatch(text, /[&*][a-z]\d/);
    const read = parseAllDocuments(text).map((document) => document.toJS() as unknown);
    assert.deepEqual(read, JSON.parse(JSON.stringify(definitions)));
  });
});

describe("structuralOf", () => {
  const cases: { name: string; given: object; want: StructuralSchema }[] = [
    {
      name: "a closed object is opened",
      given: { type: "object", properties: { a: { type: "string" } }, additionalProperties: false },
      want: { type: "object", properties: { a: { type: "string" } } },
    },
    {
      name: "a constant becomes an enum",
      given: { const: 3, type: "integer" },
      want: { type: "integer", enum: [3] },
    },
    {
      name: "a union of constants becomes an enum with a type",
      given: { anyOf: [{ const: "a" }, { const: "b" }] },
      want: { type: "string", enum: ["a", "b"] },
    },
    {
      name: "a record becomes additionalProperties",
      given: { type: "object", patternProperties: { "^.*$": { type: "integer" } } },
      want: { type: "object", additionalProperties: { type: "integer" } },
    },
    {
      name: "a number or a text",
      given: {
        anyOf: [
          { type: "integer", minimum: 0 },
          { type: "string", pattern: "^\\d+%$" },
        ],
      },
      want: {
        "x-kubernetes-int-or-string": true,
        minimum: 0,
        "x-kubernetes-validations": [
          { rule: 'type(self) == int || self.matches("^\\\\d+%$")', message: "has the wrong form" },
        ],
      },
    },
    {
      name: "a text or nothing",
      given: { anyOf: [{ type: "string" }, { type: "null" }] },
      want: { type: "string", nullable: true },
    },
    { name: "anything", given: {}, want: { "x-kubernetes-preserve-unknown-fields": true } },
    {
      name: "required, unless there is a default",
      given: {
        type: "object",
        required: ["a", "b"],
        properties: { a: { type: "string" }, b: { type: "integer", default: 1 } },
      },
      want: {
        type: "object",
        properties: { a: { type: "string" }, b: { type: "integer", default: 1 } },
        required: ["a"],
      },
    },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => assert.deepEqual(structuralOf(jsonSchemaOf(given)), want));
  }
});
