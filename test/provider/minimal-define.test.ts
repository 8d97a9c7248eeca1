import assert from "node:assert/strict";
import type { JsonObject } from "../../src/api/json.js";
import { validate } from "../../src/api/validate.js";
import {
  defineProvider,
  type MachineCalls,
  type MachineToCompile,
  type Observed,
  type ProviderDefinition,
  type UserDataTerms,
} from "../../src/provider/index.js";
import { cluster, desiredOf } from "../support/manifests.js";

const calls: MachineCalls = {
  locate: async () => ({ found: "none" }),
  create: async (_ctx, who, spec) => ({ id: "1", who, phase: "ready", spec, status: {} }),
  remove: async () => {},
  list: async () => [],
};

const definition: ProviderDefinition = {
  name: "toy",
  apiVersion: "toy.example.dev/v1",
  machineSpec: {
    kind: "ToyMachineProviderSpec",
    schema: {
      properties: { size: { type: "string", default: "small" }, note: { type: "string" } },
    },
  },
  machine: calls,
};

const { cluster: prod } = desiredOf([cluster()]);

const machine: MachineToCompile = {
  name: "web",
  controlPlane: false,
  spec: {
    versions: { kubelet: "1.34.2" },
    metadata: { labels: { tier: "front" } },
    taints: [{ key: "dedicated", effect: "NoSchedule" }],
    providerSpec: {},
  },
  providerSpec: {
    apiVersion: "toy.example.dev/v1",
    kind: "ToyMachineProviderSpec",
    note: "first",
    size: "small",
  },
  lookedUp: {},
};

function hostOf(provider: ReturnType<typeof defineProvider>, one = machine): JsonObject {
  const { infrastructure, hosts } = provider.compile(prod, { region: "north" }, [one]);
  assert.deepEqual(infrastructure, []);
  return hosts.get(one.name) ?? {};
}

