import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import fc from "fast-check";
import type { Json, JsonObject } from "../../src/api/json.js";
import { authorityFacts } from "../../src/bootstrap/certificates/authorities.js";
import { newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { givenKeys, keyFilePlaces } from "../../src/bootstrap/certificates/given-keys.js";
import { keySecrets, kubeconfigSecret } from "../../src/bootstrap/certificates/secrets.js";
import { issueUserCertificate } from "../../src/bootstrap/certificates/user-certificate.js";
import { controlPlaneKeyFiles } from "../../src/bootstrap/host/key-files.js";
import { kubeconfigOf, mergedKubeconfig } from "../../src/bootstrap/kubeconfig/kubeconfig.js";
import { assertAsyncLaw } from "../support/laws.js";

const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);
const hourMs = 3_600_000;

/** The names in a certificate as its bytes hold them: of the user, and of the groups. */
async function namesIn(pem: string): Promise<[readonly string[], readonly string[]]> {
  await import("reflect-metadata");
  const { X509Certificate: Parsed } = await import("@peculiar/x509");
  const { subjectName } = new Parsed(pem);
  return [subjectName.getField("CN"), subjectName.getField("O")];
}

describe("certificates of users", () => {
  it("name the user and the groups that were asked for, whatever characters they have", async () => {
    const keys = await newClusterKeys(nowMs, "ECDSA-P256");
    const word = fc.oneof(
      fc.string({ minLength: 1, maxLength: 20 }),
      fc.constantFrom('a,b+c="d"', "CN=admin", "#0c026869", " x ", "a\\,O=system:masters", "ü+ñ"),
    );
    await assertAsyncLaw(
      fc.asyncProperty(word, fc.array(word, { maxLength: 3 }), async (user, groups) => {
        const asked = { user, groups, ttlMs: hourMs };
        const { certificatePem } = await issueUserCertificate(keys, asked, nowMs);
        assert.deepEqual(await namesIn(certificatePem), [[user], groups]);
      }),
      50,
    );
  });

  it("count as long as they were asked for, and never longer than their authority", async () => {
    const keys = await newClusterKeys(nowMs, "ECDSA-P256");
    const until = async (ttlMs: number) => {
      const asked = { user: "ada", groups: [], ttlMs };
      const { certificatePem, expiresAtMs } = await issueUserCertificate(keys, asked, nowMs);
      assert.equal(new X509Certificate(certificatePem).validToDate.getTime(), expiresAtMs);
      return expiresAtMs;
    };
    assert.equal(await until(8 * hourMs), nowMs + 8 * hourMs);
    const [ca] = authorityFacts(keys);
    assert.equal(await until(100 * 365 * 24 * hourMs), ca?.expiresAtMs);
  });
});

describe("a kubeconfig", () => {
  const entry = {
    name: "default.prod",
    user: "ada",
    server: "https://10.0.0.10:6443",
    authorityPem: "authority",
    credential: { kind: "exec", command: "capstan", args: ["kubeconfig"] },
  } as const;
  const named = (config: JsonObject, list: string) =>
    (config[list] as unknown as { name: string }[]).map(({ name }) => name);

  it("goes into another one beside what is there, in the place of its own", () => {
    const old = kubeconfigOf({ ...entry, server: "https://old:6443" });
    const other = kubeconfigOf({ ...entry, name: "other", user: "bob" });
    const kept = { ...mergedKubeconfig(other, old), preferences: { colors: true } };
    const merged = mergedKubeconfig(kept, kubeconfigOf(entry)) ?? {};
    assert.deepEqual(named(merged, "clusters"), ["other", "default.prod"]);
    assert.deepEqual(named(merged, "users"), ["other:bob", "default.prod:ada"]);
    assert.deepEqual(named(merged, "contexts"), ["other", "default.prod"]);
    assert.equal(merged["current-context"], "default.prod");
    assert.deepEqual(merged["preferences"], { colors: true });
    assert.ok(!JSON.stringify(merged).includes("https://old:6443"));
  });

  it("goes into an empty file, and into nothing that is none", () => {
    const config = kubeconfigOf(entry);
    assert.deepEqual(mergedKubeconfig(null, config), config);
    const others: Json[] = ["text", ["a"], { clusters: "text" }];
    for (const one of others) assert.equal(mergedKubeconfig(one, config), undefined);
  });

  it("is kept in a Secret as Cluster API keeps it, and so are the keys", async () => {
    const owner = { namespace: "team-a", name: "prod" };
    const keys = await newClusterKeys(nowMs, "ECDSA-P256");
    const secrets = [...keySecrets(keys, owner), kubeconfigSecret("text", owner)] as unknown as {
      metadata: { name: string; namespace: string; labels: object };
      type: string;
      data: Record<string, string>;
    }[];
    assert.deepEqual(
      secrets.map(({ metadata, data }) => [metadata.name, Object.keys(data)]),
      [
        ["prod-ca", ["tls.crt", "tls.key"]],
        ["prod-etcd", ["tls.crt", "tls.key"]],
        ["prod-proxy", ["tls.crt", "tls.key"]],
        ["prod-sa", ["tls.crt", "tls.key"]],
        ["prod-kubeconfig", ["value"]],
      ],
    );
    for (const { metadata, type } of secrets) {
      assert.equal(metadata.namespace, "team-a");
      assert.deepEqual(metadata.labels, { "cluster.x-k8s.io/cluster-name": "prod" });
      assert.equal(type, "cluster.x-k8s.io/secret");
    }
    const key = Buffer.from(secrets[0]?.data["tls.key"] ?? "", "base64").toString();
    assert.equal(key, keys.ca.privateKeyPem);
  });
});

