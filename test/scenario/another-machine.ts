import { randomBytes, randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const becomeMachine = `hostname "$1" && mount --bind "$2" /etc/machine-id &&
mount --bind "$3" /proc/sys/kernel/random/boot_id && shift 3 && exec "$@"`;

/**
 * What runs a command as on another machine: its host name, machine id and start of a kernel are other ones, for it and all that
 * it starts. Its pids are those of this machine, so that tests can end and stop it. Needs Linux, and root or namespaces of
 * users. `folder`: for its files, as long as it runs.
 */
export function asOnMachine(name: string, folder: string): string[] {
  const [machine, boot] = [join(folder, `${name}.machine-id`), join(folder, `${name}.boot-id`)];
  writeFileSync(machine, `${randomBytes(16).toString("hex")}\n`);
  writeFileSync(boot, `${randomUUID()}\n`);
  const mayMount = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const shell = ["sh", "-c", becomeMachine, "machine", name, machine, boot];
  return ["unshare", ...mayMount, "--uts", "--mount", "--", ...shell];
}
