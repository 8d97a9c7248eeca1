import { resolve } from "node:path";
import type { Workspace } from "../engine/workspace.js";

/**
 * Remembers which manifests a stack was last changed from. Kept beside Pulumi's settings, not in
 * them: Pulumi copies its configuration into the state, and a path of this machine is not state.
 */
export function rememberManifests(
  workspace: Workspace,
  stack: string,
  files: readonly string[],
): void {
  const sources = workspace.readSources();
  workspace.writeSources({ ...sources, [stack]: files.map((file) => resolve(file)) });
}

/** The manifests that `rememberManifests` noted, absolute; none for a stack it never saw. */
export function rememberedManifests(workspace: Workspace, stack: string): readonly string[] {
  return workspace.readSources()[stack] ?? [];
}

/** Settings of a stack for a plain `pulumi` in another project folder. */
export function plainSettings(
  workspace: Workspace,
  stack: string,
  manifests: readonly string[],
): Record<string, unknown> {
  const { encryptionsalt } = workspace.stackSettings(stack);
  return {
    ...(encryptionsalt !== undefined && { encryptionsalt }),
    config: { "capstan:manifests": manifests.join(",") },
  };
}