describe("keys that somebody gives", () => {
  const folderOf = async (nowOfKeysMs = nowMs) =>
    new Map(
      controlPlaneKeyFiles(await newClusterKeys(nowOfKeysMs, "ECDSA-P256")).map(
        ({ path, content }) => [path.replace("/etc/kubernetes/pki/", ""), content],
      ),
    );
  const problemsOf = (files: ReadonlyMap<string, string>) => {
    const given = givenKeys(files, keyFilePlaces, nowMs);
    return given.kind === "unusable" ? given.problems : [];
  };

  it("are taken as they are, and what is missing is left to us", async () => {
    const files = await folderOf();
    const all = givenKeys(files, keyFilePlaces, nowMs);
    assert.ok(all.kind === "keys");
    assert.deepEqual(Object.keys(all.keys), ["ca", "etcd", "frontProxy", "serviceAccount"]);
    assert.equal(all.keys.ca?.privateKeyPem, files.get("ca.key"));
    const some = givenKeys(
      new Map([...files].filter(([name]) => name.startsWith("ca."))),
      keyFilePlaces,
      nowMs,
    );
    assert.ok(some.kind === "keys");
    assert.deepEqual(Object.keys(some.keys), ["ca"]);
  });

  it("are refused with all that is wrong with them, and nothing of what they say", async () => {
    const files = await folderOf();
    const others = await folderOf();
    const expired = await folderOf(nowMs - 11 * 365 * 24 * hourMs);
    files.set("ca.key", others.get("ca.key") ?? "");
    files.set("etcd/ca.crt", expired.get("etcd/ca.crt") ?? "");
    files.set("etcd/ca.key", expired.get("etcd/ca.key") ?? "");
    files.set("front-proxy-ca.key", "not a key, but a secret");
    files.delete("sa.key");
    assert.deepEqual(problemsOf(files), [
      "sa.pub is there, and sa.key is not",
      "ca.key is not the key of ca.crt",
      "etcd/ca.crt has expired on 2025-01-05",
      "front-proxy-ca.key holds no private key in PEM",
    ]);
  });

  it("are refused where there are none", () =>
    assert.deepEqual(problemsOf(new Map()), [
      "there is no ca.crt, etcd/ca.crt, front-proxy-ca.crt or sa.pub",
    ]));

  it("are refused when a certificate is no authority's", async () => {
    const keys = await newClusterKeys(nowMs, "ECDSA-P256");
    const asked = { user: "ada", groups: [], ttlMs: hourMs };
    const leaf = await issueUserCertificate(keys, asked, nowMs);
    const files = new Map([
      ["ca.crt", leaf.certificatePem],
      ["ca.key", leaf.privateKeyPem],
    ]);
    assert.deepEqual(problemsOf(files), ["ca.crt may not sign certificates: it is no authority"]);
  });
});
