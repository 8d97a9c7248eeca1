// `npm run conformance -- FILE...`: sets up, then asks the cases of test vectors and counts; see
// docs/conformance.md. Files are named as seen from where the command was called.

import { dirname, join } from "node:path";
import { exitWith, run, withPathFirst } from "../toolchain/run.mjs";
import { root, setup } from "./setup.mjs";

await exitWith(async () => {
  const { node } = await setup({ quiet: true });
  const main = join(root, "dist", "test", "conformance", "main.js");
  const env = withPathFirst(process.env, dirname(node));
  const cwd = process.env["INIT_CWD"] ?? process.cwd();
  return (await run(node, [main, ...process.argv.slice(2)], { cwd, env, stdio: "inherit" })).code;
});
