import { step } from "./host-script.js";
import {
  type AptPackage,
  type AptRepository,
  aptPackages,
  aptRepositories,
  type HostSoftware,
} from "./software.js";

/** Where repositories differ for each distribution, and who else is like it enough. */
const distributions = ["debian", "ubuntu"];

/** What kubeadm and these lines need beside the pinned packages. */
const companions = "ca-certificates curl conntrack socat";

/** Seconds that another process may hold a lock of apt: at a first boot the distribution's own timers install and update. */
const lockSeconds = 600;

/** apt waits for dpkg's lock itself. */
export const aptInstall = `apt-get install -y -o DPkg::Lock::Timeout=${lockSeconds}`;

const secondsBetween = 10;

/**
 * A function of sh that reads the lists of all repositories. apt has no option to wait for the lock of its lists, and exits at once
 * when another process holds it, so the function asks again.
 */
const updateLists = [
  "update_lists() {",
  `  tries=${lockSeconds / secondsBetween}`,
  "  until apt-get update; do",
  '    [ "$tries" -gt 0 ]',
  "    tries=$((tries - 1))",
  `    sleep ${secondsBetween}`,
  "  done",
  "}",
];

/** Lines of a script that bring a host's software, all of it. Pure. */
export function installedLines(software: HostSoftware): string[] {
  return [
    ...repositoryLines(aptRepositories(software)),
    ...step("install packages", packageLines(Object.values(aptPackages(software)))),
  ];
}

/** Lines of a script that make repositories known, on the distributions that they have packages for. Pure. */
export function repositoryLines(repositories: readonly AptRepository[]): string[] {
  const keyOf = (name: string) => `/etc/apt/keyrings/capstan-${name}.asc`;
  return [
    ...step("recognize the distribution", [
      'distribution=$(. /etc/os-release && echo "$ID")',
      'case "$distribution" in',
      `  ${distributions.join(" | ")}) ;;`,
      `  *) echo "there are packages for ${distributions.join(" and ")}, and this is $distribution"; exit 1 ;;`,
      "esac",
      'release=$(. /etc/os-release && echo "$VERSION_CODENAME")',
      'echo "$distribution $release"',
    ]),
    ...step("add package repositories", [
      "export DEBIAN_FRONTEND=noninteractive",
      ...updateLists,
      "update_lists",
      `${aptInstall} ${companions}`,
      "mkdir -p /etc/apt/keyrings",
      ...repositories.flatMap(({ name, url, suite, keyUrl }) => [
        `curl -fsSL --retry 5 -o ${keyOf(name)} "${keyUrl}"`,
        `echo "deb [signed-by=${keyOf(name)}] ${url} ${suite}" > /etc/apt/sources.list.d/capstan-${name}.list`,
      ]),
      "update_lists",
    ]),
  ];
}

/** Lines of a script that install packages in exactly these versions, and hold them there. Pure. */
export function packageLines(packages: readonly AptPackage[]): string[] {
  const names = packages.map(({ name }) => name).join(" ");
  const pinned = packages.map(({ name, version }) => `'${name}=${version}'`).join(" ");
  return [
    `apt-mark unhold ${names} || true`,
    `${aptInstall} --allow-downgrades -o Dpkg::Options::=--force-confold ${pinned}`,
    `apt-mark hold ${names}`,
  ];
}
