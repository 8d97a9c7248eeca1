import { existsSync, globSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { CapstanError, messageOf } from "../api/error.js";
import { apiVersion } from "../api/schema.js";
import type { SourceText } from "./parse.js";

const manifestName = /\.(ya?ml|json)$/;
const isPattern = /[*?[{]/;

/**
 * The texts behind what a user names: files, folders (their YAML and JSON files by name, not
 * deeper), patterns such as "clusters/*" (what fits of both, by name), or "-" for standard input.
 * Throws INVALID_INPUT naming every path that cannot be read.
 */
export function readSources(paths: readonly string[]): SourceText[] {
  const problems: string[] = [];
  const sources = paths.flatMap((path) => {
    try {
      return readNamed(path);
    } catch (error) {
      problems.push(`cannot read ${path}: ${causeOf(error)}`);
      return [];
    }
  });
  if (problems.length === 0) return sources;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: problems.join("\n"),
    hint: "name files, folders with .yaml, .yml or .json files, patterns, or - for standard input",
  });
}

/**
 * What is noted of a path that was read, to be told later by name alone, there or not: a folder that is called like a manifest is marked
 * as one.
 */
export function notedPath(path: string): string {
  return manifestName.test(path) && isFolder(path) ? `${path}${sep}` : path;
}

/** Whether reading some paths reads this one as well, as `notedPath` has them: a file in a folder, and nothing deeper. Pure. */
export function isReadWith(path: string, read: ReadonlySet<string>): boolean {
  if (read.has(path)) return true;
  return manifestName.test(path) && !isPattern.test(path) && read.has(dirname(path));
}

/** The usual causes in words of ours. */
function causeOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "there is no such file or folder";
  return code === "EACCES" ? "it may not be read by this user" : messageOf(error);
}

function readNamed(path: string): SourceText[] {
  if (path === "-") return [{ file: path, text: readFileSync(0, "utf8") }];
  // A name that exists is that file, whatever characters it holds.
  if (isPattern.test(path) && !existsSync(path)) return readPattern(path);
  if (!statSync(path).isDirectory()) return [{ file: path, text: readFileSync(path, "utf8") }];
  const sources = readFolder(path);
  if (sources.length === 0) {
    const below = foldersBelow(path).length > 0 ? "; -R reads the folders below it" : "";
    throw new Error(`no .yaml, .yml or .json file in it${below}`);
  }
  return sources;
}

/** Like a folder, a pattern passes over what is no manifest; but something has to fit. */
function readPattern(pattern: string): SourceText[] {
  const sources = globSync(pattern)
    .sort()
    .flatMap((path) => {
      if (statSync(path).isDirectory()) return readFolder(path);
      return manifestName.test(path) ? [{ file: path, text: readFileSync(path, "utf8") }] : [];
    });
  if (sources.length === 0) throw new Error("no .yaml, .yml or .json file fits the pattern");
  return sources;
}

/** The folders right below one that hold manifests, by path, as far as they may be read; not what is further down. */
export function foldersIn(path: string): string[] {
  return subfolders(path).filter((folder) => {
    try {
      return holdsManifests(folder);
    } catch {
      return false;
    }
  });
}

/** Paths of the folders in a folder, but for hidden ones; none of anything else. */
function subfolders(path: string): string[] {
  if (!isFolder(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map(({ name }) => join(path, name))
    .sort();
}

/** The folders below one that hold manifests, however deep. */
function foldersBelow(path: string): string[] {
  return subfolders(path).flatMap((folder) => [
    ...(holdsManifests(folder) ? [folder] : []),
    ...foldersBelow(folder),
  ]);
}

/** What a path means with all that is below it: a folder without manifests of its own stands for those that have some. */
export function withFoldersBelow(path: string): string[] {
  const below = foldersBelow(path);
  return below.length > 0 && !holdsManifests(path) ? below : [path, ...below];
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

function holdsManifests(folder: string): boolean {
  return readdirSync(folder).some((name) => manifestName.test(name));
}

/** Whether a folder has a file with a Cluster of ours in it. */
export function holdsCluster(folder: string): boolean {
  return readFolder(folder).some(
    ({ text }) => /^"?kind"?:\s*"?Cluster"?\s*,?$/m.test(text) && text.includes(apiVersion),
  );
}

function readFolder(folder: string): SourceText[] {
  return readdirSync(folder)
    .filter((name) => manifestName.test(name))
    .sort()
    .map((name) => {
      const file = join(folder, name);
      return { file, text: readFileSync(file, "utf8") };
    });
}
