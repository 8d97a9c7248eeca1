import { type Job } from "./attempt.js";
import { type Boundary, boundaryText, isMutating } from "./boundary.js";
import { type ChaosFault, isCopyable, isMeant } from "./chaos-fault.js";
import type { Operation } from "./operation.js";
import { chance, inTurns, pickBy, sampleBy, shuffleBy } from "./random.js";
import { isPossible, recoveries, type NextCommand, usualRecoveries } from "./recovery.js";

/** What is tried. */
export interface Matrix {
  readonly faults: readonly ChaosFault[];
  /** At every point; without, all after a call that changes something, one in turn elsewhere. */
  readonly recoveries: readonly NextCommand[] | undefined;
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
  /** What is wrong although nobody disturbed it. */
  readonly problems: readonly string[];
}

/** One in so many points ends with a destroy. */
const destroyShare = 0.1;

/** What there is to do, in the order of the recordings. */
export function jobsOf(recordings: readonly Recording[], matrix: Matrix): Job[] {
  const { seed, points, double } = matrix;
  const all = recordings.flatMap((recording) => singleJobs(recording, matrix));
  const singles = points === undefined ? all : sampleBy(seed, points, all, jobText);
  const killed = all.filter(({ aim }) => aim.fault === "tree");
  const doubles = sampleBy(seed + 1, double, killed, jobText).map((job) => ({
    ...job,
    ways: pickedWays(job, seed),
    again: pickBy(seed, jobText(job), "again"),
  }));
  return [...singles, ...doubles];
}

function singleJobs({ operation, boundaries }: Recording, matrix: Matrix): Job[] {
  const { faults, at, seed } = matrix;
  const aimedAt = boundaries.filter((one) => at === undefined || boundaryText(one).includes(at));
  return aimedAt.flatMap((boundary, index) =>
    faults
      .filter((fault) => isMeant(fault, boundary))
      .flatMap((fault) => {
        const aim = { operation, boundary, fault };
        const all = isMutating(boundary) && boundary.kind === "call";
        const usual = usualRecoveries.filter((one) => isPossible(one, operation));
        const inTurn = usual.slice(index % usual.length).slice(0, 1);
        const asked = matrix.recoveries ?? (all ? usual : inTurn);
        const ways = asked.filter((one) => isPossible(one, operation));
        const destroys = chance(seed, jobText({ aim }), "destroy") < destroyShare;
        // What lives on cannot be copied: then each recovery has a run of its own.
        const runs = isCopyable(fault) ? [ways] : ways.map((way) => [way]);
        return runs.filter((run) => run.length > 0).map((run) => ({ aim, ways: run, destroys }));
      }),
  );
}

/** A verb that is killed and a verb that comes next, at every boundary of the first. */
interface Cell {
  readonly recovery: NextCommand;
  readonly jobs: readonly Job[];
}

/**
 * The points of the matrix (verb killed) x (verb next) x (boundary): from each pair in turn, so that a
 * sample has as many of one as of the other, and of each pair calls that change something first and every
 * second time.
 */
export function matrixJobs(
  recordings: readonly Recording[],
  matrix: Omit<Matrix, "double">,
): Job[] {
  const { seed, points, faults } = matrix;
  const cells = recordings.flatMap((recording) =>
    faults.flatMap((fault) => cellsOf(recording, fault, matrix)),
  );
  const textOf = ({ jobs: [job], recovery }: Cell) => `${recovery} ${job ? jobText(job) : ""}`;
  const drawn = shuffleBy(seed, cells, textOf);
  const rounds = Math.max(0, ...drawn.map(({ jobs }) => jobs.length));
  const all = Array.from({ length: rounds }, (_, round) =>
    drawn.flatMap(({ jobs }) => jobs.slice(round, round + 1)),
  ).flat();
  return all.slice(0, points ?? all.length);
}

function cellsOf(
  { operation, boundaries }: Recording,
  fault: ChaosFault,
  { seed, at, recoveries: asked = recoveries }: Omit<Matrix, "double">,
): Cell[] {
  const aimedAt = boundaries
    .filter((one) => at === undefined || boundaryText(one).includes(at))
    .filter((one) => isMeant(fault, one));
  return asked
    .filter((recovery) => isPossible(recovery, operation) && !isDouble(recovery, operation))
    .map((recovery) => {
      const textOf = (one: Boundary) => [operation.name, recovery, boundaryText(one)].join(" ");
      const drawn = shuffleBy(seed, aimedAt, textOf);
      const changing = drawn.filter((one) => one.kind === "call" && isMutating(one));
      const others = drawn.filter((one) => !changing.includes(one));
      const jobs = inTurns(changing, others).map((boundary) => ({
        aim: { operation, boundary, fault },
        ways: [recovery],
        repeats: true,
      }));
      return { recovery, jobs };
    });
}

/** `up` with the manifests of nothing is a destroy, which is a recovery of its own. */
function isDouble(recovery: NextCommand, { previous }: Operation): boolean {
  return recovery === "old" && previous === undefined;
}

function pickedWays(job: Job, seed: number): NextCommand[] {
  const way = pickBy(seed, jobText(job), "way")(job.ways);
  return way === undefined ? [] : [way];
}

/** The same text for the same fault at the same boundary. */
export function jobText({ aim }: Pick<Job, "aim">): string {
  return `${aim.operation.name} ${boundaryText(aim.boundary)} ${aim.fault}`;
}
