import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  upgradeBundle,
  type UpgradeBundle,
  upgradeCommand,
} from "../../src/bootstrap/upgrade/upgrade-bundle.js";
import {
  type HostSetup,
  upgradeOf,
  type UpgradeRole,
  type UpgradeStep,
} from "../../src/bootstrap/upgrade/upgrade-steps.js";
import type { NodeSettings } from "../../src/bootstrap/kubeadm/settings.js";
import { scratchFolder } from "../support/scratch.js";
import { HostSandbox } from "./host-sandbox.js";
import { sampleCluster, sampleNode } from "./sample-host.js";

type Setup = Partial<Omit<HostSetup, "node">> & { readonly node?: Partial<NodeSettings> };

const containerd = (version: string) => ({ name: "containerd", version });

function setup({ node, ...about }: Setup): HostSetup {
  return {
    source: "apt",
    runtime: containerd("2.1.4"),
    cluster: sampleCluster,
    ...about,
    node: { ...sampleNode, kubernetesVersion: "1.34.2", ...node },
  };
}

/** "kubeadm 1.35.3", "kubeadmUpgrade apply 1.35.3". */
function shown(step: UpgradeStep): string {
  return Object.values(step).join(" ");
}

describe("a host that changes in place", () => {
  const to135: Setup = { node: { kubernetesVersion: "1.35.3" } };
  const cases: {
    name: string;
    from?: Setup;
    to: Setup;
    role?: UpgradeRole;
    want: readonly string[];
  }[] = [
    {
      name: "to another minor version, first of all members",
      to: to135,
      role: "firstMember",
      want: ["kubeadm 1.35.3", "kubeadmUpgrade apply 1.35.3", "kubelet 1.35.3", "restartKubelet"],
    },
    {
      name: "to another minor version, a member that comes later",
      to: to135,
      role: "member",
      want: ["kubeadm 1.35.3", "kubeadmUpgrade node 1.35.3", "kubelet 1.35.3", "restartKubelet"],
    },
    {
      name: "to another minor version, a worker",
      to: to135,
      want: ["kubeadm 1.35.3", "kubeadmUpgrade node 1.35.3", "kubelet 1.35.3", "restartKubelet"],
    },
    {
      name: "to another control plane alone",
      from: { node: { kubeletVersion: "1.34.2" } },
      to: { node: { kubernetesVersion: "1.35.3", kubeletVersion: "1.34.2" } },
      role: "firstMember",
      want: ["kubeadm 1.35.3", "kubeadmUpgrade apply 1.35.3", "restartKubelet"],
    },
    {
      name: "to another kubelet alone",
      from: { node: { kubeletVersion: "1.33.6" } },
      to: {},
      role: "member",
      // The pause image of 1.33 is another one, and stands in containerd's configuration.
      want: ["containerRuntime containerd 2.1.4", "kubelet 1.34.2", "restartKubelet"],
    },
    {
      name: "to another version of its runtime, with the kubelet's own time",
      to: { ...to135, runtime: containerd("2.1.5") },
      want: [
        "kubeadm 1.35.3",
        "kubeadmUpgrade node 1.35.3",
        "containerRuntime containerd 2.1.5",
        "kubelet 1.35.3",
        "restartKubelet",
      ],
    },
    {
      name: "to another version of its runtime alone, which the kubelet outlives",
      to: { runtime: containerd("2.1.5") },
      want: ["containerRuntime containerd 2.1.5"],
    },
    {
      name: "to another configuration of its kubelet",
      to: { node: { kubeletConfiguration: { maxPods: 60 } } },
      want: ["kubeletConfiguration", "restartKubelet"],
    },
    {
      name: "to another configuration, as an image allows",
      from: { source: "image" },
      to: { source: "image", node: { kubeletConfiguration: { maxPods: 60 } } },
      want: ["kubeletConfiguration", "restartKubelet"],
    },
    {
      name: "back to an older patch",
      to: { node: { kubernetesVersion: "1.34.1" } },
      role: "firstMember",
      want: ["kubeadm 1.34.1", "kubeadmUpgrade apply 1.34.1", "kubelet 1.34.1", "restartKubelet"],
    },
    {
      name: "back to an older minor version, a worker",
      from: { node: { kubernetesVersion: "1.35.3" } },
      to: {},
      want: ["kubeadm 1.34.2", "kubeadmUpgrade node 1.34.2", "kubelet 1.34.2", "restartKubelet"],
    },
  ];
  for (const { name, from = {}, to, role = "worker", want } of cases) {
    it(`takes these steps ${name}`, () => {
      const upgrade = upgradeOf(setup(from), setup(to), role);
      assert.ok(upgrade.kind === "steps", JSON.stringify(upgrade));
      assert.deepEqual(upgrade.steps.map(shown), want);
    });
  }

  it("takes no step where nothing is different", () => {
    assert.deepEqual(upgradeOf(setup({}), setup({}), "firstMember"), { kind: "none" });
    const other = { node: { name: "other", labels: {} } };
    assert.deepEqual(upgradeOf(setup({}), setup(other), "worker"), { kind: "none" });
  });

  const refused: { name: string; from?: Setup; to: Setup; role?: UpgradeRole; want: RegExp[] }[] = [
    {
      name: "a control plane of an older minor version",
      to: { node: { kubernetesVersion: "1.33.6" } },
      role: "member",
      want: [/^control plane 1\.33\.6 is of an older minor version than 1\.34\.2/],
    },
    {
      name: "two minor versions at once, with a kubelet that stays too far behind",
      from: { node: { kubernetesVersion: "1.33.6", kubeletVersion: "1.31.4" } },
      to: { node: { kubernetesVersion: "1.35.3", kubeletVersion: "1.31.4" } },
      role: "firstMember",
      want: [
        /^control plane 1\.35\.3 is 2 minor versions ahead of 1\.33\.6/,
        /^kubelet 1\.31\.4 is 4 minors behind/,
      ],
    },
    {
      name: "a kubelet that is newer than the control plane beside it",
      to: { node: { kubeletVersion: "1.35.3" } },
      role: "member",
      want: [/^kubelet 1\.35\.3 is newer than the control plane/],
    },
    {
      name: "another runtime",
      to: { runtime: { name: "cri-o", version: "1.34.2" } },
      want: [/^cri-o in the place of containerd needs a new host/],
    },
    {
      name: "other versions than those of an image",
      from: { source: "image" },
      to: { ...to135, source: "image" },
      want: [/^its software comes with its image/],
    },
  ];
  for (const { name, from = {}, to, role = "worker", want } of refused) {
    it(`cannot take ${name}`, () => {
      const upgrade = upgradeOf(setup(from), setup(to), role);
      assert.ok(upgrade.kind === "refused", JSON.stringify(upgrade));
      assert.equal(upgrade.reasons.length, want.length, upgrade.reasons.join("\n"));
      for (const [at, pattern] of want.entries()) assert.match(upgrade.reasons[at] ?? "", pattern);
    });
  }
});

