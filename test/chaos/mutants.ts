import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repository } from "../scenario/sandbox.js";

/** One place in the built code, and what stands there in the mutant. */
interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/**
 * Protections that can be taken out. Where one stands behind the other, both go: what chaos has to
 * notice is that nothing protects any more.
 */
export const mutants = {
  /** A resource's token is another one in each attempt. */
  tokenPerAttempt: [
    {
      file: "dist/src/compile/compile.js",
      find: "token: digestOf([clusterUid, kind, name], 32)",
      replace: "token: digestOf([clusterUid, kind, name, process.pid], 32)",
    },
  ],
  /** Nobody looks for what a killed engine began, in its records or in the cloud. */
  noSearchAfterCrash: [
    {
      file: "dist/src/engine/recover.js",
      find: "const handler = provider.handlers.get(kind);",
      replace: "if (true) return true;\n    $&",
    },
    {
      file: "dist/src/plan/plan.js",
      find: "abandoned: unknown.filter(ours)",
      replace: "abandoned: unknown.filter(() => false)",
    },
    {
      file: "dist/src/engine/inventory.js",
      find: 'const unknown = strangers.filter(({ phase }) => phase !== "gone");',
      replace: "const unknown = [];",
    },
  ],
  /** Nobody looks once more whether a rollback has left anything. */
  noVerification: [
    {
      file: "dist/src/engine/inventory.js",
      find: "const found = compare(state, sightings, strangers);",
      replace: "const found = { ...compare(state, sightings, strangers), differences: [] };",
    },
  ],
  /** The engine of a dead command is left alone when its stack is taken over. */
  noEndOfEngine: [
    {
      file: "dist/src/engine/lock.js",
      find: "const { engine } = holder;\n    if (engine === undefined",
      replace: "const { engine } = holder;\n    if (true) return;\n    if (engine === undefined",
    },
  ],
} as const satisfies Record<string, readonly Edit[]>;

export type MutantName = keyof typeof mutants;

/** A copy of the built command line in a folder of its own, without one protection. */
export function makeMutant(name: MutantName): string {
  const folder = mkdtempSync(join(tmpdir(), "capstan-mutant-"));
  for (const part of ["package.json", "dist/src", "dist/providers", "tools"]) {
    cpSync(join(repository, part), join(folder, part), {
      recursive: true,
      filter: (path) => !path.includes("node_modules"),
    });
  }
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  for (const { file, find, replace } of mutants[name]) {
    const path = join(folder, file);
    const code = readFileSync(path, "utf8");
    assert.equal(code.split(find).length, 2, `${file} has exactly one place like ${find}`);
    writeFileSync(path, code.replace(find, replace));
  }
  return folder;
}
