import { parseArgs } from "node:util";
import {
  awsOperationNames,
  awsRolloutNames,
  awsRolloutScenario,
  awsScenario,
} from "./aws/aws-stage.js";
import { type ChaosFault, powerLosses } from "./chaos-fault.js";
import { type OperationName, operationNames, rolloutNames } from "./operation.js";
import { recoveries, type NextCommand } from "./recovery.js";
import { isRequest } from "./request-verbs.js";

const rolloutScenario = "test/chaos/scenarios/rollouts";
const matrixScenarios = ["examples/quickstart", rolloutScenario, "test/chaos/scenarios/sets"];
/** Rollouts have many boundaries that are like one another. */
const rolloutPoints = 60;

export const usage = `npm run chaos -- [options]
  --scenario DIR      a folder with the manifests of one cluster (default examples/quickstart, and
                      ${rolloutScenario} for ${rolloutNames.join(", ")})
  --operation LIST    of ${operationNames.join(", ")} (default all but plain)
  --seed N            what is drawn, is drawn by it (default 1)
  --points all|sample=N  every kill point, or N of them in each scenario (default all, and
                      sample=${rolloutPoints} of ${rolloutNames.join(", ")})
  --matrix            every verb after every killed verb, over three scenarios, with other people's
                      clusters in the same cloud; --points sample=N draws N of all (docs/chaos.md)
  --at TEXT           only boundaries whose text holds this
  --kills LIST        of tree, cli, provider, frozen, engine, rival, late, power, fail (default
                      tree); power loses what was not synced, too: all of it, data alone, or what is
                      drawn; fail spoils the call instead: fail, throttle, quota, lose, lag
  --recoveries LIST   of ${recoveries.join(", ")}, all at each point (default: all after a call
                      that changes something, one in turn elsewhere)
  --double N          N points more at which the recovery is killed as well (default 0)
  --backend file|watched|s3  watched: each new state file is a boundary too; s3: both sides of each
                      state write are (default file)
  --provider local|aws  whose cloud is used: the local one, or a simulated AWS; with aws the operations are
                      ${awsOperationNames.join(", ")}, and the kills tree, cli, engine, rival, fail
  --contestant pulumi the same kills against a plain Pulumi program, counted and not judged
  --workers N         how many runs side by side (default 2)
  --out FILE          write each result as a line of JSON
  --watch             controllers of the watch loop instead, with options of its own (--watch --help)
`;

/** Operations on one scenario. */
export interface CampaignPart {
  readonly scenario: string;
  readonly operations: readonly OperationName[];
  /** How many points; all without. */
  readonly points: number | undefined;
}

export interface Options {
  readonly provider: "local" | "aws";
  /** One at least. */
  readonly parts: readonly CampaignPart[];
  /** (verb killed) x (verb next) x (boundary). */
  readonly matrix: boolean;
  readonly seed: number;
  readonly at: string | undefined;
  readonly faults: readonly ChaosFault[];
  readonly recoveries: readonly NextCommand[] | undefined;
  readonly double: number;
  readonly backend: "file" | "watched" | "s3";
  readonly contestant: "capstan" | "pulumi";
  readonly workers: number;
  readonly out: string | undefined;
}

/** Kills by the words of the command line. */
const kills: Readonly<Record<string, readonly ChaosFault[]>> = {
  tree: ["tree"],
  cli: ["cli"],
  provider: ["provider"],
  frozen: ["frozen"],
  engine: ["engine"],
  rival: ["rival"],
  late: ["late"],
  power: powerLosses,
  fail: ["fail", "throttle", "quota", "lose", "lag"],
};

/** An account goes on by itself: nothing of it can be late, or stand still. */
const awsKills = ["tree", "cli", "engine", "rival", "fail"];

/** Reads the command line. Throws BadUsage; undefined when only help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parse(args);
  if (values.help) return undefined;
  const provider = oneOf("--provider", values.provider, ["local", "aws"]);
  const isAws = provider === "aws";
  const words = list("--kills", values.kills, isAws ? awsKills : Object.keys(kills));
  const known = isAws ? awsOperationNames : operationNames;
  const operations =
    values.operation === undefined
      ? known.filter((name) => values.matrix || name !== "plain")
      : list("--operation", values.operation, known);
  const asked = isAws && values.matrix ? { scenario: awsScenario, ...values } : values;
  return {
    provider,
    parts: values.matrix
      ? matrixParts(operations, asked)
      : isAws
        ? awsParts(operations, asked)
        : partsOf(operations, asked),
    matrix: values.matrix,
    seed: wholeNumber("--seed", values.seed),
    at: values.at,
    faults: words.flatMap((word) => kills[word] ?? []),
    recoveries: recoveriesOf(provider, values),
    double: wholeNumber("--double", values.double),
    backend: oneOf("--backend", values.backend, ["file", "watched", "s3"]),
    contestant: oneOf("--contestant", values.contestant, ["capstan", "pulumi"]),
    workers: wholeNumber("--workers", values.workers),
    out: values.out,
  };
}

/** Accidents happen to the local cloud alone, and so do requests that follow them. Throws BadUsage. */
function recoveriesOf(
  provider: Options["provider"],
  { recoveries: text, matrix }: { readonly recoveries?: string; readonly matrix: boolean },
): Options["recoveries"] {
  const known = provider === "aws" ? recoveries.filter((one) => !isRequest(one)) : recoveries;
  if (text !== undefined) return list("--recoveries", text, known);
  return matrix ? known : undefined;
}

