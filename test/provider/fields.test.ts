import assert from "node:assert/strict";
import type { JsonObject } from "../../src/api/json.js";
import { unknownValue } from "../../src/api/unknown.js";
import { type FieldRules, immutableFields, verdictByField } from "../../src/provider/fields.js";
import type { Verdict } from "../../src/provider/port.js";
import { localProvider } from "../support/manifests.js";

const rules: FieldRules = {
  tags: { kind: "inPlace" },
  memory: { kind: "inPlace", disruptive: "it restarts" },
  size: { kind: "replace", reason: "no resizing" },
  region: { kind: "unsupported", reason: "a cluster stays in its region" },
  disk: (from, to) =>
    Number(to) > Number(from) ? { kind: "inPlace" } : { kind: "replace", reason: "only grows" },
};
const before: JsonObject = { tags: { a: "1" }, size: "small", region: "eu", disk: 20 };

describe("the verdict by field", () => {
  const cases: { name: string; given: JsonObject; want: Verdict }[] = [
    { name: "no change", given: { ...before }, want: { kind: "same" } },
    {
      name: "another order of keys",
      given: { disk: 20, region: "eu", size: "small", tags: { a: "1" } },
      want: { kind: "same" },
    },
    {
      name: "in place",
      given: { ...before, tags: {} },
      want: { kind: "inPlace", paths: ["tags"] },
    },
    {
      name: "in place, and not without disturbance",
      given: { ...before, memory: 8, tags: {} },
      want: { kind: "inPlace", paths: ["tags", "memory"], disruptions: { memory: "it restarts" } },
    },
    {
      name: "in place by its values",
      given: { ...before, disk: 30 },
      want: { kind: "inPlace", paths: ["disk"] },
    },
    {
      name: "replace by its values",
      given: { ...before, disk: 10 },
      want: {
        kind: "replace",
        paths: ["disk"],
        reason: "only grows",
        reasons: { disk: "only grows" },
      },
    },
    {
      name: "replace wins over in place, and all paths are told",
      given: { ...before, tags: {}, size: "large" },
      want: {
        kind: "replace",
        paths: ["tags", "size"],
        reason: "no resizing",
        reasons: { size: "no resizing" },
      },
    },
    {
      name: "unsupported wins over replace",
      given: { ...before, size: "large", region: "us" },
      want: {
        kind: "unsupported",
        paths: ["size", "region"],
        reason: "a cluster stays in its region",
        reasons: { region: "a cluster stays in its region" },
      },
    },
    {
      name: "a removed field comes last",
      given: { size: "small", region: "eu", disk: 30 },
      want: { kind: "inPlace", paths: ["disk", "tags"] },
    },
    {
      name: "an unknown field cannot change in place",
      given: { ...before, newField: 1 },
      want: {
        kind: "replace",
        paths: ["newField"],
        reason: "this provider cannot change it",
        reasons: { newField: "this provider cannot change it" },
      },
    },
    {
      name: "an unknown value is never the same",
      given: { ...before, size: unknownValue },
      want: {
        kind: "replace",
        paths: ["size"],
        reason: "no resizing",
        reasons: { size: "no resizing" },
      },
    },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => assert.deepEqual(verdictByField(rules, before, given), want));
  }

  it("names a generation by what never changes in place", () => {
    assert.deepEqual(immutableFields(rules, { ...before, newField: 1 }), {
      size: "small",
      region: "eu",
      newField: 1,
    });
  });
});

describe("the local provider's verdict", () => {
  const provider = localProvider();
  const host: JsonObject = { networkId: "n", role: "worker", size: "small", diskGib: 20 };
  const cases = [
    {
      name: "size",
      kind: "LocalHost",
      from: host,
      to: { ...host, size: "large" },
      want: "replace",
    },
    { name: "image", kind: "LocalHost", from: host, to: { ...host, image: "b" }, want: "replace" },
    { name: "zone", kind: "LocalHost", from: host, to: { ...host, zone: "b" }, want: "replace" },
    { name: "role", kind: "LocalHost", from: host, to: { ...host, role: "x" }, want: "replace" },
    {
      name: "network",
      kind: "LocalHost",
      from: host,
      to: { ...host, networkId: "m" },
      want: "replace",
    },
    {
      name: "larger disk",
      kind: "LocalHost",
      from: host,
      to: { ...host, diskGib: 21 },
      want: "inPlace",
    },
    {
      name: "smaller disk",
      kind: "LocalHost",
      from: host,
      to: { ...host, diskGib: 19 },
      want: "replace",
    },
    { name: "tags", kind: "LocalHost", from: host, to: { ...host, tags: {} }, want: "inPlace" },
    {
      name: "kubelet",
      kind: "LocalHost",
      from: host,
      to: { ...host, kubelet: "9" },
      want: "inPlace",
    },
    { name: "bootMs", kind: "LocalHost", from: host, to: { ...host, bootMs: 1 }, want: "inPlace" },
    { name: "quota", kind: "LocalNetwork", from: { machineQuota: 1 }, to: {}, want: "inPlace" },
    {
      name: "range",
      kind: "LocalNetwork",
      from: { cidr: "a" },
      to: { cidr: "b" },
      want: "replace",
    },
    {
      name: "port",
      kind: "LocalLoadBalancer",
      from: { port: 1 },
      to: { port: 2 },
      want: "inPlace",
    },
    { name: "a foreign kind", kind: "Nothing", from: { a: 1 }, to: { a: 2 }, want: "replace" },
  ];
  for (const { name, kind, from, to, want } of cases) {
    it(`${kind} ${name}: ${want}`, () => {
      assert.equal(provider.verdict(kind, from, to).kind, want);
    });
  }
});
