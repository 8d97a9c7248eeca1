import assert from "node:assert/strict";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { Desired } from "../../../src/api/types.js";
import type { GraphNode } from "../../../src/graph/graph.js";
import type { InfrastructureProvider } from "../../../src/provider/port.js";
import { changed } from "../../kube/refusals.js";
import { FakeEngine } from "../../support/fake-engine.js";
import {
  cluster,
  desiredOf,
  localProvider,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../../support/manifests.js";

// What the fields of a Machine and of a Cluster come to in a plan.

/** The steps, and whether nothing at all is to be done. Hashes are left out. */
async function planned(engine: FakeEngine, desired: Desired) {
  const { steps, empty } = await engine.plan(desired);
  return {
    steps: steps.map(({ kind, key }) => `${kind} ${key.replace(/-[0-9a-f]{8}(?=-|$)/g, "-#")}`),
    empty,
  };
}

const nothing = { steps: [], empty: true };

function withVersions(object: Manifest, versions: unknown): Manifest {
  const path = object["kind"] === "Machine" ? ["spec"] : ["spec", "template", "spec"];
  return changed(object, [...path, "versions"], versions);
}

describe("a version with a v and without", () => {
  const asking = (v: string): Desired => {
    const kubelet = `${v}1.34.2`;
    const containerRuntime = { name: "containerd", version: `${v}2.1.4` };
    return desiredOf([
      cluster(),
      withVersions(machine("cp"), { kubelet, controlPlane: kubelet, containerRuntime }),
      withVersions(machineSet("set", 1), { kubelet, containerRuntime }),
      withVersions(machineDeployment("web", 1), { kubelet, containerRuntime }),
    ]);
  };

  for (const [from, to] of [
    ["v", ""],
    ["", "v"],
  ] as const) {
    it(`is one: nothing is to be done from "${from}1.34.2" to "${to}1.34.2"`, async () => {
      const engine = await FakeEngine.running(asking(from));
      assert.deepEqual(await planned(engine, asking(to)), nothing);
    });
  }

  it("is recorded, and asked of the cloud, without it", async () => {
    const { target } = await new FakeEngine().plan(asking("v"));
    assert.doesNotMatch(JSON.stringify([target.objects, target.machines, target.nodes]), /"v\d/);
  });

  it("stays on a host as an earlier release has recorded it", async () => {
    const now = asking("");
    const machines = now.machines.map((one) => ({
      ...one,
      spec: { ...one.spec, versions: { kubelet: "v1.34.2", controlPlane: "v1.34.2" } },
    }));
    const engine = await FakeEngine.running({ ...now, machines });
    const same = now.machines.map((one) => ({
      ...one,
      spec: { ...one.spec, versions: { kubelet: "1.34.2", controlPlane: "1.34.2" } },
    }));
    assert.deepEqual((await planned(engine, { ...now, machines: same })).steps, []);
  });
});

describe("versions that are left out", () => {
  const wanted = (versions: unknown, disk?: number): Desired =>
    desiredOf([cluster(), withVersions(machine("cp", omitUndefined({ diskGib: disk })), versions)]);
  const cases = [
    { controlPlane: "1.33.6" },
    { kubelet: "1.33.1", controlPlane: "1.33.6", containerRuntime: { name: "containerd" } },
    { kubelet: "1.33.1", containerRuntime: { version: "2.1.4" } },
    { containerRuntime: {} },
    {},
  ];
  for (const versions of cases) {
    it(`are chosen once: ${JSON.stringify(versions)}`, async () => {
      const engine = await FakeEngine.running(wanted(versions));
      assert.deepEqual(await planned(engine, wanted(versions)), nothing);
    });
  }

  it("are recorded, and are inputs of the host", async () => {
    const { target } = await new FakeEngine().plan(
      wanted({ controlPlane: "1.33.6", containerRuntime: {} }),
    );
    const [only] = target.machines;
    const containerRuntime = { name: "containerd", version: "2.1.5" };
    const chosen = { kubelet: "1.33.6", controlPlane: "1.33.6", containerRuntime };
    assert.deepEqual(only?.spec.versions, chosen);
    const host = target.nodes.find(({ kind }) => kind === "LocalHost");
    assert.deepEqual(host?.spec["containerRuntime"], containerRuntime);
  });
});

describe("roles", () => {
  const kubelet = "1.34.2";
  const wanted = (roles: unknown): Desired =>
    desiredOf([
      cluster(),
      changed(withVersions(machine("cp"), { kubelet }), ["spec", "roles"], roles),
    ]);
  const cases = [
    { roles: undefined, want: ["worker", undefined] },
    { roles: ["Node"], want: ["worker", undefined] },
    { roles: ["Master"], want: ["controlPlane", undefined] },
    { roles: ["Master", "Node"], want: ["controlPlane", true] },
    { roles: ["Node", "Master"], want: ["controlPlane", true] },
  ];
  for (const { roles, want } of cases) {
    it(`${JSON.stringify(roles) ?? "that are left out"} make ${want.join()}`, async () => {
      const { target } = await new FakeEngine().plan(wanted(roles));
      const host = target.nodes.find(({ kind }) => kind === "LocalHost");
      assert.deepEqual([host?.spec["role"], host?.spec["schedulable"]], want);
    });
  }

  it("say whether a member takes pods, which changes in place", async () => {
    const engine = await FakeEngine.running(wanted(["Master"]));
    assert.deepEqual(await planned(engine, wanted(["Master"])), nothing);
    const { machines } = await engine.plan(wanted(["Master", "Node"]));
    const change = { path: "schedulable", to: true };
    assert.deepEqual([machines[0]?.kind, machines[0]?.changes], ["update", [change]]);
  });
});

describe("the networks of a Cluster", () => {
  const inputs = ["cidr", "services", "pods", "serviceDomain"];
  const networkIn = (nodes: readonly GraphNode[]) =>
    nodes.find(({ kind }) => kind === "LocalNetwork")?.spec;

  it("are inputs of the network", async () => {
    const spec = networkIn((await new FakeEngine().plan(desiredOf([cluster()]))).target.nodes);
    assert.deepEqual(
      inputs.map((input) => spec?.[input]),
      ["10.0.0.0/16", ["10.96.0.0/12"], ["192.168.0.0/16"], "cluster.local"],
    );
  });

  it("that an earlier release did not record are added in place, once", async () => {
    const local = localProvider();
    let isEarlier = true;
    const compile: InfrastructureProvider["compile"] = (object, spec, machines) => {
      const { infrastructure, hosts } = local.compile(object, spec, machines);
      if (!isEarlier) return { infrastructure, hosts };
      const asThen = infrastructure.map((node) => {
        const { services: _s, pods: _p, serviceDomain: _d, ...spec } = node.spec;
        return { ...node, spec };
      });
      return { infrastructure: asThen, hosts };
    };
    const provider = Object.create(local, {
      compile: { value: compile },
    }) as InfrastructureProvider;
    const desired = desiredOf([cluster(), machine("web")]);
    const engine = await FakeEngine.running(desired, { provider });
    isEarlier = false;
    assert.deepEqual((await planned(engine, desired)).steps, ["update LocalNetwork/network"]);
    await engine.settle(desired);
    assert.deepEqual(await planned(engine, desired), nothing);
  });
});
