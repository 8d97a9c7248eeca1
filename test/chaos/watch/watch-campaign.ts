import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../../scenario/sandbox.js";
import { chance, pickBy, shuffleBy } from "../random.js";
import { type LifeTargets, lifeTargetsOf } from "../targets.js";
import { verdictCounts, verdictProblems } from "../verdict.js";
import { commonBoundaries, type WatchBoundary, watchBoundaryText } from "./watch-boundary.js";
import { isMeantAt, needsSuccessor, type WatchFault } from "./watch-fault.js";
import {
  type LifeRecord,
  operationsUntil,
  playLife,
  recordLife,
  type WatchLife,
  type WatchPoint,
  type WatchResult,
} from "./watch-life.js";
import { nothingFound } from "./watch-judge.js";
import { type WatchOperation, watchOperations } from "./watch-operation.js";
import { type WatchBackend, WatchStage } from "./world.js";

/** What a campaign over the watch loop tries. */
export interface WatchCampaignOptions {
  readonly scenario: string;
  readonly backend: WatchBackend;
  readonly operations: readonly WatchOperation[];
  readonly faults: readonly WatchFault[];
  readonly seed: number;
  /** How many points; all without. */
  readonly points: number | undefined;
  /** Only boundaries whose text holds this. */
  readonly at: string | undefined;
  readonly workers: number;
  /** Where each result is written as a line of JSON. */
  readonly out: string | undefined;
  /** The command line that is run; the repository's without. */
  readonly program?: string;
}

/** One in so many points has a fault of the successor, too. */
const secondShare = 0.2;
/** Writes of a successor among which the one is drawn that it is struck at. */
const secondWrites = [1, 2, 3, 4];

/** Runs a campaign and says a line for each point. Answers how many passed and failed. */
export async function runWatchCampaign(
  options: WatchCampaignOptions,
  say: (line: string) => void,
): Promise<{ readonly passed: number; readonly failed: number }> {
  const { scenario, workers, seed, operations, backend, program } = options;
  const targets = lifeTargetsOf(join(repository, scenario));
  const stages = await startStages(workers, backend, program);
  try {
    const last = watchOperations.findLast((one) => operations.includes(one)) ?? "delete";
    const records = await Promise.all(
      stages.slice(0, 2).map((stage) => recordLife(stage, targets, last)),
    );
    const record = await mergeRecords(records, stages, { targets, last });
    const points = pointsOf(record, options);
    const boundaries = [...record.boundaries.values()].flat().length;
    say(`${scenario}: ${points.length} points of ${boundaries} boundaries, seed ${seed}`);
    const results = await playAll(stages, livesOf(points), { targets, record, options, say });
    const failed = results.filter((result) => !hasPassed(result)).length;
    return { passed: results.length - failed, failed };
  } finally {
    await Promise.all(stages.map((stage) => stage.close()));
  }
}

async function startStages(
  workers: number,
  backend: WatchBackend,
  program: string | undefined,
): Promise<WatchStage[]> {
  const stages: WatchStage[] = [];
  for (let count = 0; count < workers; count += 1) {
    stages.push(await startStage(backend, program));
  }
  return stages;
}

/** Where much else runs, an API server is not always ready in time. */
const stageTries = 4;

async function startStage(
  backend: WatchBackend,
  program: string | undefined,
  tries = stageTries,
): Promise<WatchStage> {
  try {
    return await WatchStage.start(backend, program);
  } catch (error) {
    if (tries <= 1) throw error;
    return startStage(backend, program, tries - 1);
  }
}

/** What two undisturbed lives have in common: names of objects have to be the same in both. */
async function mergeRecords(
  records: readonly LifeRecord[],
  [stage]: readonly WatchStage[],
  { targets, last }: { readonly targets: LifeTargets; readonly last: WatchOperation },
): Promise<LifeRecord> {
  const [one] = records;
  if (one === undefined || stage === undefined) throw new Error("a campaign has a worker");
  const other = records[1] ?? (await recordLife(stage, targets, last));
  const boundaries = new Map<WatchOperation, WatchBoundary[]>();
  for (const [operation, all] of one.boundaries) {
    const [here, there] = [one, other].map(({ names }) => names.get(operation)?.join());
    if (here !== there) throw new Error(`objects after ${operation}: ${here}, and then ${there}`);
    boundaries.set(operation, commonBoundaries([all, other.boundaries.get(operation) ?? []]));
  }
  return { boundaries, names: one.names };
}

/**
 * The points of a campaign: of each operation its share, of each kind of write or call one, then a second, and so on; the
 * faults in turns. Pure.
 */
