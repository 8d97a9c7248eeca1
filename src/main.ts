#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { cacheRoot } from "#cache-root";

// Before anything else is loaded. Coverage would be counted wrongly in code from a cache, and where
// the folder cannot be written Node.js goes on without.
if (process.env["NODE_V8_COVERAGE"] === undefined) {
  enableCompileCache(join(cacheRoot(process.env), "compiled"));
}

const { runCommandLine } = await import("./cli/verbs/run.js");
await runCommandLine();
