// `npm run chaos`: sets up, then kills real runs at their boundaries and counts what is lost; see
// docs/chaos.md.

import { dirname, join } from "node:path";
import { exitWith, run, withPathFirst } from "../toolchain/run.mjs";
import { root, setup } from "./setup.mjs";

await exitWith(async () => {
  const { node } = await setup({ quiet: true });
  const main = join(root, "dist", "test", "chaos", "main.js");
  const env = withPathFirst(process.env, dirname(node));
  return (await run(node, [main, ...process.argv.slice(2)], { env, stdio: "inherit" })).code;
});
