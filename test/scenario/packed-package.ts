import assert from "node:assert/strict";
import { join } from "node:path";
import { run } from "./command.js";
import { repository } from "./sandbox.js";

/** The tarball that `npm pack` makes of the repository. */
export interface PackedTarball {
  /** Its path. */
  readonly tarball: string;
  readonly files: readonly { readonly path: string }[];
}

/** Packs the repository as it is built into a folder; `env` says by which npm. */
export async function packInto(folder: string, env: NodeJS.ProcessEnv): Promise<PackedTarball> {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const { code, stdout, stderr } = await run("npm", args, { cwd: repository, env });
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  const [{ filename, files }] = JSON.parse(stdout) as [
    { filename: string; files: PackedTarball["files"] },
  ];
  return { tarball: join(folder, filename), files };
}

/** What commands of npm need in their environment to be those of a user, and quiet. */
export function npmEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  // npm names itself and its project to the programs that it runs, as to this suite.
  const { npm_execpath: _suite, ...clean } = env;
  return { ...clean, npm_config_loglevel: "error", npm_config_audit: "false" };
}
