import assert from "node:assert/strict";
import { Type } from "typebox";
import { isCapstanError } from "../../src/api/error.js";
import {
  explain,
  type ExplainableKind,
  explainableKinds,
  type ExplainedField,
  type Explanation,
  explainWords,
} from "../../src/api/explain.js";
import { jsonSchemaOf } from "../../src/api/json-schema.js";
import { kinds } from "../../src/api/kind-names.js";
import { kindStatus } from "../../src/api/kind-status.js";
import { schemas } from "../../src/api/schema.js";
import { stringEnum, stringMap } from "../../src/api/schema-parts.js";
import { explanationText } from "../../src/cli/explain-text.js";
import { assertGolden } from "../support/golden.js";
import { localProvider } from "../support/manifests.js";
import { alpha, beta, evolvingProvider, machineKind } from "../support/two-releases.js";

const known = explainableKinds([localProvider()]);

const boat = Type.Object({
  hull: Type.Object(
    {
      material: stringEnum(["wood", "steel"], { default: "wood", description: "What it is of." }),
      length: Type.Integer({
        minimum: 1,
        maximum: 400,
        description: "From stem to stern, metres.",
      }),
      crew: Type.Optional(
        Type.Array(
          Type.Object({ name: Type.String({ description: "As written in the ship's papers." }) }),
          { description: "Who is on board when it leaves, which has to be known beforehand." },
        ),
      ),
      papers: Type.Optional(stringMap("Anything that somebody may want to see, by its title.")),
    },
    { description: "What floats. Everything else is fixed to it, one way or another." },
  ),
});

