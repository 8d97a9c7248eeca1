import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { isFittingNode, minimumNode } from "#node-version";
import { run } from "../scenario/command.js";

/** Which Node.js is installed from npm where the machine has no old one on PATH. */
const oldRelease = "20.20.2";

/** The folder of a Node.js that Capstan does not run on: the machine's own, else one from npm, put into a folder. */
export async function folderOfOldNode(folder: string, env: NodeJS.ProcessEnv): Promise<string> {
  for (const candidate of (env["PATH"] ?? "").split(delimiter)) {
    const node = join(candidate, "node");
    if (!existsSync(node)) continue;
    const { code, stdout, stderr } = await run(node, ["--version"], { cwd: folder, env });
    assert.equal(code, 0, `${node} --version\n${stdout}\n${stderr}`);
    if (!isFittingNode(stdout.trim())) return candidate;
  }
  const name = `node-${process.platform}-${process.arch}`;
  const own = join(folder, "old-node");
  mkdirSync(own);
  const installing = ["install", "--prefix", own, `${name}@${oldRelease}`];
  const { code, stderr } = await run("npm", installing, { cwd: own, env });
  assert.equal(
    code,
    0,
    `this test needs a Node.js older than ${minimumNode} on PATH, or ${name} from npm: ${stderr}`,
  );
  return join(own, "node_modules", name, "bin");
}
