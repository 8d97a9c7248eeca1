import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** Name of the Pulumi project that the CLI keeps clusters in. */
export const projectName = "capstan";

/** Where the embedded default keeps everything, unless --state or CAPSTAN_STATE says otherwise. */
export const defaultStateDir = ".capstan";

/** The folder with the Pulumi.yaml that governs `from`: itself or the nearest above it. */
export function projectRoot(from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "Pulumi.yaml"))) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

/**
 * The state folder as a plain `pulumi` sees it: CAPSTAN_STATE, else .capstan beside the Pulumi.yaml.
 * The dynamic host works in the folder of the program's main file, so the project is looked up.
 */
export function ambientStateDir(env: NodeJS.ProcessEnv, cwd: string): string {
  const named = env["CAPSTAN_STATE"];
  if (named !== undefined && named !== "") return resolve(cwd, named);
  return join(projectRoot(cwd) ?? cwd, defaultStateDir);
}

/** The folder of a file backend; undefined for other backends and for forms only Pulumi understands. */
export function fileBackendRoot(backendUrl: string): string | undefined {
  if (!backendUrl.startsWith("file:///")) return undefined;
  return decodeURIComponent(new URL(backendUrl.replace(/\?.*/s, "")).pathname);
}

/** A text with URLs in it as people may see it: what stands for a password is left out. Pure. */
export function withoutPasswords(text: string): string {
  return text
    .replace(/(:\/\/[^\s/?#@:]*:)[^\s/?#@]*@/g, "$1***@")
    .replace(/([?&]password=)[^\s&"]*/g, "$1***");
}
