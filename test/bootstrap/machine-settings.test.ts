import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { parseAllDocuments } from "yaml";
import {
  configurationPath,
  hostBootstrap,
  scriptPath,
} from "../../src/bootstrap/host/host-bootstrap.js";
import { maskedSecrets, roleWith } from "../../src/bootstrap/host/host-secrets.js";
import {
  controlPlaneConfiguration,
  hostSettings,
  untoldBy,
} from "../../src/bootstrap/host/machine-settings.js";
import { awsProvider } from "../../providers/aws/provider.js";
import type { MachineToCompile } from "../../src/provider/port.js";
import { noClients } from "../providers/aws/no-clients.js";
import { cluster, desiredOf, localProvider } from "../support/manifests.js";

const { cluster: prod } = desiredOf([cluster()]);

const machine: MachineToCompile = {
  name: "cp-0",
  controlPlane: true,
  spec: {
    versions: { kubelet: "1.33.6", controlPlane: "1.34.2" },
    roles: ["Master", "Node"],
    metadata: {
      labels: { team: "a", "node-role.kubernetes.io/main": "" },
      annotations: { note: "it's $HOME; `id`" },
    },
    taints: [{ key: "dedicated", value: "gpu", effect: "NoSchedule" }],
    configSource: { configMap: { name: "a", namespace: "b", kubeletConfigKey: "c" } },
    providerSpec: {},
  },
  providerSpec: {
    kubeadm: {
      clusterConfiguration: { apiServer: { certSANs: ["k8s.example.org"], extraArgs: { v: "2" } } },
      nodeRegistration: { kubeletExtraArgs: { v: "4" } },
      kubeletConfiguration: { maxPods: 50 },
    },
  },
  lookedUp: {},
};

function filesOf(
  one: MachineToCompile,
  members: readonly MachineToCompile[] = [one],
): ReadonlyMap<string, string> {
  const settings = hostSettings({
    cluster: prod,
    machine: one,
    members,
    terms: localProvider().userData,
    endpoint: { host: "api.example.org", port: 6443 },
    role: roleWith(one.controlPlane ? "init" : "joinWorker", maskedSecrets()),
  });
  return new Map(hostBootstrap(settings).files.map(({ path, content }) => [path, content]));
}

describe("a member of another version, and the ConfigMap kubeadm-config before it joins", () => {
  const endpoint = { host: "api.example.org", port: 6443 };
  const versions = { kubelet: "1.35.3", controlPlane: "1.35.3" };
  const newer: MachineToCompile = { ...machine, spec: { ...machine.spec, versions } };
  const older: MachineToCompile = {
    ...machine,
    name: "cp-1",
    providerSpec: { kubeadm: { clusterConfiguration: { apiServer: { extraArgs: { v: "3" } } } } },
  };
  for (const { name, userData: terms } of [localProvider(), awsProvider(noClients)]) {
    assert.ok(terms);
    const hostOf = (kind: "init" | "joinControlPlane") => {
      const role = roleWith(kind, maskedSecrets());
      const settings = hostSettings({
        cluster: prod,
        machine: newer,
        members: [newer, older],
        terms,
        endpoint,
        role,
      });
      const files = hostBootstrap(settings).files;
      const textAt = (path: string) => files.find((one) => one.path === path)?.content ?? "";
      const objects = parseAllDocuments(textAt(configurationPath)).map(
        (one) => one.toJS() as Record<string, unknown>,
      );
      return { objects, script: textAt(scriptPath) };
    };
    const written = controlPlaneConfiguration({
      cluster: prod,
      members: [newer, older],
      terms,
      endpoint,
    });

    it(`agree on ${name}: one text begins a cluster, and lets members join it`, () => {
      const { objects } = hostOf("init");
      const begun = objects.find(({ kind }) => kind === "ClusterConfiguration");
      assert.deepEqual(JSON.parse(JSON.stringify(written)), begun);
    });

    it(`agree on ${name} about the version, and about the API that kubeadm reads`, () => {
      const { objects, script } = hostOf("joinControlPlane");
      assert.equal(written["kubernetesVersion"], "v1.35.3");
      assert.match(script, /kubeadm=1\.35\.3-|kubeadm version -o short\)" = "v1\.35\.3"/);
      assert.equal(objects[0]?.["apiVersion"], written.apiVersion);
    });
  }
});

