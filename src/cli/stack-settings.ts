import { resolve } from "node:path";
import type { Workspace } from "../engine/workspace.js";

const manifestsKey = "capstan:manifests";

/** Remembers for `capstan env` which manifests a stack was last changed from. */
export function rememberManifests(
  workspace: Workspace,
  stack: string,
  files: readonly string[],
): void {
  const settings = workspace.stackSettings(stack);
  const config = (settings["config"] ?? {}) as Record<string, unknown>;
  workspace.writeStackSettings(workspace.stackFile(stack), {
    ...settings,
    config: { ...config, [manifestsKey]: files.map((file) => resolve(file)).join(",") },
  });
}

/** The manifests that `rememberManifests` noted, absolute; none for a stack it never saw. */
export function rememberedManifests(workspace: Workspace, stack: string): string[] {
  const config = (workspace.stackSettings(stack)["config"] ?? {}) as Record<string, unknown>;
  const noted = config[manifestsKey];
  return typeof noted === "string" && noted !== "" ? noted.split(",") : [];
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
    config: { [manifestsKey]: manifests.join(",") },
  };
}
