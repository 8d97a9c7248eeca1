import { RunError } from "@pulumi/pulumi";
import { isFittingNode, minimumNode } from "#node-version";

// Pulumi runs programs by the Node.js that it finds on PATH. Pulumi prints a RunError without a stack trace.
if (!isFittingNode(process.version)) {
  throw new RunError(
    `capstan needs Node.js ${minimumNode} or newer, this one is ${process.version}\n` +
      'hint: eval "$(npx capstan env)" puts one that fits first on PATH',
  );
}
