import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { parse, parseAllDocuments } from "yaml";
import { type ClusterKeys, newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { hostBootstrap, type HostSettings } from "../../src/bootstrap/host/host-bootstrap.js";
import { criSocketOf } from "../../src/bootstrap/host/software.js";
import { packedUserData, userDataOf } from "../../src/bootstrap/host/user-data.js";
import { assertLaw } from "../support/laws.js";

const join = { token: "abcdef.0123456789abcdef", caCertHashes: [`sha256:${"a".repeat(64)}`] };
const runtime = { name: "containerd", version: "2.1.4" };

function settingsOf(role: HostSettings["role"], about: Partial<HostSettings> = {}): HostSettings {
  return {
    cluster: {
      name: "prod",
      endpoint: { host: "api.example.org", port: 6443 },
      serviceCidrs: ["10.96.0.0/12"],
      podCidrs: ["192.168.0.0/16"],
      serviceDomain: "cluster.local",
      keyAlgorithm: "ECDSA-P256",
    },
    node: {
      name: { command: "hostname" },
      address: { command: "hostname -I | cut -d' ' -f1" },
      kubernetesVersion: "1.35.0",
      criSocket: criSocketOf("containerd"),
      labels: { pool: "a" },
      taints: [{ key: "dedicated", value: "gpu", effect: "NoSchedule" }],
      isSchedulable: false,
    },
    role,
    runtime,
    source: "apt",
    ...about,
  };
}

function fileIn(settings: HostSettings, path: string): string {
  const file = hostBootstrap(settings).files.find((one) => one.path === path);
  assert.ok(file !== undefined, path);
  return file.content;
}

describe("what makes a node of a host", () => {
  let keys: ClusterKeys;
  before(async () => {
    keys = await newClusterKeys(Date.parse("2026-01-01T00:00:00Z"), "ECDSA-P256");
  });

  it("is the same in cloud-config and Ignition: files, modes, and a script that runs last", () => {
    const bootstrap = hostBootstrap(settingsOf({ kind: "init", keys, token: join.token }));
    const text = userDataOf(bootstrap, "cloud-config");
    assert.ok(text.startsWith("#cloud-config\n"));
    const { write_files: written, runcmd } = parse(text) as {
      write_files: { path: string; permissions: string; content: string }[];
      runcmd: string[][];
    };
    const files = written.map(({ path, permissions, content }) => ({
      path,
      mode: permissions,
      content,
    }));
    assert.deepEqual([files, runcmd], [bootstrap.files, [[bootstrap.script]]]);
    const ignition = JSON.parse(userDataOf(bootstrap, "ignition")) as {
      storage: { files: { path: string; mode: number; contents: { source: string } }[] };
      systemd: { units: { contents: string }[] };
    };
    assert.deepEqual(
      ignition.storage.files.map(({ path, mode, contents }) => ({
        path,
        mode: mode.toString(8).padStart(4, "0"),
        content: Buffer.from(contents.source.split(",")[1] ?? "", "base64").toString(),
      })),
      bootstrap.files,
    );
    assert.match(
      ignition.systemd.units[0]?.contents ?? "",
      /ExecStart=\/usr\/local\/sbin\/capstan-bootstrap\n/,
    );
  });

  it("holds no secret that others on the host could read", () => {
    for (const role of [
      { kind: "init", keys, token: join.token },
      { kind: "joinControlPlane", keys, join },
      { kind: "joinWorker", join },
    ] as const) {
      for (const { path, mode, content } of hostBootstrap(settingsOf(role)).files) {
        const isSecret = content.includes("PRIVATE KEY") || content.includes(join.token);
        if (isSecret) assert.equal(mode, "0600", path);
      }
    }
  });

  it("keeps its log to root, and the token that kubeadm makes out of it", () => {
    const script = fileIn(
      settingsOf({ kind: "init", keys, token: join.token }),
      "/usr/local/sbin/capstan-bootstrap",
    );
    const lines = script.split("\n");
    const log = "/var/log/capstan-bootstrap.log";
    assert.ok(lines.indexOf(`(umask 077; : >> ${log})`) < lines.indexOf(`exec >> ${log} 2>&1`));
    assert.ok(lines.includes(`(umask 077; : >> ${log})`));
    assert.match(script, /^kubeadm init .* --skip-token-print$/m);
  });

  it("lets a member join others that show certificates of another authority", () => {
    const rotating = { ...keys, alsoTrusted: [keys] };
    const settings = settingsOf({ kind: "joinControlPlane", keys: rotating, join });
    const script = fileIn(settings, "/usr/local/sbin/capstan-bootstrap").split("\n");
    const at = script.indexOf(
      "kubeadm join phase control-plane-prepare all --config /etc/kubernetes/kubeadm.yaml",
    );
    assert.deepEqual(script.slice(at + 1, at + 4), [
      "authorities=$(base64 < /etc/kubernetes/pki/ca.crt | tr -d '\\n')",
      'sed -i "s|certificate-authority-data: .*|certificate-authority-data: $authorities|" /etc/kubernetes/admin.conf',
      "kubeadm join --config /etc/kubernetes/kubeadm.yaml --skip-phases=preflight,control-plane-prepare",
    ]);
    const worker = settingsOf({ kind: "joinWorker", join });
    assert.match(
      fileIn(worker, "/usr/local/sbin/capstan-bootstrap"),
      /^kubeadm join --config \S+$/m,
    );
  });

  it("leaves no token behind that somebody could join with", () => {
    const settings = settingsOf({ kind: "init", keys, token: join.token });
    const text = fileIn(settings, "/etc/kubernetes/kubeadm.yaml");
    const [object] = parseAllDocuments(text).map((one) => one.toJS() as Record<string, unknown>);
    // Without any, kubeadm would make one that is good for a day, and a ttl of 0 has no end.
    assert.deepEqual(object?.["bootstrapTokens"], [{ token: join.token, ttl: "1s" }]);
  });

  it("lets those of kubeadm's checks fail that its settings name", () => {
    const { node } = settingsOf({ kind: "init", keys, token: join.token });
    const ignored = { ...node, ignorePreflightErrors: ["SystemVerification"] };
    for (const role of [
      { kind: "init", keys, token: join.token },
      { kind: "joinWorker", join },
    ] as const) {
      const settings = settingsOf(role, { node: ignored });
      const text = fileIn(settings, "/etc/kubernetes/kubeadm.yaml");
      const [object] = parseAllDocuments(text).map((one) => one.toJS() as Record<string, unknown>);
      const registration = object?.["nodeRegistration"] as Record<string, unknown>;
      assert.deepEqual(registration["ignorePreflightErrors"], ["SystemVerification"]);
    }
  });

  it("gives workers no key of the cluster", () => {
    const { files } = hostBootstrap(settingsOf({ kind: "joinWorker", join }));
    assert.deepEqual(
      files.filter(({ content }) => /PRIVATE KEY|BEGIN CERT/.test(content)),
      [],
    );
  });

  it("always checks the authority's key on joining", () => {
    const text = fileIn(settingsOf({ kind: "joinWorker", join }), "/etc/kubernetes/kubeadm.yaml");
    const [object] = parseAllDocuments(text).map((one) => one.toJS() as Record<string, never>);
    assert.deepEqual(object?.["discovery"], {
      bootstrapToken: {
        token: join.token,
        apiServerEndpoint: "api.example.org:6443",
        caCertHashes: join.caCertHashes,
      },
    });
  });

  it("pins and holds the packages of kubelet, kubeadm, kubectl and the runtime", () => {
    const script = fileIn(
      settingsOf({ kind: "joinWorker", join }),
      "/usr/local/sbin/capstan-bootstrap",
    );
    assert.match(
      script,
      /'kubelet=1\.35\.0-\*' 'kubeadm=1\.35\.0-\*' 'kubectl=1\.35\.0-\*' 'containerd\.io=2\.1\.4-\*'/,
    );
    assert.match(script, /apt-mark hold kubelet kubeadm kubectl containerd\.io/);
  });

  it("verifies an image that holds everything, and installs nothing there", () => {
    const settings = settingsOf({ kind: "joinWorker", join }, { source: "image" });
    const script = fileIn(settings, "/usr/local/sbin/capstan-bootstrap");
    assert.doesNotMatch(script, /apt-get/);
    assert.match(script, /kubelet --version/);
  });

  it("is a script that a shell reads, packs to the same bytes each time, and fits where 16 KiB are allowed", () => {
    assertLaw(
      fc.property(
        fc.constantFrom("1.30.14", "1.31.14", "1.33.6", "1.34.2", "1.35.0"),
        fc.constantFrom("apt", "image"),
        fc.constantFrom("containerd", "cri-o"),
        fc.dictionary(fc.stringMatching(/^[a-z]{1,20}$/), fc.stringMatching(/^[a-z0-9]{0,20}$/), {
          maxKeys: 20,
        }),
        fc.boolean(),
        (kubernetesVersion, source, name, labels, isSchedulable) => {
          const { node } = settingsOf({ kind: "init", keys, token: join.token });
          const settings = settingsOf(
            { kind: "joinControlPlane", keys, join },
            {
              source: source === "apt" ? "apt" : "image",
              runtime: { name, version: "2.1.4" },
              node: {
                ...node,
                kubernetesVersion,
                labels,
                isSchedulable,
                criSocket: criSocketOf(name),
              },
            },
          );
          const text = userDataOf(hostBootstrap(settings), "cloud-config");
          const packed = packedUserData(text);
          assert.deepEqual(
            packed,
            packedUserData(userDataOf(hostBootstrap(settings), "cloud-config")),
          );
          assert.equal(gunzipSync(packed).toString(), text);
          assert.ok(packed.byteLength < 16_384, `${packed.byteLength} bytes`);
          execFileSync("sh", ["-n"], {
            input: fileIn(settings, "/usr/local/sbin/capstan-bootstrap"),
          });
        },
      ),
      60,
    );
  });
});
