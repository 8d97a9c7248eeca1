import { step } from "./host-script.js";
import {
  type AptMirrors,
  type AptPackage,
  type AptRepository,
  aptPackages,
  aptRepositories,
  baseOf,
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

/** Lists of repositories that an image has. */
const listFiles = [
  "/etc/apt/sources.list",
  "/etc/apt/sources.list.d/*.list",
  "/etc/apt/sources.list.d/*.sources",
  "/etc/apt/mirrors/*.list",
];

/** Lines of sh that put a mirror in the place of the distribution's own hosts; a second time they change nothing. */
function distributionLines({ distribution }: AptMirrors): string[] {
  if (distribution === undefined) return [];
  const own = "https?://([a-z0-9-]+\\.)*(ubuntu\\.com|debian\\.org)/(ubuntu|debian)(-[a-z]+)?/?";
  return [
    `for list in ${listFiles.join(" ")}; do`,
    '  [ -f "$list" ] || continue',
    `  sed -i -E 's#${own}#${baseOf(distribution, "")}\\4/#' "$list"`,
    "done",
  ];
}

/** Lines of a script that bring a host's software, all of it. Pure. */
export function installedLines(software: HostSoftware, mirrors: AptMirrors = {}): string[] {
  return [
    ...repositoryLines(aptRepositories(software, mirrors), mirrors),
    ...step("install packages", packageLines(Object.values(aptPackages(software)))),
  ];
}

/** Lines of a script that make repositories known, on the distributions that they have packages for. Pure. */
export function repositoryLines(
  repositories: readonly AptRepository[],
  mirrors: AptMirrors = {},
): string[] {
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
      ...distributionLines(mirrors),
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
