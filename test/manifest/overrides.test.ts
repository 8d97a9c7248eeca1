import assert from "node:assert/strict";
import fc from "fast-check";
import { localProvider } from "../support/manifests.js";
import { demoText as text } from "./demo-text.js";
import { providerValue } from "../../src/api/types.js";
import { type Manifests, readDesired } from "../../src/manifest/desired.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { noOverrides, type Overrides } from "../../src/manifest/overrides.js";
import { parseSetting } from "../../src/manifest/override-forms.js";
import { typedScalar } from "../../src/manifest/variables.js";
import { expectDefined } from "../../src/api/error.js";
import { assertLaw } from "../support/laws.js";

const read = (manifest: string, overrides: Overrides = noOverrides): Manifests =>
  readDesired([{ file: "a.yaml", text: manifest }], [localProvider()], overrides);

const told = (manifests: Manifests) => manifests.diagnostics.map(diagnosticText);

const vars = (values: Readonly<Record<string, string | undefined>>): Overrides => ({
  variables: new Map(Object.entries(values)),
  settings: [],
});

const set = (...texts: readonly string[]): Overrides => ({
  settings: texts.map((one) => expectDefined(parseSetting(one), "setting")),
});

const workers = ({ clusters }: Manifests) =>
  expectDefined(clusters[0]?.machineDeployments[0], "deployment");

const sizeOf = (manifests: Manifests) =>
  providerValue(workers(manifests).spec.template.spec)["size"];

