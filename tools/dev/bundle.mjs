// Joins the modules of the command line, as tsc leaves them, into the few files of dist/cli: reading and
// linking a thousand small files is most of what a short command costs (docs/adr/0031). Every module stays in
// dist/src, too, for programs that import the package.

import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { exitWith, isMain } from "../toolchain/run.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * The dependencies that most commands load, and those of @pulumi/pulumi the protocol only. What few commands need
 * stays as it is, and is loaded by those: clients of clouds, databases and API servers are the larger part.
 */
const joinedDependencies = [
  "@grpc/grpc-js",
  "@peculiar/x509",
  "@pulumi/pulumi",
  "ajv",
  "commander",
  "google-protobuf",
  "ipaddr.js",
  "picocolors",
  "reflect-metadata",
  "semver",
  "typebox",
  "yaml",
];

/** Packages of CommonJS require what is built in; there is no require in modules. */
const requireInModules =
  'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);';

/**
 * Makes dist/cli anew from dist/src. The one that was there stays until the new one is complete.
 *
 * @throws an Error when a module is missing
 */
async function bundle() {
  const target = join(root, "dist", "cli");
  const unfinished = `${target}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(root, "dist", "src", "main.js")],
    outdir: unfinished,
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node22.19",
    // x509 has its names as a module only; its other form is CommonJS, which an import() gives as one default.
    mainFields: ["module", "main"],
    external: ["#*", ...separateDependencies()],
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
  // The check of types takes this instead of what is joined.
  writeFileSync(join(unfinished, "main.d.ts"), "export {};\n");
  writeFileSync(join(unfinished, "LICENSES.txt"), licensesOf(Object.keys(metafile.inputs)));
  rmSync(target, { recursive: true, force: true });
  renameSync(unfinished, target);
}

/** @returns {string[]} */
function separateDependencies() {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return Object.keys(dependencies).filter((name) => !joinedDependencies.includes(name));
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
    await bundle();
    return 0;
  });
}
