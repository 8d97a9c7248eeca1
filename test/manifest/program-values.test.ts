import assert from "node:assert/strict";
import type { Json } from "../../src/api/json.js";
import { providerValue } from "../../src/api/types.js";
import { unknownPaths, unknownValue } from "../../src/api/unknown.js";
import { readDesired } from "../../src/manifest/desired.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { localProvider } from "../support/manifests.js";
import { demoText } from "./demo-text.js";

interface Written {
  readonly replicas?: string;
  readonly cluster?: string;
  readonly machine?: string;
}

function read(written: Written, values: Readonly<Record<string, Json | undefined>>) {
  const variables = new Map(
    Object.entries(values).map(([name, typed]) => [
      name,
      typed === undefined ? undefined : { typed },
    ]),
  );
  const source = { file: "a.yaml", text: demoText({ cluster: "bootMs: 0", ...written }) };
  const overrides = { variables, givenBy: "program", settings: [] } as const;
  const { clusters, diagnostics } = readDesired([source], [localProvider()], overrides);
  const [only] = clusters;
  const [workers] = only?.machineDeployments ?? [];
  return {
    told: diagnostics.map(diagnosticText),
    replicas: workers?.spec.replicas,
    cluster: only && providerValue(only.cluster.spec),
    machine: workers && providerValue(workers.spec.template.spec),
  };
}

const zones = { cluster: `failureDomains: \${zones}` };
const size = { machine: `size: \${size}` };
const disk = { machine: `diskGib: \${gib}` };
const tags = { machine: `tags: { a: "\${x}", b: "of-\${x}", c: "\${y}" }` };

describe("values of a program in manifests", () => {
  it("keep their types, as lists and maps too", () => {
    const listed = read(zones, { zones: ["local-a", "local-b"] });
    assert.deepEqual(listed.told, []);
    assert.deepEqual(listed.cluster?.["failureDomains"], ["local-a", "local-b"]);
    assert.equal(read({ replicas: `\${n}` }, { n: 3 }).replicas, 3);
    assert.deepEqual(read({ machine: `tags: \${all}` }, { all: { a: "1" } }).machine?.["tags"], {
      a: "1",
    });
  });

  it("are text in quotes and in a longer text, and a text stays one without", () => {
    assert.deepEqual(read(tags, { x: 5, y: "5" }).machine?.["tags"], { a: "5", b: "of-5", c: "5" });
    const [told] = read({ replicas: `\${n}` }, { n: "3" }).told;
    assert.match(told ?? "", /a\.yaml:21:3: error: .*"3" must be of type integer/);
  });

  it("hold no variables themselves", () => {
    const { told, machine } = read({ machine: `tags: \${all}` }, { all: { a: `\${b}` } });
    assert.deepEqual(told, []);
    assert.deepEqual(machine?.["tags"], { a: `\${b}` });
  });

  it("are refused where they do not fit, all at once, with file and line", () => {
    const { told } = read(
      {
        replicas: `\${n}`,
        cluster: `failureDomains: \${zones}`,
        machine: `tags: { a: "of-\${zones}" }`,
      },
      { zones: ["local-x"] },
    );
    assert.equal(told.length, 3);
    assert.match(told[0] ?? "", /a\.yaml:13:\d+: error: .*failureDomains/);
    assert.match(
      told[1] ?? "",
      /a\.yaml:21:13: error: .*variable n is not allowed\n.*known: zones; give n in the values of cluster\(\)/,
    );
    assert.match(told[2] ?? "", /zones is no text/);
  });

  it("name what has no value", () => {
    const [told] = read(size, { size: undefined }).told;
    assert.match(told ?? "", /variable size is not set\n.*values of cluster\(\) has no value/);
  });

  const rows = [
    { name: "a text", written: size, values: { size: unknownValue }, path: "size" },
    { name: "one of a list", written: zones, values: { zones: [unknownValue] }, path: "zones" },
    { name: "a list", written: zones, values: { zones: unknownValue }, path: "zones" },
    {
      name: "a range that is checked against others",
      written: { cluster: `networkCidr: \${cidr}` },
      values: { cidr: unknownValue },
      path: "cidr",
    },
  ];
  for (const { name, written, values } of rows) {
    it(`may be unknown in a provider's object: ${name}`, () => {
      const { told, cluster, machine } = read(written, values);
      assert.deepEqual(told, []);
      assert.equal(unknownPaths({ cluster: cluster ?? null, machine: machine ?? null }).length, 1);
    });
  }

  it("make a longer text unknown as a whole", () => {
    const { machine } = read(tags, { x: unknownValue, y: "1" });
    assert.deepEqual(machine?.["tags"], { a: unknownValue, b: unknownValue, c: "1" });
  });

  it("have to be known where Capstan decides by them, and where they are no text", () => {
    const { told } = read({ replicas: `\${n}`, ...disk }, { n: unknownValue, gib: unknownValue });
    assert.equal(told.length, 2);
    assert.match(
      told[0] ?? "",
      /a\.yaml:21:3: error: .*spec\.replicas: its value is known only after/,
    );
    assert.match(told[1] ?? "", /a\.yaml:\d+:11: error: .*diskGib: its value is known only after/);
    assert.match(told[1] ?? "", /hint: give a value that is known before.*--skip-preview/);
  });

  it("do not hide what else is wrong", () => {
    const { told } = read(
      { machine: `size: \${size}\n          colour: red` },
      { size: unknownValue },
    );
    assert.equal(told.length, 1);
    assert.match(told[0] ?? "", /unknown field "colour"/);
  });
});