describe("explain", () => {
  const names: { given: string; want: string }[] = [
    { given: "machine", want: "Machine" },
    { given: "MACHINES", want: "Machine" },
    { given: "ma", want: "Machine" },
    { given: "cl", want: "Cluster" },
    { given: "ms", want: "MachineSet" },
    { given: "md", want: "MachineDeployment" },
    { given: "machinedeployments", want: "MachineDeployment" },
    { given: "mc", want: "MachineClass" },
    { given: "machineclasses", want: "MachineClass" },
    { given: "localmachineproviderspec", want: "LocalMachineProviderSpec" },
    { given: "Machine.", want: "Machine" },
  ];
  for (const { given, want } of names) {
    it(`${given} means ${want}`, () => assert.equal(explain(given, known).kind, want));
  }

  it("tells what a user needs of machine.spec.versions", () => {
    const { type, description, fields } = explain("machine.spec.versions", known);
    assert.equal(type, "Object");
    assert.match(description, /left out is chosen when the Machine is first planned/);
    const kubelet = fields.find(({ name }) => name === "kubelet");
    assert.equal(kubelet?.required, false);
    assert.equal(kubelet?.type, "string");
    assert.match(kubelet?.description ?? "", /e\.g\. 1\.\d+\.\d+/);
    assert.equal(fields.find(({ name }) => name === "controlPlane")?.required, false);
  });

  it("promises nothing that nobody does", () => {
    const said = kinds.map((kind) => JSON.stringify([schemas[kind], kindStatus[kind].status]));
    assert.doesNotMatch(said.join(), /drained|put back/);
  });

  it("passes through lists and maps", () => {
    assert.deepEqual(explain("ma.spec.taints.effect", known).allowed, [
      "NoSchedule",
      "PreferNoSchedule",
      "NoExecute",
    ]);
    assert.deepEqual(explain("ma.spec.taints[0].effect", known).path, ["spec", "taints", "effect"]);
    assert.equal(explain("ma.metadata.labels.anything", known).type, "string");
    assert.equal(explain("ma.metadata.labels", known).type, "map[string]string");
    assert.equal(explain("ma.spec.taints", known).type, "[]Object");
  });

  it("tells defaults, allowed values and bounds, and calls nothing with a default required", () => {
    const { fields } = explain("md.spec", known);
    const replicas = fields.find(({ name }) => name === "replicas");
    assert.deepEqual(
      [replicas?.type, replicas?.default, replicas?.required, replicas?.bounds],
      ["integer", 1, false, "0 to 10000"],
    );
    assert.deepEqual(explain("LocalMachineProviderSpec.size", known).allowed, [
      "small",
      "medium",
      "large",
    ]);
    assert.equal(
      explain("md.spec.strategy.rollingUpdate.maxSurge", known).type,
      "integer or string",
    );
  });

  it("leads from providerSpec.value to the providers' objects", () => {
    assert.deepEqual(explain("cluster.spec.providerSpec.value", known).seeAlso, [
      "LocalClusterProviderSpec",
    ]);
    assert.deepEqual(explain("ms.spec.template.spec.providerSpec.value", known).seeAlso, [
      "LocalMachineProviderSpec",
    ]);
    assert.deepEqual(explain("mc.providerSpec", known).seeAlso, [
      "LocalClusterProviderSpec",
      "LocalMachineProviderSpec",
    ]);
  });

  const mistakes: { given: string; message: RegExp; hint: RegExp }[] = [
    { given: "machin", message: /explain "machin": there is no such kind/, hint: /"Machine"/ },
    { given: "pod", message: /"pod"/, hint: /^kinds: Cluster, Machine, / },
    { given: "", message: /""/, hint: /^kinds: / },
    {
      given: "machine.spec.version",
      message: /cannot explain Machine\.spec\.version: there is no such field/,
      hint: /did you mean "Machine\.spec\.versions"\?/,
    },
    { given: "ma.spec.wheels", message: /wheels/, hint: /^fields of Machine\.spec: .*versions/ },
    {
      given: "ma.spec.versions.kubelet.x",
      message: /kubelet\.x/,
      hint: /has no fields of its own/,
    },
    { given: "ma.spec.__proto__", message: /no such field/, hint: /fields of/ },
    { given: "ma.constructor", message: /no such field/, hint: /fields of/ },
  ];
  for (const { given, message, hint } of mistakes) {
    it(`refuses ${JSON.stringify(given)} with what was meant`, () => {
      assert.throws(
        () => explain(given, known),
        (error) => {
          assert.ok(isCapstanError(error) && error.code === "BAD_USAGE");
          assert.match(error.message, message);
          assert.match(error.hint ?? "", hint);
          return true;
        },
      );
    });
  }

  it("has words for every field of every kind", () => {
    const missing: string[] = [];
    const look = (where: string, fields: readonly ExplainedField[]) => {
      for (const { name, description, allowed, fields: inner } of fields) {
        // A constant explains itself.
        if (description === "" && allowed?.length !== 1) missing.push(`${where}.${name}`);
        look(`${where}.${name}`, inner);
      }
    };
    for (const { kind } of known) look(kind, explain(kind, known).fields);
    assert.deepEqual(missing, []);
  });

  it("can explain every word that it completes", () => {
    const seen: string[] = [];
    const follow = (begun: string) => {
      for (const word of explainWords(begun, known)) {
        explain(word, known);
        seen.push(word);
        if (word.endsWith(".") && word.split(".").length < 8) follow(word);
      }
    };
    for (const kind of explainWords("", known)) follow(`${kind}.`);
    assert.ok(seen.includes("machine.spec.versions."), String(seen.length));
    assert.ok(seen.includes("machine.spec.versions.kubelet"));
    assert.deepEqual(explainWords("nothing.at.all", known), []);
  });

  it("reads as kubectl explain does", () => {
    const sample: ExplainableKind = {
      group: "sample.dev",
      version: "v1",
      kind: "Boat",
      shortNames: [],
      heldBy: [],
      olderVersions: [],
      schema: jsonSchemaOf(boat),
    };
    for (const recursive of [false, true]) {
      const text = explanationText(explain("boat.hull", [sample]), { recursive, width: 60 });
      assertGolden(recursive ? "explain-recursive" : "explain-field", text);
    }
  });

  describe("a kind of several versions", () => {
    const evolving = explainableKinds([evolvingProvider("second")]);
    const names = (explanation: Explanation) => explanation.fields.map(({ name }) => name);

    it("is the newest one, and tells of the others", () => {
      const explanation = explain(machineKind, evolving);
      assert.ok(names(explanation).includes("memoryGib"));
      assert.equal(explanation.version, "v1beta1");
      const text = explanationText(explanation, { recursive: false, width: 80 });
      assert.ok(
        text.endsWith(
          `SEE ALSO:\n    capstan explain ${machineKind} --api-version ${alpha}  (deprecated)\n`,
        ),
        text,
      );
    });

    it("is the version that is named", () => {
      const explanation = explain(machineKind, evolving, alpha);
      assert.ok(names(explanation).includes("memory"));
      assert.equal(explanation.version, "v1alpha1");
      assert.deepEqual(explanation.otherVersions, [{ apiVersion: beta, deprecated: false }]);
      assert.equal(explain(`${machineKind}.memory`, evolving, alpha).default, 4096);
    });

    it("has no other versions", () => {
      assert.throws(() => explain(machineKind, evolving, "evolving.example.dev/v9"), {
        code: "BAD_USAGE",
        hint: `versions of ${machineKind}: ${beta}, ${alpha}`,
      });
    });
  });

  it("breaks lines at the width", () => {
    for (const width of [40, 60, 100]) {
      const text = explanationText(explain("md.spec", known), { recursive: false, width });
      const prose = text.split("\n").filter((line) => line.startsWith("    "));
      assert.ok(prose.every((line) => line.length <= width));
    }
  });
});
