import assert from "node:assert/strict";
import type { Desired } from "../../src/api/types.js";
import { readDesired } from "../../src/manifest/desired.js";
import {
  defineProvider,
  type FailureDomains,
  hostSpecOf,
  type MachineCalls,
  type ProviderDefinition,
} from "../../src/provider/index.js";
import { FakeEngine } from "../support/fake-engine.js";
import { cluster, machineSet, type Manifest, textOf } from "../support/manifests.js";

const apiVersion = "acme.example.dev/v1";
const unused = () => Promise.reject(new Error("nobody asks"));
const calls: MachineCalls = { locate: unused, create: unused, remove: unused, list: unused };

const zone = { enum: ["north", "south", "west"] };
const failureDomains: FailureDomains = {
  field: "zone",
  of: ({ zones }) => (Array.isArray(zones) ? zones.map(String) : ["north", "south"]),
};

/** Hosts know the subnet of their zone, and not the zone. */
const definition: ProviderDefinition = {
  name: "acme",
  apiVersion,
  machineSpec: { kind: "AcmeMachineProviderSpec", schema: { properties: { zone } } },
  clusterSpec: {
    kind: "AcmeClusterProviderSpec",
    schema: { properties: { zones: { type: "array", items: { type: "string" } } } },
  },
  failureDomains: {
    ...failureDomains,
    domainOf: ({ subnet }) => String(subnet).replace("subnet-", ""),
  },
  hostSpec: (machine) => ({
    ...hostSpecOf({ ...machine, providerSpec: {} }, {}),
    subnet: `subnet-${String(machine.providerSpec["zone"])}`,
  }),
  machine: calls,
};

/** Of the same objects as those of `local`. */
function ofAcme(object: Manifest, kind: string, fields: object = {}): Manifest {
  const value = { apiVersion, kind: `Acme${kind}ProviderSpec`, ...fields };
  const spec = object["spec"] as Manifest;
  if (kind === "Cluster") return { ...object, spec: { ...spec, providerSpec: { value } } };
  const template = spec["template"] as Manifest;
  const machine = { ...(template["spec"] as Manifest), providerSpec: { value } };
  return { ...object, spec: { ...spec, template: { ...template, spec: machine } } };
}

function desired(replicas: number, zones?: readonly string[]): Desired {
  const objects = [
    ofAcme(cluster(), "Cluster", zones && { zones }),
    ofAcme(machineSet("set", replicas), "Machine"),
  ];
  const source = { file: "acme.yaml", text: textOf(objects) };
  const { clusters, diagnostics } = readDesired([source], [defineProvider(definition)]);
  assert.deepEqual(diagnostics, []);
  const [only] = clusters;
  assert.ok(only !== undefined);
  return only;
}

describe("a defined provider that offers failure domains", () => {
  const subnetsOf = (engine: FakeEngine) => engine.hosts().map(({ spec }) => spec["subnet"]);
  const engineOf = () => new FakeEngine({ provider: defineProvider(definition), adopt: true });

  it("is given the field, whatever it makes of it", async () => {
    const engine = engineOf();
    await engine.settle(desired(3));
    assert.deepEqual(subnetsOf(engine), ["subnet-north", "subnet-south", "subnet-north"]);
    assert.equal((await engine.plan(desired(3))).empty, true);
  });

  it("says where a host is that no record tells of", async () => {
    const engine = engineOf();
    await engine.settle(desired(1, ["west"]));
    await engine.settle(desired(3, ["west", "south"]));
    const before = engine.hosts();
    engine.loseState();
    await engine.settle(desired(3, ["south", "west"]));
    assert.deepEqual(engine.hosts(), before);
    assert.deepEqual((await engine.plan(desired(3, ["south", "west"]))).steps, []);
  });
});

describe("failure domains that make no sense", () => {
  const wrong: { name: string; given: object; want: RegExp }[] = [
    {
      name: "a field that has a default",
      given: {
        machineSpec: {
          kind: "AcmeMachineProviderSpec",
          schema: { properties: { zone: { ...zone, default: "north" } } },
        },
      },
      want: /machineSpec must let Machines leave out zone, without a default/,
    },
    {
      name: "a field that has to be written",
      given: {
        machineSpec: {
          kind: "AcmeMachineProviderSpec",
          schema: { properties: { zone }, required: ["zone"] },
        },
      },
      want: /machineSpec must let Machines leave out zone/,
    },
    {
      name: "a field that there is not",
      given: { failureDomains: { ...failureDomains, field: "zoen" } },
      want: /failureDomains\.field must be a field of machineSpec/,
    },
    {
      name: "members that nobody reads, or of another kind",
      given: { failureDomains: { field: "zone", off: () => [], otherwise: 1, domainOf: "zone" } },
      want: /failureDomains\.off is unknown.*failureDomains\.of must be a function; failureDomains\.domainOf must be a function; failureDomains\.otherwise must be a domain/,
    },
  ];
  for (const { name, given, want } of wrong) {
    it(`are refused: ${name}`, () => {
      assert.throws(() => defineProvider({ ...definition, ...given }), {
        code: "INVALID_INPUT",
        message: want,
      });
    });
  }
});
