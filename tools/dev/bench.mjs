// `npm run bench`: sets up, then measures capstan beside terraform and plain Pulumi, or with
// --profile shows where capstan's own time goes. Asserts nothing about time.

import { writeFileSync } from "node:fs";
import { cpus, loadavg, platform, release } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compare } from "../../bench/compare.mjs";
import { capstan, plainPulumi, terraform } from "../../bench/contestants.mjs";
import { profile } from "../../bench/profile.mjs";
import { tables } from "../../bench/report.mjs";
import { ensureKubernetes } from "../toolchain/kubernetes-toolchain.mjs";
import { exitWith, run } from "../toolchain/run.mjs";
import { setup } from "./setup.mjs";

/** @typedef {import("../../bench/contestants.mjs").Contestant} Contestant */

const watchBench = fileURLToPath(new URL("../../bench/watch.mjs", import.meta.url));

const usage = `npm run bench -- [options]
  --large            500 machines as well
  --sizes <n,n,...>  these numbers of machines (default 3,10,100)
  --repetitions <r>  how often each is timed (default 3)
  --out <file>       write every measurement as JSON
  --watch <clusters> instead: the watch loop over so many clusters of 5 machines, on a real API server
  --profile          instead: where capstan's time goes, at the last of the sizes
`;

/** @param {string} text */
function wholeNumbers(text) {
  const numbers = text.split(",").map(Number);
  if (numbers.every((number) => Number.isInteger(number) && number > 0)) return numbers;
  throw Object.assign(new Error(`${text} is not a list of whole numbers`), { hint: usage });
}

function options() {
  const { values } = parseArgs({
    options: {
      help: { type: "boolean", default: false },
      large: { type: "boolean", default: false },
      out: { type: "string" },
      profile: { type: "boolean", default: false },
      repetitions: { type: "string", default: "3" },
      sizes: { type: "string" },
      watch: { type: "string" },
    },
  });
  const sizes = wholeNumbers(values.sizes ?? (values.large ? "3,10,100,500" : "3,10,100"));
  const [repetitions = 1] = wholeNumbers(values.repetitions);
  return { ...values, sizes, repetitions };
}

/**
 * What the figures depend on.
 *
 * @param {string} node
 * @param {readonly Contestant[]} contestants
 */
async function surroundings(node, contestants) {
  const version = await run(node, ["--version"]);
  const cores = cpus();
  return {
    cores: cores.length,
    processor: cores[0]?.model.trim() ?? "unknown",
    system: `${platform()} ${release()}`,
    node: version.output.trim(),
    loadBefore: loadavg()[0]?.toFixed(2),
    versions: Object.fromEntries(contestants.map(({ name, version }) => [name, version])),
  };
}

/** @param {Awaited<ReturnType<typeof surroundings>>} about */
function describe({ cores, processor, system, node, loadBefore, versions }) {
  const contestants = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${contestants.join(", ")}; Node.js ${node}; ${cores} cores (${processor}), ${system}; load average ${loadBefore} at the start`;
}

await exitWith(async () => {
  const { help, out, profile: isProfile, repetitions, sizes, watch } = options();
  if (help) {
    process.stdout.write(usage);
    return 0;
  }
  const tools = await setup({ quiet: true });
  const say = (/** @type {string} */ text) => process.stderr.write(`bench: ${text}\n`);
  if (watch !== undefined) {
    await ensureKubernetes({ progress: say });
    const { code } = await run(tools.node, [watchBench, ...wholeNumbers(watch).map(String)], {
      stdio: "inherit",
    });
    return code;
  }
  if (isProfile) {
    process.stdout.write(await profile(tools, { machines: sizes.at(-1) ?? 1, repetitions, say }));
    return 0;
  }
  const present = [capstan(tools), await terraform(), await plainPulumi(tools)];
  const contestants = present.filter((contestant) => contestant !== undefined);
  const about = await surroundings(tools.node, contestants);
  const samples = [];
  for await (const round of compare(contestants, { sizes, repetitions, say })) {
    samples.push(...round);
    // After each round: what is there outlives a run that is broken off.
    if (out !== undefined) writeFileSync(out, `${JSON.stringify({ about, samples }, null, 1)}\n`);
  }
  process.stdout.write(`${describe(about)}; ${repetitions} repetitions\n\n${tables(samples)}\n`);
  if (contestants.length < present.length) {
    process.stdout.write("\nterraform was not measured: it is not on PATH.\n");
  }
  return 0;
});
