import assert from "node:assert/strict";
import type { JsonObject } from "../../src/api/json.js";
import {
  compileParts,
  generationHash,
  identityOf,
  templateJudge,
} from "../../src/compile/compile.js";
import { expandMachines } from "../../src/sets/expand.js";
import { chooseVersions } from "../../src/sets/versions.js";
import {
  cluster,
  desiredOf,
  localProvider,
  machine,
  machineDeployment,
  type MachineShape,
} from "../support/manifests.js";

const provider = localProvider();

function compiled(...shapes: MachineShape[]) {
  const objects = shapes.map((shape, index) => machine(`m-${index}`, shape));
  const desired = desiredOf([cluster({ cidr: "10.9.0.0/16", machineQuota: 7 }), ...objects]);
  const judge = templateJudge(provider, desired.cluster);
  return compileParts(provider, desired.cluster, expandMachines(desired, [], judge));
}

describe("compilation for the local cloud", () => {
  it("makes one network and one load balancer in it", () => {
    const { infrastructure } = compiled();
    assert.deepEqual(
      infrastructure.map(({ kind, name, spec }) => [`${kind}/${name}`, spec]),
      [
        [
          "LocalNetwork/network",
          {
            cidr: "10.9.0.0/16",
            services: ["10.96.0.0/12"],
            pods: ["192.168.0.0/16"],
            serviceDomain: "cluster.local",
            machineQuota: 7,
            bootMs: 200,
          },
        ],
        [
          "LocalLoadBalancer/api",
          { networkId: { $ref: "LocalNetwork/network", output: "id" }, port: 6443 },
        ],
      ],
    );
  });

  it("makes one host for each machine; only control plane is behind the load balancer", () => {
    const { hosts } = compiled({ size: "large" }, { controlPlane: "1.34.2", tags: { a: "b" } });
    const networkId = { $ref: "LocalNetwork/network", output: "id" };
    const common = { networkId, image: "local/ubuntu-24.04", zone: "local-a", diskGib: 20 };
    assert.deepEqual(Object.fromEntries(hosts), {
      "m-0": { ...common, role: "worker", size: "large", tags: {}, kubelet: "1.34.2" },
      "m-1": {
        ...common,
        role: "controlPlane",
        size: "small",
        tags: { a: "b" },
        kubelet: "1.34.2",
        controlPlane: "1.34.2",
        loadBalancerId: { $ref: "LocalLoadBalancer/api", output: "id" },
      },
    });
  });
});

describe("generation hash", () => {
  const base: JsonObject = {
    networkId: "net-1",
    size: "small",
    image: "i",
    zone: "z",
    diskGib: 20,
  };
  const hash = (change: JsonObject = {}) =>
    generationHash(provider, "LocalHost", { ...base, ...change });

  it("is eight hexadecimal digits and the same for the same inputs in any order", () => {
    assert.match(hash(), /^[0-9a-f]{8}$/);
    const turned = Object.fromEntries(Object.entries(base).reverse());
    assert.equal(generationHash(provider, "LocalHost", turned), hash());
  });

  for (const change of [
    { diskGib: 40 },
    { tags: { a: "b" } },
    { kubelet: "2.0.0" },
    { controlPlane: "2.0.0" },
    { loadBalancerId: "lb-2" },
    { nodeLabels: { a: "b" } },
    { taints: [] },
    { bootMs: 1 },
  ]) {
    it(`does not depend on ${Object.keys(change).join()}, which changes in place`, () => {
      assert.equal(hash(change), hash());
    });
  }

  for (const change of [
    { size: "large" },
    { image: "j" },
    { zone: "y" },
    { networkId: "net-2" },
    { role: "controlPlane" },
    { fieldOfALaterRelease: 1 },
  ]) {
    it(`depends on ${Object.keys(change).join()}, which needs a new host`, () => {
      assert.notEqual(hash(change), hash());
    });
  }
});

describe("identity", () => {
  const { cluster: object } = desiredOf([cluster()]);
  const who = identityOf(object, "uid-1", "LocalHost", "m-1");

  it("names cluster, life, kind and resource", () => {
    const { token, ...rest } = who;
    assert.deepEqual(rest, {
      cluster: "default/prod",
      clusterUid: "uid-1",
      kind: "LocalHost",
      name: "m-1",
    });
    assert.match(token, /^[0-9a-f]{32}$/);
  });

  it("has a token of its own for each life, kind and name, and the same token each time", () => {
    const tokens = [
      who.token,
      identityOf(object, "uid-2", "LocalHost", "m-1").token,
      identityOf(object, "uid-1", "LocalNetwork", "m-1").token,
      identityOf(object, "uid-1", "LocalHost", "m-2").token,
    ];
    assert.equal(new Set(tokens).size, 4);
    assert.equal(identityOf(object, "uid-1", "LocalHost", "m-1").token, who.token);
  });
});

describe("what expansion asks the provider", () => {
  const desired = desiredOf([cluster(), machineDeployment("web", 1, { diskGib: 30 })]);
  const judge = templateJudge(provider, desired.cluster);
  const [present] = expandMachines(desired, [], judge);
  const cases: { name: string; given: MachineShape; want: boolean }[] = [
    { name: "the same template", given: { diskGib: 30 }, want: true },
    { name: "a grown disk", given: { diskGib: 40 }, want: true },
    { name: "a shrunk disk", given: { diskGib: 20 }, want: false },
    { name: "another size", given: { diskGib: 30, size: "large" }, want: false },
    {
      name: "another kubelet and tags",
      given: { diskGib: 30, kubelet: "1.33.0", tags: { a: "" } },
      want: true,
    },
  ];
  for (const { name, given, want } of cases) {
    it(`${want ? "can" : "cannot"} follow ${name}`, () => {
      const changed = desiredOf([cluster(), machineDeployment("web", 1, given)]);
      const [deployment] = chooseVersions(changed, [], judge.offers).machineDeployments;
      assert.ok(present !== undefined && deployment !== undefined);
      assert.equal(judge.canFollow(deployment, present), want);
    });
  }
});
