import assert from "node:assert/strict";
import { awsProvider } from "../../../providers/aws/provider.js";
import { awsApiVersion } from "../../../providers/aws/specs/cluster-spec.js";
import type { JsonObject } from "../../../src/api/json.js";
import { readDesired, readObjects } from "../../../src/manifest/desired.js";
import { noClients } from "./no-clients.js";

const provider = awsProvider(noClients);
const arn = (name: string) => `arn:aws:iam::111122223333:role/${name}`;

function cluster(spec: JsonObject, namespace = "team-a"): JsonObject {
  const value = {
    apiVersion: awsApiVersion,
    kind: "AWSClusterProviderSpec",
    region: "eu-north-1",
    ...spec,
  };
  const clusterNetwork = {
    services: { cidrBlocks: ["10.96.0.0/12"] },
    pods: { cidrBlocks: ["192.168.0.0/16"] },
    serviceDomain: "cluster.local",
  };
  return {
    apiVersion: "cluster.k8s.io/v1alpha1",
    kind: "Cluster",
    metadata: { name: "demo", namespace },
    spec: { clusterNetwork, providerSpec: { value } },
  };
}

function role(name: string, spec: JsonObject = {}): JsonObject {
  return {
    apiVersion: awsApiVersion,
    kind: "AWSClusterRoleIdentity",
    metadata: { name },
    spec: { roleARN: arn(name), ...spec },
  };
}

function controller(spec: JsonObject): JsonObject {
  const kind = "AWSClusterControllerIdentity";
  return { apiVersion: awsApiVersion, kind, metadata: { name: "default" }, spec };
}

const named = { identityRef: { kind: "AWSClusterRoleIdentity", name: "one" } };
const everybody = { allowedNamespaces: {} };

function read(objects: readonly JsonObject[]) {
  const text = objects.map((object) => JSON.stringify(object)).join("\n---\n");
  const { clusters, diagnostics } = readDesired([{ file: "f.yaml", text }], [provider]);
  return { credentials: credentialsOf(clusters), diagnostics };
}

function credentialsOf(clusters: ReturnType<typeof readDesired>["clusters"]): unknown {
  const value: JsonObject | undefined = clusters[0]?.cluster.spec.providerSpec.value;
  return value?.["credentials"];
}

