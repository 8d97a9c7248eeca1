#!/usr/bin/env node
// Parses on Node.js 18, so that an old Node.js hands over to a newer one instead of a syntax error.

import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { isFittingNode } from "../tools/toolchain/node-version.mjs";
import { exitWith, runAttached, withPathFirst } from "../tools/toolchain/run.mjs";

if (isFittingNode(process.version)) await import("../dist/cli/main.js");
else await exitWith(runOnNewerNode);

async function runOnNewerNode() {
  const { ensureNode } = await import("../tools/toolchain/node-toolchain.mjs");
  const progress = (/** @type {string} */ text) => void process.stderr.write(`${text}\n`);
  const node = await ensureNode({ progress });
  const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  // Pulumi's Node.js plugins run the `node` that they find on PATH.
  return runAttached(node, args, { env: withPathFirst(process.env, dirname(node)) });
}