describe("the script that changes a host in place", () => {
  const scratch = scratchFolder();
  const from = setup({});
  const to = setup({ node: { kubernetesVersion: "1.35.3" }, runtime: containerd("2.1.5") });

  const bundleOf = (from: HostSetup, to: HostSetup, role: UpgradeRole = "firstMember") => {
    const upgrade = upgradeOf(from, to, role);
    assert.ok(upgrade.kind === "steps");
    return upgradeBundle(upgrade.steps, to);
  };
  /** A host whose programs say what they are to be. */
  const hostWith = (bundle: UpgradeBundle): HostSandbox => {
    const host = new HostSandbox(
      join(scratch.path, "host"),
      "ID=debian\nVERSION_CODENAME=trixie\n",
    );
    host.says("kubeadm version -o short", "v1.35.3");
    host.says("kubelet --version", "Kubernetes v1.35.3");
    for (const file of bundle.files) host.write(file);
    return host;
  };
  /** What changes something. */
  const acts = (host: HostSandbox): string[] =>
    host.calls.filter((call) => /^kubeadm upgrade|^systemctl|^apt-mark hold/.test(call));
  const all = [
    "apt-mark hold kubeadm",
    "kubeadm upgrade apply v1.35.3 --yes --patches=/etc/kubernetes/patches",
    "apt-mark hold containerd.io",
    "systemctl restart containerd",
    "apt-mark hold kubelet kubectl",
    "systemctl daemon-reload",
    "systemctl restart kubelet",
    "systemctl disable capstan-upgrade.service",
  ];

  it("does every step in its order, says so, and keeps its log to root", async () => {
    const bundle = bundleOf(from, to);
    const host = hostWith(bundle);
    const { code } = await host.run(bundle.script);
    assert.equal(code, 0, host.read("/var/log/capstan-upgrade.log"));
    assert.deepEqual(acts(host), all);
    assert.equal(host.read(bundle.sentinel), `${bundle.id}\n`);
    assert.equal(host.mode("/var/log/capstan-upgrade.log"), 0o600);
    assert.equal(existsSync(join(host.folder, "dev/console")), false);
    const installed = host.calls.filter((call) => /^apt-get install .*=/.test(call)).join("\n");
    for (const pinned of [
      "kubeadm=1.35.3-*",
      "kubelet=1.35.3-* kubectl=1.35.3-*",
      "containerd.io=2.1.5-*",
    ]) {
      assert.ok(installed.includes(pinned), installed);
    }
    assert.match(host.read("/etc/containerd/config.toml"), /pause:3\.10\.1/);
  });

  it("does nothing the second time", async () => {
    const bundle = bundleOf(from, to);
    const host = hostWith(bundle);
    await host.run(bundle.script);
    const before = host.calls;
    assert.equal((await host.run(bundle.script)).code, 0);
    assert.deepEqual(host.calls, before);
  });

  it("tells the console what failed, and goes on there when it is run again", async () => {
    const bundle = bundleOf(from, to);
    for (const [at, failing] of all.entries()) {
      const host = hostWith(bundle);
      const { code } = await host.run(bundle.script, { FAILING: failing });
      assert.notEqual(code, 0, failing);
      assert.match(host.read("/dev/console"), /^capstan: upgrade failed with 1 at: /, failing);
      assert.deepEqual(acts(host), all.slice(0, at + 1));
      host.forgetCalls();
      assert.equal((await host.run(bundle.script)).code, 0, failing);
      const repeated = acts(host);
      assert.deepEqual(repeated, all.slice(all.length - repeated.length), failing);
      assert.ok(repeated.length <= all.length - at + 1, `${failing}: ${repeated.join("; ")}`);
      assert.equal(host.read(bundle.sentinel), `${bundle.id}\n`);
      host.remove();
    }
  });

  it("begins anew where another upgrade came in between", async () => {
    const [there, back] = [bundleOf(from, to), bundleOf(to, from, "worker")];
    assert.notEqual(there.id, back.id);
    const host = hostWith(there);
    await host.run(there.script);
    host.says("kubeadm version -o short", "v1.34.2");
    host.says("kubelet --version", "Kubernetes v1.34.2");
    for (const file of back.files) host.write(file);
    assert.equal((await host.run(back.script)).code, 0, host.read("/var/log/capstan-upgrade.log"));
    assert.equal(host.read(back.sentinel), `${back.id}\n`);
  });

  it("refuses a kubeadm and a kubelet that are not of the version that was asked for", async () => {
    const bundle = bundleOf(from, to);
    const host = hostWith(bundle);
    host.says("kubeadm version -o short", "v1.35.2");
    assert.notEqual((await host.run(bundle.script)).code, 0);
    assert.match(host.read("/dev/console"), /failed with 1 at: kubeadm 1\.35\.3$/m);
    assert.ok(!acts(host).some((call) => call.startsWith("kubeadm upgrade")));
  });

  it("takes the user's configuration off a kubelet where it was taken back", async () => {
    const { kubeletConfiguration: _, ...node } = from.node;
    const bundle = bundleOf(from, { ...from, node });
    const host = hostWith(bundle);
    host.write({
      path: "/etc/kubernetes/patches/kubeletconfiguration+merge.yaml",
      mode: "0644",
      content: "",
    });
    assert.equal((await host.run(bundle.script)).code, 0);
    assert.deepEqual(acts(host).slice(0, 1), [
      "kubeadm upgrade node phase kubelet-config --patches=/etc/kubernetes/patches",
    ]);
    const patch = join(host.folder, "etc/kubernetes/patches/kubeletconfiguration+merge.yaml");
    assert.equal(existsSync(patch), false);
    assert.ok(!host.calls.some((call) => call.startsWith("apt-get")));
  });

  it("comes to its host as one script, with a unit that a boot starts again", () => {
    const bundle = bundleOf(from, to);
    const command = upgradeCommand(bundle);
    execFileSync("sh", ["-n"], { input: command });
    assert.ok(command.endsWith(`systemctl start ${bundle.unit}\n`));
    const unit = bundle.files.find(({ path }) => path.endsWith(bundle.unit))?.content ?? "";
    assert.match(unit, /^ExecStart=\/usr\/local\/sbin\/capstan-upgrade$/m);
    assert.match(unit, /^WantedBy=multi-user\.target$/m);
    const folder = join(scratch.path, "delivered");
    const inside = command
      .replaceAll(/^put '/gm, `put '${folder}`)
      .replaceAll(/^systemctl .*$/gm, ":");
    execFileSync("sh", { input: inside });
    for (const { path, content } of bundle.files) {
      assert.equal(readFileSync(join(folder, path), "utf8"), content);
    }
  });
});