describe("defineProvider", () => {
  it("names its kinds after the machine's", () => {
    const { hostKind, clusterSpec, handlers } = defineProvider(definition);
    assert.equal(hostKind, "ToyHost");
    assert.equal(clusterSpec.kind, "ToyClusterProviderSpec");
    assert.deepEqual([...handlers.keys()], ["ToyHost"]);
  });

  it("completes schemas: apiVersion, kind, defaults, no unknown fields", () => {
    const { machineSpec, clusterSpec } = defineProvider(definition);
    const value = { apiVersion: "toy.example.dev/v1", kind: "ToyMachineProviderSpec" };
    assert.deepEqual(validate(machineSpec.schema, value), []);
    assert.deepEqual(value, { ...value, size: "small" });
    assert.equal(validate(machineSpec.schema, { ...value, sizee: "x" })[0]?.code, "FIELD_UNKNOWN");
    assert.equal(validate(machineSpec.schema, { ...value, kind: "Other" })[0]?.code, "NOT_ALLOWED");
    const cluster = { apiVersion: "toy.example.dev/v1", kind: "ToyClusterProviderSpec" };
    assert.deepEqual(validate(clusterSpec.schema, cluster), []);
    assert.equal(validate(clusterSpec.schema, { ...cluster, any: 1 })[0]?.code, "FIELD_UNKNOWN");
  });

  it("has fields for kubeadm and the bootstrap where hosts take user data, and there only", () => {
    const userData: UserDataTerms = {
      format: "cloud-config",
      software: () => "image",
      containerRuntime: { name: "containerd", version: "2.1.5" },
      commands: { name: "hostname", address: "hostname -i" },
    };
    const kubeadm = { kubeletConfiguration: { maxPods: 50 } };
    const bootstrap = { preKubeadmCommands: ["true"] };
    const given = { ...machine, providerSpec: { ...machine.providerSpec, kubeadm, bootstrap } };
    const apiEndpoint = () => ({ host: "api.example.org", port: 6443 });
    const joining = defineProvider({ ...definition, userData, apiEndpoint });
    assert.deepEqual(validate(joining.machineSpec.schema, { ...given.providerSpec }), []);
    assert.deepEqual(hostOf(joining, given)["kubeadm"], kubeadm);
    assert.deepEqual(hostOf(joining, given)["bootstrap"], bootstrap);
    const { kind } = joining.verdict("ToyHost", hostOf(joining), hostOf(joining, given));
    assert.equal(kind, "replace");
    const [refused] = validate(defineProvider(definition).machineSpec.schema, given.providerSpec);
    assert.equal(refused?.code, "FIELD_UNKNOWN");
    const machineSpec = { ...definition.machineSpec, schema: { properties: { kubeadm: {} } } };
    assert.throws(() => defineProvider({ ...definition, machineSpec, userData }), {
      message: /machineSpec must call field kubeadm otherwise/,
    });
  });

  it("tells where hosts join from the cluster's object, which those that take user data need", () => {
    const apiEndpoint = ({ address }: JsonObject) =>
      typeof address === "string" ? { host: address, port: 6443 } : undefined;
    const telling = defineProvider({ ...definition, apiEndpoint });
    const endpoints = telling.apiEndpoints?.([], { address: "192.0.2.1" });
    assert.deepEqual(endpoints, [{ host: "192.0.2.1", port: 6443 }]);
    assert.deepEqual(telling.apiEndpoints?.([], {}), []);
    assert.equal(defineProvider(definition).apiEndpoints, undefined);
    const userData: UserDataTerms = {
      format: "cloud-config",
      software: () => "image",
      containerRuntime: { name: "containerd", version: "2.1.5" },
      commands: { name: "hostname", address: "hostname -i" },
    };
    assert.throws(() => defineProvider({ ...definition, userData }), {
      message: /apiEndpoint must be a function where userData is given/,
    });
    defineProvider({ ...definition, userData: { ...userData, simulated: true } });
  });

  it("tells which fields of the cluster's object hold address ranges", () => {
    const clusterSpec = {
      kind: "ToyClusterProviderSpec",
      schema: { properties: { range: { type: "string" } } },
      networks: ["range"],
    };
    assert.deepEqual(defineProvider({ ...definition, clusterSpec }).clusterSpec.networks, [
      "range",
    ]);
    assert.equal(defineProvider(definition).clusterSpec.networks, undefined);
  });

  it("tells what it has for the fields that all Machines share", () => {
    const offers = {
      kubernetes: "1.28 - 1.35",
      containerRuntimes: [{ name: "containerd", versions: "1.7 || 2", recommended: "2.1.5" }],
    };
    const machineSpec = { ...definition.machineSpec, offers };
    assert.deepEqual(defineProvider({ ...definition, machineSpec }).machineSpec.offers, offers);
    assert.equal(defineProvider(definition).machineSpec.offers, undefined);
  });

  it("tells which shared fields have no effect on it, and refuses names of none", () => {
    const machineSpec = { ...definition.machineSpec, ignores: ["taints"] as const };
    const { ignores } = defineProvider({ ...definition, machineSpec }).machineSpec;
    assert.deepEqual(ignores, ["taints"]);
    const wrong = { ...definition.machineSpec, ignores: ["taint"] as unknown as ["taints"] };
    assert.throws(() => defineProvider({ ...definition, machineSpec: wrong }), {
      message:
        "cannot define provider toy: machineSpec.ignores: there is no taint, did you mean taints?",
    });
  });

  it("refuses all that nobody reads at once, with what was likely meant", () => {
    const wrong = {
      ...definition,
      offers: { kubernetes: "1.28 - 1.35" },
      keyInput: ["size"],
      keyInputs: ["sise", "colour"],
      machineSpec: {
        ...definition.machineSpec,
        offer: { kubernetes: "1.28 - 1.35" },
        offers: {
          kubernets: "1.28",
          containerRuntimes: [
            { name: "containerd", versions: "2", recommended: "2.0.0", recomended: "2.0.0" },
          ],
        },
        ignores: ["role"],
      },
      clusterSpec: {
        kind: "ToyClusterProviderSpec",
        schema: { properties: { range: { type: "string" } } },
        networks: ["rnage"],
        network: "range",
      },
      rules: {
        nite: { kind: "inPlace" },
        size: { kind: "inplace" },
        note: { kind: "replace" },
      },
      timing: { listingLagMs: 1, longestCall: 1 },
      machine: { ...calls, diswon: async () => {}, makr: async () => {}, ownHelper: () => {} },
    };
    assert.throws(() => defineProvider(wrong as unknown as ProviderDefinition), {
      code: "INVALID_INPUT",
      message: [
        "cannot define provider toy: machine.diswon is unknown, did you mean disown?",
        "machine.makr is unknown, did you mean mark?",
        "offers is unknown, known: name, apiVersion, olderVersions, machineSpec, clusterSpec, hostKind, keyInputs, kinds, infrastructure, satellites, rules, userData, apiEndpoint, hostSpec, alternatives, failureDomains, machine, timing, calls, identity, preflight, resolve, lookupInputs, identities, forCluster, leftovers, removeLeftover, close",
        "keyInput is unknown, did you mean keyInputs?",
        "machineSpec.offer is unknown, did you mean offers?",
        "machineSpec.offers.kubernets is unknown, did you mean kubernetes?",
        "machineSpec.offers.containerRuntimes[0].recomended is unknown, did you mean recommended?",
        "clusterSpec.network is unknown, did you mean networks?",
        "timing.longestCall is unknown, did you mean longestCallMs?",
        "machineSpec.ignores: there is no role, did you mean roles?",
        "clusterSpec.networks: there is no rnage, did you mean range?",
        "rules.size must be a function, or have a kind: inPlace, replace, unsupported",
        "rules.note must have a reason",
        "rules: there is no nite, did you mean note?",
        "keyInputs: there is no sise, did you mean size?",
        "keyInputs: colour is none of role, kubelet, controlPlane, containerRuntime, configSource, schedulable, nodeLabels, nodeAnnotations, taints, size, note",
      ].join("; "),
    });
  });

  it("refuses lookups that nobody can make, and fields that no question can hold", () => {
    const wrong = {
      ...definition,
      resolve: "ubuntu",
      lookupInputs: { machine: ["sise"], cluster: ["name"], host: ["size"] },
    };
    const problems = [
      "lookupInputs.host is unknown, known: machine, cluster, clusterOnly",
      "resolve must be a function",
      "lookupInputs.machine: there is no sise, did you mean size?",
      "lookupInputs.cluster: name is none of ",
    ];
    assert.throws(() => defineProvider(wrong as unknown as ProviderDefinition), {
      message: `cannot define provider toy: ${problems.join("; ")}`,
    });
    const unasked = { ...definition, lookupInputs: { machine: "size" } };
    assert.throws(() => defineProvider(unasked as unknown as ProviderDefinition), {
      message:
        "cannot define provider toy: lookupInputs names what resolve is asked, and there is no resolve; lookupInputs.machine must be a list of fields",
    });
  });

  it("gives what was looked up to hosts and to what they share, which may be somebody else's", () => {
    const provider = defineProvider({
      ...definition,
      kinds: { ToyNetwork: { calls } },
      resolve: async () => ({ image: "toy-1" }),
      infrastructure: (_spec, _network, { networkId }) => [
        { kind: "ToyNetwork", name: "network", external: String(networkId) },
      ],
      hostSpec: ({ lookedUp }) => ({ image: lookedUp["image"] ?? "none" }),
    });
    const one = { ...machine, lookedUp: { image: "toy-1" } };
    const { infrastructure, hosts } = provider.compile(prod, {}, [one], { networkId: "net-1" });
    assert.deepEqual(infrastructure, [
      {
        kind: "ToyNetwork",
        name: "network",
        type: "external",
        spec: { id: "net-1" },
        dependsOn: [],
      },
    ]);
    assert.deepEqual(hosts.get("web"), { image: "toy-1" });
  });

  it("takes rules and key inputs as they are where it cannot know the inputs of a host", () => {
    const said = { rules: { disk: { kind: "inPlace" } }, keyInputs: ["disk"] } as const;
    const open = { ...definition.machineSpec.schema, additionalProperties: true };
    const older = { properties: { disk: { type: "string" } } };
    const convert = (fields: JsonObject) => fields;
    defineProvider({ ...definition, ...said, hostSpec: () => ({ disk: "d" }) });
    defineProvider({
      ...definition,
      ...said,
      machineSpec: { ...definition.machineSpec, schema: open },
    });
    defineProvider({
      ...definition,
      ...said,
      olderVersions: [
        { apiVersion: "toy.example.dev/v1beta1", machineSpec: { schema: older, convert } },
      ],
    });
    assert.throws(() => defineProvider({ ...definition, ...said }), /rules: disk is none of/);
  });

  it("leaves members of its own to an instance of a class", () => {
    class Toy implements ProviderDefinition {
      readonly name = definition.name;
      readonly apiVersion = definition.apiVersion;
      readonly machineSpec = definition.machineSpec;
      readonly machine = calls;
      readonly folder = "toys";
    }
    assert.equal(defineProvider(new Toy()).name, "toy");
  });

  it("makes no other host of a field that has no effect on it", () => {
    const machineSpec = { ...definition.machineSpec, ignores: ["taints"] as const };
    assert.ok("taints" in hostOf(defineProvider(definition)));
    assert.ok(!("taints" in hostOf(defineProvider({ ...definition, machineSpec }))));
  });

  it("refuses offers that nobody can read", () => {
    const offers = {
      kubernetes: "new ones",
      containerRuntimes: [{ name: "containerd", versions: "2", recommended: "1.7.0" }],
    };
    const machineSpec = { ...definition.machineSpec, offers };
    assert.throws(() => defineProvider({ ...definition, machineSpec }), {
      message:
        "cannot define provider toy: machineSpec.offers.kubernetes must be a range of versions, e.g. 1.24 - 1.35; machineSpec.offers.containerRuntimes: containerd must have versions, a range, and recommended, one of them",
    });
  });

  it("compiles a host from the machine: fields in the schema's order, then its node", () => {
    const host = hostOf(defineProvider(definition));
    assert.deepEqual(Object.entries(host), [
      ["role", "worker"],
      ["size", "small"],
      ["note", "first"],
      ["kubelet", "1.34.2"],
      ["nodeLabels", { tier: "front" }],
      ["taints", [{ key: "dedicated", effect: "NoSchedule" }]],
    ]);
  });

  it("compiles a host as the definition says, from the machine and its cluster's spec and networks", () => {
    const provider = defineProvider({
      ...definition,
      hostSpec: ({ name }, { region }, { serviceDomain }) => ({
        name,
        region: region ?? null,
        serviceDomain,
      }),
    });
    const want = { name: "web", region: "north", serviceDomain: "cluster.local" };
    assert.deepEqual(hostOf(provider), want);
  });

  it("replaces for every change that no rule covers", () => {
    const { verdict, generationInputs } = defineProvider(definition);
    assert.equal(verdict("ToyHost", { size: "small" }, { size: "large" }).kind, "replace");
    assert.deepEqual(generationInputs("ToyHost", { size: "small" }), { size: "small" });
  });

  it("changes in place what a rule says, where there is an update", () => {
    const rules = { note: { kind: "inPlace" } } as const;
    const able = defineProvider({
      ...definition,
      rules,
      machine: { ...calls, update: async (_ctx, current) => current },
    });
    assert.equal(able.verdict("ToyHost", { note: "a" }, { note: "b" }).kind, "inPlace");
    assert.deepEqual(able.generationInputs("ToyHost", { note: "a", size: "s" }), { size: "s" });
    const unable = defineProvider({ ...definition, rules });
    assert.equal(unable.verdict("ToyHost", { note: "a" }, { note: "b" }).kind, "replace");
    assert.deepEqual(unable.generationInputs("ToyHost", { note: "a" }), { note: "a" });
  });

  it("takes from the listing what is in the scope", async () => {
    const observed = (cluster: string, clusterUid: string): Observed => ({
      id: `${cluster} ${clusterUid}`,
      who: { cluster, clusterUid, kind: "ToyHost", name: "web", token: "t" },
      phase: "ready",
      spec: {},
      status: {},
    });
    const all = [observed("a", "1"), observed("a", "2"), observed("b", "1")];
    const { inventory } = defineProvider({
      ...definition,
      machine: { ...calls, list: async () => all },
    });
    const idsIn = async (scope: Parameters<typeof inventory>[1]) =>
      (await inventory({} as never, scope)).map(({ id }) => id);
    assert.deepEqual(await idsIn({ cluster: "a", clusterUid: "1" }), ["a 1"]);
    assert.deepEqual(await idsIn({ cluster: "a" }), ["a 1", "a 2"]);
  });

  it("lists what every cluster owns by a listing without a scope", async () => {
    const scopes: unknown[] = [];
    const list: MachineCalls["list"] = async (_ctx, ...scope) => {
      scopes.push(scope);
      return [];
    };
    const { owned } = defineProvider({ ...definition, machine: { ...calls, list } });
    assert.deepEqual(await owned?.({} as never), []);
    assert.deepEqual(scopes, [[]]);
  });

  it("gives older versions what they leave to newer ones", () => {
    const convert = (fields: JsonObject) => fields;
    const sizes = { schema: { properties: { size: { type: "integer" } } }, convert };
    const older = defineProvider({
      ...definition,
      clusterSpec: { kind: "Toys", schema: { properties: { range: {} } }, networks: ["range"] },
      olderVersions: [
        { apiVersion: "toy.example.dev/v1beta1", machineSpec: sizes },
        { apiVersion: "toy.example.dev/v1alpha1", deprecated: true },
      ],
    }).olderVersions;
    assert.deepEqual(
      older?.map(({ apiVersion, deprecated, clusterSpec, machineSpec }) => {
        const { kind } = machineSpec;
        assert.deepEqual(validate(machineSpec.schema, { apiVersion, kind, size: 3 }), []);
        assert.equal(clusterSpec.kind, "Toys");
        assert.deepEqual(clusterSpec.networks, ["range"]);
        return [apiVersion, deprecated === true, machineSpec.convert !== undefined];
      }),
      [
        ["toy.example.dev/v1beta1", false, true],
        ["toy.example.dev/v1alpha1", true, false],
      ],
    );
  });

  const wrong: readonly { name: string; given: object; want: RegExp }[] = [
    { name: "no name", given: { name: undefined }, want: /provider without a name: name must be/ },
    {
      name: "a name with capitals",
      given: { name: "Toy" },
      want: /name must be a lower-case word/,
    },
    { name: "a bare apiVersion", given: { apiVersion: "v1" }, want: /must be <group>\/<version>/ },
    {
      name: "no machineSpec",
      given: { machineSpec: undefined },
      want: /machineSpec must have a kind/,
    },
    {
      name: "no calls",
      given: { machine: undefined },
      want: /locate must be .+list must be a function$/,
    },
    {
      name: "a missing call",
      given: { machine: { ...calls, remove: undefined } },
      want: /machine\.remove must be a function/,
    },
    {
      name: "a field that says what the node is to be",
      given: {
        machineSpec: { kind: "ToyMachineProviderSpec", schema: { properties: { role: {} } } },
      },
      want: /machineSpec must call field role otherwise/,
    },
    {
      name: "an older version of another API",
      given: { olderVersions: [{ apiVersion: "tot.example.dev/v1beta1" }] },
      want: /olderVersions\[0\]\.apiVersion must be another version of toy\.example\.dev\/v1/,
    },
    {
      name: "an older version that is the storage version",
      given: { olderVersions: [{ apiVersion: "toy.example.dev/v1" }] },
      want: /olderVersions\[0\]\.apiVersion must be another version/,
    },
    {
      name: "a former name that is another version",
      given: {
        olderVersions: [
          { apiVersion: "toy.example.dev/v1beta1", formerly: ["toy.example.dev/v1alpha1"] },
        ],
      },
      want: /olderVersions\[0\]\.formerly must be a list of apiVersions of other API groups/,
    },
    {
      name: "a former name without a version",
      given: { olderVersions: [{ apiVersion: "toy.example.dev/v1beta1", formerly: ["toy"] }] },
      want: /olderVersions\[0\]\.formerly must be/,
    },
    {
      name: "an older version without schema and conversion",
      given: { olderVersions: [{ apiVersion: "toy.example.dev/v1beta1", machineSpec: {} }] },
      want: /olderVersions\[0\]\.machineSpec must have a schema/,
    },
  ];
  for (const { name, given, want } of wrong) {
    it(`refuses ${name}`, () => {
      assert.throws(() => defineProvider({ ...definition, ...given }), {
        code: "INVALID_INPUT",
        message: want,
      });
    });
  }
});