export function pointsOf(
  { boundaries }: Pick<LifeRecord, "boundaries">,
  {
    operations,
    faults,
    seed,
    points,
    at,
  }: Omit<WatchCampaignOptions, "scenario" | "backend" | "workers">,
): WatchPoint[] {
  const share =
    points === undefined ? undefined : Math.ceil(points / Math.max(1, operations.length));
  const drawn = operations.flatMap((operation) => {
    const all = (boundaries.get(operation) ?? []).filter(
      (one) => at === undefined || watchBoundaryText(one).includes(at),
    );
    const tries = inKinds(seed, operation, all).flatMap((boundary, index) =>
      faultsFor(boundary, faults, index).map((fault) => ({ operation, boundary, fault })),
    );
    const [firsts, more] = [true, false].map((isFirst) =>
      tries.filter((one, index) => (tries[index - 1]?.boundary !== one.boundary) === isFirst),
    );
    const shuffled = shuffleBy(seed, more ?? [], pointText);
    return [...(firsts ?? []), ...shuffled].slice(0, share ?? tries.length);
  });
  return drawn.slice(0, points ?? drawn.length).map((point) => withSecond(point, faults, seed));
}

/** Those of one kind and the next in turns, each kind shuffled by the seed. */
function inKinds(
  seed: number,
  operation: WatchOperation,
  all: readonly WatchBoundary[],
): WatchBoundary[] {
  const kindOf = ({ side, what, name }: WatchBoundary) =>
    `${side} ${what} ${/^[A-Z]\w+ /.exec(name ?? "")?.[0] ?? ""}`;
  const kinds = new Map<string, WatchBoundary[]>();
  const textOf = (one: WatchBoundary) => `${operation} ${watchBoundaryText(one)}`;
  for (const one of shuffleBy(seed, all, textOf)) {
    kinds.set(kindOf(one), [...(kinds.get(kindOf(one)) ?? []), one]);
  }
  const rounds = Math.max(0, ...[...kinds.values()].map(({ length }) => length));
  return Array.from({ length: rounds }, (_, round) =>
    [...kinds.values()].flatMap((kind) => kind.slice(round, round + 1)),
  ).flat();
}

/** All that have a meaning there, each boundary beginning with another one. */
function faultsFor(
  boundary: WatchBoundary,
  faults: readonly WatchFault[],
  index: number,
): WatchFault[] {
  const meant = faults.filter((fault) => isMeantAt(fault, boundary));
  const at = meant.length === 0 ? 0 : index % meant.length;
  return [...meant.slice(at), ...meant.slice(0, at)];
}

function withSecond(point: WatchPoint, faults: readonly WatchFault[], seed: number): WatchPoint {
  const text = pointText(point);
  // Whoever comes third is on the machine of the first, which reaches nothing as long as that is isolated.
  const leavesThird = needsSuccessor(point.fault) && point.fault !== "isolated";
  const isDrawn = leavesThird && chance(seed, text, "second") < secondShare;
  if (!isDrawn) return point;
  const lasting = faults.filter((fault) => needsSuccessor(fault) && fault !== "late");
  const fault = pickBy(seed, text, "fault of the successor")(lasting);
  const nth = pickBy(seed, text, "write of the successor")(secondWrites) ?? 1;
  return fault === undefined ? point : { ...point, second: { fault, nth } };
}

/** The same text for the same fault at the same boundary. */
function pointText({ operation, boundary, fault }: WatchPoint): string {
  return `${operation} ${watchBoundaryText(boundary)} ${fault}`;
}

/** As few lives as there can be, none with two points in one operation. Pure. */
export function livesOf(points: readonly WatchPoint[]): WatchLife[] {
  const queues = watchOperations.map((name) =>
    points.filter(({ operation }) => operation === name),
  );
  const count = Math.max(0, ...queues.map(({ length }) => length));
  return Array.from({ length: count }, (_, index) =>
    lifeOf(queues.flatMap((queue) => queue.slice(index, index + 1))),
  );
}

function lifeOf(points: readonly WatchPoint[]): WatchLife {
  const last = watchOperations.findLast((name) =>
    points.some(({ operation }) => operation === name),
  );
  return { operations: operationsUntil(last ?? "create"), points };
}

interface Playing {
  readonly targets: LifeTargets;
  readonly record: LifeRecord;
  readonly options: WatchCampaignOptions;
  readonly say: (line: string) => void;
}

/**
 * Plays all lives, some side by side. What a life does not come to is played in another one: where an operation has passed fewer
 * boundaries of a kind than the record, as writes are joined when much comes at once, at the one before.
 */
