import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  issueCertificate,
  type KeyedCertificate,
  newAuthority,
  publicKeyHash,
  validityOf,
} from "../../src/bootstrap/certificates/certificate.js";
import { newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { controlPlaneKeyFiles, signingArgs } from "../../src/bootstrap/host/key-files.js";
import { scratchFolder } from "../support/scratch.js";

const hourMs = 3_600_000;
const nowMs = Date.now();
const validity = { fromMs: nowMs - hourMs, untilMs: nowMs + hourMs };

describe("certificates, judged by openssl", () => {
  const scratch = scratchFolder();
  const file = (name: string, content: string): string => {
    const path = join(scratch.path, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const openssl = (...args: string[]): string =>
    execFileSync("openssl", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  const verified = (
    authority: KeyedCertificate,
    { certificatePem }: KeyedCertificate,
    ...args: string[]
  ) => {
    const ca = file("ca.crt", authority.certificatePem);
    return openssl(
      "verify",
      "-x509_strict",
      "-CAfile",
      ca,
      ...args,
      file("leaf.crt", certificatePem),
    );
  };

  for (const algorithm of ["ECDSA-P256", "RSA-2048", "RSA-4096"] as const) {
    it(`an authority of ${algorithm} signs what it is asked for, for its usages and names alone`, async () => {
      const authority = await newAuthority({ commonName: "kubernetes", algorithm, validity });
      const server = await issueCertificate(authority, {
        commonName: "kube-apiserver",
        algorithm,
        validity,
        usages: ["server"],
        dnsNames: ["api.example.org"],
        ipAddresses: ["10.96.0.1", "fd00::1"],
      });
      assert.match(verified(authority, server, "-purpose", "sslserver"), /: OK/);
      for (const args of [
        ["-verify_hostname", "api.example.org"],
        ["-verify_ip", "fd00::1"],
      ]) {
        assert.match(verified(authority, server, ...args), /: OK/);
      }
      for (const args of [
        ["-purpose", "sslclient"],
        ["-verify_ip", "10.96.0.2"],
      ]) {
        assert.throws(() => verified(authority, server, ...args), /verif|unsuitable|mismatch/i);
      }
      const key = createPrivateKey(server.privateKeyPem);
      const own = createPublicKey(key).export({ type: "spki", format: "der" });
      const certified = new X509Certificate(server.certificatePem).publicKey;
      assert.deepEqual(certified.export({ type: "spki", format: "der" }), own);
    });
  }

  it("a client is the user and the groups that it was asked for", async () => {
    const algorithm = "ECDSA-P256";
    const authority = await newAuthority({ commonName: "kubernetes", algorithm, validity });
    const client = await issueCertificate(authority, {
      commonName: 'ada, O=system:masters+CN="root"',
      organizations: ["viewers", "auditors"],
      algorithm,
      validity,
      usages: ["client"],
    });
    assert.match(verified(authority, client, "-purpose", "sslclient"), /: OK/);
    const subject = openssl(
      "x509",
      "-noout",
      "-subject",
      "-nameopt",
      "multiline",
      "-in",
      file("c", client.certificatePem),
    );
    const lines = subject.split("\n").map((line) => line.trim().replace(/ +/g, " "));
    assert.deepEqual(lines.slice(1, 4), [
      "organizationName = viewers",
      "organizationName = auditors",
      'commonName = ada, O=system:masters+CN="root"',
    ]);
    const { fromMs, untilMs } = validityOf(client.certificatePem);
    assert.ok(
      Math.abs(fromMs - validity.fromMs) < 1_000 && Math.abs(untilMs - validity.untilMs) < 1_000,
    );
  });

  it("one that has expired, or of another authority, is refused", async () => {
    const algorithm = "ECDSA-P256";
    const past = { fromMs: nowMs - 2 * hourMs, untilMs: nowMs - hourMs };
    const authority = await newAuthority({ commonName: "kubernetes", algorithm, validity });
    const other = await newAuthority({ commonName: "kubernetes", algorithm, validity });
    const request = { commonName: "a", algorithm, usages: ["client"] } as const;
    const expired = await issueCertificate(authority, { ...request, validity: past });
    const foreign = await issueCertificate(other, { ...request, validity });
    assert.throws(() => verified(authority, expired), /expired/);
    assert.throws(() => verified(authority, foreign), /verif|signature|issuer/i);
  });

  it("a cluster's keys stand where kubeadm looks for them, and no secret one is open to others", async () => {
    const keys = await newClusterKeys(nowMs, "ECDSA-P256");
    const files = controlPlaneKeyFiles(keys);
    assert.deepEqual(
      files.map(({ path, mode }) => `${mode} ${path.replace("/etc/kubernetes/pki/", "")}`),
      [
        "0644 ca.crt",
        "0600 ca.key",
        "0644 etcd/ca.crt",
        "0600 etcd/ca.key",
        "0644 front-proxy-ca.crt",
        "0600 front-proxy-ca.key",
        "0644 sa.pub",
        "0600 sa.key",
      ],
    );
    for (const { mode, content } of files) {
      assert.equal(content.includes("PRIVATE KEY"), mode === "0600");
    }
  });

  it("while they are rotated, a member signs with its own keys and takes what the others have signed", async () => {
    const [own, other] = await Promise.all([
      newClusterKeys(nowMs, "ECDSA-P256"),
      newClusterKeys(nowMs, "ECDSA-P256"),
    ]);
    const keys = { ...own, alsoTrusted: [other] };
    const contentOf = (path: string) =>
      controlPlaneKeyFiles(keys).find((one) => one.path === `/etc/kubernetes/pki/${path}`)
        ?.content ?? "";
    const bundle = file("bundle.crt", contentOf("ca.crt"));
    for (const { ca } of [own, other]) {
      const { certificatePem } = await issueCertificate(ca, {
        commonName: "ann",
        algorithm: "ECDSA-P256",
        usages: ["client"],
        validity,
      });
      openssl("verify", "-x509_strict", "-CAfile", bundle, file("ann.crt", certificatePem));
    }
    // kubeadm and the controller manager sign with the first, the latter from a file that holds no other.
    assert.ok(contentOf("ca.crt").startsWith(own.ca.certificatePem.trimEnd()));
    assert.equal(contentOf("ca.key"), own.ca.privateKeyPem);
    assert.equal(contentOf("signing-ca.crt"), own.ca.certificatePem);
    assert.deepEqual(signingArgs(keys), {
      "cluster-signing-cert-file": "/etc/kubernetes/pki/signing-ca.crt",
    });
    assert.equal(signingArgs(own), undefined);
    // A backup of such keys holds both authorities in one file.
    const restored = { ...own, ca: { ...own.ca, certificatePem: contentOf("ca.crt") } };
    assert.deepEqual(signingArgs(restored), signingArgs(keys));
    const signing = controlPlaneKeyFiles(restored).find(({ path }) =>
      path.endsWith("signing-ca.crt"),
    );
    assert.equal(signing?.content.trim(), own.ca.certificatePem.trim());
    assert.equal(contentOf("sa.pub").split("BEGIN PUBLIC KEY").length, 3);
    const years = (validityOf(keys.ca.certificatePem).untilMs - nowMs) / (365.25 * 24 * hourMs);
    assert.ok(Math.abs(years - 10) < 0.01, `${years} years`);
  });

  it("the hash of an authority's public key is what openssl makes of it", async () => {
    const authority = await newAuthority({
      commonName: "kubernetes",
      algorithm: "RSA-2048",
      validity,
    });
    const certificate = file("ca.crt", authority.certificatePem);
    const key = file("ca.pub", openssl("x509", "-pubkey", "-noout", "-in", certificate));
    const der = join(scratch.path, "ca.der");
    openssl("pkey", "-pubin", "-in", key, "-outform", "DER", "-out", der);
    const [, digest = ""] = /^([0-9a-f]{64})/.exec(openssl("dgst", "-sha256", "-r", der)) ?? [];
    assert.equal(publicKeyHash(authority.certificatePem), `sha256:${digest}`);
  });
});
