import assert from "node:assert/strict";
import { type CloudRow, type Deployment, judge, nothingWrong } from "../scenario/ledger-judge.js";
import { judgeWanted, type WantedMachines } from "../scenario/wanted-judge.js";

function host(name: string, more: Partial<CloudRow> = {}): CloudRow {
  return {
    id: `host-of-${name}`,
    kind: "LocalHost",
    state: "running",
    name,
    token: `token of ${name}`,
    cluster: "default/demo",
    clusterUid: "uid-1",
    spec: { size: "small" },
    ...more,
  };
}

function recorded(rows: readonly CloudRow[]): Deployment {
  return {
    resources: rows.map(({ id, name, spec }) => ({
      urn: `urn:${name}`,
      type: "pulumi-nodejs:dynamic/capstan:LocalHost",
      id,
      outputs: { spec },
    })),
  };
}

describe("the judge of cloud against state", () => {
  const web = host("web-0-11111111-1");
  const cases: { name: string; rows: CloudRow[]; state: Deployment; want: object }[] = [
    { name: "nothing", rows: [web], state: recorded([web]), want: {} },
    {
      name: "what is gone",
      rows: [web, host("web-1-11111111-1", { state: "terminated" })],
      state: recorded([web]),
      want: {},
    },
    {
      name: "an orphan",
      rows: [web],
      state: {},
      want: { orphans: ["web-0-11111111-1 (host-of-web-0-11111111-1)"] },
    },
    {
      name: "what is missing",
      rows: [],
      state: recorded([web]),
      want: { missing: ["urn:web-0-11111111-1"] },
    },
    {
      name: "other content",
      rows: [{ ...web, spec: { size: "large" } }],
      state: recorded([web]),
      want: { wrongContent: ["web-0-11111111-1 (host-of-web-0-11111111-1)"] },
    },
    {
      name: "a twin with the same token",
      rows: [web, { ...host("db-0-11111111-1"), token: web.token }],
      state: recorded([web, host("db-0-11111111-1")]),
      want: { duplicates: ["token token of web-0-11111111-1"] },
    },
    {
      name: "two hosts of one machine",
      rows: [web, host("web-0-22222222-1")],
      state: recorded([web, host("web-0-22222222-1")]),
      want: { duplicates: ["uid-1 host of web-0"] },
    },
    {
      name: "a pending operation",
      rows: [web],
      state: { ...recorded([web]), pending_operations: [{ type: "creating" }] },
      want: { pending: ["creating"] },
    },
  ];
  for (const { name, rows, state, want } of cases) {
    it(`sees ${name}`, () => {
      assert.deepEqual(judge(rows, state), { ...nothingWrong, ...want });
    });
  }
});

describe("the judge of cloud against manifests", () => {
  const web: WantedMachines = { name: "web", replicas: 2, fields: { size: "small" } };
  const gpu: WantedMachines = { name: "gpu-0", replicas: undefined, fields: { size: "large" } };
  const pair = [host("web-abc-0-11111111-1"), host("web-abc-1-11111111-1")];
  const big = host("gpu-0-22222222-3", { spec: { size: "large" } });
  const cases: { name: string; rows: CloudRow[]; want: string[] }[] = [
    { name: "nothing", rows: [...pair, big], want: [] },
    { name: "too few", rows: [pair[0]!, big], want: ["web: 1 hosts, wanted 2"] },
    { name: "a Machine without a host", rows: pair, want: ["gpu-0: 0 hosts, wanted 1"] },
    {
      name: "another field",
      rows: [...pair, { ...big, spec: { size: "small" } }],
      want: ['gpu-0-22222222-3: size is "small", wanted "large"'],
    },
    {
      name: "tags that nobody wants any more",
      rows: [...pair, { ...big, spec: { size: "large", tags: { chaos: "updated" } } }],
      want: ["gpu-0-22222222-3: it has tags, wanted none"],
    },
    {
      name: "a host that does not run",
      rows: [...pair, { ...big, state: "pending" }],
      want: ["gpu-0-22222222-3: it is pending"],
    },
    {
      name: "a host of nobody",
      rows: [...pair, big, host("db-0-11111111-1")],
      want: ["db-0-11111111-1: no manifest wants it"],
    },
  ];
  for (const { name, rows, want } of cases) {
    it(`sees ${name}`, () => assert.deepEqual(judgeWanted(rows, [web, gpu]), want));
  }
});
