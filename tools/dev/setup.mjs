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
import { ensurePulumi } from "../toolchain/pulumi-toolchain.mjs";
import { exitWith, isMain, run } from "../toolchain/run.mjs";
import { isFittingNode, minimumNode, packagedNode, runtimeFolder } from "../toolchain/runtime.mjs";

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
  const node = isFittingNode(process.version) ? process.execPath : packagedNode();
  await timed("dependencies", quiet, installDependencies);
  await timed("node", quiet, (announce) => provideNode(node, announce));
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
  await npmCi(root);
  writeStamp("dependencies", digest);
  return "installed";
}

/**
 * @param {string} node the chosen program
 * @param {Progress} announce
 * @returns {Promise<string>} what was done
 */
async function provideNode(node, announce) {
  if (node === process.execPath) return `${process.version}, the one that runs this`;
  if (process.platform === "darwin") {
    throw setupError(
      `Node.js ${process.version} is too old`,
      `install Node.js ${minimumNode} or newer; for macOS there is none that set-up can install`,
    );
  }
  const digest = digestOf([join(runtimeFolder, "package-lock.json")]);
  if (readStamp("node") === digest && existsSync(node)) return "up to date";

  announce(`${process.version} is older than ${minimumNode}, npm ci in tools/runtime`);
  removeStamp("node");
  await npmCi(runtimeFolder);
  // It may be missing for this processor, or built for another C library.
  const { code, output } = await run(node, ["--version"]).catch((error) => ({
    code: -1,
    output: String(error.message),
  }));
  if (code !== 0 || !isFittingNode(output.trim())) {
    throw setupError(
      `the packaged Node.js does not run on this machine: ${output.trim()}`,
      `install Node.js ${minimumNode} or newer`,
    );
  }
  writeStamp("node", digest);
  return `installed ${output.trim()}`;
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
  if (!isStale && readStamp("build") === digest + compilerTrace()) return "up to date";

  announce("tsc");
  removeStamp("build");
  if (isStale) rmSync(join(root, "dist"), { recursive: true, force: true });
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  const { code } = await run(node, [compiler, "-p", "tsconfig.json"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (code !== 0) throw setupError(`tsc ended with ${code}`, "correct the errors shown above");
  writeStamp("build", digest + compilerTrace());
  return `compiled ${sources.length} files`;
}

/**
 * Changes when anybody, not only set-up, has compiled into dist since.
 *
 * @returns {string}
 */
function compilerTrace() {
  const info = statSync(join(root, "dist", ".tsbuildinfo"), { throwIfNoEntry: false });
  return info ? ` ${info.size} ${info.mtimeMs}` : "";
}

/**
 * tsc leaves the output of a removed source behind, and mocha would still run it.
 *
 * @param {ReadonlySet<string>} sources absolute paths
 * @returns {boolean}
 */
function hasOutputWithoutSource(sources) {
  const dist = join(root, "dist");
  return filesIn(dist, ".js").some((output) => {
    const source = join(root, relative(dist, output).replace(/\.js$/, ".ts"));
    return !sources.has(source);
  });
}

/**
 * Installs what the lockfile says whatever the user's npm settings and NODE_ENV are.
 *
 * @param {string} folder
 * @returns {Promise<void>}
 */
async function npmCi(folder) {
  const args = [
    "ci",
    "--include=dev",
    "--include=optional",
    "--engine-strict=false",
    "--ignore-scripts=false",
    "--package-lock=true",
    "--fund=false",
    "--audit=false",
    "--loglevel=error",
  ];
  // Inside `npm start` npm names itself; otherwise the one on PATH is taken.
  const npm = process.env["npm_execpath"];
  const isNpm = npm !== undefined && /npm-cli\.c?js$/.test(npm);
  /** @type {import("node:child_process").SpawnOptions} */
  const options = { cwd: folder, stdio: ["ignore", 2, 2] };
  const { code } = isNpm
    ? await run(process.execPath, [npm, ...args], options)
    : await run("npm", args, { ...options, shell: process.platform === "win32" });
  if (code !== 0) {
    throw setupError(`npm ci in ${folder} ended with ${code}`, "see npm's own message above");
  }
}

/**
 * @param {string} folder
 * @param {string} extension
 * @returns {string[]} absolute paths, sorted; none when there is no such folder
 */
function filesIn(folder, extension) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(extension))
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
