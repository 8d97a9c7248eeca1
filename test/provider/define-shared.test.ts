import assert from "node:assert/strict";
import { clusterNameLabel } from "../../src/api/schema.js";
import type { JsonObject } from "../../src/api/json.js";
import type { Desired } from "../../src/api/types.js";
import { readDesired } from "../../src/manifest/desired.js";
import {
  defineProvider,
  hostSpecOf,
  type MachineCalls,
  type Observed,
  type ProviderDefinition,
  refTo,
} from "../../src/provider/index.js";
import type { Plan } from "../../src/plan/plan.js";
import { failsWith } from "../support/errors.js";
import { FakeClock } from "../support/fake-clock.js";
import { FakeEngine } from "../support/fake-engine.js";
import { type Manifest, testCluster, textOf } from "../support/manifests.js";

const apiVersion = "acme.example.dev/v1";
const text = { type: "string" };

/** Calls of which only the listing is asked. */
function calls(...listed: readonly Observed[]): MachineCalls {
  const unused = () => Promise.reject(new Error("nobody asks"));
  return {
    locate: unused,
    create: unused,
    update: unused,
    remove: unused,
    list: async () => listed,
  };
}

/** Networks, groups in them, and machines in both. */
function definition(more: Partial<ProviderDefinition> = {}): ProviderDefinition {
  const schema = { properties: { size: { ...text, default: "small" } } };
  const kept = { kind: "replace", reason: "a network keeps its range" } as const;
  return {
    name: "acme",
    apiVersion,
    machineSpec: { kind: "AcmeMachineProviderSpec", schema },
    clusterSpec: {
      kind: "AcmeClusterProviderSpec",
      schema: {
        properties: { cidr: { ...text, default: "10.0.0.0/16" }, port: { type: "integer" } },
      },
    },
    kinds: {
      AcmeNetwork: { calls: calls(), rules: { cidr: kept }, keyInputs: ["cidr"] },
      AcmeGroup: { calls: calls(), rules: { port: { kind: "inPlace" } } },
    },
    infrastructure: ({ cidr = "", port = 6443 }) => [
      { kind: "AcmeNetwork", name: "network", spec: { cidr } },
      {
        kind: "AcmeGroup",
        name: "members",
        spec: { networkId: refTo("AcmeNetwork", "network"), port },
      },
    ],
    hostSpec: (machine) => ({
      networkId: refTo("AcmeNetwork", "network"),
      groups: machine.controlPlane ? [refTo("AcmeGroup", "members")] : [],
      ...hostSpecOf(machine, schema),
    }),
    rules: { groups: { kind: "inPlace" } },
    machine: calls(),
    ...more,
  };
}

function desired(clusterFields: JsonObject = {}): Desired {
  const kind = "cluster.k8s.io/v1alpha1";
  const cluster: Manifest = {
    apiVersion: kind,
    kind: "Cluster",
    metadata: { name: testCluster },
    spec: {
      clusterNetwork: {
        services: { cidrBlocks: ["10.96.0.0/12"] },
        pods: { cidrBlocks: ["192.168.0.0/16"] },
        serviceDomain: "cluster.local",
      },
      providerSpec: { value: { apiVersion, kind: "AcmeClusterProviderSpec", ...clusterFields } },
    },
  };
  const machine: Manifest = {
    apiVersion: kind,
    kind: "Machine",
    metadata: { name: "cp", labels: { [clusterNameLabel]: testCluster } },
    spec: {
      versions: { kubelet: "1.34.2", controlPlane: "1.34.2" },
      providerSpec: { value: { apiVersion, kind: "AcmeMachineProviderSpec" } },
    },
  };
  const source = { file: "acme.yaml", text: textOf([cluster, machine]) };
  const [only] = readDesired([source], [defineProvider(definition())]).clusters;
  assert.ok(only !== undefined);
  return only;
}

const steps = ({ steps: all }: Plan) =>
  all.map(({ kind, key }) => `${kind} ${key.replace(/-[0-9a-f]{8}/g, "-#")}`);

const context = {
  clock: new FakeClock(),
  signal: new AbortController().signal,
  assertEngineAlive: () => {},
};

function observedOf(kind: string, cluster: string): Observed {
  const who = { cluster, clusterUid: "uid", kind, name: "n", token: "t" };
  return { id: `${kind}-${cluster}`, who, phase: "ready", spec: {}, status: {} };
}

