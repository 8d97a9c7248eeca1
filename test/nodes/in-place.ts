import assert from "node:assert/strict";
import { cacheRoot } from "#cache-root";
import { runtimeOfMachine } from "../../providers/local/kubeadm/containerd-version.js";
import { HostImage } from "../../providers/local/kubeadm/host-image.js";
import type { HostShell } from "../../providers/local/kubeadm/host-shell.js";
import type { KubernetesPrograms } from "../../providers/local/kubeadm/kubernetes-programs.js";
import { criSocketOf } from "../../src/bootstrap/host/software.js";
import { upgradeBundle, upgradeCommand } from "../../src/bootstrap/upgrade/upgrade-bundle.js";
import {
  type HostSetup,
  upgradeOf,
  type UpgradeRole,
} from "../../src/bootstrap/upgrade/upgrade-steps.js";
import { clusterNetwork } from "../support/manifests.js";
import { kubeletConfiguration } from "./manifests.js";
import type { NodesScenario } from "./scenario.js";
import { assertServes } from "./serving.js";
import { untilTrue } from "./until-true.js";

const upgradeTimeoutMs = 8 * 60_000;

interface HostToUpgrade {
  readonly name: string;
  readonly shell: HostShell;
  readonly role: UpgradeRole;
}

/**
 * Brings all hosts of a scenario to another version in place, one after the other, by what Capstan renders for that. Capstan itself
 * has another host made for another version, since these hosts have their software from an image.
 */
export async function upgradeInPlace(
  scenario: NodesScenario,
  programs: KubernetesPrograms,
): Promise<void> {
  const image = await HostImage.make(cacheRoot(process.env), programs);
  const hosts = await hostsOf(scenario);
  const members = hosts.filter(isMember).map(({ shell }) => shell);
  // Packages wait on the hosts before the first one changes.
  await Promise.all(
    hosts.map(async (host) => {
      await image.installPrograms(host.shell, `/var/lib/packages/${programs.version}`);
      await image.importImages(host.shell, isMember(host));
    }),
  );
  for (const host of hosts) {
    await upgrade(host, { members, from: scenario.version, to: programs.version });
  }
}

/** Members first. */
async function hostsOf(scenario: NodesScenario): Promise<HostToUpgrade[]> {
  const hosts = await scenario.hosts();
  const rankOf = ({ spec }: (typeof hosts)[number]) => (spec["role"] === "controlPlane" ? 0 : 1);
  const inOrder = hosts.toSorted((one, other) => rankOf(one) - rankOf(other));
  return inOrder.map((host, index) => ({
    name: host.who.name,
    shell: scenario.shell(host),
    role: rankOf(host) === 1 ? "worker" : index === 0 ? "firstMember" : "member",
  }));
}

function isMember({ role }: HostToUpgrade): boolean {
  return role !== "worker";
}

interface Upgrade {
  readonly members: readonly HostShell[];
  readonly from: string;
  readonly to: string;
}

/**
 * An upgrade may begin only while the control plane answers, and may be repeated: a kubelet that was upgraded starts its API server
 * again at a time of its own.
 */
async function upgrade(host: HostToUpgrade, { members, from, to }: Upgrade): Promise<void> {
  const setup = setupOf(to);
  const change = upgradeOf(setupOf(from), setup, host.role);
  assert.ok(change.kind === "steps", JSON.stringify(change));
  const bundle = upgradeBundle(change.steps, setup);
  const input = upgradeCommand(bundle);
  await untilTrue(`${host.name} is upgraded`, async () => {
    for (const member of members) await assertServes(member);
    await host.shell.runWith({ input, timeoutMs: upgradeTimeoutMs }, "sh");
    return true;
  });
  assert.equal(await host.shell.run("cat", bundle.sentinel), `${bundle.id}\n`);
}

/** A host of the scenario as if packages had brought what its image holds. */
function setupOf(kubernetesVersion: string): HostSetup {
  const runtime = runtimeOfMachine();
  assert.ok(runtime !== undefined);
  const { services, pods, serviceDomain } = clusterNetwork();
  return {
    cluster: {
      name: "prod",
      endpoint: { host: "unused.example.org", port: 6443 },
      serviceCidrs: services.cidrBlocks,
      podCidrs: pods.cidrBlocks,
      serviceDomain,
      keyAlgorithm: "ECDSA-P256",
    },
    node: {
      labels: {},
      taints: [],
      name: { command: "hostname" },
      address: { command: "hostname -I | cut -d' ' -f1" },
      kubernetesVersion,
      criSocket: criSocketOf("containerd"),
      isSchedulable: false,
      kubeletConfiguration,
      // A machine may have cgroups of version 1.
      ignorePreflightErrors: ["SystemVerification"],
    },
    runtime,
    source: "apt",
  };
}