async function playAll(
  stages: readonly WatchStage[],
  lives: readonly WatchLife[],
  playing: Playing,
): Promise<WatchResult[]> {
  const results: WatchResult[] = [];
  const misses = new Map<string, number>();
  const queue = [...lives];
  const work = async (stage: WatchStage) => {
    for (let life = queue.shift(); life !== undefined; life = queue.shift()) {
      const played = await playOne(stage, life, playing);
      const inVain = [...played.missed].filter((point) => isMissedAgain(misses, point));
      const met = [...played.met, ...inVain.map((point) => neverReached(point, playing))];
      results.push(...met);
      queue.push(...leftOf(life, { ...played, met }));
    }
  };
  await Promise.all(stages.map(work));
  return results;
}

/** How often the first boundary of a kind may be missed: what shows how far a change is may be joined altogether. */
const mostMisses = 3;

function isMissedAgain(misses: Map<string, number>, point: WatchPoint): boolean {
  if (point.boundary.nth > 1) return false;
  const text = pointText(point);
  misses.set(text, (misses.get(text) ?? 0) + 1);
  return misses.get(text) === mostMisses;
}

function neverReached(point: WatchPoint, { say }: Playing): WatchResult {
  const stuck = [`it was over ${mostMisses} times before it came there`];
  const result = { point, verdict: { ...nothingFound, stuck }, seconds: 0 };
  say(watchResultLine(result));
  return result;
}

/** The life of the points that one has not come to: what it has missed, at the boundary of the same kind before, or once more at the first. Pure. */
export function leftOf({ points }: WatchLife, { met, missed }: Played): WatchLife[] {
  const told = new Set(met.map(({ point }) => point));
  const left = points.flatMap((point): WatchPoint[] => {
    if (told.has(point)) return [];
    const { boundary } = point;
    const before = { ...boundary, nth: Math.max(boundary.nth - 1, 1) };
    return [missed.has(point) ? { ...point, boundary: before } : point];
  });
  return left.length === 0 ? [] : [lifeOf(left)];
}

/** What became of the points of one life. */
interface Played {
  readonly met: readonly Pick<WatchResult, "point">[];
  /** Operations were over before they came there. */
  readonly missed: ReadonlySet<WatchPoint>;
}

/** The results of one life. One that breaks before its first point has failed there. */
async function playOne(
  stage: WatchStage,
  life: WatchLife,
  { targets, record, options: { out }, say }: Playing,
): Promise<Played & { readonly met: readonly WatchResult[] }> {
  const results: WatchResult[] = [];
  const missed = new Set<WatchPoint>();
  const tell = (result: WatchResult, words: readonly string[]) => {
    results.push(result);
    say(watchResultLine(result));
    for (const one of verdictProblems(result.verdict)) say(`  ${one.replaceAll("\n", "\n    ")}`);
    if (!hasPassed(result)) for (const line of words) say(`    ${line}`);
    if (out !== undefined) appendFileSync(out, `${JSON.stringify(documentOf(result))}\n`);
  };
  try {
    await playLife(stage, life, {
      targets,
      names: record.names,
      tell: (result, world) => tell(result, lastWordsOf(world)),
      missed: (point) => {
        missed.add(point);
        say(`${pointText(point)} | missed, and tried again`);
      },
    });
  } catch (error) {
    const point = life.points.filter((one) => !missed.has(one))[results.length];
    const stuck = [`before the point: ${(error as Error).message}`];
    if (point !== undefined) tell({ point, verdict: { ...nothingFound, stuck }, seconds: 0 }, []);
  }
  return { met: results, missed };
}

function hasPassed({ verdict }: WatchResult): boolean {
  return verdictProblems(verdict).length === 0;
}

/** "scale | after create workers-... #1 | frozen | orphans 0, ... | 24.2 s | passed" */
export function watchResultLine({ point, verdict, seconds }: WatchResult): string {
  const { operation, boundary, fault, second } = point;
  const then = second === undefined ? "" : `, then ${second.fault} at status #${second.nth}`;
  return [
    operation,
    watchBoundaryText(boundary),
    `${fault}${then}`,
    verdictCounts(verdict),
    `${seconds.toFixed(1)} s`,
    hasPassed({ point, verdict, seconds }) ? "passed" : "FAILED",
  ].join(" | ");
}

function documentOf({ point, verdict, seconds }: WatchResult) {
  const { operation, boundary, fault, second } = point;
  const passed = verdictProblems(verdict).length === 0;
  return {
    operation,
    boundary: watchBoundaryText(boundary),
    fault,
    second,
    seconds,
    passed,
    verdict,
  };
}

/** The end of what each controller said that is still there. */
function lastWordsOf({
  replicas,
}: Parameters<Parameters<typeof playLife>[2]["tell"]>[1]): string[] {
  return replicas.flatMap(({ door, command }) => [
    `${door.name}:`,
    ...command.said.trimEnd().split("\n").slice(-12),
  ]);
}
