import { setTimeout as sleep } from "node:timers/promises";
import { clearFaults } from "../../scenario/cloud-faults.js";
import { addStrangers, neighbourChanges } from "../../scenario/neighbours.js";
import type { CloudRow } from "../../scenario/ledger-judge.js";
import { until } from "../../scenario/until.js";
import { patient } from "../patience.js";
import type { LifeTargets, ManifestObject } from "../targets.js";
import { type PlaceVerdict, verdictProblems } from "../verdict.js";
import type { GateHold } from "./api-gate.js";
import {
  holdAt,
  type WatchBoundary,
  watchBoundaries,
  watchBoundaryText,
} from "./watch-boundary.js";
import {
  type Aftermath,
  hangingBy,
  needsSuccessor,
  strike,
  type WatchFault,
} from "./watch-fault.js";
import { judgeSettled, namesOf, nothingFound, watchLaws } from "./watch-judge.js";
import {
  play,
  untilSettled,
  wantedAfter,
  type WatchOperation,
  watchOperations,
} from "./watch-operation.js";
import { type Replica, settledMs, type WatchStage, type WatchWorld } from "./world.js";

/** Where a leader meets a fault, and what becomes of its successor. */
export interface WatchPoint {
  readonly operation: WatchOperation;
  readonly boundary: WatchBoundary;
  readonly fault: WatchFault;
  /** The successor meets a fault as well, at its n-th write to the API server. */
  readonly second?: { readonly fault: WatchFault; readonly nth: number } | undefined;
}

export interface WatchResult {
  readonly point: WatchPoint;
  readonly verdict: PlaceVerdict;
  readonly seconds: number;
}

/** One cluster from its creation to its end, and the points that it meets, one at most in each operation. */
export interface WatchLife {
  /** In this order; the first is create. */
  readonly operations: readonly WatchOperation[];
  readonly points: readonly WatchPoint[];
}

/** What an undisturbed life passes, and which objects there are after each operation. */
export interface LifeRecord {
  readonly boundaries: ReadonlyMap<WatchOperation, readonly WatchBoundary[]>;
  readonly names: ReadonlyMap<WatchOperation, readonly string[]>;
}

/** Plays one life that nobody disturbs. Throws when it does not even come to its end so. */
export async function recordLife(
  stage: WatchStage,
  targets: LifeTargets,
  last: WatchOperation,
): Promise<LifeRecord> {
  const world = await stage.world(targets.create);
  const [boundaries, names] = [
    new Map<WatchOperation, WatchBoundary[]>(),
    new Map<WatchOperation, string[]>(),
  ];
  try {
    await world.replenish();
    for (const operation of operationsUntil(last)) {
      const [gate, ledger] = [world.gate.log.length, world.sandbox.ledgerEnd()];
      await play(world, operation, targets);
      boundaries.set(
        operation,
        watchBoundaries(world.gate.log.slice(gate), world.sandbox.ledger(ledger)),
      );
      names.set(operation, namesOf(await world.objects()));
      const verdict = await judgeNow(world, wantedAfter(operation, targets), undefined);
      const problems = Object.values(verdict).flat() as string[];
      if (problems.length > 0) throw new Error(`${operation}: ${problems.join("; ")}`);
    }
    return { boundaries, names };
  } finally {
    await world.close();
  }
}

/** The operations of a life up to one. */
export function operationsUntil(last: WatchOperation): WatchOperation[] {
  return watchOperations.slice(0, watchOperations.indexOf(last) + 1);
}

/**
 * Plays one life and tells each result. After a failed point it ends: what comes later would be judged by what that has
 * left.
 */
export async function playLife(
  stage: WatchStage,
  life: WatchLife,
  about: {
    readonly targets: LifeTargets;
    readonly names: LifeRecord["names"] | undefined;
    readonly tell: (result: WatchResult, world: WatchWorld) => void;
    /** Told of a point that the operation did not come to, and that ended well. */
    readonly missed: (point: WatchPoint) => void;
  },
): Promise<void> {
  const { targets, names, tell, missed } = about;
  const world = await stage.world(targets.create);
  let strangers: readonly CloudRow[] = [];
  try {
    await world.replenish();
    for (const operation of life.operations) {
      const point = life.points.find((one) => one.operation === operation);
      if (point === undefined) {
        await play(world, operation, targets);
      } else {
        const begin = Date.now();
        const verdict = await tryPoint(world, point, targets, names?.get(operation));
        const changed = neighbourChanges(world.cluster, [], {
          before: strangers,
          after: world.sandbox.rows(),
        });
        const { isMissed, ...shown } = verdict;
        const judged = { ...shown, laws: [...shown.laws, ...changed] };
        const isRight = verdictProblems(judged).length === 0;
        if (isRight && isMissed) missed(point);
        else tell({ point, verdict: judged, seconds: (Date.now() - begin) / 1000 }, world);
        if (!isRight) return;
      }
      if (operation === "create") {
        addStrangers(world.sandbox.cloudFile, world.cluster);
        strangers = world.sandbox.rows().filter(({ cluster }) => cluster !== world.cluster);
      }
      await world.replenish();
    }
  } finally {
    await world.close();
  }
}

