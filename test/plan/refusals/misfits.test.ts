import assert from "node:assert/strict";
import { LocalProvider } from "../../../providers/local/provider.js";
import { unfitMachines } from "../../../src/cli/unfit-machines.js";
import { digestOf } from "../../../src/api/digest.js";
import { expectDefined } from "../../../src/api/error.js";
import { withPlaces } from "../../../src/engine/operations/placed-refusal.js";
import { readDesired } from "../../../src/manifest/desired.js";
import { diagnosticText } from "../../../src/manifest/diagnostic.js";
import type { SecretStore, UserDataTerms } from "../../../src/provider/port.js";
import { FakeEngine } from "../../support/fake-engine.js";
import { firstPlan } from "../../support/first-plan.js";
import {
  cluster,
  desiredOf,
  localProvider,
  machine,
  machineDeployment,
  textOf,
} from "../../support/manifests.js";

/** The local cloud, if it took so many bytes of user data. */
class LimitedProvider extends LocalProvider {
  override readonly userData: UserDataTerms;

  constructor(bytes: number, change: Partial<UserDataTerms> = {}) {
    super(localProvider().cloud);
    const limit = { bytes, counts: "packed" } as const;
    this.userData = { ...localProvider().userData, limit, ...change };
  }
}

const noise = Array.from({ length: 2_000 }, (_, index) => digestOf(index, 8));
const large = {
  ...machine("large"),
  spec: {
    ...(machine("large")["spec"] as object),
    metadata: { annotations: { noise: noise.join() } },
  },
};

function withBootstrap(bootstrap: object) {
  const written = machine("a") as { spec: { providerSpec: { value: object } } };
  const providerSpec = { value: { ...written.spec.providerSpec.value, bootstrap } };
  return { ...written, spec: { ...written.spec, providerSpec } };
}

function planned(provider: LocalProvider, objects = [cluster(), machine("small"), large]) {
  const text = textOf(objects);
  const { clusters, positionOf } = readDesired([{ file: "f.yaml", text }], [provider]);
  const desired = expectDefined(clusters[0], "a cluster");
  return withPlaces(desired, positionOf, () => firstPlan(desired, provider));
}

