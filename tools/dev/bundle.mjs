// Joins modules, as tsc leaves them, into few files: those of the command line into dist/cli, and what Pulumi programs load of the
// package into dist/program. Reading and linking a thousand small files is most of what a short command costs, and a sixth of a
// plain `pulumi up` (docs/adr/0031). Every module stays in dist/src, too, for providers from outside.

import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { exitWith, isMain } from "../toolchain/run.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What most commands and programs load. What few of them need stays as it is, and is loaded by those. */
const joinedEverywhere = [
  "@peculiar/x509",
  "commander",
  "ipaddr.js",
  "picocolors",
  "reflect-metadata",
  "semver",
  "typebox",
  "yaml",
];

/**
 * Files that are joined together, by the folder of dist that they get. A program has an @pulumi/pulumi of its own, which knows
 * what it has registered: Capstan uses that one. The command line needs the protocol only, and registers nothing by it.
 */
const targets = [
  {
    folder: "cli",
    entries: ["main"],
    joined: [...joinedEverywhere, "@grpc/grpc-js", "@pulumi/pulumi", "google-protobuf"],
  },
  { folder: "program", entries: ["inline/cluster", "inline/stock-host"], joined: joinedEverywhere },
];

/** Packages of CommonJS require what is built in; there is no require in modules. */
const requireInModules =
  'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);';

/**
 * Makes a folder anew from dist/src. The one that was there stays until the new one is complete.
 *
 * @param {typeof targets[number]} target
 * @throws an Error when a module is missing
 */
async function bundle({ folder, entries, joined }) {
  const target = join(root, "dist", folder);
  const unfinished = `${target}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: entries.map((entry) => join(root, "dist", "src", `${entry}.js`)),
    outdir: unfinished,
    // All entries lie in the folder itself.
    entryNames: "[name]",
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node22.19",
    // x509 has its names as a module only; its other form is CommonJS, which an import() gives as one default.
    mainFields: ["module", "main"],
    external: ["#*", ...dependencies().filter((name) => !joined.includes(name))],
    // Error messages and stacks name functions and classes as their sources do.
    keepNames: true,
    // For tools that ask for them, such as coverage; Node.js itself does not read them at a start.
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
    banner: { js: requireInModules },
    metafile: true,
    logLevel: "warning",
  });
  // The check of types takes these instead of what is joined.
  for (const entry of entries.map((one) => basename(one))) {
    writeFileSync(join(unfinished, `${entry}.d.ts`), "export {};\n");
  }
  writeFileSync(join(unfinished, "LICENSES.txt"), licensesOf(Object.keys(metafile.inputs)));
  rmSync(target, { recursive: true, force: true });
  renameSync(unfinished, target);
}

/** @returns {string[]} */
function dependencies() {
  return Object.keys(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).dependencies);
}

/**
 * Whoever passes code on passes its licence on.
 *
 * @param {readonly string[]} inputs paths of joined modules, relative to the root
 * @returns {string}
 */
function licensesOf(inputs) {
  const packages = inputs.flatMap(
    (input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? [],
  );
  return [...new Set(packages)]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(
        readFileSync(join(root, folder, "package.json"), "utf8"),
      );
      const file = readdirSync(join(root, folder)).find((one) => /^licen[cs]e/i.test(one));
      const text = file === undefined ? "" : readFileSync(join(root, folder, file), "utf8").trim();
      return `${name} ${version} (${license})\n\n${text}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}

if (isMain(import.meta.url)) {
  await exitWith(async () => {
    await Promise.all(targets.map(bundle));
    return 0;
  });
}
