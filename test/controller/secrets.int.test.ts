import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { type ClusterKeys, newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { keySecrets } from "../../src/bootstrap/certificates/secrets.js";
import { manifestFolder } from "../deploy/manifests.js";
import type { Command } from "../scenario/command.js";
import { foundIn, planted, vaultObjects } from "../scenario/planted.js";
import { until } from "../scenario/until.js";
import { writeVaultProvider } from "../scenario/vault-provider.js";
import { WatchRig } from "../scenario/watch-rig.js";
import { removeFolder } from "../support/folders.js";

const namespace = "capstan-system";

interface ShownSecret {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[];
  };
  readonly type: string;
  readonly data: Readonly<Record<string, string>>;
}

const namesOf = (cluster: string) =>
  ["ca", "etcd", "kubeconfig", "proxy", "sa"].map((purpose) => `${cluster}-${purpose}`);
const fromBase64 = (text = "") => Buffer.from(text, "base64").toString();
/** What tells a key or a certificate from any other text. */
const longLinesOf = (text: string) => text.split("\n").filter((line) => line.length > 50);

describe("Secrets of clusters in an API server, with the rights of deploy/kubernetes", () => {
  let rig: WatchRig;
  let controller: Command;
  let address: string;
  /** Where a provider that repeats what it is given has its cloud. */
  let vault: string;
  /** A user's own. */
  let own: ClusterKeys;

  before(async () => {
    own = await newClusterKeys(Date.now(), "RSA-2048");
    vault = mkdtempSync(join(tmpdir(), "capstan-vault-"));
    const env = writeVaultProvider(vault);
    rig = await WatchRig.start(machinesOf("first"), { auditLog: true, env });
    for (const file of ["namespace", "service-account", "cluster-role", "role"]) {
      await rig.kubectl("apply", "-f", join(manifestFolder, `${file}.yaml`));
    }
    const token = (await rig.kubectl("create", "token", "capstan", "-n", namespace)).trim();
    const { kubeconfig } = rig.server.userWith(token, "capstan");
    const serving = ["--metrics-address", "127.0.0.1:0", "--cluster-metrics"];
    const as = ["--kubeconfig", kubeconfig, "--lease-namespace", namespace];
    controller = rig.watch(
      ...as,
      "--providers",
      "local,vault",
      "--json",
      "--log-level",
      "debug",
      ...serving,
    );
    address = await until("the address of its metrics", () => {
      assert.equal(controller.hasEnded, false, controller.said);
      return /metrics and probes on ([\d.:]+)/.exec(controller.said)?.[1];
    });
  });
  after(async () => {
    await rig.stop();
    removeFolder(vault);
  });

  function machinesOf(name: string) {
    return { name, machines: { [`${name}-cp`]: { controlPlane: true, bootMs: 0 } } };
  }

  async function make(name: string): Promise<void> {
    rig.sandbox.write(machinesOf(name));
    await rig.applyManifests();
  }

  /** A cluster that runs, and whose Secrets are there. */
  async function running(name: string): Promise<ShownSecret[]> {
    await make(name);
    await rig.untilRunning(name, 1);
    return untilThere(name);
  }

  const secrets = async (cluster: string): Promise<ShownSecret[]> => {
    const path = `/api/v1/namespaces/default/secrets`;
    const { items } = (await rig.server.admin.read(path)) as { items: ShownSecret[] };
    return items.filter(({ metadata }) => metadata.name.startsWith(`${cluster}-`));
  };
  const untilThere = (cluster: string): Promise<ShownSecret[]> =>
    until(`all Secrets of ${cluster} are there`, async () => {
      const there = await secrets(cluster);
      return there.length === namesOf(cluster).length ? there : undefined;
    });
  /** The keys that the records of a cluster hold, as a backup has them. */
  const recorded = async (cluster: string): Promise<string> => {
    const named = `default.${cluster}`;
    return (await rig.sandbox.capstan(0, "certificates", "export", named, "--secrets")).stdout;
  };

  it("are there once it runs, as Cluster API lays them out, and hold what is recorded", async () => {
    const there = await running("plain");
    assert.deepEqual(there.map(({ metadata }) => metadata.name).sort(), namesOf("plain"));
    const backup = await recorded("plain");
    for (const { metadata, type, data } of there) {
      assert.equal(type, "cluster.x-k8s.io/secret");
      assert.deepEqual(metadata.labels, { "cluster.x-k8s.io/cluster-name": "plain" });
      const [owner] = metadata.ownerReferences ?? [];
      assert.deepEqual([owner?.kind, owner?.name], ["Cluster", "plain"]);
      const [secret = ""] = Object.values(data).slice(-1);
      if (metadata.name !== "plain-kubeconfig") assert.ok(backup.includes(secret), metadata.name);
    }
    const encoded = await rig.kubectl(
      "get",
      "secret",
      "plain-kubeconfig",
      "-o",
      "jsonpath={.data.value}",
    );
    const config = parse(fromBase64(encoded)) as {
      clusters: [{ cluster: { server: string; "certificate-authority-data": string } }];
      users: [{ user: { "client-certificate-data": string } }];
    };
    const ca = there.find(({ metadata }) => metadata.name === "plain-ca")?.data["tls.crt"];
    const [{ cluster }] = config.clusters;
    assert.equal(cluster["certificate-authority-data"], ca);
    const { status } = await rig.get("cluster", "plain");
    const [endpoint] = status?.["apiEndpoints"] as [{ host: string; port: number }];
    assert.equal(cluster.server, `https://${endpoint.host}:${endpoint.port}`);
    const certificate = new X509Certificate(
      fromBase64(config.users[0].user["client-certificate-data"]),
    );
    assert.ok(certificate.verify(new X509Certificate(fromBase64(ca)).publicKey));
  });

  it("come back when somebody deletes them, and are set back when somebody changes them", async () => {
    const before = await running("back");
    const contents = (all: readonly ShownSecret[]) =>
      Object.fromEntries(all.map(({ metadata, data }) => [metadata.name, data]));
    await rig.kubectl("delete", "secret", "back-ca", "back-kubeconfig", "--wait=false");
    const edit = JSON.stringify({ data: { "tls.key": "ZWRpdGVk", more: "ZWRpdGVk" } });
    await rig.kubectl("patch", "secret", "back-sa", "--type=merge", "-p", edit);
    const after = await until("they are back", async () => {
      const all = await secrets("back");
      const isBack = all.length === 5 && !JSON.stringify(all).includes("ZWRpdGVk");
      return isBack ? all : undefined;
    });
    const [{ "back-kubeconfig": _old, ...kept }, { "back-kubeconfig": _new, ...made }] = [
      contents(before),
      contents(after),
    ];
    assert.deepEqual(made, kept);
  });

  it("go with their Cluster, but for those of users", async () => {
    const [ca] = keySecrets(own, { namespace: "default", name: "gone" });
    await rig.server.apply(JSON.stringify(ca));
    await running("gone");
    await rig.kubectl("delete", "cluster", "gone");
    const fewer = async () => {
      const there = await secrets("gone");
      return there.length < 2 ? there : undefined;
    };
    // A garbage collector learns of new kinds every 30 seconds.
    const left = await until("ours are gone", fewer, 100_000, 200);
    assert.deepEqual(
      left.map(({ metadata }) => metadata.name),
      ["gone-ca"],
    );
  });

  it("are told by no log, Event, status or metric, whatever is done with them", async () => {
    const owner = { namespace: "default", name: "silent" };
    const [ca, etcd] = keySecrets(own, owner);
    const mixed = { ...ca, data: { ...ca?.data, "tls.key": etcd?.data["tls.key"] } };
    await rig.server.apply(JSON.stringify(mixed));
    await make("silent");
    await until("it is refused", async () => {
      const { status } = await rig.get("cluster", "silent");
      return status?.["errorReason"] !== undefined;
    });
    await rig.server.apply(JSON.stringify(ca));
    await rig.untilRunning("silent", 1);
    const there = await untilThere("silent");
    await rig.kubectl("delete", "secret", "silent-sa", "--wait=false");
    await untilThere("silent");
    const events = await rig.kubectl("get", "events", "-A", "-o", "json");
    const objects = JSON.stringify(await rig.all("clusters,machines"));
    const metrics = await (await fetch(`http://${address}/metrics`)).text();
    const kept = there.flatMap(({ data }) => Object.values(data));
    const texts = [...kept.map(fromBase64), own.etcd.privateKeyPem];
    const planted = [...kept, ...texts.flatMap(longLinesOf)].map((text) => text.slice(-50));
    assert.ok(planted.length > 30);
    for (const one of planted) {
      const told = [events, objects, metrics, controller.said].filter((text) => text.includes(one));
      assert.deepEqual(told, []);
    }
  });

  it("of resources are told by none either, where a cloud repeats what it was given", async () => {
    const apply = async (...given: Parameters<typeof vaultObjects>) => {
      rig.sandbox.writeObjects(vaultObjects(...given));
      await rig.applyManifests();
    };
    const shown = async () =>
      JSON.stringify((await rig.all("clusters,machines")).map(({ status }) => status));
    const events = () => rig.kubectl("get", "events", "-A", "-o", "json");
    await apply();
    await rig.untilRunning("vaulted", 1);
    const seen = [await shown()];
    assert.match(seen[0] ?? "", /"adminToken":"\[secret\]"/);

    const cloud = join(vault, "cloud");
    const host = join(cloud, readdirSync(cloud).find((file) => file.startsWith("cp-0")) ?? "");
    const drifted = planted["the same field, changed in the cloud"];
    const there = readFileSync(host, "utf8");
    writeFileSync(host, there.replaceAll(planted["a secret field"], drifted));
    await until("its drift is told", async () => (await events()).includes("DriftFound"));
    seen.push(await shown());

    await apply({ password: planted["the same field, changed"], note: "refused" });
    await until("the refusal is told", async () => (await events()).includes("does not take"));
    seen.push(await shown(), await events(), controller.said);
    seen.push(await (await fetch(`http://${address}/metrics`)).text());
    assert.deepEqual(
      seen.flatMap((text, at) => foundIn(text, `place ${at}`)),
      [],
    );
    await rig.kubectl("delete", "cluster", "vaulted", "--wait=false");
  });
});
