import assert from "node:assert/strict";
import {
  cpSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Replacement, withReplacement } from "./replacement.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** One place in the built code, wherever it is, and what stands there in the mutant. */
export interface Edit {
  readonly find: string;
  readonly replace: string;
}

/**
 * The command line of a copy: it runs the modules themselves, where the edits are, and not what users run, in
 * which they are joined and written anew.
 */
export function programOf(copy: string): string {
  return join(copy, "dist", "src", "main.js");
}

/** A copy of these built parts in a folder of its own, with other code in some places of the product. */
export function copyEdited(
  parts: readonly string[],
  edits: readonly (Edit | Replacement)[],
): string {
  const folder = mkdtempSync(join(tmpdir(), "capstan-mutant-"));
  for (const part of ["package.json", "tools", ...parts]) {
    cpSync(join(root, part), join(folder, part), {
      recursive: true,
      filter: (path) => !path.includes("node_modules"),
    });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const files = globSync("dist/src/**/*.js", { cwd: folder }).map((file) => join(folder, file));
  for (const edit of edits) {
    if ("by" in edit) {
      const read = (module: string) => readFileSync(join(folder, module), "utf8");
      const { file: module, code } = withReplacement(edit, read);
      writeFileSync(join(folder, module), code);
      continue;
    }
    const { find, replace } = edit;
    const [file, ...others] = files.filter((one) => readFileSync(one, "utf8").includes(find));
    assert.ok(file !== undefined && others.length === 0, `${find} is in one file`);
    const code = readFileSync(file, "utf8");
    assert.equal(code.split(find).length, 2, `${file} has exactly one place like ${find}`);
    writeFileSync(file, code.replace(find, replace));
  }
  return folder;
}

/** A module of the tests, below dist, with what of it is asked: the same is asked of a mutant's. */
interface Asked<Module> {
  readonly module: string;
  readonly own: Module;
}

/** What a module of the tests tells in a mutant, a copy that is gone afterwards. */
export async function inMutant<Module extends object, Told>(
  edits: readonly (Edit | Replacement)[],
  { module, own }: Asked<Module>,
  tell: (copy: Module) => Told | Promise<Told>,
): Promise<Told> {
  const parts = new Set(["src", "providers", "test/support", dirname(module)]);
  const folder = copyEdited(
    [...parts].map((part) => `dist/${part}`),
    edits,
  );
  try {
    const { href } = pathToFileURL(join(folder, "dist", module));
    const copy = (await import(href)) as Module;
    for (const name of Object.keys(own)) assert.ok(name in copy, `${module} exports ${name}`);
    return await tell(copy);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
