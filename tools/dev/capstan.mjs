// `bin/capstan`: the command line of this clone, in the folder of its caller. Sets up what is missing first.

import { dirname, join } from "node:path";
import { exitWith, isMain, runAttached, withPathFirst } from "../toolchain/run.mjs";
import { root, setup } from "./setup.mjs";

/** @typedef {(args: readonly string[]) => Promise<number>} Capstan */

/**
 * @param {{ quiet?: boolean }} [options] see `setup`
 * @returns {Promise<Capstan>} runs the command line, to its exit code
 */
export async function setUpCapstan(options) {
  const { node } = await setup(options);
  const main = join(root, "dist", "cli", "main.js");
  // Pulumi's Node.js plugins run the `node` that they find on PATH.
  const env = withPathFirst(process.env, dirname(node));
  return (args) => runAttached(node, [main, ...args], { env });
}

if (isMain(import.meta.url)) {
  await exitWith(async () => (await setUpCapstan({ quiet: true }))(process.argv.slice(2)));
}