describe("variables in manifests", () => {
  it("are what they say without an option", () => {
    const manifests = read(text({ more: `  annotations: { note: 'costs $\${X} \${Y}' }\n` }));
    assert.deepEqual(told(manifests), []);
    assert.equal(workers(manifests).metadata.annotations?.["note"], `costs $\${X} \${Y}`);
  });

  const forgotten: readonly { name: string; given: Parameters<typeof text>[0]; says: string }[] = [
    {
      name: "a number",
      given: { replicas: `\${REPLICAS}` },
      says: `a.yaml:20:3: error: MachineDeployment default/workers: spec.replicas: "\${REPLICAS}" must be of type integer\n  hint: \${REPLICAS} is a variable without a value: give one with --var REPLICAS=VALUE, or --var-from-env REPLICAS; or, in a Pulumi program, in the values of cluster()`,
    },
    {
      name: "one of few words",
      given: { size: `"\${SIZE}-\${KIND}"` },
      says: `a.yaml:31:11: error: MachineDeployment default/workers: spec.template.spec.providerSpec.value.size: "\${SIZE}-\${KIND}" is not one of small, medium, large\n  hint: \${SIZE}, \${KIND} are variables without a value: give one with --var SIZE=VALUE --var KIND=VALUE, or --var-from-env SIZE,KIND; or, in a Pulumi program, in the values of cluster()`,
    },
    {
      name: "a version",
      given: { kubelet: `"\${VERSION}"` },
      says: `a.yaml:26:19: error: MachineDeployment default/workers: spec.template.spec.versions.kubelet: "\${VERSION}" has the wrong form\n  hint: \${VERSION} is a variable without a value: give one with --var VERSION=VALUE, or --var-from-env VERSION; or, in a Pulumi program, in the values of cluster()`,
    },
  ];
  for (const { name, given, says } of forgotten) {
    it(`are told of where no option gives a value and the text is wrong: ${name}`, () => {
      assert.deepEqual(told(read(text(given))), [says]);
    });
  }

  it("are numbers where a plain scalar is one variable, and text in a longer one", () => {
    const manifests = read(
      text({
        replicas: `\${REPLICAS}`,
        size: `"\${SIZE}"`,
        more: `  annotations: { note: 'in \${SIZE}-\${REPLICAS}, $\${SIZE}' }\n`,
      }),
      vars({ REPLICAS: "3", SIZE: "large" }),
    );
    assert.deepEqual(told(manifests), []);
    const { spec, metadata } = workers(manifests);
    assert.equal(spec.replicas, 3);
    assert.equal(sizeOf(manifests), "large");
    assert.equal(metadata.annotations?.["note"], `in large-3, \${SIZE}`);
  });

  it("keep their text in quotes, also that of a number", () => {
    const more = `  annotations:\n    quoted: "\${N}"\n    plain: \${N}\n`;
    assert.deepEqual(told(read(text({ more }), vars({ N: "5" }))), [
      `a.yaml:21:5: error: MachineDeployment default/workers: metadata.annotations.plain: 5 must be of type string\n  hint: write it in quotes: "\${N}"`,
    ]);
  });

  const wrong: readonly { name: string; given: Parameters<typeof text>[0]; says: string }[] = [
    {
      name: "one that is not allowed, with those that are",
      given: { replicas: `\${REPLICA}` },
      says: "a.yaml:20:13: error: spec.replicas: variable REPLICA is not allowed\n  hint: known: REPLICAS, UNSET; allow it with --var REPLICA=VALUE or --var-from-env REPLICA, or write $${ for a text that is no variable",
    },
    {
      name: "one that is allowed and not set",
      given: { replicas: `\${UNSET}` },
      says: "a.yaml:20:13: error: spec.replicas: variable UNSET is not set\n  hint: --var-from-env allows it, and the environment lacks it: export it, or give --var UNSET=VALUE",
    },
    {
      name: "what is not written as one",
      given: { size: `"\${SIZE:-small}"` },
      says: `a.yaml:31:17: error: spec.template.spec.providerSpec.value.size: a variable is written as \${NAME}, and nothing else\n  hint: write $\${ for a text that is no variable`,
    },
    {
      name: "one in a key",
      given: { more: `  annotations: { '\${REPLICAS}': x }\n` },
      says: `a.yaml:19:18: error: metadata.annotations.\${REPLICAS}: a key takes no variable\n  hint: write the key as it is meant: only values take variables`,
    },
  ];
  for (const { name, given, says } of wrong) {
    it(`are refused with file and line: ${name}`, () => {
      const manifests = read(text(given), vars({ REPLICAS: "3", UNSET: undefined }));
      assert.deepEqual(told(manifests), [says]);
    });
  }

  it("are refused in an object that is written as a text, where they could add members", () => {
    const machine = `apiVersion: cluster.k8s.io/v1alpha1
kind: Machine
metadata: { name: a, labels: { cluster.k8s.io/cluster-name: demo } }
spec:
  versions: { kubelet: 1.34.2 }
  providerConfig: |
    apiVersion: local.capstan.dev/v1alpha1
    kind: LocalMachineProviderSpec
    size: \${SIZE}
`;
    const [first] = told(read(machine, vars({ SIZE: "small\nzone: b" })));
    assert.match(first ?? "", /^a\.yaml:6:19: error: spec\.providerConfig: an object that is/);
  });

  it("add no member and no item, whatever they hold", () => {
    const hostile = fc.oneof(
      fc.string(),
      fc.constantFrom(
        "{a: 1}",
        "[1]",
        "x\nspec: {}",
        "*anchor",
        "&a 1",
        "null",
        "~",
        "!!int 3",
        "- 1",
        "",
      ),
    );
    assertLaw(
      fc.property(hostile, (value) => {
        const manifests = read(
          text({ more: `  annotations:\n    quoted: "\${V}"\n    inside: a\${V}\n` }),
          vars({ V: value }),
        );
        assert.deepEqual(told(manifests), []);
        const { annotations } = workers(manifests).metadata;
        assert.deepEqual(annotations, { quoted: value, inside: `a${value}` });
      }),
    );
    assertLaw(
      fc.property(hostile, (value) => {
        assert.ok(["string", "number", "boolean"].includes(typeof typedScalar(value)));
      }),
    );
  });
});

