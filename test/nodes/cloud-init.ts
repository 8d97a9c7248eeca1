import assert from "node:assert/strict";
import { parse } from "yaml";
import type { Host } from "./host.js";

/** The part of cloud-config that user data of ours consists of. */
interface CloudConfig {
  readonly write_files: readonly {
    readonly path: string;
    readonly owner: string;
    readonly permissions: string;
    readonly content: string;
  }[];
  readonly runcmd: readonly (readonly string[])[];
}

/**
 * Does to a host what cloud-init does at its first boot: writes the files in their order, then runs the commands
 * in theirs. Refuses what it does not know, so that nothing is passed over.
 */
export async function boot(host: Host, userData: string, timeoutMs: number): Promise<void> {
  assert.ok(userData.startsWith("#cloud-config\n"));
  const { write_files: files, runcmd, ...unknown } = parse(userData) as CloudConfig;
  assert.deepEqual(unknown, {});
  for (const { path, owner, permissions, content } of files) {
    assert.equal(owner, "root:root");
    await host.write(path, permissions, content);
  }
  for (const [program = "", ...args] of runcmd) await host.runWith({ timeoutMs }, program, ...args);
}
