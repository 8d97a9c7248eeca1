import { type Job } from "./attempt.js";
import { type Boundary, boundaryText, isMutating } from "./boundary.js";
import { type Disturbance, isCopyable, isMeant } from "./disturbance.js";
import type { Operation } from "./operation.js";
import { chance, pickBy, sampleBy } from "./random.js";
import { recoveries, type Recovery } from "./recovery.js";

/** What is tried. */
export interface Matrix {
  readonly disturbances: readonly Disturbance[];
  /** At every point; without, all after a call that changes something, one in turn elsewhere. */
  readonly recoveries: readonly Recovery[] | undefined;
  readonly seed: number;
  /** Only boundaries whose text holds this. */
  readonly at: string | undefined;
  /** How many points, drawn by seed; all without. */
  readonly points: number | undefined;
  /** How many points more, drawn by seed, at which the recovery is killed as well. */
  readonly double: number;
}

/** An operation with the boundaries that it passes undisturbed. */
export interface Recording {
  readonly operation: Operation;
  readonly boundaries: readonly Boundary[];
}

/** One in so many points ends with a destroy. */
const destroyShare = 0.1;

/** What there is to do, in the order of the recordings. */
export function jobsOf(recordings: readonly Recording[], matrix: Matrix): Job[] {
  const { seed, points, double } = matrix;
  const all = recordings.flatMap((recording) => singleJobs(recording, matrix));
  const singles = points === undefined ? all : sampleBy(seed, points, all, jobText);
  const killed = all.filter(({ aim }) => aim.disturbance === "tree");
  const doubles = sampleBy(seed + 1, double, killed, jobText).map((job) => ({
    ...job,
    ways: pickedWays(job, seed),
    again: pickBy(seed, jobText(job), "again"),
  }));
  return [...singles, ...doubles];
}

function singleJobs({ operation, boundaries }: Recording, matrix: Matrix): Job[] {
  const { disturbances, at, seed } = matrix;
  const aimedAt = boundaries.filter((one) => at === undefined || boundaryText(one).includes(at));
  return aimedAt.flatMap((boundary, index) =>
    disturbances
      .filter((disturbance) => isMeant(disturbance, boundary))
      .flatMap((disturbance) => {
        const aim = { operation, boundary, disturbance };
        const all = isMutating(boundary) && boundary.kind === "call";
        const possible = recoveries.filter((one) => isPossible(one, operation));
        const inTurn = possible.slice(index % possible.length).slice(0, 1);
        const ways = (matrix.recoveries ?? (all ? possible : inTurn)).filter((one) =>
          possible.includes(one),
        );
        const destroys = chance(seed, jobText({ aim }), "destroy") < destroyShare;
        // What lives on cannot be copied: then each recovery has a run of its own.
        const runs = isCopyable(disturbance) ? [ways] : ways.map((way) => [way]);
        return runs.filter((run) => run.length > 0).map((run) => ({ aim, ways: run, destroys }));
      }),
  );
}

/** What is being destroyed is not taken back: destroy goes forward only. */
function isPossible(recovery: Recovery, { name }: Operation): boolean {
  return recovery !== "rollback" || name !== "destroy";
}

function pickedWays(job: Job, seed: number): Recovery[] {
  const way = pickBy(seed, jobText(job), "way")(job.ways);
  return way === undefined ? [] : [way];
}

function jobText({ aim }: Pick<Job, "aim">): string {
  return `${aim.operation.name} ${boundaryText(aim.boundary)} ${aim.disturbance}`;
}