describe("a defined provider whose machines share something", () => {
  const running = () => FakeEngine.running(desired(), { provider: defineProvider(definition()) });

  it("makes it first, gives hosts its ids, and has nothing to do afterwards", async () => {
    const engine = new FakeEngine({ provider: defineProvider(definition()) });
    const plan = await engine.plan(desired());
    assert.deepEqual(steps(plan), [
      "create AcmeNetwork/network",
      "create AcmeGroup/members",
      "create AcmeHost/cp-#-1",
    ]);
    assert.deepEqual(plan.infrastructure[0]?.inputs, [{ path: "cidr", value: "10.0.0.0/16" }]);
    await engine.settle(desired());
    const [network, group] = engine.alive();
    const [host] = engine.hosts();
    assert.deepEqual(
      [group?.spec["networkId"], host?.spec["networkId"], host?.spec["groups"]],
      [network?.id, network?.id, [group?.id]],
    );
    assert.equal((await engine.plan(desired())).empty, true);
  });

  it("changes it by its rules: in place, or by another one and all that hangs on it", async () => {
    const engine = await running();
    assert.deepEqual(steps(await engine.plan(desired({ port: 7443 }))), [
      "update AcmeGroup/members",
    ]);
    const other = await engine.plan(desired({ cidr: "10.9.0.0/16" }));
    assert.deepEqual(
      other.infrastructure.map(({ key, kind }) => `${kind} ${key.split("/")[0] ?? ""}`),
      ["replace AcmeNetwork", "replace AcmeGroup", "delete AcmeNetwork", "delete AcmeGroup"],
    );
    assert.equal(other.machines[0]?.kind, "replace");
    await engine.settle(desired({ cidr: "10.9.0.0/16" }));
    assert.deepEqual(
      engine
        .alive()
        .map(({ who }) => who.kind)
        .sort(),
      ["AcmeGroup", "AcmeHost", "AcmeNetwork"],
    );
  });

  it("lists every kind, by cluster and as a whole", async () => {
    const both = (kind: string) =>
      calls(observedOf(kind, "default/a"), observedOf(kind, "default/b"));
    const provider = defineProvider(
      definition({
        kinds: { AcmeNetwork: { calls: both("AcmeNetwork") } },
        infrastructure: () => [],
        machine: both("AcmeHost"),
      }),
    );
    const ids = (all: readonly Observed[] = []) => all.map(({ id }) => id);
    assert.deepEqual(ids(await provider.inventory(context, { cluster: "default/a" })), [
      "AcmeNetwork-default/a",
      "AcmeHost-default/a",
    ]);
    assert.equal((await provider.owned?.(context))?.length, 4);
  });

  it("takes a listing page by page, and none of it where a page is missing", async () => {
    const page = (id: string) => [{ ...observedOf("AcmeHost", "default/a"), id }];
    let isCut = false;
    async function* list() {
      yield page("one");
      if (isCut) throw new Error("the second page does not come");
      yield [...page("two"), ...page("three")];
    }
    const machine = { ...calls(), list };
    const provider = defineProvider(definition({ kinds: {}, infrastructure: () => [], machine }));
    const ids = async () =>
      (await provider.inventory(context, { cluster: "default/a" })).map(({ id }) => id);
    assert.deepEqual(await ids(), ["one", "two", "three"]);
    isCut = true;
    await assert.rejects(ids(), /the second page does not come/);
  });

  it("tells the endpoint by what it shares", () => {
    const provider = defineProvider(
      definition({
        apiEndpoint: (_spec, shared) => {
          const host = shared[0]?.status["address"];
          return typeof host === "string" ? { host, port: 6443 } : undefined;
        },
      }),
    );
    assert.deepEqual(provider.apiEndpoints?.([], {}), []);
    const balancer = { status: { address: "10.0.0.9" } } as unknown as Observed;
    assert.deepEqual(provider.apiEndpoints?.([balancer], {}), [{ host: "10.0.0.9", port: 6443 }]);
  });

  it("is refused with all that is wrong with its kinds, and a kind that there is not", async () => {
    const wrong = definition({
      kinds: {
        AcmeHost: { calls: calls() },
        AcmeNetwork: { calls: {}, rules: { cidr: { kind: "sometimes" } }, rule: {} },
      } as unknown as NonNullable<ProviderDefinition["kinds"]>,
    });
    assert.throws(
      () => defineProvider(wrong),
      failsWith(
        "INVALID_INPUT",
        /kinds\.AcmeNetwork\.calls\.locate must be a function.*kinds\.AcmeNetwork\.rules\.cidr must be.*kinds\.AcmeHost is the kind of hosts.*kinds\.AcmeNetwork\.rule is unknown, did you mean rules\?/,
      ),
    );
    const missing = defineProvider(definition({ kinds: {} }));
    await assert.rejects(
      new FakeEngine({ provider: missing }).plan(desired()),
      failsWith("INVALID_INPUT", /it names AcmeNetwork network, and its kinds have no/),
    );
  });

  it("cannot keep what it could never let go", async () => {
    const disk = { kind: "AcmeGroup", name: "disk", spec: {}, whenHostGoes: "keep" } as const;
    const keeping = defineProvider(definition({ satellites: () => [disk] }));
    await assert.rejects(
      new FakeEngine({ provider: keeping }).plan(desired()),
      failsWith("INVALID_INPUT", /it keeps AcmeGroup disk when its host goes, and .* no disown/),
    );
  });
});
