import { existsSync, globSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { CapstanError, messageOf } from "../api/error.js";
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
  if (sources.length === 0) throw new Error("no .yaml, .yml or .json file in it");
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

function readFolder(folder: string): SourceText[] {
  return readdirSync(folder)
    .filter((name) => manifestName.test(name))
    .sort()
    .map((name) => {
      const file = join(folder, name);
      return { file, text: readFileSync(file, "utf8") };
    });
}
