import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { CapstanError, messageOf } from "../api/error.js";
import type { SourceText } from "./parse.js";

const manifestName = /\.(ya?ml|json)$/;

/**
 * The texts behind what a user names: files, folders (their YAML and JSON files by name, not
 * deeper), or "-" for standard input. Throws INVALID_INPUT naming every path that cannot be read.
 */
export function readSources(paths: readonly string[]): SourceText[] {
  const problems: string[] = [];
  const sources = paths.flatMap((path) => {
    try {
      return readOne(path);
    } catch (error) {
      problems.push(`cannot read ${path}: ${messageOf(error)}`);
      return [];
    }
  });
  if (problems.length === 0) return sources;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: problems.join("\n"),
    hint: "name files, folders with .yaml, .yml or .json files, or - for standard input",
  });
}

function readOne(path: string): SourceText[] {
  if (path === "-") return [{ file: path, text: readFileSync(0, "utf8") }];
  if (!statSync(path).isDirectory()) return [{ file: path, text: readFileSync(path, "utf8") }];
  const names = readdirSync(path)
    .filter((name) => manifestName.test(name))
    .sort();
  if (names.length === 0) throw new Error("no .yaml, .yml or .json file in it");
  return names.map((name) => {
    const file = join(path, name);
    return { file, text: readFileSync(file, "utf8") };
  });
}
