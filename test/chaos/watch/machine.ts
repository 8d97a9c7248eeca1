import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asOnMachine } from "../../scenario/another-machine.js";
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

/**
 * Two machines under different names that share a cloud and PostgreSQL, each with a way of its own to the latter. Their files are in
 * a folder that somebody else removes.
 */
export async function twoMachines(
  judged: Sandbox,
  postgres: Postgres,
  { parent, ...options }: SandboxOptions & { readonly parent: string },
): Promise<Machine[]> {
  const machines: Machine[] = [];
  for (const name of ["north", "south"]) {
    const folder = mkdtempSync(join(parent, `${name}-`));
    const relay = await TcpRelay.to(postgres.port);
    const url = postgres.url.replace(`:${postgres.port}/`, `:${relay.port}/`);
    const env = judged.options.backend?.env ?? {};
    const sandbox = await Sandbox.make(
      { machines: {} },
      {
        ...options,
        backend: sharedBackend(url, env),
        runner: asOnMachine(name, folder),
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
