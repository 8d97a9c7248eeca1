// How many calls clusters on AWS take: counted by the ledger of the simulated AWS, in its own time, which limits calls as AWS does.
// Prints a line of JSON for each number of clusters; asserts nothing. `--period 300` is that of capstan watch, in seconds.

import { parseArgs } from "node:util";
import { defaultPeriodMs, steadyHour } from "../dist/test/providers/aws/life/steady-hour.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { period: { type: "string", default: String(defaultPeriodMs / 1_000) } },
});

for (const count of positionals.map(Number)) {
  const { creation, ...counted } = await steadyHour(count, Number(values.period) * 1_000);
  const each = { calls: creation.calls / count, changing: creation.changing / count };
  process.stdout.write(`${JSON.stringify({ ...counted, creationOfEach: each })}\n`);
}
