import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createPrivateKey } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { findKubernetes } from "#kubernetes";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { demoStack, type ScenarioCluster } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";

const member: ScenarioCluster = { machines: { "cp-0": { controlPlane: true } } };
const pair: ScenarioCluster = { machines: { ...member.machines, "worker-0": {} } };

describe("the keys of a cluster", () => {
  let sandbox: Sandbox;
  let output: string;

  copyForEachTest(member, (copy) => {
    sandbox = copy;
    output = "";
  });

  const capstan = async (code: number, ...args: string[]) => {
    const { stdout, stderr } = await sandbox.capstan(code, ...args);
    output += stdout + stderr;
    return { stdout, stderr };
  };
  const hashes = async () => (await capstan(0, "certificates", "show", demoStack)).stdout;
  const exported = async (name: string) => {
    const out = join(sandbox.folder, name);
    await capstan(0, "certificates", "export", demoStack, "--out", out);
    return out;
  };

  it("are made once, and kept by changes, failures and rollbacks", async () => {
    const before = await hashes();
    assert.match(before, /^ca +ECDSA-P256 +\d{4}-\d\d-\d\d +\d+d\S* +API servers.* sha256:\S+$/m);
    sandbox.write(pair);
    await sandbox.up();
    assert.equal(await hashes(), before);
    await capstan(0, "rollback", "--yes", "--to", "1", "--allow-removal", "workers", demoStack);
    assert.equal(await hashes(), before);
  });

  it("are lost with the state, and given back from a backup", async () => {
    const before = await hashes();
    const backup = await exported("backup");
    sandbox.loseState(demoStack);
    await capstan(0, "up", "--yes", "--adopt", "-f", sandbox.manifests, "--certificates", backup);
    assert.equal(await hashes(), before);
  });

  it("are not made anew for hosts that trust others", async () => {
    sandbox.loseState(demoStack);
    await capstan(0, "up", "--yes", "--adopt", "-f", sandbox.manifests);
    sandbox.write(pair);
    await sandbox.up();
    const { stderr } = await capstan(1, "certificates", "show", demoStack);
    assert.match(stderr, /cannot show the keys of default\/demo: its state holds no keys/);
  });

  it("are given back as a whole or not at all, also where nothing else is to be done", async () => {
    await capstan(0, "destroy", "--yes", demoStack);
    await sandbox.up();
    const before = await hashes();
    const backup = await exported("whole");
    const part = join(sandbox.folder, "part");
    mkdirSync(part);
    for (const name of ["ca.crt", "ca.key"]) copyFileSync(join(backup, name), join(part, name));
    sandbox.loseState(demoStack);
    const giving = (folder: string) =>
      ["up", "--yes", "--adopt", "-f", sandbox.manifests, "--certificates", folder] as const;
    const refused =
      /its hosts were made with keys that are not among them \(etcd, frontProxy, serviceAccount\)/;
    assert.match((await capstan(65, ...giving(part))).stderr, refused);
    await capstan(0, "up", "--yes", "--adopt", "-f", sandbox.manifests);
    assert.match((await capstan(65, ...giving(part))).stderr, refused);
    const begin = sandbox.ledgerEnd();
    await capstan(0, ...giving(backup));
    assert.equal(await hashes(), before);
    assert.deepEqual(sandbox.mutations(begin), []);
    const { stdout } = await capstan(0, ...giving(backup));
    assert.match(stdout, /No changes/);
  });

  it("are others for another life of the cluster, can be one's own, and are not changed by giving others", async () => {
    const mine = await exported("mine");
    const before = await hashes();
    await capstan(0, "destroy", "--yes", demoStack);
    await capstan(0, "up", "--yes", "-f", sandbox.manifests, "--certificates", mine);
    assert.equal(await hashes(), before);
    await capstan(0, "destroy", "--yes", demoStack);
    await capstan(1, "certificates", "show", demoStack);
    await sandbox.up();
    assert.notEqual(await hashes(), before);
    sandbox.write(pair);
    const begin = sandbox.ledgerEnd();
    const args = ["up", "--yes", "-f", sandbox.manifests, "--certificates", mine];
    const { stderr } = await capstan(65, ...args);
    assert.match(stderr, /it was made with others \(ca, etcd, frontProxy, serviceAccount\)/);
    assert.deepEqual(sandbox.mutations(begin), []);
  });

  it("are told of by status and describe when they are about to expire", async () => {
    const soon = ["-subj", "/CN=kubernetes", "-days", "20", "-addext", "keyUsage=keyCertSign"];
    const folder = join(sandbox.folder, "soon");
    mkdirSync(folder);
    const [key, certificate] = [join(folder, "ca.key"), join(folder, "ca.crt")];
    execFileSync(
      "openssl",
      [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        ...soon,
        "-keyout",
        key,
        "-out",
        certificate,
      ],
      { stdio: "ignore" },
    );
    const shown = async (verb: string) => (await capstan(0, verb, demoStack)).stdout;
    for (const verb of ["status", "describe"]) assert.doesNotMatch(await shown(verb), /expires/);
    await capstan(0, "destroy", "--yes", demoStack);
    await capstan(0, "up", "--yes", "-f", sandbox.manifests, "--certificates", folder);
    for (const verb of ["status", "describe"]) {
      const text = await shown(verb);
      assert.match(text, /^certificate ca expires on \d{4}-\d\d-\d\d, in less than 30 days$/m);
    }
    const { stdout } = await capstan(0, "--json", "describe", demoStack);
    const { certificates } = JSON.parse(stdout) as { certificates: { name: string }[] };
    assert.deepEqual(
      certificates.map(({ name }) => name),
      ["ca", "etcd", "frontProxy"],
    );
  });

  it("let people in for as long as they ask, by files that only they can read", async () => {
    const file = join(sandbox.folder, "kube", "config");
    const who = ["--user", "ada", "--group", "viewers", "--ttl", "30m"];
    await capstan(0, "kubeconfig", demoStack, "--merge", "--out", file, ...who);
    await capstan(0, "kubeconfig", demoStack, "--merge", "--out", file, "--exec", "--user", "bob");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const kubectl = join(findKubernetes(process.env)?.binDir ?? "", "kubectl");
    const view = (path: string) =>
      execFileSync(
        kubectl,
        ["--kubeconfig", file, "config", "view", "--raw", "-o", `jsonpath=${path}`],
        { encoding: "utf8" },
      );
    assert.match(view("{.clusters[0].cluster.server}"), /^https:\/\/10\.\d+\.\d+\.\d+:6443$/);
    assert.equal(view("{.users[*].name}"), `${demoStack}:ada ${demoStack}:bob`);
    assert.equal(view("{.current-context}"), demoStack);
    const certificate = Buffer.from(view("{.users[0].user.client-certificate-data}"), "base64");
    const openssl = (...args: string[]) =>
      execFileSync("openssl", args, { encoding: "utf8", input: certificate });
    assert.match(openssl("x509", "-noout", "-subject"), /O = viewers, CN = ada/);
    assert.match(openssl("verify", "-CAfile", join(await exported("keys"), "ca.crt")), /OK/);
    const args = JSON.parse(view("{.users[1].user.exec.args}")) as string[];
    const { stdout } = await sandbox.capstan(0, ...args.slice(2));
    const { kind, status } = JSON.parse(stdout) as { kind: string; status: object };
    assert.equal(kind, "ExecCredential");
    assert.deepEqual(Object.keys(status), [
      "expirationTimestamp",
      "clientCertificateData",
      "clientKeyData",
    ]);
  });

  it("are shown by render to whoever asks for that, and says so", async () => {
    const render = (code: number, ...args: string[]) =>
      sandbox.capstan(code, "render", "cp-0", "-f", sandbox.manifests, ...args);
    assert.doesNotMatch((await render(0)).stdout, /PRIVATE KEY/);
    assert.match((await render(64, "--reveal")).stderr, /cannot ask for confirmation/);
    const { stdout } = await render(0, "--reveal", "--yes");
    const key = readFileSync(join(await exported("keys"), "ca.key"), "utf8");
    assert.ok(stdout.includes(key.split("\n")[1] ?? "?"));
  });

  it("are in no output but an export, in no file in clear, and in no folder that others read", async () => {
    const folder = await exported("keys");
    sandbox.write(pair);
    const saved = join(sandbox.folder, "plan.json");
    await capstan(2, "plan", "--details", "-f", sandbox.manifests, "--out", saved);
    await capstan(0, "up", "--yes", "--json", "-f", sandbox.manifests);
    for (const verb of ["describe", "history", "status", "state list"]) {
      await capstan(0, ...verb.split(" "), demoStack);
      await capstan(0, ...verb.split(" "), demoStack, "--json");
    }
    await capstan(0, "history", "show", "2", demoStack, "--json");
    const names = ["ca.key", "etcd/ca.key", "front-proxy-ca.key", "sa.key"];
    const secrets = names.flatMap((name) => {
      const pem = readFileSync(join(folder, name), "utf8");
      const der = createPrivateKey(pem).export({ type: "pkcs8", format: "der" });
      return [pem.split("\n")[1] ?? "", der.subarray(-24).toString("hex"), der.subarray(-24)];
    });
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    for (const name of names) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
    // Packed, nobody would find them: what holds them has to be encrypted as a whole.
    const payloads = [...stateOf(sandbox).matchAll(/"payload":\s*(\{[^}]*\}|"[^"]*")/g)];
    assert.ok(payloads.length >= 2);
    for (const [, payload = ""] of payloads) assert.match(payload, /"ciphertext":/);
    const places = filesBelow(sandbox.folder).filter((path) => !path.startsWith(folder));
    assert.ok(places.length > 10);
    for (const secret of secrets) {
      assert.ok(!output.includes(secret.toString()), "in an output");
      for (const path of places) assert.ok(!readFileSync(path).includes(secret), path);
    }
  });
});

function stateOf({ state }: Sandbox): string {
  const folder = join(state, "pulumi", ".pulumi", "stacks", "capstan");
  return readFileSync(join(folder, `${demoStack}.json`), "utf8");
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : entry.isFile() ? [path] : [];
  });
}