describe("a host whose user data its cloud would not take", () => {
  it("is refused while planning, with the reason and the place", () => {
    assert.throws(() => planned(new LimitedProvider(4_096)), {
      code: "UNSUPPORTED_CHANGE",
      message:
        /^f\.yaml:5:\d+: cannot make a host of Machine large: its user data would take \d+ bytes when packed, and this cloud takes 4096$/,
    });
  });

  it("is told by capstan validate, each with its place, and once of a template's", () => {
    const provider = new LimitedProvider(4_096);
    const deployment = machineDeployment("web", 3);
    const { template, ...spec } = deployment["spec"] as { template: { spec: object } };
    const noisy = { ...template.spec, metadata: { annotations: { noise: noise.join() } } };
    const set = { ...deployment, spec: { ...spec, template: { ...template, spec: noisy } } };
    const text = textOf([cluster(), machine("small"), large, set]);
    const manifests = readDesired([{ file: "f.yaml", text }], [provider]);
    assert.deepEqual(manifests.diagnostics, []);
    const told = unfitMachines(manifests, [provider]).map(diagnosticText);
    const reason = /its user data would take \d+ bytes when packed, and this cloud takes 4096/;
    for (const [at, place] of [
      /^f\.yaml:5:\d+: error: Machine default\/large: spec\.metadata: no host can be made: /,
      /^f\.yaml:7:\d+: error: MachineDeployment default\/web: spec\.template\.spec\.metadata: /,
    ].entries()) {
      assert.match(told[at] ?? "", place);
      assert.match(told[at] ?? "", reason);
    }
    assert.equal(told.length, 2, told.join("\n"));
    assert.deepEqual(unfitMachines(manifests, [new LimitedProvider(32_768)]), []);
    assert.deepEqual(unfitMachines(manifests, [localProvider()]), []);
  });

  it("is told once of the machines of one template", () => {
    const deployment = machineDeployment("web", 3);
    assert.throws(() => planned(new LimitedProvider(100), [cluster(), deployment]), {
      message:
        /^f\.yaml:3:\d+: cannot make a host of Machine web-\w+-0 and 2 more of MachineDeployment web: .*$/,
    });
  });

  it("is planned where it fits, and where nothing is limited", () => {
    assert.equal(planned(new LimitedProvider(16_384)).steps.length > 0, true);
    assert.equal(planned(localProvider()).steps.length > 0, true);
  });

  it("is refused with a container runtime that no host is made with", () => {
    const containerRuntime = { name: "docker", version: "1.0.0" };
    assert.throws(() => planned(new LimitedProvider(16_384, { containerRuntime })), {
      message: /no host is made with the container runtime docker, but with containerd or cri-o/,
    });
  });

  it("is refused with a template that nobody on the host reads", () => {
    const said =
      /^f\.yaml:\d+:\d+: cannot make a host of Machine a: cloud-init reads what begins with #/;
    const template = "write_files: [{ content: '{{ bootstrapScript }}' }]\n";
    const objects = [cluster(), withBootstrap({ template })];
    assert.throws(() => planned(localProvider(), objects), { message: said });
    const own = [cluster(), withBootstrap({ template: `#cloud-config\n${template}` })];
    assert.equal(planned(localProvider(), own).steps.length > 0, true);
    assert.throws(() => planned(new LimitedProvider(32_768, { format: "ignition" }), own), {
      message: /Ignition reads JSON, and its template is none/,
    });
  });

  for (const bootstrap of [{ packages: ["jq"] }, { aptMirrors: { docker: "http://mirror" } }]) {
    const [field = ""] = Object.keys(bootstrap);
    it(`is refused with ${field} for an image that holds its software`, () => {
      const provider = new LimitedProvider(32_768, { software: () => "image" });
      assert.throws(() => planned(provider, [cluster(), withBootstrap(bootstrap)]), {
        message: /^f\.yaml:\d+:\d+: cannot make a host of Machine a: its image holds its software/,
      });
      const local = planned(localProvider(), [cluster(), withBootstrap(bootstrap)]);
      assert.equal(local.steps.length > 0, true);
    });
  }

  describe("and that fetches its secrets", () => {
    const reason = "its instance has no profile";
    const secrets: SecretStore = {
      put: async () => {},
      delete: async () => {},
      fetchCommand: () => "cat secret",
      isUsedBy: ({ machineQuota }) => machineQuota !== 1,
      obstacleOf: ({ name }) =>
        name === "small" ? { reason, member: ["providerSpec", "value"] } : undefined,
    };
    const fetching = (change: Partial<SecretStore> = {}) =>
      new LimitedProvider(32_768, { secrets: { ...secrets, ...change } });

    it("is refused where it cannot, with the place, unless its Cluster does without", () => {
      assert.throws(() => planned(fetching()), {
        code: "UNSUPPORTED_CHANGE",
        message:
          /^f\.yaml:3:\d+: cannot make a host of Machine small: its instance has no profile$/,
      });
      const text = textOf([cluster(), machine("small"), large]);
      const manifests = readDesired([{ file: "f.yaml", text }], [fetching()]);
      const told = unfitMachines(manifests, [fetching()]).map(diagnosticText);
      assert.equal(told.length, 1);
      assert.match(
        told[0] ?? "",
        /^f\.yaml:3:\d+: error: Machine default\/small: spec\.providerSpec\.value: no host can be made: its instance has no profile/,
      );
      const without = [cluster({ machineQuota: 1 }), machine("small")];
      assert.equal(planned(fetching(), without).steps.length > 0, true);
    });

    it("is refused where its secret is too large, and not for what the user data would be", () => {
      const provider = new LimitedProvider(4_096, { secrets: { ...secrets, limitBytes: 8_192 } });
      assert.throws(() => planned(provider, [cluster(), large]), {
        message:
          /^f\.yaml:3:\d+: cannot make a host of Machine large: its secret would take \d+ bytes when packed, and this cloud keeps 8192$/,
      });
      const roomy = new LimitedProvider(4_096, { secrets: { ...secrets, limitBytes: 65_536 } });
      assert.equal(planned(roomy, [cluster(), large]).steps.length > 0, true);
    });
  });

  it("is refused where what the user adds is too much, with that place", () => {
    const files = [{ path: "/etc/noise", content: noise.join() }];
    const objects = [cluster(), withBootstrap({ files })];
    const text = textOf(objects);
    const provider = new LimitedProvider(4_096);
    const manifests = readDesired([{ file: "f.yaml", text }], [provider]);
    const [told] = unfitMachines(manifests, [provider]);
    assert.equal(told?.path, "spec.providerSpec.value.bootstrap");
  });

  it("is left alone where it stands, whatever a newer release would make for it", async () => {
    const desired = desiredOf([cluster(), machine("small")]);
    const engine = await FakeEngine.running(desired);
    engine.upgrade(new LimitedProvider(100));
    assert.equal((await engine.plan(desired)).empty, true);
    const more = desiredOf([cluster(), machine("small"), machine("more")]);
    await assert.rejects(engine.plan(more), { message: /^cannot make a host of Machine more: / });
  });
});
