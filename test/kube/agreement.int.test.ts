import assert from "node:assert/strict";
import { CustomObjectsApi } from "@kubernetes/client-node";
import fc from "fast-check";
import type { DiagnosticCode } from "../../src/api/diagnostic-codes.js";
import { namesOf } from "../../src/api/kind-names.js";
import { saidBy, within } from "../../src/kube/requests.js";
import { readDesired } from "../../src/manifest/desired.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { until } from "../scenario/until.js";
import { ApiServer } from "../support/api-server.js";
import {
  cluster,
  localProvider,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
  textOf,
} from "../support/manifests.js";
import { changed } from "./refusals.js";
import { assertAsyncLaw } from "../support/laws.js";

const versions = [
  "1.34.2",
  "v1.34.2",
  "1.31.0",
  "1.30.9",
  "1.35.0",
  "2.0.0",
  "0.34.2",
  "1.27.1",
  "1.25.0",
  "1.34",
  "1.034.2",
  "1.34.2-rc.1",
  "1.34.2+k3s1",
  "V1.34.2",
  "1.34.2-",
  "",
  "1.34.2\n",
  "1.99999999999999999999.0",
  `1.34.2-${"a".repeat(60)}`,
];
const ranges = [
  "10.0.0.0/8",
  "10.96.0.0/16",
  "192.168.0.0/16",
  "172.16.0.1/12",
  "fd00::/48",
  "::/0",
  "010.0.0.0/8",
  "10.0.0.0/08",
  "10.0.0.0/33",
  "10.0.0.0",
  "fd00::/129",
  "fd00::1%eth0/64",
  "::ffff:10.0.0.0/104",
  "10.0/8",
  "10.0.0.0/8 ",
  "",
  "0x0a.0.0.0/8",
  "0.0.0.0/0",
  "10.0.0.0/-1",
];
const domains = [
  "x",
  "",
  "a.b-c.d",
  "Cluster.Local",
  "a..b",
  "-a",
  "a.",
  `${"a".repeat(63)}.b`,
  "a".repeat(254),
];
const labels = ["s", "d", "other", "", "a".repeat(63), "a".repeat(64)];
const odd = [true, -1, 0, 1, 3, 1.5, 10_001, "1", "25%", "-1%", "many", [], {}, ["Master"]];

const anyOf = (...values: readonly unknown[]) => fc.constantFrom(...values);
const labelMap = fc.dictionary(anyOf("set", "tier") as fc.Arbitrary<string>, anyOf(...labels));
const requirement = fc.record({
  key: anyOf("set", "tier", ""),
  operator: anyOf("In", "NotIn", "Exists", "DoesNotExist", "Gt"),
  values: fc.option(fc.array(anyOf(...labels), { maxLength: 3 }), { nil: undefined }),
});
const roles = fc.option(fc.array(anyOf("Master", "Node", "Worker"), { maxLength: 3 }), {
  nil: undefined,
});

const wellFormedKeys = ["a", "A.b_c-d", "example.com/a", `${"a".repeat(253)}/b`, "a".repeat(63)];
const illFormedKeys = ["Example.com/a", "a/b/c", "/a", "a/", "-a", "a_", "a b", "", "ä"];
const longKeys = [`${"a".repeat(254)}/b`, "a".repeat(64)];
const keys = wellFormedKeys.concat(illFormedKeys, longKeys);
const values = [
  "",
  "b",
  "B.c_d-e",
  "-b",
  "b-",
  "b c",
  "b".repeat(63),
  "b".repeat(64),
  "b/c",
  "b\n",
];
const marks = fc.dictionary(anyOf(...keys) as fc.Arbitrary<string>, anyOf(...values), {
  maxKeys: 2,
});
const taint = fc.record({
  key: anyOf("a", ...keys),
  value: anyOf("b", ...values),
  effect: anyOf("NoSchedule", "NoExecute"),
});

type Fields = readonly (readonly [path: readonly string[], value: fc.Arbitrary<unknown>])[];

const specFields = (at: readonly string[]): Fields => [
  [[...at, "versions", "kubelet"], anyOf(...versions, ...odd, undefined)],
  [[...at, "versions", "controlPlane"], anyOf(...versions, undefined)],
  [[...at, "versions"], anyOf(undefined, ...odd)],
  [[...at, "roles"], fc.oneof(roles, anyOf(...odd))],
  [[...at, "providerSpec", "valueFrom"], anyOf(undefined, {}, { machineClass: { name: "a" } })],
  [[...at, "providerSpec", "value"], anyOf(undefined, "text")],
  [[...at, "taints"], fc.oneof(fc.array(taint, { maxLength: 3 }), anyOf([{ key: "" }], ...odd))],
  [[...at, "metadata", "labels"], fc.oneof(marks, anyOf({ a: 1 }, ...odd))],
  [[...at, "metadata", "annotations"], fc.oneof(marks, anyOf({ a: 1 }, ...odd))],
];
const setFields: Fields = [
  [["spec", "replicas"], anyOf(undefined, ...odd)],
  [["spec", "minReadySeconds"], anyOf(undefined, ...odd)],
  [["spec", "selector"], anyOf(undefined, ...odd)],
  [["spec", "selector", "matchLabels"], fc.oneof(labelMap, anyOf(undefined))],
  [
    ["spec", "selector", "matchExpressions"],
    fc.oneof(fc.array(requirement, { maxLength: 2 }), anyOf(undefined)),
  ],
  [["spec", "template", "metadata", "labels"], fc.oneof(labelMap, marks, anyOf(undefined))],
  [["spec", "template", "metadata", "annotations"], fc.oneof(marks, anyOf(undefined))],
  ...specFields(["spec", "template", "spec"]),
];
const names: Fields = [
  [
    ["metadata", "name"],
    anyOf("a.b", "A", "a-", "-a", ...[44, 45, 57, 58, 63, 64].map((n) => "a".repeat(n))),
  ],
];
const network = ["spec", "clusterNetwork"];

