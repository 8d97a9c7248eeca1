import assert from "node:assert/strict";
import type { JsonObject } from "../../src/api/json.js";
import { readDesired } from "../../src/manifest/desired.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import type { InfrastructureProvider } from "../../src/provider/index.js";
import { type Manifest, textOf } from "../support/manifests.js";
import {
  alpha,
  beta,
  evolvingCluster,
  evolvingDeployment,
  evolvingMachine,
  evolvingProvider,
  machineKind,
} from "../support/two-releases.js";

const second = evolvingProvider("second");

function read(objects: readonly Manifest[], provider = second) {
  const { clusters, diagnostics } = readDesired(
    [{ file: "a.yaml", text: textOf(objects) }],
    [provider],
  );
  return { clusters, said: diagnostics.map(diagnosticText) };
}

function written(apiVersion: string, memory: JsonObject) {
  return [
    evolvingCluster(apiVersion),
    evolvingMachine("web", apiVersion, memory),
    evolvingDeployment("set", 2, apiVersion, memory),
  ];
}

const ofClass = (name: string, apiVersion: string, fields: JsonObject): Manifest => ({
  apiVersion: "cluster.k8s.io/v1alpha1",
  kind: "MachineClass",
  metadata: { name },
  providerSpec: { apiVersion, kind: machineKind, ...fields },
});

function withClass(machine: Manifest, name: string): Manifest {
  const spec = machine["spec"] as Manifest;
  return { ...machine, spec: { ...spec, providerSpec: { valueFrom: { machineClass: { name } } } } };
}

const deprecated = (where: string, kind: string) =>
  new RegExp(
    `^a\\.yaml:\\d+:\\d+: warning: ${where}: .*apiVersion: "${alpha}" is deprecated\\n  hint: write ${beta}; capstan explain ${kind} tells its fields$`,
  );

describe("manifests in an older version", () => {
  it("ask for the same as in the newest one", () => {
    const older = read(written(alpha, { memory: 8192 }));
    const newer = read(written(beta, { memoryGib: 8 }));
    assert.deepEqual(newer.said, []);
    assert.deepEqual(older.clusters, newer.clusters);
  });

  it("are warned of what has no effect in their version, with the reason", () => {
    const idle = () => [{ path: ["memory"], reason: "nobody counts it" }];
    const [older] = second.olderVersions ?? [];
    assert.ok(older !== undefined);
    const machineSpec = { ...older.machineSpec, idle };
    const served = { ...second, olderVersions: [{ ...older, deprecated: false, machineSpec }] };
    const { said } = read(written(alpha, { memory: 8192 }), served);
    assert.equal(said.length, 2, said.join("\n"));
    assert.match(
      said[0] ?? "",
      /warning: Machine default\/web: .*memory.* has no effect on provider objects of /,
    );
    assert.match(said[0] ?? "", /hint: nobody counts it$/);
  });

  it("are warned where their version is deprecated, and only there", () => {
    const { said } = read(written(alpha, {}));
    assert.equal(said.length, 3);
    assert.match(said[0] ?? "", deprecated("Cluster default/prod", "EvolvingClusterProviderSpec"));
    assert.match(said[1] ?? "", deprecated("Machine default/web", machineKind));
    const [older] = second.olderVersions ?? [];
    assert.ok(older !== undefined);
    const { deprecated: _deprecated, ...served } = older;
    assert.deepEqual(read(written(alpha, {}), { ...second, olderVersions: [served] }).said, []);
  });

  it("are mixed with others in one cluster, classes too", () => {
    const { clusters, said } = read([
      evolvingCluster(beta),
      evolvingMachine("old", alpha, { memory: 2048 }),
      evolvingMachine("new", beta, { memoryGib: 3 }),
      withClass(evolvingMachine("classy", beta), "big"),
      ofClass("big", alpha, { memory: 16_384 }),
    ]);
    assert.ok(
      said.every((line) => line.includes("warning: ")),
      said.join("\n"),
    );
    assert.deepEqual(
      clusters[0]?.machines.map(({ spec }) => spec.providerSpec.value),
      [2, 3, 16].map((memoryGib) => ({
        apiVersion: beta,
        kind: machineKind,
        memoryGib,
        zone: "north",
      })),
    );
  });

  it("are checked as they are written: by their own fields, where they stand", () => {
    const { said } = read([
      evolvingCluster(alpha, { cidr: "10.96.0.0/16" }),
      evolvingMachine("web", alpha, { memory: 1000 }),
      evolvingMachine("db", alpha, { memoryGib: 4 }),
      evolvingMachine("none", "evolving.example.dev/v2"),
    ]);
    const errors = said.filter((line) => line.includes("error: "));
    assert.deepEqual(
      errors.map((line) => line.replace(/^a\.yaml:\d+:\d+: error: /, "").split("\n")[0]),
      [
        "Cluster default/prod: spec.providerSpec.value.cidr: 10.96.0.0/16 overlaps 10.96.0.0/12 (services)",
        "Machine default/web: spec.providerSpec.value.memory: 1000 must be >= 1024",
        'Machine default/db: spec.providerSpec.value.memoryGib: unknown field "memoryGib"',
        'Machine default/none: spec.providerSpec.value.apiVersion: no provider has "evolving.example.dev/v2"',
      ],
    );
    assert.match(said.at(-1) ?? "", new RegExp(`known: ${beta}, ${alpha}`));
  });

  it("are refused where their provider cannot convert them", () => {
    const [older] = second.olderVersions ?? [];
    assert.ok(older !== undefined);
    const convert = () => ({ memoryGib: 0 });
    const broken: InfrastructureProvider = {
      ...second,
      olderVersions: [
        { ...older, deprecated: false, machineSpec: { ...older.machineSpec, convert } },
      ],
    };
    const { said } = read([evolvingCluster(beta), evolvingMachine("web", alpha)], broken);
    assert.equal(said.length, 1);
    assert.match(
      said[0] ?? "",
      new RegExp(
        `^a\\.yaml:\\d+:\\d+: error: Machine default/web: spec\\.providerSpec\\.value\\.apiVersion: cannot be converted to ${beta}: memoryGib: 0 must be >= 1\\n  hint: write it in ${beta}$`,
      ),
    );
  });
});
