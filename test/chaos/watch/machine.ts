import { execFileSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox, type SandboxOptions, sharedBackend } from "../../scenario/sandbox.js";
import type { Postgres } from "../../support/postgres.js";
import { TcpRelay } from "../../support/tcp-relay.js";

/** Where controllers run. */
export interface Machine {
  readonly name: string;
  readonly sandbox: Sandbox;
  /** Its way to PostgreSQL; none where stacks are kept in files. */
  readonly relay: TcpRelay | undefined;
}

/** What the host name, the machine id and the boot id of a process are, and of all that it starts. */
const becomeMachine = `hostname "$1" && mount --bind "$2" /etc/machine-id &&
mount --bind "$3" /proc/sys/kernel/random/boot_id && shift 3 && exec "$@"`;

/**
 * Runs a command as on another machine: with another host name, machine id and kernel start, in namespaces of its own. Its pids
 * stay those of this machine, so that it can be killed from here.
 */
function runnerOf(name: string, folder: string): string[] {
  const [machine, boot] = [join(folder, "machine-id"), join(folder, "boot-id")];
  writeFileSync(machine, `${randomBytes(16).toString("hex")}\n`);
  writeFileSync(boot, `${randomUUID()}\n`);
  const shell = ["sh", "-c", becomeMachine, "machine", name, machine, boot];
  return ["unshare", "--uts", "--mount", "--", ...shell];
}

/** Whether this machine lets us make others out of itself. */
export function canMakeMachines(): boolean {
  try {
    execFileSync("unshare", ["--uts", "--mount", "--", "hostname", "another"], { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
}

/** Two machines under different names that share a cloud and PostgreSQL, each with a way of its own to the latter. */
export async function twoMachines(
  judged: Sandbox,
  postgres: Postgres,
  options: SandboxOptions,
): Promise<Machine[]> {
  const machines: Machine[] = [];
  for (const name of ["north", "south"]) {
    const folder = mkdtempSync(join(tmpdir(), `capstan-${name}-`));
    const relay = await TcpRelay.to(postgres.port);
    const url = postgres.url.replace(`:${postgres.port}/`, `:${relay.port}/`);
    const env = judged.options.backend?.env ?? {};
    const sandbox = await Sandbox.make(
      { machines: {} },
      {
        ...options,
        backend: sharedBackend(url, env),
        runner: runnerOf(name, folder),
        parent: folder,
      },
    );
    mkdirSync(sandbox.state);
    sandbox.localCloud = judged.cloudFile;
    machines.push({ name, sandbox, relay });
  }
  return machines;
}

/** What lets in whoever comes through any relay, and a passphrase for all. */
export function postgresEnv(postgres: Postgres, folder: string): Record<string, string> {
  const [pass, passphrase] = [join(folder, "pgpass"), join(folder, "passphrase")];
  writeFileSync(pass, `127.0.0.1:*:postgres:owner:${postgres.password}\n`, { mode: 0o600 });
  writeFileSync(passphrase, "a passphrase for tests\n");
  return { PGPASSFILE: pass, PULUMI_CONFIG_PASSPHRASE_FILE: passphrase };
}
