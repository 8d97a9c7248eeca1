import { sameJson } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { Workspace } from "../engine/backend/workspace.js";
import { pathsIn } from "./manifest-options.js";

/**
 * Remembers which manifests led to a stack's present revision, as `sourcesOf` says them. Kept beside Pulumi's settings, not in
 * them: Pulumi copies its configuration into the state, and a path of this machine is not state.
 */
export function rememberManifests(
  workspace: Workspace,
  stack: string,
  from: readonly string[],
): void {
  if (sameJson(workspace.sourcesOf(stack), from)) return;
  workspace.noteSources(stack, from);
}

/**
 * Remembers which manifests a stack is first changed from, where none are remembered yet: a cluster that is
 * begun may be missing from them later. What led to a revision stays remembered whatever is tried after it.
 */
export function rememberFirst(workspace: Workspace, stack: string, from: readonly string[]): void {
  if (workspace.sourcesOf(stack) === undefined) rememberManifests(workspace, stack, from);
}

/** Nothing of the stack is left, so nothing led to it. */
export function forgetManifests(workspace: Workspace, stack: string): void {
  workspace.forgetSources(stack);
}

/** The manifests that `rememberManifests` noted, absolute; none for a stack it never saw. */
export function rememberedManifests(workspace: Workspace, stack: string): readonly string[] {
  return pathsIn(workspace.sourcesOf(stack) ?? []);
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
