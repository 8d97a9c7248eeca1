// Which test files start servers that not many may start at a time: by what their compiled modules import.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { compiledOf } from "./files.mjs";

/** @typedef {import("./plan.mjs").Servers} Servers */

/** Clusters of kubelets are made by the command line: no import tells of them. */
const withKubelets =
  /^test\/nodes\/|^test\/providers\/local\/(laptop|in-place)\.int|^test\/docs\/node-examples\.int/;
const apiServer = join("test", "support", "api-server.js");
const relativeImport = /(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+)"/g;

/**
 * @param {string} root of the repository
 * @returns {(file: string) => Servers | undefined} of a source
 */
export function serversIn(root) {
  /** @type {Map<string, readonly string[]>} */
  const known = new Map();
  const importsOf = (/** @type {string} */ module) => {
    const imports = known.get(module) ?? readImports(module);
    known.set(module, imports);
    return imports;
  };
  return (file) => {
    if (withKubelets.test(file)) return "kubelets";
    const seen = new Set([join(root, compiledOf(file))]);
    for (const module of seen) for (const one of importsOf(module)) seen.add(one);
    return seen.has(join(root, "dist", apiServer)) ? "API servers" : undefined;
  };
}

/**
 * @param {string} module absolute
 * @returns {string[]} absolute; those among tests alone
 */
function readImports(module) {
  if (!existsSync(module)) return [];
  return [...readFileSync(module, "utf8").matchAll(relativeImport)]
    .map(([, path = ""]) => join(dirname(module), path))
    .filter((path) => path.includes(join("dist", "test")));
}