describe("identities of clusters on AWS", () => {
  it("a role's identity becomes the credentials of a cluster that names it", () => {
    const spec = { ...everybody, externalID: "x-1", sessionName: "team", durationSeconds: 900 };
    const { credentials, diagnostics } = read([role("one", spec), cluster(named)]);
    assert.deepEqual(diagnostics, []);
    const assumed = { arn: arn("one"), externalId: "x-1", sessionName: "team" };
    assert.deepEqual(credentials, { assumeRoles: [{ ...assumed, durationSeconds: 900 }] });
  });

  it("a role that is assumed with another one comes after it", () => {
    const sourceIdentityRef = { kind: "AWSClusterRoleIdentity", name: "two" };
    const one = role("one", { ...everybody, sourceIdentityRef });
    const { credentials } = read([cluster(named), one, role("two", everybody)]);
    assert.deepEqual(credentials, { assumeRoles: [{ arn: arn("two") }, { arn: arn("one") }] });
  });

  const allowances: readonly {
    readonly name: string;
    readonly allowed: JsonObject | undefined;
    readonly isAllowed: boolean;
  }[] = [
    { name: "nobody without a list", allowed: undefined, isAllowed: false },
    { name: "everybody by {}", allowed: {}, isAllowed: true },
    { name: "who is listed", allowed: { list: ["team-b", "team-a"] }, isAllowed: true },
    { name: "nobody else", allowed: { list: ["team-b"] }, isAllowed: false },
    { name: "nobody by an empty list", allowed: { list: [], selector: {} }, isAllowed: false },
    {
      name: "whose namespace has the label",
      allowed: { selector: { matchLabels: { "kubernetes.io/metadata.name": "team-a" } } },
      isAllowed: true,
    },
    {
      name: "nobody whose namespace has it not",
      allowed: { list: ["b"], selector: { matchLabels: { stage: "prod" } } },
      isAllowed: false,
    },
  ];
  for (const { name, allowed, isAllowed } of allowances) {
    it(`may be used by ${name}`, () => {
      const spec = allowed === undefined ? {} : { allowedNamespaces: allowed };
      const { diagnostics } = read([role("one", spec), cluster(named)]);
      assert.deepEqual(
        diagnostics.map(({ code }) => code),
        isAllowed ? [] : ["IDENTITY_REFUSED"],
      );
    });
  }

  it("a refused namespace is told with file and line, and what to do", () => {
    const { diagnostics } = read([
      role("one", { allowedNamespaces: { list: ["b"] } }),
      cluster(named),
    ]);
    const [{ position, path, summary, hint } = assert.fail()] = diagnostics;
    assert.deepEqual([position.file, position.line], ["f.yaml", 3]);
    assert.equal(path, "spec.providerSpec.value.identityRef.name");
    assert.equal(summary, "AWSClusterRoleIdentity one is not for namespace team-a");
    assert.match(hint ?? "", /allowedNamespaces of AWSClusterRoleIdentity one: it lists b/);
  });

  const refusals: readonly {
    readonly name: string;
    readonly objects: readonly JsonObject[];
    readonly codes: readonly string[];
  }[] = [
    { name: "of which there is no object", objects: [cluster(named)], codes: ["IDENTITY_UNKNOWN"] },
    {
      name: "whose object is wrong is told of once",
      objects: [cluster(named), role("one", { ...everybody, roleArn: "x" })],
      codes: ["FIELD_UNKNOWN"],
    },
    {
      name: "that is there twice",
      objects: [role("one", everybody), role("one", everybody), cluster(named)],
      codes: ["DUPLICATE"],
    },
    {
      name: "that leads back to itself",
      objects: [
        cluster(named),
        role("one", { ...everybody, sourceIdentityRef: named.identityRef }),
      ],
      codes: ["IDENTITY_REFUSED"],
    },
    {
      name: "beside credentials of the cluster's own",
      objects: [role("one", everybody), cluster({ ...named, credentials: { profile: "p" } })],
      codes: ["IDENTITY_REFUSED"],
    },
    {
      name: "of the process, which is for other namespaces",
      objects: [controller({ allowedNamespaces: { list: ["b"] } }), cluster({})],
      codes: ["IDENTITY_REFUSED"],
    },
  ];
  for (const { name, objects, codes } of refusals) {
    it(`refuses one ${name}`, () => {
      assert.deepEqual(
        read(objects).diagnostics.map(({ code }) => code),
        codes,
      );
    });
  }

  it("those of the process are for everybody as long as no object says otherwise", () => {
    assert.deepEqual(read([cluster({})]), { credentials: undefined, diagnostics: [] });
    const allowed = read([controller(everybody), cluster({})]);
    assert.deepEqual(allowed, { credentials: undefined, diagnostics: [] });
  });

  it("an API server takes identities alone, and knows the labels of namespaces", () => {
    const objectsOf = (...objects: readonly JsonObject[]) =>
      objects.map((value) => ({ name: String(value["kind"]), value: structuredClone(value) }));
    const own = cluster({ credentials: { profile: "admin" } });
    const { diagnostics } = readObjects(objectsOf(own), [provider]);
    const [{ code, hint } = assert.fail()] = diagnostics;
    assert.equal(code, "IDENTITY_REFUSED");
    assert.match(hint ?? "", /AWSClusterRoleIdentity by identityRef/);
    const byLabel = role("one", {
      allowedNamespaces: { selector: { matchLabels: { stage: "prod" } } },
    });
    const labels = () => ({ stage: "prod" });
    const allowed = readObjects(objectsOf(byLabel, cluster(named)), [provider], labels);
    assert.deepEqual(allowed.diagnostics, []);
    assert.deepEqual(credentialsOf(allowed.clusters), { assumeRoles: [{ arn: arn("one") }] });
  });
});