describe("settings of a command", () => {
  it("take the place of what the manifests say, before defaults and rules", () => {
    const manifests = read(
      text({}),
      set(
        "MachineDeployment/workers:spec.replicas=5",
        'md/default/workers:metadata.annotations.team\\.dev/name="7"',
        "Cluster/demo:spec.clusterNetwork.pods.cidrBlocks[0]=10.244.0.0/16",
        "spec.template.spec.providerSpec.value.size=large",
        "MachineDeployment/workers:spec.replicas=6",
      ),
    );
    assert.deepEqual(told(manifests), []);
    const { spec, metadata } = workers(manifests);
    assert.equal(spec.replicas, 6);
    assert.deepEqual(metadata.annotations, { "team.dev/name": "7" });
    assert.equal(sizeOf(manifests), "large");
    const { cluster } = expectDefined(manifests.clusters[0], "cluster");
    assert.deepEqual(cluster.spec.clusterNetwork.pods.cidrBlocks, ["10.244.0.0/16"]);
    const place = manifests.positionOf(workers(manifests), ["spec", "replicas"]);
    assert.deepEqual(place, { file: "--set MachineDeployment/workers:spec.replicas=6" });
    const written = manifests.positionOf(workers(manifests), ["spec", "selector"]);
    assert.equal(written?.file, "a.yaml");
  });

  const wrong: readonly { set: string; says: string }[] = [
    {
      set: "MachineDeployment/workers:spec.replicas=many",
      says: 'error: MachineDeployment default/workers: spec.replicas: "many" must be of type integer',
    },
    {
      set: "MachineDeployment/workers:spec.replica=5",
      says: 'error: MachineDeployment default/workers: spec.replica: unknown field "replica"\n  hint: did you mean "replicas"?',
    },
    {
      set: "MachineDeployment/workers:spec.more.deep=5",
      says: 'error: MachineDeployment default/workers: spec.more: unknown field "more"\n  hint: known fields: replicas, selector, template, strategy, minReadySeconds, revisionHistoryLimit, paused, progressDeadlineSeconds',
    },
    {
      set: "MachineDeployment/worker:spec.replicas=5",
      says: "error: there is no MachineDeployment/worker in these manifests\n  hint: objects here: Cluster/demo, MachineDeployment/workers",
    },
    {
      set: "spec.replica=5",
      says: "error: no object of these manifests has spec.replica\n  hint: name one before it, as KIND/NAME:; objects here: Cluster/demo, MachineDeployment/workers",
    },
    {
      set: "metadata.name=x",
      says: "error: 2 objects have metadata.name\n  hint: name one before it, as KIND/NAME:; it is in Cluster/demo, MachineDeployment/workers",
    },
    {
      set: "MachineDeployment/workers:spec.replicas.x=5",
      says: "error: spec.replicas is no object\n  hint: capstan explain shows the fields of a kind",
    },
    {
      set: "Cluster/demo:spec.clusterNetwork.pods.cidrBlocks=10.244.0.0/16",
      says: 'error: Cluster default/demo: spec.clusterNetwork.pods.cidrBlocks: "10.244.0.0/16" must be of type array\n  hint: set its items, one --set for each: spec.clusterNetwork.pods.cidrBlocks[0]=VALUE',
    },
    {
      set: "MachineDeployment/workers:spec.template.spec.taints.key=gpu",
      says: 'error: MachineDeployment default/workers: spec.template.spec.taints: {"key":"gpu"} must be of type array\n  hint: set its items, one --set for each: spec.template.spec.taints[0].key=VALUE',
    },
    {
      set: "MachineDeployment/workers:spec.selector=pool",
      says: 'error: MachineDeployment default/workers: spec.selector: "pool" must be of type object\n  hint: set its fields, one --set for each: spec.selector.FIELD=VALUE',
    },
    {
      set: "Cluster/demo:spec.clusterNetwork.pods.cidrBlocks.x=10.244.0.0/16",
      says: "error: spec.clusterNetwork.pods.cidrBlocks is no object\n  hint: it is a list: name one of its items, as spec.clusterNetwork.pods.cidrBlocks[0].x",
    },
    {
      set: "Cluster/demo:spec.clusterNetwork.pods.cidrBlocks[2]=x",
      says: "error: spec.clusterNetwork.pods.cidrBlocks has 1 item, so none comes at 2\n  hint: [1] adds one",
    },
  ];
  for (const { set: given, says } of wrong) {
    it(`are told of by the option: ${given}`, () => {
      assert.deepEqual(told(read(text({}), set(given))), [`--set ${given}: ${says}`]);
    });
  }

  it("are no settings without a path and a value", () => {
    for (const given of ["", "spec.replicas", "=5", "a..b=1", "a[x]=1", "__proto__.x=1"]) {
      assert.equal(parseSetting(given), undefined, given);
    }
  });
});