/** Objects that are right, and the fields in which they are made right or wrong. */
const bases: readonly { readonly base: Manifest; readonly fields: Fields }[] = [
  {
    base: cluster(),
    fields: [
      ...["pods", "services"].map((one): Fields[number] => [
        [...network, one, "cidrBlocks"],
        fc.array(anyOf(...ranges), { maxLength: 3 }),
      ]),
      [[...network, "serviceDomain"], anyOf(...domains, undefined, ...odd)],
      [["spec", "providerSpec", "valueFrom"], anyOf(undefined, { machineClass: { name: "" } })],
      ...names,
    ],
  },
  { base: machine("m"), fields: [...specFields(["spec"]), ...names] },
  {
    base: machineSet("s", 1),
    fields: [...setFields, ...names, [["spec", "deletePolicy"], anyOf("Newest", "First", ...odd)]],
  },
  {
    base: machineDeployment("d", 1),
    fields: [
      ...setFields,
      ...names,
      ...["maxSurge", "maxUnavailable"].map((one): Fields[number] => [
        ["spec", "strategy", "rollingUpdate", one],
        anyOf(...odd, "100%", "1000%"),
      ]),
      [["spec", "strategy"], anyOf(undefined, ...odd)],
      [["spec", "strategy", "type"], anyOf("OnDelete", "Recreate", ...odd)],
      [["spec", "progressDeadlineSeconds"], anyOf(undefined, ...odd)],
      [["spec", "revisionHistoryLimit"], anyOf(undefined, ...odd)],
      [["spec", "paused"], anyOf(undefined, ...odd)],
    ],
  },
];

/**
 * An object with up to three fields changed. None becomes null: an API server drops such a field, and in a
 * file it is a value of the wrong type.
 */
const objects = fc.constantFrom(...bases).chain(({ base, fields }) =>
  fc
    .array(
      fc
        .constantFrom(...fields)
        .chain(([path, value]) => value.map((one) => ({ path, value: one }))),
      { minLength: 1, maxLength: 3 },
    )
    .map((changes) => changes.reduce((object, one) => tryChange(object, one), base)),
);

/** Where an earlier change took the parent away, nothing is changed. */
function tryChange(
  object: Manifest,
  { path, value }: { readonly path: readonly string[]; readonly value: unknown },
): Manifest {
  try {
    return changed(object, path, value);
  } catch {
    return object;
  }
}

/** What only the CLI can know: other objects, the provider's own, and what has no effect in files. */
const beyondApiServers = new Set<DiagnosticCode>([
  ...([
    "NO_EFFECT",
    "CLASS_UNKNOWN",
    "CLUSTER_MISSING",
    "HOST_NETWORK",
    "PROVIDER_MISMATCH",
  ] as const),
  ...(["PROVIDER_UNKNOWN", "STACK_NAME", "UNSUPPORTED_CONFIGURATION"] as const),
]);

function refusalOfCli(object: Manifest): string {
  const objects = object["kind"] === "Cluster" ? [object] : [cluster(), object];
  const source = { file: "f.yaml", text: textOf(objects) };
  const { diagnostics } = readDesired([source], [localProvider()]);
  const told = diagnostics.filter(({ code }) => !beyondApiServers.has(code));
  return told.map(diagnosticText).join("\n");
}

describe("an API server and the command line", () => {
  let server: ApiServer;

  before(async () => {
    server = await ApiServer.start();
    for (const { base } of bases) {
      await until("objects are taken", async () => (await refusalOfServer(base)) === "");
    }
  });
  after(() => server.stop());

  const refusalOfServer = async (body: Manifest): Promise<string> => {
    const { plural } = namesOf(String(body["kind"]));
    const at = { group: "cluster.k8s.io", version: "v1alpha1", plural, namespace: "default" };
    const how = { dryRun: "All", fieldValidation: "Strict" };
    const api = server.config.makeApiClient(CustomObjectsApi);
    try {
      await api.createNamespacedCustomObject({ ...at, body, ...how }, within());
      return "";
    } catch (error) {
      return saidBy(error);
    }
  };

  it("refuse the same objects", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(objects, async (object) => {
        const [byServer, byCli] = [await refusalOfServer(object), refusalOfCli(object)];
        assert.equal(byServer === "", byCli === "", `API server: ${byServer}\nCLI: ${byCli}`);
      }),
      400,
    );
  });
});
