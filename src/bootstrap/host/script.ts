import type { SoftwareSource } from "../../provider/port.js";
import type { HostText } from "../kubeadm/settings.js";
import { aptSoftware, type HostSoftware } from "./software.js";

/** What the script that makes a node of a host is made from. */
interface ScriptSettings {
  readonly software: HostSoftware;
  readonly source: SoftwareSource;
  /** Path of kubeadm's configuration on the host. */
  readonly configuration: string;
  readonly verb: "init" | "join";
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
const logFile = "/var/log/capstan-bootstrap.log";

/**
 * The script that root runs once, when all files are there: sh of POSIX. It does nothing on a node that it has
 * made, and tells the console what failed, with the end of its log; a host that failed is replaced. Pure.
 */
export function bootstrapScript(settings: ScriptSettings): string {
  return [
    "#!/bin/sh",
    "set -eu",
    `[ -e ${sentinelFile} ] && exit 0`,
    `(umask 077; : >> ${logFile})`,
    `exec >> ${logFile} 2>&1`,
    ...failureLines,
    ...step("load kernel modules", [
      "modprobe overlay",
      "modprobe br_netfilter",
      "sysctl --system",
    ]),
    ...step("turn swap off", ["swapoff -a"]),
    ...softwareLines(settings),
    ...step("start the container runtime", [
      `systemctl enable ${serviceOf(settings)}`,
      `systemctl restart ${serviceOf(settings)}`,
      "systemctl enable kubelet",
    ]),
    ...replacingLines(settings),
    ...step(`kubeadm ${settings.verb}`, [
      `kubeadm ${settings.verb} --config ${settings.configuration}${withoutToken(settings)}`,
      `rm -f ${settings.configuration}`,
    ]),
    ...annotatingLines(settings),
    `mkdir -p ${sentinelFile.replace(/\/[^/]*$/, "")}`,
    `echo success > ${sentinelFile}`,
    "",
  ].join("\n");
}

/** kubeadm init makes a token of its own and would write it to the log. */
function withoutToken({ verb }: ScriptSettings): string {
  return verb === "init" ? " --skip-token-print" : "";
}

/** What whoever looks at the console reads; the log itself is for root. */
const failureLines = [
  'step="begin"',
  "tell() {",
  "  code=$?",
  '  [ "$code" -eq 0 ] && return',
  `  { echo "capstan: bootstrap failed with $code at: $step"; tail -n 20 ${logFile}; } > /dev/console || true`,
  "}",
  "trap tell EXIT",
];

function step(name: string, lines: readonly string[]): string[] {
  return ["", `step="${name}"; echo "$step"`, ...lines];
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

/** One word of a shell, whatever stands in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function softwareLines({ software, source }: ScriptSettings): string[] {
  return source === "image" ? verifiedLines(software) : installedLines(software);
}

function installedLines(software: HostSoftware): string[] {
  const { repositories, packages } = aptSoftware(software);
  const keyOf = (name: string) => `/etc/apt/keyrings/capstan-${name}.asc`;
  const names = packages.map(({ name }) => name).join(" ");
  const pinned = packages.map(({ name, version }) => `'${name}=${version}'`).join(" ");
  return [
    ...step("add package repositories", [
      "export DEBIAN_FRONTEND=noninteractive",
      "apt-get update",
      "apt-get install -y ca-certificates curl conntrack socat",
      "mkdir -p /etc/apt/keyrings",
      ...repositories.flatMap(({ name, url, suite, keyUrl }) => [
        `curl -fsSL --retry 5 -o ${keyOf(name)} ${keyUrl}`,
        `echo "deb [signed-by=${keyOf(name)}] ${url} ${suite}" > /etc/apt/sources.list.d/capstan-${name}.list`,
      ]),
      "apt-get update",
    ]),
    ...step("install packages", [
      `apt-mark unhold ${names} || true`,
      `apt-get install -y --allow-downgrades -o Dpkg::Options::=--force-confold ${pinned}`,
      `apt-mark hold ${names}`,
    ]),
  ];
}

/** An image that does not hold what the Machine asks for is told at once, and not by a drift later. */
function verifiedLines({ kubelet, kubeadm, containerRuntime }: HostSoftware): string[] {
  const { name, version } = containerRuntime;
  const program = name === "cri-o" ? "crio" : name;
  return step("verify the image", [
    `[ "$(kubelet --version)" = "Kubernetes v${kubelet}" ]`,
    `[ "$(kubeadm version -o short)" = "v${kubeadm}" ]`,
    `${program} --version | grep -q -w -F '${version}'`,
  ]);
}

function serviceOf({ software }: ScriptSettings): string {
  return software.containerRuntime.name === "cri-o" ? "crio" : software.containerRuntime.name;
}
