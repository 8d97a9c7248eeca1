import { appendFileSync, writeFileSync } from "node:fs";
import { S3Server } from "../scenario/s3-server.js";
import type { Result } from "./attempt.js";
import { record, Stage, workOff } from "./campaign.js";
import {
  contestantLine,
  type ContestantResult,
  isChangeName,
  runContestant,
} from "./contestant.js";
import { jobsOf, type Recording } from "./jobs.js";
import { BadUsage, type Options, type Part, readOptions, usage } from "./options.js";
import {
  coverageLine,
  hasPassed,
  missedBoundaries,
  problemText,
  resultDocument,
  resultLine,
} from "./report.js";
import { verdictProblems } from "./verdict.js";

/** Runs what the options say and prints a line for each point. Exit code 0: nothing failed. */
async function chaos(options: Options): Promise<number> {
  const s3 = options.backend === "s3" ? await S3Server.start() : undefined;
  const begin = Date.now();
  if (options.out !== undefined) writeFileSync(options.out, "");
  try {
    const results: Result[] = [];
    for (const part of options.parts) results.push(...(await runPart(part, options, s3)));
    const missed = missedBoundaries(results);
    for (const text of missed) say(`never hit: ${text}`);
    const failed = results.filter((result) => !hasPassed(result)).length;
    const minutes = ((Date.now() - begin) / 60_000).toFixed(1);
    say(`${minutes} min`);
    say(`${results.length - failed} passed, ${failed} failed`);
    return failed > 0 || results.length === 0 ? 1 : 0;
  } finally {
    await s3?.close();
  }
}

async function runPart(
  { scenario, operations, points }: Part,
  options: Options,
  s3: S3Server | undefined,
): Promise<Result[]> {
  const stage = new Stage(scenario, () => (s3 ? { backend: s3.makeBackend() } : {}));
  try {
    const recordings: Recording[] = [];
    for (const name of operations) {
      const operation = stage.operations[name];
      const files = options.backend === "watched" ? "watched" : "unwatched";
      recordings.push({ operation, boundaries: await record(stage, operation, files) });
    }
    const jobs = jobsOf(recordings, { ...options, points });
    say(`${scenario}: ${jobs.length} points, seed ${options.seed}`);
    const results = await workOff(stage, jobs, options.workers, (result) => {
      say(resultLine(result));
      process.stdout.write(problemText(result));
      if (options.out === undefined) return;
      appendFileSync(options.out, `${JSON.stringify(resultDocument(result))}\n`);
    });
    for (const recording of recordings) say(coverageLine(recording, results));
    return results;
  } finally {
    await stage.close();
  }
}

/** Counts what plain Pulumi loses under the same kills. Exit code 0: the count is there. */
async function compare({ parts, seed }: Options): Promise<number> {
  const tell = (result: ContestantResult) => {
    say(contestantLine(result));
    process.stdout.write(problemText(result));
  };
  const results: ContestantResult[] = [];
  for (const { scenario, operations, points } of parts) {
    const changes = operations.filter(isChangeName);
    if (changes.length === 0) continue;
    results.push(...(await runContestant(scenario, changes, { points, seed }, tell)));
  }
  const lost = results.filter(({ verdict }) => verdictProblems(verdict).length > 0).length;
  say(`plain Pulumi: ${lost} of ${results.length} kills end with a wrong cloud or state`);
  say(`${results.length - lost} well, ${lost} lost`);
  return 0;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) process.stdout.write(usage);
  else if (options.contestant === "pulumi") process.exitCode = await compare(options);
  else process.exitCode = await chaos(options);
} catch (error) {
  if (!(error instanceof BadUsage)) throw error;
  process.stderr.write(`chaos: ${error.message}\n${usage}`);
  process.exitCode = 64;
}
