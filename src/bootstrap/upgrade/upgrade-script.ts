import { hostScript, quoted, step } from "../host/host-script.js";
import { packageLines, repositoryLines } from "../host/packages.js";
import { hostProxy, proxiedLines } from "../host/proxy.js";
import { aptPackages, aptRepositories, runtimeService } from "../host/software.js";
import { softwareOf } from "../host/host-bootstrap.js";
import { kubeadmPatchFolder, kubeletPatchPath } from "../kubeadm/configuration.js";
import type { HostSetup, UpgradeStep } from "./upgrade-steps.js";

/** What an upgrade's script is made from. */
interface UpgradeScript {
  /** Another upgrade has another one. */
  readonly id: string;
  readonly steps: readonly UpgradeStep[];
  readonly to: HostSetup;
  readonly unit: string;
}

/** What was done so far, and of which upgrade. */
const folder = "/var/lib/capstan/upgrade";

/** Holds the id of an upgrade once all of it is done. */
export const upgradeSentinel = `${folder}/complete`;

/** Where the container runtime's configuration waits for its turn. */
export const waitingRuntimeFile = "/var/lib/capstan/containerd.toml";

/**
 * The script that changes a host in place. Each step is written down when it is done, and passed over when the
 * script runs again: it may be cut off anywhere. Of another upgrade nothing counts. Pure.
 */
export function upgradeScript({ id, steps, to, unit }: UpgradeScript): string {
  const bringsPackages = steps.some(({ kind }) => packagedKinds.includes(kind));
  return hostScript({
    name: "upgrade",
    isDone: `[ "$(cat ${upgradeSentinel} 2> /dev/null)" = ${id} ]`,
    lines: [
      `if [ "$(cat ${folder}/id 2> /dev/null)" != ${id} ]; then`,
      `  rm -rf ${folder}`,
      `  mkdir -p ${folder}`,
      `  echo ${id} > ${folder}/id`,
      "fi",
      ...(bringsPackages ? preparingLines(to) : []),
      ...steps.flatMap((one) => recordedLines(one, to)),
      ...step("remember that it is done", [
        `echo ${id} > ${upgradeSentinel}`,
        `systemctl disable ${unit}`,
      ]),
    ],
  });
}

const packagedKinds: readonly UpgradeStep["kind"][] = ["kubeadm", "containerRuntime", "kubelet"];

function preparingLines(to: HostSetup): string[] {
  const { additions = {} } = to;
  const { aptMirrors: mirrors } = additions;
  return [
    ...step("finish what was begun with packages", ["dpkg --configure -a"]),
    ...proxiedLines(
      hostProxy(additions, to.cluster),
      repositoryLines(aptRepositories(softwareOf(to), mirrors), mirrors),
    ),
  ];
}

function recordedLines(one: UpgradeStep, to: HostSetup): string[] {
  const { name, lines } = partOf(one, to);
  const record = `${folder}/${one.kind}`;
  return [
    "",
    `step=${quoted(name)}`,
    `if [ -e ${record} ]; then`,
    '  echo "$step: done before"',
    "else",
    '  echo "$step"',
    ...lines.map((line) => `  ${line}`),
    `  : > ${record}`,
    "fi",
  ];
}

interface ScriptPart {
  readonly name: string;
  readonly lines: readonly string[];
}

function partOf(one: UpgradeStep, to: HostSetup): ScriptPart {
  const { kubeadm, kubelet, kubectl } = aptPackages(softwareOf(to));
  switch (one.kind) {
    case "kubeadm": {
      const isThere = `[ "$(kubeadm version -o short)" = v${one.version} ]`;
      return { name: `kubeadm ${one.version}`, lines: [...packageLines([kubeadm]), isThere] };
    }
    case "kubeadmUpgrade":
      return kubeadmPart(one, to);
    case "kubeletConfiguration": {
      const upgrade = `kubeadm upgrade node phase kubelet-config${patchesFlag}`;
      return {
        name: "configuration of the kubelet",
        lines: [...patchLines(to), patchesThere, upgrade],
      };
    }
    case "containerRuntime":
      return runtimePart(to);
    case "kubelet": {
      const isThere = `[ "$(kubelet --version)" = "Kubernetes v${one.version}" ]`;
      const lines = [...packageLines([kubelet, kubectl]), isThere];
      return { name: `kubelet ${one.version}`, lines };
    }
    case "restartKubelet": {
      const lines = ["systemctl daemon-reload", "systemctl restart kubelet"];
      return { name: "restart of the kubelet", lines };
    }
  }
}

function kubeadmPart(
  { how, version }: Extract<UpgradeStep, { readonly kind: "kubeadmUpgrade" }>,
  to: HostSetup,
): ScriptPart {
  const ignored = to.node.ignorePreflightErrors ?? [];
  const ignoring =
    ignored.length === 0 ? "" : ` --ignore-preflight-errors=${quoted(ignored.join(","))}`;
  const what = how === "apply" ? `apply v${version} --yes` : "node";
  const upgrade = `kubeadm upgrade ${what}${ignoring}${patchesFlag}`;
  return { name: `kubeadm upgrade ${how}`, lines: [...patchLines(to), patchesThere, upgrade] };
}

/** Containers run on while their runtime starts anew. */
function runtimePart(to: HostSetup): ScriptPart {
  const { containerRuntime } = softwareOf(to);
  const { name, version } = containerRuntime;
  const configuring =
    name === "containerd" ? [`cp ${waitingRuntimeFile} /etc/containerd/config.toml`] : [];
  const lines = [
    ...packageLines([aptPackages(softwareOf(to)).containerRuntime]),
    ...configuring,
    `systemctl restart ${runtimeService(name)}`,
  ];
  return { name: `${name} ${version}`, lines };
}

/** Also those that a member has which was made while keys were rotated: it alone knows them. */
const patchesThere = `patches=$(ls -d ${kubeadmPatchFolder} 2> /dev/null || true)`;
const patchesFlag = ` \${patches:+"--patches=$patches"}`;

/** Of a user who has taken all of it back, nothing is left. */
function patchLines({ node }: HostSetup): string[] {
  return node.kubeletConfiguration === undefined ? [`rm -f ${kubeletPatchPath}`] : [];
}