/** How an operation ended. `isMissed`: it was over before it came to its point, and nobody has met a fault. */
interface PointVerdict extends PlaceVerdict {
  readonly isMissed: boolean;
}

/** A leader meets a fault in an operation, and everything is to come to the same end all the same. */
async function tryPoint(
  world: WatchWorld,
  point: WatchPoint,
  targets: LifeTargets,
  names: readonly string[] | undefined,
): Promise<PointVerdict> {
  const { operation } = point;
  const wanted = wantedAfter(operation, targets);
  try {
    const isMissed = !(await disturb(world, point, targets));
    await untilSettled(world, wanted);
    const verdict = await judgeNow(world, wanted, names);
    if (verdict.unwanted.length === 0) return { ...verdict, isMissed };
    // Where others work on this machine as well, a status may be longer on its way than it takes to look quiet.
    await sleep(patient(settledMs));
    await untilSettled(world, wanted);
    return { ...(await judgeNow(world, wanted, names)), isMissed };
  } catch (error) {
    const stuck = [(error as Error).message];
    return { ...nothingFound, stuck, laws: lawsIn(world), isMissed: false };
  } finally {
    clearFaults(world.sandbox.cloudFile);
  }
}

/** Whether the operation came to its boundary. */
async function disturb(
  world: WatchWorld,
  { operation, boundary, fault, second }: WatchPoint,
  targets: LifeTargets,
): Promise<boolean> {
  const leader = world.leader();
  if (leader === undefined) throw new Error("nobody leads");
  const hold = holdAt(world, boundary, hangingBy(fault));
  const course = { isOver: false };
  const played = play(world, operation, targets).finally(() => (course.isOver = true));
  played.catch(() => undefined);
  const where = watchBoundaryText(boundary);
  await until(`the leader to come to ${where}`, () => hold.isReached() || course.isOver, 120_000);
  if (!hold.isReached()) {
    hold.release("drop");
    await played;
    return false;
  }
  const aftermaths = [await strike(world, fault, leader, hold)];
  if (needsSuccessor(fault) && second !== undefined) {
    aftermaths.push(await strikeSuccessor(world, leader, second));
  }
  await played;
  for (const comesAfter of aftermaths) await comesAfter();
  return true;
}

/** Whoever takes over meets a fault in its own work. Nothing for one that has nothing to write. */
async function strikeSuccessor(
  world: WatchWorld,
  leader: Replica,
  { fault, nth }: NonNullable<WatchPoint["second"]>,
): Promise<Aftermath> {
  const successor = world.replicas.find((one) => one !== leader);
  if (successor === undefined) throw new Error("nobody follows");
  const hold = world.gate.hold({
    side: "before",
    what: "status",
    name: undefined,
    nth,
    door: successor.door.name,
  });
  await world.add();
  const isReached = await comesTo(hold);
  if (!isReached) return async () => hold.release("drop");
  const as = {
    isReached: () => hold.isReached,
    release: (dead: "drop" | "evenSo") => hold.release(dead),
  };
  return strike(world, fault, successor, as);
}

const secondDeadlineMs = 40_000;

function comesTo(hold: GateHold): Promise<boolean> {
  return until("the successor writes", () => hold.isReached, secondDeadlineMs).catch(() => false);
}

async function judgeNow(
  world: WatchWorld,
  wanted: readonly ManifestObject[] | undefined,
  names: readonly string[] | undefined,
): Promise<PlaceVerdict> {
  const deployment = await world.deployment();
  const shown = { rows: world.own(), objects: await world.objects(), wanted, names };
  const verdict = judgeSettled(shown, deployment);
  return { ...verdict, laws: lawsIn(world) };
}

/** What was wrong at some moment of the life so far. */
function lawsIn({ sandbox, gate, pids, cluster, trespasses }: WatchWorld): string[] {
  const ledger = sandbox.ledger().filter((entry) => entry.cluster === cluster);
  return [...trespasses, ...watchLaws({ ledger, gate: gate.log, doors: pids, most: mostHosts })];
}

/** Three workers, one more that fails, and one that surges. */
const mostHosts: ReadonlyMap<string, number> = new Map([["workers", 5]]);
