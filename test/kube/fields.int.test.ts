import assert from "node:assert/strict";
import { CoreV1Api, CustomObjectsApi } from "@kubernetes/client-node";
import { kinds, namesOf } from "../../src/api/kind-names.js";
import type { Desired } from "../../src/api/types.js";
import { KubeApi } from "../../src/kube/api.js";
import { KubeSource } from "../../src/kube/kube-source.js";
import type { LiveObject } from "../../src/kube/live-object.js";
import { withoutClasses } from "../../src/kube/machine-classes.js";
import { SecretCache } from "../../src/kube/secret-cache.js";
import { ObjectCache } from "../../src/kube/object-cache.js";
import { saidBy, within } from "../../src/kube/requests.js";
import { systemClock } from "../../src/provider/clock.js";
import { readDesired } from "../../src/manifest/desired.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { emptyState } from "../../src/records/prior-state.js";
import { until } from "../scenario/until.js";
import { ApiServer } from "../support/api-server.js";
import { firstPlan } from "../support/first-plan.js";
import { cluster, localProvider, type Manifest, textOf } from "../support/manifests.js";
import { fieldsIn, fieldsOf, fieldSamples, objectsOfSample } from "./field-samples.js";

const provider = localProvider();

function desiredInFiles(objects: readonly Manifest[]): Desired {
  const source = { file: "f.yaml", text: textOf(objects) };
  const { clusters, diagnostics } = readDesired([source], [provider]);
  // What an API server alone gives effect to is warned of.
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  assert.deepEqual(errors.map(diagnosticText), []);
  const [only] = clusters;
  assert.ok(only !== undefined);
  return only;
}

describe("every field that users write", () => {
  let server: ApiServer;

  before(async () => {
    server = await ApiServer.start();
    await until("objects are taken", () =>
      create({ ...cluster(), metadata: { name: "first", namespace: "default" } }).then(
        () => true,
        () => false,
      ),
    );
  });
  after(() => server.stop());

  const create = async (body: Manifest): Promise<LiveObject> => {
    const kind = String(body["kind"]);
    const { namespace } = body["metadata"] as { namespace: string };
    const at = { group: "cluster.k8s.io", version: "v1alpha1", plural: namesOf(kind).plural };
    const how = { namespace, body, fieldValidation: "Strict" };
    const api = server.config.makeApiClient(CustomObjectsApi);
    return (await api.createNamespacedCustomObject({ ...at, ...how }, within())) as LiveObject;
  };

  /** A source that knows these objects and what it writes itself. */
  const sourceOf = (objects: readonly LiveObject[]) => {
    const api = new KubeApi(server.config);
    const { config } = server;
    const cache = new ObjectCache({ config, api, random: () => 0, onChange: () => {} });
    for (const object of objects) cache.accept(object);
    const secrets = new SecretCache({ config, api, random: () => 0, onChange: () => {} });
    const options = {
      api,
      cache,
      secrets,
      clock: systemClock,
      providers: [provider],
      owner: "kube",
    };
    return { cache, source: new KubeSource({ ...options, redact: (text) => text }) };
  };

  for (const kind of kinds) {
    it(`of ${kind} is in a sample`, () => {
      const samples = fieldSamples.filter((sample) => sample.kind === kind);
      const written = new Set(samples.flatMap(fieldsIn));
      assert.deepEqual(
        fieldsOf(kind).filter((field) => !written.has(field)),
        [],
      );
    });
  }

  for (const [number, sample] of fieldSamples.entries()) {
    const fields = JSON.stringify(sample.fields);
    it(`asks for the same in files and API server, and is derived from: ${sample.kind} ${fields}`, async () => {
      const namespace = `fields-${number}`;
      const core = server.config.makeApiClient(CoreV1Api);
      await core.createNamespace({ body: { metadata: { name: namespace } } }, within());
      const objects = objectsOfSample(sample, namespace);
      const inFiles = desiredInFiles(objects);
      const stored: LiveObject[] = [];
      for (const object of objects) {
        stored.push(await create(object).catch((error: unknown) => assert.fail(saidBy(error))));
      }
      const key = `${namespace}/prod`;
      const { cache, source } = sourceOf(stored);
      const asked = source.intentOf(key, true);
      assert.ok(asked.kind === "want", JSON.stringify(asked));
      assert.deepEqual(asked.desired, inFiles);

      const { target } = firstPlan(asked.desired, provider);
      const view = { phase: "Provisioning", records: emptyState, planned: target } as const;
      await source.claim(key);
      await source.show(key, { ...view, isSettled: false, nowMs: 0 }, provider);
      assert.ok(source.isShown(key, { ...view, isSettled: false, nowMs: 0 }, provider));
      const { members } = cache.clusterOf(key);
      for (const machine of target.machines) {
        const made = members.find(
          (one) => one.kind === "Machine" && one.metadata.name === machine.name,
        );
        assert.ok(made !== undefined, `${machine.name} is not there`);
        if (machine.owner === undefined) continue;
        assert.deepEqual(made.spec, withoutClasses(machine.spec));
      }
      // What users wrote stands as they wrote it, but for versions that they left out.
      const again = source.intentOf(key);
      assert.ok(again.kind === "want", JSON.stringify(again));
      if (sample.kind !== "Machine") assert.equal(again.digest, asked.digest);
    });
  }
});
