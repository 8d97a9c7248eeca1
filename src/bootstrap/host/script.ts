import type { HostAdditions } from "../../api/host-additions.js";
import type { SoftwareSource } from "../../provider/port.js";
import type { HostText } from "../kubeadm/settings.js";
import { hostScript, quoted, step } from "./host-script.js";
import { keyFolder } from "./key-files.js";
import { aptInstall, installedLines } from "./packages.js";
import { type HostProxy, proxiedLines } from "./proxy.js";
import { type HostSoftware, runtimeService } from "./software.js";

/** What the script that makes a node of a host is made from. */
interface ScriptSettings {
  readonly software: HostSoftware;
  readonly source: SoftwareSource;
  /** Path of kubeadm's configuration on the host. */
  readonly configuration: string;
  readonly verb: "init" | "join";
  /** A member that joins while keys are rotated: others show certificates of another authority than its own. */
  readonly hasSeveralAuthorities: boolean;
  /** What the user adds. */
  readonly additions: HostAdditions;
  readonly proxy?: HostProxy | undefined;
  /** Commands whose output takes the place of a text in the configuration. */
  readonly replaced: readonly { readonly text: string; readonly command: string }[];
  /** What the Node is marked with, beyond what kubeadm does: by its own name. */
  readonly marks: {
    readonly name: HostText;
    readonly annotations: Readonly<Record<string, string>>;
  };
}

/** Written when a host is a node, as today's Cluster API has it: tools look for it. */
const sentinelFile = "/run/cluster-api/bootstrap-success.complete";

/**
 * The script that makes a node of a host, run once when all files are there. It does nothing on a node that it has
 * made; a host on which it failed is replaced. Pure.
 */
export function bootstrapScript(settings: ScriptSettings): string {
  const { software, source, verb, configuration, additions, proxy } = settings;
  const runtime = runtimeService(software.containerRuntime.name);
  return hostScript({
    name: "bootstrap",
    isDone: `[ -e ${sentinelFile} ]`,
    lines: [
      ...step("load kernel modules", [
        "modprobe overlay",
        "modprobe br_netfilter",
        "sysctl --system",
      ]),
      ...step("turn swap off", ["swapoff -a"]),
      ...proxiedLines(proxy, [
        ...(source === "image"
          ? verifiedLines(software)
          : installedLines(software, additions.aptMirrors)),
        ...step("start the container runtime", [
          ...(proxy === undefined ? [] : ["systemctl daemon-reload"]),
          `systemctl enable ${runtime}`,
          `systemctl restart ${runtime}`,
          "systemctl enable kubelet",
        ]),
        ...packageSteps(additions),
        ...replacingLines(settings),
        ...commandLines("preKubeadmCommands", additions),
      ]),
      ...step(`kubeadm ${verb}`, [...kubeadmLines(settings), `rm -f ${configuration}`]),
      ...annotatingLines(settings),
      ...commandLines("postKubeadmCommands", additions),
      `mkdir -p ${sentinelFile.replace(/\/[^/]*$/, "")}`,
      `echo success > ${sentinelFile}`,
    ],
  });
}

/** Nobody says when they are to be replaced, so they are not held. */
function packageSteps({ packages = [] }: HostAdditions): string[] {
  if (packages.length === 0) return [];
  return step("install the user's packages", [`${aptInstall} ${packages.map(quoted).join(" ")}`]);
}

/** A shell for each, so that none ends ours or changes how it goes on. */
function commandLines(
  field: "preKubeadmCommands" | "postKubeadmCommands",
  { [field]: commands = [] }: HostAdditions,
): string[] {
  return commands.flatMap((command, at) => step(`${field}[${at}]`, [`sh -c ${quoted(command)}`]));
}

/**
 * kubeadm init makes a token of its own and would write it to the log. Of several authorities kubeadm writes the first
 * one alone into the kubeconfig by which it asks the other members, so that one gets all of them half-way.
 */
function kubeadmLines({ verb, configuration, hasSeveralAuthorities }: ScriptSettings): string[] {
  const config = `--config ${configuration}`;
  if (verb === "init") return [`kubeadm init ${config} --skip-token-print`];
  if (!hasSeveralAuthorities) return [`kubeadm join ${config}`];
  const data = "certificate-authority-data:";
  return [
    `kubeadm join phase preflight ${config}`,
    `kubeadm join phase control-plane-prepare all ${config}`,
    `authorities=$(base64 < ${keyFolder}/ca.crt | tr -d '\\n')`,
    `sed -i "s|${data} .*|${data} $authorities|" /etc/kubernetes/admin.conf`,
    `kubeadm join ${config} --skip-phases=preflight,control-plane-prepare`,
  ];
}

function replacingLines({ replaced, configuration }: ScriptSettings): string[] {
  if (replaced.length === 0) return [];
  return step(
    "ask the host for its name and addresses",
    replaced.flatMap(({ text, command }) => [
      `value=$(${command})`,
      '[ -n "$value" ]',
      `sed -i "s|${text}|$value|g" ${configuration}`,
    ]),
  );
}

/** By the credentials of its kubelet, which may annotate its own Node. */
function annotatingLines({ marks: { name, annotations } }: ScriptSettings): string[] {
  const pairs = Object.entries(annotations).sort(([left], [right]) => (left < right ? -1 : 1));
  if (pairs.length === 0) return [];
  return step("annotate the node", [
    `node=${typeof name === "string" ? quoted(name) : `$(${name.command})`}`,
    `kubectl --kubeconfig /etc/kubernetes/kubelet.conf annotate --overwrite node "$node" \\`,
    `  ${pairs.map(([key, value]) => quoted(`${key}=${value}`)).join(" ")}`,
  ]);
}

/** An image that does not hold what the Machine asks for is told at once, and not by a drift later. */
function verifiedLines({ kubelet, kubeadm, containerRuntime }: HostSoftware): string[] {
  const { name, version } = containerRuntime;
  return step("verify the image", [
    `[ "$(kubelet --version)" = "Kubernetes v${kubelet}" ]`,
    `[ "$(kubeadm version -o short)" = "v${kubeadm}" ]`,
    `${runtimeService(name)} --version | grep -q -w -F '${version}'`,
  ]);
}
