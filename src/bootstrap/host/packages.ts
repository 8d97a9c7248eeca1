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

/** apt waits for whoever else installs something: at a first boot that is the distribution itself. */
export const aptInstall = "apt-get install -y -o DPkg::Lock::Timeout=600";

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
      "apt-get update",
      `${aptInstall} ${companions}`,
      "mkdir -p /etc/apt/keyrings",
      ...repositories.flatMap(({ name, url, suite, keyUrl }) => [
        `curl -fsSL --retry 5 -o ${keyOf(name)} "${keyUrl}"`,
        `echo "deb [signed-by=${keyOf(name)}] ${url} ${suite}" > /etc/apt/sources.list.d/capstan-${name}.list`,
      ]),
      "apt-get update",
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
