#!/usr/bin/env node
// Parses on Node.js 18, so that an old Node.js gets an answer instead of a syntax error.

import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { runAttached, withPathFirst } from "../tools/toolchain/run.mjs";
import { isFittingNode, minimumNode, packagedNode } from "../tools/toolchain/runtime.mjs";

const badUsage = 64;

if (isFittingNode(process.version)) {
  await import("../dist/src/main.js");
} else if (existsSync(packagedNode())) {
  const node = packagedNode();
  const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const env = withPathFirst(process.env, dirname(node));
  process.exitCode = await runAttached(node, args, { env });
} else {
  console.error(`capstan needs Node.js ${minimumNode} or newer, this one is ${process.version}`);
  process.exitCode = badUsage;
}
