import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const cgroups = "/sys/fs/cgroup";

/** Paths of the uppermost cgroups of a name, in all hierarchies. */
export function cgroupsNamed(name: string): string[] {
  const hierarchies = foldersIn(cgroups).map((one) => join(cgroups, one));
  return [cgroups, ...hierarchies].flatMap((hierarchy) =>
    foldersIn(hierarchy)
      .filter((one) => one === name)
      .map((one) => join(hierarchy, one)),
  );
}

/** Process ids of what runs in the first hierarchy's cgroups of a name. */
export function processesInGroup(name: string): string[] {
  const [group = ""] = cgroupsNamed(name);
  const lists = readdirSync(group, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("cgroup.procs"))
    .map((path) => readFileSync(join(group, path), "utf8"));
  return lists.flatMap((text) => text.split("\n").filter(Boolean));
}

/** What a process calls itself. */
export function nameOf(pid: string): string {
  return fileOf(pid, "comm").trim();
}

/** Those among some names that links of this machine's own network have. */
export function linksNamed(names: readonly string[]): string[] {
  return readdirSync("/sys/class/net").filter((name) => names.includes(name));
}

/** What is mounted in a folder, for this process. */
export function mountsBelow(folder: string): string[] {
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  return mounts.filter((mount) => mount.includes(folder));
}

function foldersIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** Command lines of processes with a mount that something in the folder is mounted by. */
export function processesThatMount(folder: string): string[] {
  // The kinds of these entries are not asked for: a process may end in between.
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && fileOf(name, "mountinfo").includes(folder))
    .map((name) => fileOf(name, "cmdline").replaceAll("\0", " "));
}

/** Empty once the process has ended. */
function fileOf(pid: string, name: string): string {
  try {
    return readFileSync(join("/proc", pid, name), "utf8");
  } catch {
    return "";
  }
}
