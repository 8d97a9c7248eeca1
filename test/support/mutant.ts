import assert from "node:assert/strict";
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
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

/**
 * The command line of a copy: it runs the modules themselves, where the replacements are, and not what users run, in
 * which they are joined and written anew.
 */
export function programOf(copy: string): string {
  return join(copy, "dist", "src", "main.js");
}

/** A copy of these built parts in a folder of its own, with other behaviour in some places of the product. */
export function copyReplaced(
  parts: readonly string[],
  replacements: readonly Replacement[],
): string {
  const folder = mkdtempSync(join(tmpdir(), "capstan-mutant-"));
  copyFileSync(join(root, "package.json"), join(folder, "package.json"));
  for (const part of ["tools", ...parts]) linkCode(join(root, part), join(folder, part));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const replacement of replacements) {
    const read = (module: string) => readFileSync(join(folder, module), "utf8");
    const { file, code } = withReplacement(replacement, read);
    // A file of its own: the other one is that of the product.
    rmSync(join(folder, file));
    writeFileSync(join(folder, file), code);
  }
  return folder;
}

/** All that runs below a folder, as links to the files themselves: there are many mutants. */
function linkCode(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory() && entry.name !== "node_modules") linkCode(source, target);
    else if (entry.isFile() && !/\.(d\.m?ts|map)$/.test(entry.name)) linkOrCopy(source, target);
  }
}

function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch {
    // Temporary files may be on another file system.
    copyFileSync(source, target);
  }
}

/** A module of the tests, below dist, with what of it is asked: the same is asked of a mutant's. */
interface Asked<Module> {
  readonly module: string;
  readonly own: Module;
}

/** What a module of the tests tells in a mutant, a copy that is gone afterwards. */
export async function inMutant<Module extends object, Told>(
  replacements: readonly Replacement[],
  { module, own }: Asked<Module>,
  tell: (copy: Module) => Told | Promise<Told>,
): Promise<Told> {
  const parts = new Set(["src", "providers", "test/support", dirname(module)]);
  const folder = copyReplaced(
    [...parts].map((part) => `dist/${part}`),
    replacements,
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
