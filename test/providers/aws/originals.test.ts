import assert from "node:assert/strict";
import { awsProvider } from "../../../providers/aws/provider.js";
import type { JsonObject } from "../../../src/api/json.js";
import {
  type Desired,
  isControlPlane,
  type MachineSpec,
  providerValue,
} from "../../../src/api/types.js";
import { readDesired } from "../../../src/manifest/desired.js";
import { diagnosticText } from "../../../src/manifest/diagnostic.js";
import { parseSetting } from "../../../src/manifest/override-forms.js";
import type { MachineToCompile } from "../../../src/provider/port.js";
import { assertGolden } from "../../support/golden.js";
import { graphText } from "./graph-text.js";
import { noClients } from "./no-clients.js";
import { type Original, originals, originalVersion } from "./originals.js";

const provider = awsProvider(noClients);

/** The objects that are read, as a command names them, and what gives them a version of today. */
function settingsFor(desired: readonly string[]): string[] {
  return desired.map((path) => `${path}=1.34.2`);
}

function read(files: readonly Original[], settings: readonly string[] = []) {
  const sources = files.map((file) => ({ file: `${file}.yaml`, text: originals[file] }));
  const { clusters, diagnostics } = readDesired(sources, [provider], {
    settings: settings.flatMap((text) => parseSetting(text) ?? []),
  });
  return { desired: clusters[0], diagnostics, said: diagnostics.map(diagnosticText) };
}

/** "KIND/NAME:path" of each version that is refused. */
function refusedVersions(files: readonly Original[]): string[] {
  return read(files).diagnostics.flatMap(({ code, subject = "", path }) => {
    const [kind = "", name = ""] = subject.split(" ");
    return code === "UNSUPPORTED_CONFIGURATION" ? [`${kind}/${name.split("/")[1]}:${path}`] : [];
  });
}

/** Machines, and one of each template, as they are compiled once an image was looked up. */
function machinesOf({ machines, machineDeployments }: Desired): MachineToCompile[] {
  const all = [
    ...machines.map(({ metadata, spec }) => ({ name: metadata.name, spec })),
    ...machineDeployments.map(({ metadata, spec: { template } }) => ({
      name: `${metadata.name}-0`,
      spec: template.spec,
    })),
  ];
  return all.map(({ name, spec }) => ({
    name,
    spec: spec as MachineSpec,
    controlPlane: isControlPlane(spec as MachineSpec),
    providerSpec: providerValue(spec),
    lookedUp: { imageId: "ami-1" },
  }));
}

const found = {
  subnets: [
    { id: "subnet-0inner", zone: "eu-north-1b", public: false },
    { id: "subnet-0outer", zone: "eu-north-1b", public: true },
  ],
};

const examples: readonly {
  readonly name: string;
  readonly files: readonly Original[];
  readonly lookedUp?: JsonObject;
}[] = [
  { name: "machines", files: ["cluster", "machines"] },
  {
    name: "highly-available",
    files: ["cluster", "controlplane-machines-ha", "machine-deployment"],
  },
  {
    name: "existing-vpc",
    files: ["cluster-network-spec", "controlplane-machine", "machine-deployment"],
    lookedUp: found,
  },
];

describe("the examples of cluster-api-provider-aws 0.3", () => {
  for (const { name, files, lookedUp } of examples) {
    it(`are refused for their version alone, where it stands: ${name}`, () => {
      const { diagnostics } = read(files);
      const errors = diagnostics.filter(({ severity }) => severity === "error");
      assert.ok(errors.length > 0);
      for (const { code, position, summary, hint } of errors) {
        assert.equal(code, "UNSUPPORTED_CONFIGURATION", summary);
        const { file, line } = position as { readonly file: string; readonly line: number };
        const text = originals[file.replace(".yaml", "") as Original].split("\n")[line - 1];
        assert.ok(text?.includes(originalVersion), `${file}:${line}: ${text}`);
        assert.match(hint ?? "", /it has 1\.\d+ - 1\.\d+/);
      }
    });

    it(`are compiled once they have one of today: ${name}`, () => {
      const { desired, diagnostics, said } = read(files, settingsFor(refusedVersions(files)));
      const expected = ["NAME_MADE", "NO_EFFECT", "OLD_SPELLING"];
      for (const { code } of diagnostics) assert.ok(expected.includes(code), said.join("\n"));
      assert.ok(desired !== undefined, said.join("\n"));
      const { cluster } = desired;
      const spec = providerValue(cluster.spec);
      const text = graphText(cluster, spec, machinesOf(desired), lookedUp);
      assertGolden(`aws-original-${name}`, text);
    });
  }

  it("mean the same under the newer name of their group", () => {
    const { desired } = read(["cluster", "controlplane-machine"], settingsFor(versions));
    const text = `${originals.cluster}---\n${originals["controlplane-machine"]}`;
    const renamed = text.replaceAll("awsprovider/", "awsprovider.k8s.io/");
    assert.notEqual(renamed, text);
    const newer = readDesired([{ file: "a.yaml", text: renamed }], [provider], {
      settings: settingsFor(versions).flatMap((one) => parseSetting(one) ?? []),
    });
    assert.deepEqual(newer.clusters[0], desired);
    assert.deepEqual(
      newer.diagnostics.map(({ code }) => code),
      ["NO_EFFECT"],
      "the name of a bastion's key alone",
    );
  });

  const versions = refusedVersions(["cluster", "controlplane-machine"]);

  it("say what they say in our fields", () => {
    const { desired } = read(["cluster", "controlplane-machine"], settingsFor(versions));
    const apiVersion = "awsprovider.k8s.io/v1alpha2";
    assert.deepEqual(desired && providerValue(desired.cluster.spec), {
      apiVersion,
      kind: "AWSClusterProviderSpec",
      region: "eu-north-1",
      natGateways: "perZone",
      // Roles of such machines have no right to secrets.
      hostSecrets: "userData",
    });
    assert.deepEqual(
      desired?.machines.map(({ spec }) => providerValue(spec)),
      [
        {
          apiVersion,
          kind: "AWSMachineProviderSpec",
          instanceType: "t3.large",
          instanceProfile: "control-plane.cluster-api-provider-aws.sigs.k8s.io",
          keyName: "operators",
        },
      ],
    );
  });
});
