// Makes a clone ready to run: dependencies, a fitting Node.js, the compiled sources, Pulumi. Each step
// is skipped when its result is there, so that repeating the set-up costs next to nothing. Runs on
// Node.js 20 and without dependencies, since it is what installs them.

import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureNode } from "../toolchain/node-toolchain.mjs";
import { npmCi } from "../toolchain/npm.mjs";
import { ensurePulumi } from "../toolchain/pulumi-toolchain.mjs";
import { exitWith, isMain, run } from "../toolchain/run.mjs";

/** @typedef {import("../toolchain/pulumi-toolchain.mjs").PulumiToolchain} PulumiToolchain */
/** @typedef {import("../toolchain/cached-toolchain.mjs").Progress} Progress */

export const root = fileURLToPath(new URL("../..", import.meta.url));
const stampFolder = join(root, ".setup");
const sourceFolders = ["src", "providers", "stacks", "test"];

/**
 * Sets up everything that is not set up yet. Progress goes to stderr, one line per step with its
 * seconds.
 *
 * @param {{ quiet?: boolean }} [options] quiet: a step that has nothing to do says nothing
 * @returns {Promise<{ node: string, pulumi: PulumiToolchain }>} the Node.js program that runs the
 *   compiled sources, and the Pulumi they drive
 * @throws an Error with a hint when a step fails
 */
export async function setup({ quiet = false } = {}) {
  mkdirSync(stampFolder, { recursive: true });
  await timed("dependencies", quiet, installDependencies);
  const node = await timed("node", quiet, (announce) => ensureNode({ progress: announce }));
  await timed("build", quiet, (announce) => compile(node, announce));
  const pulumi = await timed(
    "pulumi",
    quiet,
    (announce) => ensurePulumi({ progress: announce }),
    ({ bin, origin }) => `${bin} (${origin})`,
  );
  return { node, pulumi };
}

/**
 * @template Result
 * @param {string} name
 * @param {boolean} quiet
 * @param {(announce: Progress) => Promise<Result>} step announces work before it starts it
 * @param {(result: Result) => string} [describe]
 * @returns {Promise<Result>}
 */
async function timed(name, quiet, step, describe = String) {
  const started = performance.now();
  let isSilent = quiet;
  const say = (/** @type {string} */ text) => process.stderr.write(`setup: ${name}: ${text}\n`);
  const result = await step((text) => {
    isSilent = false;
    say(text);
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (!isSilent) say(`${describe(result)} [${seconds} s]`);
  return result;
}

/**
 * @param {Progress} announce
 * @returns {Promise<string>} what was done
 */
async function installDependencies(announce) {
  const digest = digestOf([join(root, "package-lock.json")]);
  if (readStamp("dependencies") === digest && existsSync(join(root, "node_modules"))) {
    return "up to date";
  }
  announce("npm ci");
  removeStamp("dependencies");
  // npm would empty the folder that a link leads to, which is somebody else's.
  const folder = join(root, "node_modules");
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink()) unlinkSync(folder);
  const { code } = await npmCi(root, { stdio: ["ignore", 2, 2] });
  if (code !== 0) {
    throw setupError(`npm ci in ${root} ended with ${code}`, "see npm's own message above");
  }
  writeStamp("dependencies", digest);
  return "installed";
}

/**
 * @param {string} node
 * @param {Progress} announce
 * @returns {Promise<string>} what was done
 */
async function compile(node, announce) {
  const sources = sourceFolders.flatMap((folder) => filesIn(join(root, folder), ".ts"));
  // What sources import by the names in package.json takes part in their types.
  const tools = ["toolchain", "dev"].flatMap((name) => filesIn(join(root, "tools", name), ".mjs"));
  const settings = ["package.json", "package-lock.json", "tsconfig.json"].map((name) =>
    join(root, name),
  );
  const digest = digestOf([...sources, ...tools, ...settings]);
  const isStale = hasOutputWithoutSource(new Set(sources));
  if (!isStale && readStamp("build") === digest + outputTrace()) return "up to date";

  announce("tsc");
  removeStamp("build");
  if (isStale) rmSync(join(root, "dist"), { recursive: true, force: true });
  const compiler = join(root, "node_modules", "typescript-native", "bin", "tsc");
  const { code } = await run(node, [compiler, "-p", "tsconfig.json"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (code !== 0) throw setupError(`tsc ended with ${code}`, "correct the errors shown above");
  await joinModules(node);
  writeStamp("build", digest + outputTrace());
  return `compiled ${sources.length} files`;
}

/**
 * The files that the command line and Pulumi programs run from. A program of its own: its library has just been installed.
 *
 * @param {string} node
 */
async function joinModules(node) {
  const { code } = await run(node, [join(root, "tools", "dev", "bundle.mjs")], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (code !== 0) throw setupError(`esbuild ended with ${code}`, "see its message above");
}

/**
 * Changes when anybody, not only set-up, has compiled into dist since, or removed what was joined.
 *
 * @returns {string}
 */
function outputTrace() {
  const outputs = [".tsbuildinfo", "cli/main.js", "program/cluster.js"];
  return outputs
    .map((output) => join(root, "dist", output))
    .map((output) => statSync(output, { throwIfNoEntry: false }))
    .map((info) => (info ? ` ${info.size} ${info.mtimeMs}` : " missing"))
    .join("");
}

/**
 * tsc leaves the output of a removed source behind, and mocha would still run it. What is joined from
 * several sources, in dist/cli and dist/program, is made anew as a whole.
 *
 * @param {ReadonlySet<string>} sources absolute paths
 * @returns {boolean}
 */
function hasOutputWithoutSource(sources) {
  const dist = join(root, "dist");
  const outputs = sourceFolders.flatMap((folder) => filesIn(join(dist, folder), ".js"));
  return outputs.some((output) => {
    const source = join(root, relative(dist, output).replace(/\.js$/, ".ts"));
    return !sources.has(source);
  });
}

/**
 * @param {string} folder
 * @param {string} extension
 * @returns {string[]} absolute paths, sorted, without those of dependencies; none when there is no such folder
 */
function filesIn(folder, extension) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(extension) && !name.includes("node_modules"))
    .sort()
    .map((name) => join(folder, name));
}

/**
 * @param {readonly string[]} files
 * @returns {string} sha256 over names and contents
 */
function digestOf(files) {
  const hash = createHash("sha256");
  for (const file of files) {
    const content = readFileSync(file);
    hash.update(`${relative(root, file)} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

/**
 * A stamp says what the present result of a step was made from. It is removed before the step starts
 * and written after it ended, so that a killed step is done again.
 *
 * @param {string} name
 * @returns {string | undefined}
 */
function readStamp(name) {
  const file = join(stampFolder, name);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/**
 * @param {string} name
 * @param {string} content
 */
function writeStamp(name, content) {
  writeFileSync(join(stampFolder, name), content);
}

/**
 * @param {string} name
 */
function removeStamp(name) {
  rmSync(join(stampFolder, name), { force: true });
}

/**
 * @param {string} message
 * @param {string} hint
 * @returns {Error & { hint: string }}
 */
function setupError(message, hint) {
  return Object.assign(new Error(message), { hint });
}

if (isMain(import.meta.url)) {
  await exitWith(async () => {
    await setup();
    return 0;
  });
}
