import assert from "node:assert/strict";
import { toStorageVersion } from "../../src/api/served-versions.js";
import { defineProvider, type ProviderDefinition } from "../../src/provider/index.js";
import { alpha, beta, evolvingProvider, machineKind } from "../support/two-releases.js";

const providers = [evolvingProvider("second")];

/** Three versions: alpha's words became numbers, and numbers got a unit. */
function inThreeVersions(
  convert: NonNullable<ProviderDefinition["olderVersions"]>[number]["machineSpec"],
) {
  const nothing = async () => ({ found: "none" }) as const;
  const refused = () => Promise.reject(new Error("only its pure parts are used"));
  const machine = { locate: nothing, create: refused, remove: refused, list: async () => [] };
  return defineProvider({
    name: "three",
    apiVersion: "three.example.dev/v1",
    machineSpec: {
      kind: "ThreeMachineProviderSpec",
      schema: { properties: { disk: { type: "string" }, zone: { type: "string", default: "a" } } },
    },
    olderVersions: [
      {
        apiVersion: "three.example.dev/v1beta1",
        machineSpec: {
          schema: { properties: { disk: { type: "integer", default: 20 } } },
          convert: ({ disk }) => ({ disk: `${String(disk)}Gi` }),
        },
      },
      { apiVersion: "three.example.dev/v1alpha2" },
      ...(convert === undefined
        ? []
        : [{ apiVersion: "three.example.dev/v1alpha1", machineSpec: convert }]),
    ],
    machine,
  });
}

const words = {
  schema: { properties: { size: { type: "string", enum: ["small", "large"], default: "small" } } },
  convert: ({ size = "" }) => (size === "large" ? { disk: 80 } : {}),
};

function stored(version: string, fields: Record<string, string | number>, convert = words) {
  const object = {
    apiVersion: `three.example.dev/${version}`,
    kind: "ThreeMachineProviderSpec",
    ...fields,
  };
  const found = toStorageVersion([inThreeVersions(convert)], object);
  if (found.kind !== "stored") return found;
  const { apiVersion, kind, ...rest } = found.object;
  assert.deepEqual([apiVersion, kind], ["three.example.dev/v1", "ThreeMachineProviderSpec"]);
  return rest;
}

describe("toStorageVersion", () => {
  it("leaves alone what is in the storage version", () => {
    const object = { apiVersion: beta, kind: machineKind, memoryGib: 8 };
    const found = toStorageVersion(providers, object);
    assert.equal(found.kind === "stored" && found.object, object);
  });

  it("converts what is older and does not change it", () => {
    const object = Object.freeze({ apiVersion: alpha, kind: machineKind, memory: 8192 });
    assert.deepEqual(toStorageVersion(providers, object), {
      kind: "stored",
      object: { apiVersion: beta, kind: machineKind, memoryGib: 8, zone: "north" },
    });
  });

  it("goes from version to version, with the defaults of each", () => {
    assert.deepEqual(stored("v1beta1", { disk: 30 }), { disk: "30Gi", zone: "a" });
    assert.deepEqual(stored("v1alpha2", { disk: 30 }), { disk: "30Gi", zone: "a" });
    assert.deepEqual(stored("v1alpha2", {}), { disk: "20Gi", zone: "a" });
    assert.deepEqual(stored("v1alpha1", { size: "large" }), { disk: "80Gi", zone: "a" });
    assert.deepEqual(stored("v1alpha1", {}), { disk: "20Gi", zone: "a" });
  });

  it("tells what is not served, and where a conversion fails", () => {
    assert.deepEqual(stored("v2", {}), { kind: "unserved" });
    const thrown = () => {
      throw new Error("no such size");
    };
    const apiVersion = "three.example.dev/v1alpha2";
    assert.deepEqual(stored("v1alpha1", {}, { ...words, convert: thrown }), {
      kind: "failed",
      apiVersion,
      reason: "no such size",
    });
    const wrong = stored("v1alpha1", {}, { ...words, convert: () => ({ disk: 1.5 }) });
    assert.deepEqual(wrong, {
      kind: "failed",
      apiVersion,
      reason: "disk: 1.5 must be of type integer",
    });
  });
});
