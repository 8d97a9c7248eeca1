import { appendFileSync, writeFileSync } from "node:fs";
import { S3Server } from "../scenario/s3-server.js";
import type { Result } from "./attempt.js";
import { runAwsContestant } from "./aws/aws-contestant.js";
import { AwsStage, recordAws } from "./aws/aws-stage.js";
import { record, ChaosStage, workOff } from "./campaign.js";
import {
  contestantLine,
  type ContestantResult,
  isChangeName,
  runContestant,
} from "./contestant.js";
import { jobsOf, jobText, matrixJobs, type Recording } from "./jobs.js";
import { isMeantIn, type Operation, type OperationName } from "./operation.js";
import { shuffleBy } from "./random.js";
import { BadUsage, type Options, type CampaignPart, readOptions, usage } from "./options.js";
import {
  cellLines,
  coverageLine,
  hasPassed,
  missedBoundaries,
  problemText,
  resultDocument,
  resultLine,
  unfitText,
} from "./report.js";
import { verdictProblems } from "./verdict.js";
import { runWatchCampaign } from "./watch/watch-campaign.js";
import { readWatchOptions, watchUsage } from "./watch/watch-options.js";

/** Runs what the options say and prints a line for each point. Exit code 0: nothing failed. */
async function chaos(options: Options): Promise<number> {
  const s3 = options.backend === "s3" ? await S3Server.start() : undefined;
  const begin = Date.now();
  if (options.out !== undefined) writeFileSync(options.out, "");
  try {
    const all: PartResults[] = [];
    for (const part of options.parts) all.push(await runPart(part, options, s3));
    const results = all.flatMap((one) => one.results);
    const unfit = all.reduce((sum, one) => sum + one.unfit, 0);
    if (options.matrix) for (const line of cellLines(results)) say(line);
    const missed = missedBoundaries(results);
    for (const text of missed) say(`never hit: ${text}`);
    const failed = results.filter((result) => !hasPassed(result)).length + unfit;
    const minutes = ((Date.now() - begin) / 60_000).toFixed(1);
    say(`${minutes} min`);
    say(`${results.length + unfit - failed} passed, ${failed} failed`);
    return failed > 0 || results.length === 0 ? 1 : 0;
  } finally {
    await s3?.close();
  }
}

interface PartResults {
  readonly results: readonly Result[];
  /** How many operations do not even work undisturbed. */
  readonly unfit: number;
}

async function runPart(
  { scenario, operations, points }: CampaignPart,
  options: Options,
  s3: S3Server | undefined,
): Promise<PartResults> {
  const stage = options.provider === "aws" ? new AwsStage(scenario) : localStage(scenario, s3);
  try {
    const recordings = await recordAll(stage, operations, options);
    const unfit = recordings.filter(({ problems }) => problems.length > 0);
    for (const recording of unfit) say(unfitText(recording));
    const asked = { ...options, points };
    const drawn = options.matrix ? matrixJobs(recordings, asked) : jobsOf(recordings, asked);
    const jobs = shuffleBy(options.seed, drawn, jobText);
    say(`${scenario}: ${jobs.length} points, seed ${options.seed}`);
    const results = await workOff(stage, jobs, options.workers, (result) => {
      say(resultLine(result));
      process.stdout.write(problemText(result));
      if (options.out === undefined) return;
      const document = { scenario, ...resultDocument(result) };
      appendFileSync(options.out, `${JSON.stringify(document)}\n`);
    });
    for (const recording of recordings) say(coverageLine(recording, results));
    return { results, unfit: unfit.length };
  } finally {
    await stage.close();
  }
}

function localStage(scenario: string, s3: S3Server | undefined): ChaosStage {
  return new ChaosStage(scenario, () => (s3 ? { backend: s3.makeBackend() } : {}));
}

async function recordAll(
  stage: ChaosStage | AwsStage,
  operations: readonly OperationName[],
  { backend, workers }: Options,
): Promise<Recording[]> {
  const meant = operations.map((name) => stage.operations[name]).filter(isMeantIn);
  const files = backend === "watched" ? "watched" : "unwatched";
  const recordings = new Map<Operation, Recording>();
  const queue = meant.values();
  const work = async () => {
    for (const operation of queue) {
      const recording =
        stage instanceof AwsStage
          ? await recordAws(stage, operation)
          : await record(stage, operation, files);
      recordings.set(operation, recording);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return meant.flatMap((operation) => recordings.get(operation) ?? []);
}

/** Counts what plain Pulumi loses under the same kills. Exit code 0: the count is there. */
async function compare({ provider, parts, seed }: Options): Promise<number> {
  const tell = (result: ContestantResult) => {
    say(contestantLine(result));
    process.stdout.write(problemText(result));
  };
  const results: ContestantResult[] = [];
  for (const { scenario, operations, points } of parts) {
    if (provider === "aws") {
      results.push(...(await runAwsContestant({ points, seed }, tell)));
      continue;
    }
    const changes = operations.filter(isChangeName);
    if (changes.length === 0) continue;
    results.push(...(await runContestant(scenario, changes, { points, seed }, tell)));
  }
  const lost = results.filter(({ verdict }) => verdictProblems(verdict).length > 0).length;
  say(`plain Pulumi: ${lost} of ${results.length} kills end with a wrong cloud or state`);
  say(`${results.length - lost} well, ${lost} lost`);
  return 0;
}

/** Strikes leaders of the watch loop. Exit code 0: nothing failed. */
async function watch(args: readonly string[]): Promise<number> {
  const options = readWatchOptions(args);
  if (options === undefined) {
    process.stdout.write(watchUsage);
    return 0;
  }
  const begin = Date.now();
  if (options.out !== undefined) writeFileSync(options.out, "");
  const { passed, failed } = await runWatchCampaign(options, say);
  say(`${((Date.now() - begin) / 60_000).toFixed(1)} min`);
  say(`${passed} passed, ${failed} failed`);
  return failed > 0 || passed === 0 ? 1 : 0;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

const args = process.argv.slice(2);
const isWatch = args.includes("--watch");
try {
  const options = isWatch ? undefined : readOptions(args);
  if (isWatch) process.exitCode = await watch(args);
  else if (options === undefined) process.stdout.write(usage);
  else if (options.contestant === "pulumi") process.exitCode = await compare(options);
  else process.exitCode = await chaos(options);
} catch (error) {
  if (!(error instanceof BadUsage)) throw error;
  process.stderr.write(`chaos: ${error.message}\n${isWatch ? watchUsage : usage}`);
  process.exitCode = 64;
}
