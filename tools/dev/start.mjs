// `npm start`: sets up and shows the main job on the embedded default.
// `npm start -- <args>`: sets up and passes the arguments on to the command line.

import { exitWith } from "../toolchain/run.mjs";
import { setUpCapstan } from "./capstan.mjs";
import { root } from "./setup.mjs";

const example = "examples/quickstart";

// The exit codes of plan: 0 nothing to do, 2 changes pending. The first plan may meet either, since
// the machines of an earlier start are still there; the last one proves that up reached its goal.
const mainJob = [
  { args: ["plan", "-f", example], expected: [0, 2] },
  { args: ["up", "-f", example, "--yes"], expected: [0] },
  { args: ["status", "-f", example], expected: [0] },
  { args: ["plan", "-f", example], expected: [0] },
];

const nextSteps = `
The machines run in the simulated cloud, and a second plan finds nothing to change. Try next:

  change the replicas or the size in ${example} and see what that would do
    npm start -- plan -f ${example}
  kill a host behind Capstan's back, then have it healed
    npm start -- local machines
    npm start -- local kill <host>
    npm start -- up -f ${example}
  remove everything
    npm start -- destroy -f ${example}
  see all commands
    npm start -- --help
`;

/**
 * @param {import("./capstan.mjs").Capstan} capstan
 * @returns {Promise<number>} the exit code
 */
async function runMainJob(capstan) {
  for (const { args, expected } of mainJob) {
    process.stdout.write(`\n$ capstan ${args.join(" ")}\n`);
    const code = await capstan(args);
    if (!expected.includes(code)) {
      const wanted = expected.join(" or ");
      process.stderr.write(`start: capstan ${args[0]} ended with ${code}, expected ${wanted}\n`);
      return code || 1;
    }
  }
  process.stdout.write(nextSteps);
  return 0;
}

await exitWith(async () => {
  const args = process.argv.slice(2);
  const capstan = await setUpCapstan({ quiet: args.length > 0 });
  if (args.length > 0) return capstan(args);
  process.chdir(root);
  return runMainJob(capstan);
});
