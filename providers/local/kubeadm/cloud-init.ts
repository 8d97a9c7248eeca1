import { parse } from "yaml";
import type { NamespaceHost } from "./host.js";

/** The part of cloud-config that user data of ours consists of. */
interface CloudConfig {
  readonly write_files?: readonly {
    readonly path: string;
    readonly owner: string;
    readonly permissions: string;
    readonly content: string;
  }[];
  readonly runcmd?: readonly (readonly string[])[];
}

/**
 * Does to a host what cloud-init does at its first boot: writes the files in their order, then runs the commands
 * in theirs. Throws an Error for what it does not know, so that nothing is passed over, and for a command that fails.
 */
export async function boot(
  host: NamespaceHost,
  userData: string,
  timeoutMs: number,
): Promise<void> {
  const { write_files: files = [], runcmd = [], ...unknown } = configIn(userData);
  const others = Object.keys(unknown);
  if (others.length > 0) throw new Error(`user data has ${others.join(", ")}: nobody reads it`);
  for (const { path, owner, permissions, content } of files) {
    await host.write(path, permissions, content);
    if (owner !== "root:root") await host.run("chown", owner, path);
  }
  for (const [program = "", ...args] of runcmd) await host.runWith({ timeoutMs }, program, ...args);
}

function configIn(userData: string): CloudConfig {
  if (!userData.startsWith("#cloud-config\n")) throw new Error("user data is no cloud-config");
  return parse(userData) as CloudConfig;
}
