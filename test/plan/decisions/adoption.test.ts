import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/api/json.js";
import { foundTarget } from "../../../src/plan/decisions/adoption.js";
import { beta, evolvingProvider, machineKind } from "../../support/two-releases.js";
import { hostSpecOf, machineSpecOf } from "../../../src/provider/host-spec.js";
import type { Observed } from "../../../src/provider/port.js";
import {
  cluster,
  desiredOf,
  localProvider,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../../support/manifests.js";
import { FakeEngine } from "../../support/fake-engine.js";

/** What a cloud shows that these manifests were once brought about in. */
async function madeOf(...objects: readonly Manifest[]): Promise<FakeEngine> {
  const engine = new FakeEngine({ adopt: true });
  await engine.settle(desiredOf([cluster(), ...objects]));
  return engine;
}

function targetOf(engine: FakeEngine, ...objects: readonly Manifest[]) {
  const desired = desiredOf([cluster(), ...objects]);
  return foundTarget({ desired, provider: localProvider(), found: engine.alive(), nowMs: 0 });
}

const member = machine("cp", { controlPlane: "1.34.2" });

describe("the graph that a cloud shows", () => {
  it("is the one that was made, where the manifests are still those", async () => {
    const objects = [member, machine("db"), machineDeployment("web", 2), machineSet("set", 1)];
    const engine = await madeOf(...objects);
    const { nodes, machines, objects: known } = targetOf(engine, ...objects);
    const made = engine.prior.revision?.target;
    const byKey = <T extends { readonly name: string }>(list: readonly T[]) =>
      [...list].sort((left, right) => (left.name < right.name ? -1 : 1));
    assert.deepEqual(byKey(machines), byKey(made?.machines ?? []));
    assert.deepEqual(known, made?.objects);
    const specs = (of: typeof nodes) =>
      byKey(of.filter(({ type }) => type === "resource")).map(({ name, spec }) => [name, spec]);
    assert.deepEqual(specs(nodes), specs(made?.nodes ?? []), "with Refs where there were some");
  });

  it("keeps data of a machine that no manifest tells of, whatever they say of another one's", async () => {
    const data = { dataVolume: { gib: 1, whenHostGoes: "keep" } } as const;
    const log = { dataVolume: { gib: 1, whenHostGoes: "delete" } } as const;
    const engine = await madeOf(member, machine("db", data), machine("log", log));
    const { nodes } = targetOf(engine, member, machine("log", log));
    const kept = nodes.filter(({ keep }) => keep === true).map(({ name }) => name);
    assert.equal(kept.length, 1);
    assert.match(kept[0] ?? "", /^db-\w+-1-data$/);
  });

  it("keeps two hosts of one machine apart, the one that is ready first", async () => {
    const engine = await madeOf(member, machine("db"));
    const [, host] = engine.hosts() as [Observed, Observed];
    const name = host.who.name.replace(/1$/, "2");
    engine.cloud.plant({ ...host.who, name, token: "other" }, host.spec);
    engine.cloud.kill(host.id);
    engine.cloud.plant({ ...host.who, token: "again" }, host.spec);
    const { machines } = targetOf(engine, member, machine("db"));
    const names = machines.map((one) => one.name);
    assert.equal(names.length, 3);
    assert.ok(names.includes("db"));
    assert.equal(new Set(names).size, 3, "each has a machine of its own");
  });

  it("tells the deployment of a machine by its name, whatever its template is by now", async () => {
    const engine = await madeOf(member, machineDeployment("web", 2));
    const large = machineDeployment("web", 5, { size: "large" });
    const { machines, objects } = targetOf(engine, member, large);
    const workers = machines.filter(({ controlPlane }) => !controlPlane);
    assert.deepEqual(
      workers.map(({ owner }) => [owner?.machineDeployment, owner?.ordinal]),
      [
        ["web", 0],
        ["web", 1],
      ],
    );
    assert.deepEqual(
      workers.map(({ spec }) => (spec.providerSpec.value as JsonObject)["size"]),
      ["small", "small"],
    );
    const web = objects.find(({ kind }) => kind === "MachineDeployment");
    assert.equal(web?.kind === "MachineDeployment" && web.spec.replicas, 2, "as many as there are");
  });

  it("knows a control plane by its hosts, although no manifest speaks of it", async () => {
    const engine = await madeOf(member, machine("db"));
    const { machines, objects } = targetOf(engine, machine("db"));
    assert.deepEqual(
      machines.map(({ name, controlPlane }) => [name, controlPlane]),
      [
        ["cp", true],
        ["db", false],
      ],
    );
    assert.deepEqual(
      objects.map(({ metadata }) => metadata.name),
      ["prod", "db"],
    );
  });
});

describe("a machine told by its host", () => {
  it("has the spec that the host was made from", () => {
    const provider = localProvider();
    const versions = { kubelet: "1.34.2", controlPlane: "1.34.2" };
    const value = {
      apiVersion: provider.apiVersion,
      kind: provider.machineSpec.kind,
      size: "large",
    };
    const spec = { versions, providerSpec: { value } };
    const host = hostSpecOf(
      { name: "cp", controlPlane: true, spec, providerSpec: value, lookedUp: {} },
      provider.machineSpec.schema,
    );
    assert.deepEqual(machineSpecOf(host, provider), spec);
  });

  it("is read in the version that knows what the host was made with", () => {
    const provider = evolvingProvider("second");
    const host = { role: "worker", memory: 8192, zone: "south", kubelet: "1.34.2" };
    assert.deepEqual(machineSpecOf(host, provider).providerSpec.value, {
      apiVersion: beta,
      kind: machineKind,
      memoryGib: 8,
      zone: "south",
    });
  });
});