describe("the pause image of a host", () => {
  const taking = (imageRepository: string): MachineToCompile => ({
    ...machine,
    providerSpec: { kubeadm: { clusterConfiguration: { imageRepository } } },
  });
  const { taints: _, ...spec } = machine.spec;
  const worker: MachineToCompile = {
    ...machine,
    name: "web",
    controlPlane: false,
    spec: { ...spec, roles: ["Node"], versions: { kubelet: "1.34.2" } },
    providerSpec: {},
  };
  const imageOf = (one: MachineToCompile, members: readonly MachineToCompile[]) =>
    /sandbox = "(.*)"/.exec(filesOf(one, members).get("/etc/containerd/config.toml") ?? "")?.[1];
  const [own, other] = [taking("mirror.example.org/k8s"), taking("other.example.org")];
  const cases = [
    { name: "a member", of: own, members: [own], want: "mirror.example.org/k8s" },
    { name: "a member of several", of: own, members: [other, own], want: "mirror.example.org/k8s" },
    { name: "a worker", of: worker, members: [machine, own], want: "mirror.example.org/k8s" },
    { name: "a worker without a word", of: worker, members: [machine], want: "registry.k8s.io" },
  ];
  for (const { name, of, members, want } of cases) {
    it(`comes for ${name} from ${want}`, () => {
      assert.match(imageOf(of, members) ?? "", new RegExp(`^${want}/pause:3\\.`));
    });
  }
});

describe("what a Machine says of its host", () => {
  const files = filesOf(machine);
  const script = files.get(scriptPath) ?? "";
  const [init, ofCluster] = parseAllDocuments(files.get(configurationPath) ?? "").map(
    (one) => one.toJS() as Record<string, unknown>,
  );

  it("reaches its Node: labels, taints, roles, provider id, and what the user adds", () => {
    assert.deepEqual(init?.["nodeRegistration"], {
      name: "@capstan:name@",
      criSocket: "unix:///run/containerd/containerd.sock",
      taints: [{ key: "dedicated", value: "gpu", effect: "NoSchedule" }],
      kubeletExtraArgs: [
        { name: "node-labels", value: "team=a" },
        { name: "provider-id", value: "@capstan:providerId@" },
        { name: "v", value: "4" },
      ],
    });
    assert.deepEqual(init["patches"], { directory: "/etc/kubernetes/patches" });
    const patch = files.get("/etc/kubernetes/patches/kubeletconfiguration+merge.yaml");
    assert.equal(patch, "maxPods: 50\n");
  });

  it("reaches its cluster, with what the user adds behind our own", () => {
    assert.equal(ofCluster?.["kubernetesVersion"], "v1.34.2");
    assert.deepEqual(ofCluster["apiServer"], {
      certSANs: ["api.example.org", "k8s.example.org"],
      extraArgs: [{ name: "v", value: "2" }],
    });
    assert.equal(ofCluster["encryptionAlgorithm"], "ECDSA-P256");
  });

  it("brings a kubelet that is behind its control plane, from its own repository", () => {
    assert.match(script, /'kubelet=1\.33\.6-\*' 'kubeadm=1\.34\.2-\*' 'kubectl=1\.34\.2-\*'/);
    assert.match(script, /stable:\/v1\.33\/deb[^]*stable:\/v1\.34\/deb/);
  });

  it("annotates the Node with texts as they are, whatever a shell would make of them", () => {
    const [, words = ""] = /annotate --overwrite node "\$node" \\\n {2}(.*)\n/.exec(script) ?? [];
    const shown = execFileSync("sh", ["-c", `printf '%s|' ${words}`], { encoding: "utf8" });
    assert.equal(shown, "note=it's $HOME; `id`|");
  });

  it("is told where user data cannot bring it", () => {
    const [label, source, ...others] = untoldBy(machine);
    assert.match(label ?? "", /^label node-role\.kubernetes\.io\/main of Machine cp-0: /);
    assert.match(source ?? "", /^configSource of Machine cp-0: /);
    assert.deepEqual(others, []);
  });
});
