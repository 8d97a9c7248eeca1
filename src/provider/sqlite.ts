import type { DatabaseSync as Database } from "node:sqlite";
import { isFittingNode, minimumNode } from "#node-version";

// An import of what an old Node.js lacks would fail before any of our code could say why. A Pulumi program
// is run by the Node.js that Pulumi finds on PATH.
if (!isFittingNode(process.version)) {
  throw new Error(
    `capstan needs Node.js ${minimumNode} or newer, this one is ${process.version}; ` +
      'eval "$(npx capstan env)" puts one that fits first on PATH',
  );
}

export const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
export type DatabaseSync = Database;
