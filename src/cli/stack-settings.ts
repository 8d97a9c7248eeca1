import { omitUndefined } from "../api/omit-undefined.js";
import type { ManifestSources } from "../engine/backend/manifest-notes.js";
import type { Workspace } from "../engine/backend/workspace.js";
import { isCovered, pathsIn } from "./manifest-options.js";

type Noted = Pick<Workspace, "manifestNotes">;

// Kept beside Pulumi's settings, not in them: Pulumi copies its configuration into the state, and a path of this machine is
// not state.

/** Remembers which manifests led to a stack's present revision, as `sourcesOf` says them, beside others that hold its cluster. */
export function rememberManifests(workspace: Noted, stack: string, from: readonly string[]): void {
  workspace.manifestNotes?.add(stack, from);
}

/**
 * Remembers which manifests a stack is being changed from, whatever becomes of it: they hold its cluster from now on, and it may be missing
 * from them later. What led to a revision stays the last that is remembered.
 */
export function rememberBegun(workspace: Noted, stack: string, from: readonly string[]): void {
  workspace.manifestNotes?.addBefore(stack, from);
}

/** These manifests hold the stack's cluster no more; others that do are remembered on. */
export function forgetThese(workspace: Noted, stack: string, from: readonly string[]): void {
  workspace.manifestNotes?.takeOut(stack, (one) => isCovered(one, from));
}

/** Nothing of the stack is left, so nothing led to it. */
export function forgetManifests(workspace: Noted, stack: string): void {
  workspace.manifestNotes?.takeOut(stack, () => true);
}

/** All that are remembered, by stack name. */
export function allNotes(workspace: Noted): Readonly<Record<string, ManifestSources>> {
  return workspace.manifestNotes?.read() ?? {};
}

/** All that are remembered of a stack; none for one that was never seen. */
export function notedManifests(workspace: Noted, stack: string): ManifestSources {
  return workspace.manifestNotes?.of(stack) ?? [];
}

/** The manifests that `rememberManifests` noted last, absolute; none for a stack it never saw. */
export function rememberedManifests(workspace: Noted, stack: string): readonly string[] {
  return pathsIn(notedManifests(workspace, stack).at(-1) ?? []);
}

/** Settings of a stack for a plain `pulumi` in another project folder. */
export function plainSettings(
  workspace: Workspace,
  stack: string,
  manifests: readonly string[],
): Record<string, unknown> {
  const { encryptionsalt } = workspace.stackSettings(stack);
  return omitUndefined({ encryptionsalt, config: { "capstan:manifests": manifests.join(",") } });
}
