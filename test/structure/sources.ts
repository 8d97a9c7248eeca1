import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../scenario/sandbox.js";

/** Sources by their paths in the repository. */
export type Sources = ReadonlyMap<string, string>;

/** What is in some folders of the repository and fits a pattern. */
export function sourcesIn(folders: readonly string[], pattern = "**/*.ts"): Sources {
  const paths = folders.flatMap((folder) =>
    globSync(pattern, { cwd: join(repository, folder), exclude: ["**/node_modules/**"] }).map(
      (path) => join(folder, path),
    ),
  );
  return new Map(paths.map((path) => [path, readFileSync(join(repository, path), "utf8")]));
}
