import { appendFileSync, writeFileSync } from "node:fs";
import { S3Server } from "../scenario/s3-server.js";
import { record, Stage, workOff } from "./campaign.js";
import { jobsOf, type Recording } from "./jobs.js";
import { BadUsage, type Options, readOptions, usage } from "./options.js";
import {
  coverageLine,
  hasPassed,
  missedBoundaries,
  problemText,
  resultDocument,
  resultLine,
} from "./report.js";

/** Runs what the options say and prints a line for each point. Exit code 0: nothing failed. */
async function chaos(options: Options): Promise<number> {
  const s3 = options.backend === "s3" ? await S3Server.start() : undefined;
  const stage = new Stage(options.scenario, () => (s3 ? { backend: s3.makeBackend() } : {}));
  const begin = Date.now();
  try {
    const recordings: Recording[] = [];
    for (const name of options.operations) {
      const operation = stage.operations[name];
      recordings.push({ operation, boundaries: await record(stage, operation) });
    }
    const jobs = jobsOf(recordings, options);
    say(`${jobs.length} points, seed ${options.seed}`);
    if (options.out !== undefined) writeFileSync(options.out, "");
    const results = await workOff(stage, jobs, options.workers, (result) => {
      say(resultLine(result));
      process.stdout.write(problemText(result));
      if (options.out === undefined) return;
      appendFileSync(options.out, `${JSON.stringify(resultDocument(result))}\n`);
    });
    for (const recording of recordings) say(coverageLine(recording, results));
    const missed = missedBoundaries(results);
    for (const text of missed) say(`never hit: ${text}`);
    const failed = results.filter((result) => !hasPassed(result)).length;
    const minutes = ((Date.now() - begin) / 60_000).toFixed(1);
    say(`${minutes} min`);
    say(`${results.length - failed} passed, ${failed} failed`);
    return failed > 0 || results.length === 0 ? 1 : 0;
  } finally {
    await stage.close();
    await s3?.close();
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) process.stdout.write(usage);
  else process.exitCode = await chaos(options);
} catch (error) {
  if (!(error instanceof BadUsage)) throw error;
  process.stderr.write(`chaos: ${error.message}\n${usage}`);
  process.exitCode = 64;
}
