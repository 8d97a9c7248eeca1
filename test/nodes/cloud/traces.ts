import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const cgroups = "/sys/fs/cgroup";

/** Paths of the uppermost cgroups whose names begin so, in all hierarchies. */
export function cgroupsNamed(prefix: string): string[] {
  const hierarchies = foldersIn(cgroups).map((name) => join(cgroups, name));
  return [cgroups, ...hierarchies].flatMap((hierarchy) =>
    foldersIn(hierarchy)
      .filter((name) => name.startsWith(prefix))
      .map((name) => join(hierarchy, name)),
  );
}

function foldersIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** Command lines of processes with a mount that something in the folder is mounted by. */
export function processesThatMount(folder: string): string[] {
  return foldersIn("/proc")
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