/** All operations on each scenario, and of a sample the same share of each. */
function matrixParts(
  operations: readonly OperationName[],
  { scenario, points }: { readonly scenario?: string; readonly points?: string },
): CampaignPart[] {
  const asked = points === undefined ? undefined : pointsOf(points);
  const scenarios = scenario === undefined ? matrixScenarios : [scenario];
  const share = asked === undefined ? undefined : Math.ceil(asked / scenarios.length);
  return scenarios.map((one) => ({ scenario: one, operations, points: share }));
}

/** Rollouts have a scenario of their own, unless one is named for all. */
function partsOf(
  operations: readonly OperationName[],
  { scenario, points }: { readonly scenario?: string; readonly points?: string },
): CampaignPart[] {
  const asked = points === undefined ? undefined : pointsOf(points);
  if (scenario !== undefined) return [{ scenario, operations, points: asked }];
  const [rollouts, others] = [true, false].map((isRollout) =>
    operations.filter((name) => rolloutNames.includes(name) === isRollout),
  );
  const parts: CampaignPart[] = [
    { scenario: "examples/quickstart", operations: others ?? [], points: asked },
    {
      scenario: rolloutScenario,
      operations: rollouts ?? [],
      points: points === undefined ? rolloutPoints : asked,
    },
  ];
  return parts.filter((part) => part.operations.length > 0);
}

/** Each operation where it does anything; a sample is one of each scenario. */
function awsParts(
  operations: readonly OperationName[],
  { scenario, points }: { readonly scenario?: string; readonly points?: string },
): CampaignPart[] {
  const asked = points === undefined ? undefined : pointsOf(points);
  if (scenario !== undefined) return [{ scenario, operations, points: asked }];
  const parts: CampaignPart[] = [
    { scenario: awsScenario, operations: operations.filter(isOfOneHost), points: asked },
    {
      scenario: awsRolloutScenario,
      operations: operations.filter((name) => awsRolloutNames.includes(name)),
      points: asked,
    },
  ];
  return parts.filter((part) => part.operations.length > 0);
}

/** The scenario of one host has nobody to replace, and no worker that cannot be made. */
function isOfOneHost(name: OperationName): boolean {
  return !["roll", "members", "failing", "stillborn"].includes(name);
}

/** The command line was wrong; the message says how. */
export class BadUsage extends Error {}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: "boolean", default: false },
        scenario: { type: "string" },
        operation: { type: "string" },
        seed: { type: "string", default: "1" },
        points: { type: "string" },
        matrix: { type: "boolean", default: false },
        at: { type: "string" },
        kills: { type: "string", default: "tree" },
        recoveries: { type: "string" },
        double: { type: "string", default: "0" },
        backend: { type: "string", default: "file" },
        provider: { type: "string", default: "local" },
        contestant: { type: "string", default: "capstan" },
        workers: { type: "string", default: "2" },
        out: { type: "string" },
      },
    });
  } catch (error) {
    throw new BadUsage((error as Error).message, { cause: error });
  }
}

/** How many points; undefined for all. Throws BadUsage. */
export function pointsOf(text: string): number | undefined {
  if (text === "all") return undefined;
  const count = /^sample=(\d+)$/.exec(text)?.[1];
  if (count === undefined) throw new BadUsage(`--points ${text}: all, or sample=N`);
  return Number(count);
}

/** Throws BadUsage for what is none. */
export function wholeNumber(option: string, text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new BadUsage(`${option} ${text}: it is no whole number`);
}

/** One of some words. Throws BadUsage for another one. */
export function oneOf<T extends string>(option: string, text: string, words: readonly T[]): T {
  const word = words.find((one) => one === text);
  if (word !== undefined) return word;
  throw new BadUsage(`${option} ${text}: it is one of ${words.join(", ")}`);
}

/** Some of some words, which commas separate. Throws BadUsage. */
export function list<T extends string>(option: string, text: string, words: readonly T[]): T[] {
  return text.split(",").map((part) => oneOf(option, part, words));
}
