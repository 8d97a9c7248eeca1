import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { join } from "node:path";
import { KubeConfig, type User } from "@kubernetes/client-node";
import { kubeadmVersions } from "#kubernetes";
import {
  issueCertificate,
  type KeyedCertificate,
  newAuthority,
  publicKeyHash,
} from "../../src/bootstrap/certificates/certificate.js";
import { type ClusterKeys, newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import {
  bootstrapTokenSecret,
  newBootstrapToken,
} from "../../src/bootstrap/tokens/bootstrap-token.js";
import type { JsonObject } from "../../src/api/json.js";
import { hostBootstrap, type HostSettings } from "../../src/bootstrap/host/host-bootstrap.js";
import { WorkloadApi } from "../../src/kube/workload-api.js";
import { systemClock } from "../../src/provider/clock.js";
import type { Identity } from "../../src/provider/port.js";
import { until } from "../scenario/until.js";
import { failsWith } from "../support/errors.js";
import { KubeadmControlPlane } from "../support/kubeadm-control-plane.js";
import { assertAccepted, endOf, type ProgramEnd, KubeadmHost } from "../support/kubeadm-host.js";
import { scratchFolder } from "../support/scratch.js";
import { sampleHost, sampleToken } from "./sample-host.js";

const hourMs = 3_600_000;
const nowMs = Date.now();
const algorithm = "ECDSA-P256";
const validity = { fromMs: nowMs - hourMs, untilMs: nowMs + hourMs };
const past = { fromMs: nowMs - 2 * hourMs, untilMs: nowMs - hourMs };
const pki = "/etc/kubernetes/pki";

const objects = `
apiVersion: v1
kind: Node
metadata: { name: host-1 }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: see-nodes }
rules: [{ apiGroups: [""], resources: [nodes], verbs: [get, list] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: see-nodes }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: see-nodes }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: viewers }]
`;
const joining: Identity = {
  cluster: "default/prod",
  clusterUid: "uid-1",
  kind: "TestHost",
  name: "host-2",
  token: "0123456789abcdef0123456789abcdef",
};

describe("a control plane that kubeadm makes of rendered files", () => {
  const scratch = scratchFolder();
  let keys: ClusterKeys;
  let controlPlane: KubeadmControlPlane;
  let cluster: Partial<HostSettings["cluster"]>;
  let tokens: WorkloadApi;
  let token: string;
  before(async () => {
    keys = await newClusterKeys(nowMs, algorithm);
    controlPlane = await KubeadmControlPlane.start({
      keys,
      settings: (endpoint) => {
        cluster = { endpoint };
        return sampleHost({ kind: "init", keys, token: sampleToken }, cluster);
      },
    });
    await controlPlane.apply(objects);
    const { url: server } = controlPlane;
    tokens = new WorkloadApi({ cluster: "default/prod", server, keys, clock: systemClock });
    token = await tokens.issue(joining, nowMs + hourMs);
  });
  after(() => controlPlane.stop());

  const client = (authority: KeyedCertificate, about: object = {}) =>
    issueCertificate(authority, {
      commonName: "ada",
      organizations: ["system:masters"],
      algorithm,
      validity,
      usages: ["client"],
      ...about,
    });

  const base64 = (text: string) => Buffer.from(text).toString("base64");
  /** What kubectl says to whoever shows this. */
  const kubectlAs = (shown: Omit<User, "name">, ...args: string[]): Promise<ProgramEnd> => {
    const config = new KubeConfig();
    config.loadFromOptions({
      clusters: [{ name: "c", server: controlPlane.url, caData: base64(keys.ca.certificatePem) }],
      users: [{ name: "u", ...shown }],
      contexts: [{ name: "c", cluster: "c", user: "u" }],
      currentContext: "c",
    });
    const file = join(scratch.path, "kubeconfig");
    writeFileSync(file, config.exportConfig(), { mode: 0o600 });
    return controlPlane.kubectl(file, ...args);
  };
  const listNodes = ({ certificatePem, privateKeyPem }: KeyedCertificate): Promise<ProgramEnd> => {
    const shown = { certData: base64(certificatePem), keyData: base64(privateKeyPem) };
    return kubectlAs(shown, "get", "nodes", "--output=name");
  };
  const refused = /You must be logged in|Unauthorized/;
  const isListed = ({ output }: ProgramEnd): boolean => output === "node/host-1\n";
  const openssl = (...args: string[]): Promise<ProgramEnd> => endOf("openssl", args);

  it("has certificates whose chains openssl takes, for what each of them is for", async () => {
    for (const [authority, name, purpose] of [
      ["ca", "apiserver", "sslserver"],
      ["ca", "apiserver-kubelet-client", "sslclient"],
      ["front-proxy-ca", "front-proxy-client", "sslclient"],
      ["etcd/ca", "etcd/server", "sslserver"],
      ["etcd/ca", "etcd/peer", "sslclient"],
      ["etcd/ca", "etcd/peer", "sslserver"],
      ["etcd/ca", "apiserver-etcd-client", "sslclient"],
      ["etcd/ca", "etcd/healthcheck-client", "sslclient"],
    ] as const) {
      const [ca, leaf] = [authority, name].map((one) =>
        controlPlane.host.path(`${pki}/${one}.crt`),
      );
      const verify = ["verify", "-x509_strict", "-purpose", purpose, "-CAfile", ca ?? ""];
      assertAccepted(await openssl(...verify, leaf ?? ""));
    }
  });

  it("has certificates of the same form as ours", async () => {
    const issued = [
      ["apiserver-kubelet-client", await client(keys.ca)],
      ["apiserver", await client(keys.ca, { usages: ["server"] })],
    ] as const;
    for (const [name, { certificatePem }] of issued) {
      const own = join(scratch.path, "own.crt");
      writeFileSync(own, certificatePem);
      const forms = await Promise.all(
        [own, controlPlane.host.path(`${pki}/${name}.crt`)].map((file) => {
          const extensions = "basicConstraints,keyUsage,extendedKeyUsage,authorityKeyIdentifier";
          return openssl("x509", "-noout", "-ext", extensions, "-in", file);
        }),
      );
      const lines = forms.map(({ output }) => output.trim().split("\n").sort());
      assert.deepEqual(lines[0], lines[1]);
    }
  });

  it("lists nodes to clients by their groups, and to nobody else", async () => {
    assert.ok(isListed(await listNodes(await client(keys.ca))));
    assert.ok(isListed(await listNodes(await client(keys.ca, { organizations: ["viewers"] }))));
    const { output } = await listNodes(await client(keys.ca, { organizations: ["guests"] }));
    assert.match(output, /User "ada" cannot list resource "nodes"/);
  });

  it("refuses a certificate that has expired, is a server's, or is of another authority", async () => {
    const foreign = await newAuthority({ commonName: "kubernetes", algorithm, validity });
    for (const mutant of [
      await client(keys.ca, { validity: past }),
      await client(keys.ca, { usages: ["server"] }),
      await client(foreign),
      await client(keys.frontProxy),
    ]) {
      const { code, output } = await listNodes(mutant);
      assert.notEqual(code, 0);
      assert.match(output, refused);
    }
  });

  it("takes clients of both authorities while one follows the other", async () => {
    const next = await newAuthority({ commonName: "kubernetes", algorithm, validity });
    const [old, young] = [await client(keys.ca), await client(next)];
    assert.match((await listNodes(young)).output, refused);
    const file = controlPlane.host.path(`${pki}/ca.crt`);
    try {
      writeFileSync(file, keys.ca.certificatePem + next.certificatePem);
      await until(
        "the next authority counts",
        async () => isListed(await listNodes(young)),
        240_000,
      );
      assert.ok(isListed(await listNodes(old)));
    } finally {
      writeFileSync(file, keys.ca.certificatePem);
    }
  });

  describe("takes tokens", () => {
    const other = { ...joining, name: "host-3", token: "f".repeat(32) };

    /** Whom it takes the bearer of a token for. */
    const whoIs = async (token: string): Promise<string> =>
      (await kubectlAs({ token }, "auth", "whoami")).output;
    const becomesUnknown = (bearer: string) =>
      until("nobody is known by it", async () => refused.test(await whoIs(bearer)));

    it("for hosts that are to join, until they are nodes", async () => {
      const made = [
        await tokens.issue(other, Date.now() + hourMs),
        await tokens.issue(other, Date.now() + hourMs),
      ];
      for (const one of made) {
        const [id = ""] = one.split(".");
        assert.match(await whoIs(one), new RegExp(`system:bootstrap:${id}`));
        assert.match(await whoIs(one), /system:bootstrappers:kubeadm:default-node-token/);
      }
      await tokens.revoke(other);
      await tokens.revoke(other);
      for (const one of made) await becomesUnknown(one);
      assert.match(await whoIs(token), /system:bootstrap:/);
    });

    it("for some hosts when those of all others are taken back, and never those that it did not make", async () => {
      const foreign = newBootstrapToken();
      const ours = bootstrapTokenSecret(foreign, other, Date.now() + hourMs);
      const { name, namespace } = ours["metadata"] as JsonObject;
      await controlPlane.apply(JSON.stringify({ ...ours, metadata: { name, namespace } }));
      const waiting = { ...other, token: "a".repeat(32) };
      const gone = { ...other, token: "b".repeat(32) };
      const [kept, left] = [
        await tokens.issue(waiting, Date.now() + hourMs),
        await tokens.issue(gone, Date.now() + hourMs),
      ];
      await tokens.revokeOthers([joining, waiting]);
      await becomesUnknown(left);
      assert.match(await whoIs(kept), /system:bootstrap:/);
      await tokens.revokeOthers([joining]);
      await becomesUnknown(kept);
      for (const one of [token, foreign]) assert.match(await whoIs(one), /system:bootstrap:/);
    });

    it("no longer than they were made for, unless that is extended", async () => {
      const endsAtMs = Date.now() + 15_000;
      const short = await tokens.issue(other, endsAtMs);
      const long = await tokens.issue({ ...other, token: "e".repeat(32) }, endsAtMs);
      await tokens.extend({ ...other, token: "e".repeat(32) }, Date.now() + hourMs);
      await becomesUnknown(short);
      assert.match(await whoIs(long), /system:bootstrap:/);
    });

    it("from nobody but its own cluster's administrator, and says what was refused", async () => {
      const strange = await newClusterKeys(nowMs, algorithm);
      const access = { cluster: "default/prod", server: controlPlane.url, clock: systemClock };
      const stranger = new WorkloadApi({
        ...access,
        keys: { ...strange, ca: { ...strange.ca, certificatePem: keys.ca.certificatePem } },
      });
      await assert.rejects(
        stranger.issue(other, Date.now() + hourMs),
        failsWith(
          "API_SERVER",
          /cannot create a token for host-3: API server https:\S+ of default\/prod: /,
        ),
      );
      const silent = new WorkloadApi({ ...access, keys, server: "https://127.0.0.1:1" });
      await assert.rejects(silent.issue(other, Date.now() + hourMs), { retryable: true });
    });
  });

  it("has an etcd that answers clients of its own authority alone", async () => {
    const read = (name: string) => readFileSync(controlPlane.host.path(`${pki}/${name}`));
    const health = async (name: string): Promise<string> => {
      const [ca, cert, key] = ["etcd/ca.crt", `${name}.crt`, `${name}.key`].map(read);
      const url = `https://127.0.0.1:${controlPlane.ports.etcd}/health`;
      const request = get(url, { ca, cert, key, agent: false });
      const [response] = (await once(request, "response")) as [IncomingMessage];
      response.setEncoding("utf8");
      return (await response.toArray()).join("");
    };
    assert.match(await health("apiserver-etcd-client"), /"health":"true"/);
    await assert.rejects(health("apiserver-kubelet-client"));
  });

  for (const kubernetesVersion of kubeadmVersions) {
    describe(`with kubeadm ${kubernetesVersion}`, () => {
      const hostOf = (role: HostSettings["role"], name: string): KubeadmHost =>
        new KubeadmHost(
          join(scratch.path, name),
          hostBootstrap(sampleHost(role, cluster, { kubernetesVersion, name })),
        );
      const joinWith = ({ certificatePem }: KeyedCertificate) => ({
        token,
        caCertHashes: [publicKeyHash(certificatePem)],
      });
      const dryJoin = (host: KubeadmHost, ...args: string[]): Promise<ProgramEnd> =>
        host.kubeadm(
          kubernetesVersion,
          "join",
          "--dry-run",
          "--ignore-preflight-errors=all",
          ...args,
        );

      beforeEach(async () => {
        const host = hostOf({ kind: "init", keys, token: sampleToken }, "host-1");
        writeFileSync(host.path("/admin.conf"), readFileSync(controlPlane.kubeconfig));
        const upload = ["init", "phase", "upload-config", "kubeadm", "--kubeconfig=/admin.conf"];
        assertAccepted(await host.kubeadm(kubernetesVersion, ...upload));
        const [id] = token.split(".");
        const path = `{.data.jws-kubeconfig-${id}}`;
        const args = [
          "get",
          "configmap",
          "cluster-info",
          "-n",
          "kube-public",
          `-ojsonpath=${path}`,
        ];
        const isSigned = async () =>
          (await controlPlane.kubectl(controlPlane.kubeconfig, ...args)).output !== "";
        await until("the cluster's address is signed", isSigned);
      });

      const assertJoins = ({ code, output }: ProgramEnd): void => {
        assertAccepted({ code, output });
        // Where a dry run does not find what it asks for, it makes it up.
        assert.doesNotMatch(
          output,
          /"(cluster-info|kubeadm-config|kubelet-config)".*\n.*does not exist|Mutating/,
        );
      };

      it("a worker would join", async () => {
        const role = { kind: "joinWorker", join: joinWith(keys.ca) } as const;
        assertJoins(await dryJoin(hostOf(role, "host-2")));
      });

      it("a further member of the control plane would join", async () => {
        const role = { kind: "joinControlPlane", keys, join: joinWith(keys.ca) } as const;
        const host = hostOf(role, "host-2");
        // They ask etcd with a certificate that a dry run has written elsewhere.
        assertJoins(await dryJoin(host, "--skip-phases=check-etcd,control-plane-join/etcd"));
      });

      it("nobody joins who knows the authority of another cluster", async () => {
        const role = { kind: "joinWorker", join: joinWith(keys.etcd) } as const;
        const { code, output } = await dryJoin(hostOf(role, "host-2"));
        assert.notEqual(code, 0);
        assert.match(output, /none of the public keys .* are pinned/);
      });
    });
  }
});
