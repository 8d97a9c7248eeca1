import assert from "node:assert/strict";
import { offeredProviders } from "../../providers/offered.js";
import { awsProvider } from "../../providers/aws/provider.js";
import type { JsonObject } from "../../src/api/json.js";
import { intentOf } from "../../src/kube/live-intent.js";
import type { LiveObject } from "../../src/kube/live-object.js";
import { deleted, live, liveCluster } from "../support/live-objects.js";
import { cluster, localProvider, machine, type Manifest } from "../support/manifests.js";
import { failsWith } from "../support/errors.js";
import { noClients } from "./aws/no-clients.js";

const all = [localProvider(), awsProvider(noClients)];

/** What a controller that offers these providers finds wrong with a cluster whose provider's objects have these fields. */
function refusals(
  names: readonly string[] | undefined,
  fields: { readonly cluster?: JsonObject; readonly machine?: JsonObject } = {},
): string[] {
  const withFields = (manifest: Manifest, more: JsonObject = {}) => {
    const { spec } = manifest as unknown as LiveObject;
    const { value } = spec?.["providerSpec"] as unknown as { value: JsonObject };
    return { spec: { ...spec, providerSpec: { value: { ...value, ...more } } } };
  };
  const member = machine("a");
  const objects = liveCluster(
    [live(member, withFields(member, fields.machine))],
    withFields(cluster(), fields.cluster),
  );
  const intent = intentOf(objects, offeredProviders(all, names));
  return intent.kind === "invalid"
    ? intent.diagnostics.map(({ code, subject, path }) => `${code} ${subject} ${path}`)
    : [intent.kind];
}

describe("providers for objects of an API server", () => {
  const value = "spec.providerSpec.value";

  it("are all but local unless they are named", () => {
    const all = [
      `NOT_ALLOWED Cluster default/prod ${value}`,
      `NOT_ALLOWED Machine default/a ${value}`,
    ];
    assert.deepEqual(refusals(undefined), all);
    assert.deepEqual(refusals(["aws"]), all);
    assert.deepEqual(refusals(["local"]), ["want"]);
    assert.deepEqual(refusals(["aws", "local"]), ["want"]);
  });

  for (const nodes of ["processes", "kubeadm", "simulated"]) {
    it(`run nothing on the controller's machine: nodes: ${nodes} is refused at the Cluster`, () => {
      assert.deepEqual(refusals(["local"], { cluster: { nodes } }), [
        `NOT_ALLOWED Cluster default/prod ${value}.nodes`,
      ]);
    });
  }

  it("have no faults: those of a user would hold up the engines of all", () => {
    const faults = [{ call: "create", mode: "hang" }];
    assert.deepEqual(refusals(["local"], { cluster: { faults } }), [
      `NOT_ALLOWED Cluster default/prod ${value}.faults`,
    ]);
    assert.deepEqual(refusals(["local"], { machine: { faults } }), [
      `NOT_ALLOWED Machine default/a ${value}.faults`,
    ]);
  });

  it("that are not offered stay known, so that their clusters can go", () => {
    const going = liveCluster([], { metadata: deleted });
    const intent = intentOf(going, offeredProviders(all, undefined));
    assert.ok(intent.kind === "remove");
    assert.equal(intent.provider, "local");
  });

  it("that there are not are refused by name", () => {
    assert.throws(() => offeredProviders(all, ["local", "lokal"]), failsWith("BAD_USAGE", /lokal/));
  });

  it("take no field away from manifests in files", () => {
    const [local] = offeredProviders(all, ["local"]);
    assert.notEqual(local?.clusterSpec.schema, all[0]?.clusterSpec.schema);
    assert.ok(Object.hasOwn(all[0]?.clusterSpec.schema ?? {}, "properties"));
    assert.equal(JSON.stringify(all[0]?.clusterSpec.schema).includes('"not"'), false);
  });
});
