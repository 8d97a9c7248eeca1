import type { NodeKey } from "../graph/graph.js";
import type { Step } from "../plan/step.js";
import type { Wave } from "../plan/plan.js";

/** Waves that follow each other and do the same again and again; mostly a single one. */
export interface WaveRun {
  /** Numbers of the first and the last of them, counted from 1. */
  readonly first: number;
  readonly last: number;
  /** How often the same is done; 1 for a single wave. */
  readonly times: number;
  /** Of what is done each time; of the first time, where numbers in it count on. */
  readonly reason: string;
  /** Of all of them, in order. */
  readonly keys: readonly NodeKey[];
}

/** What is done less often is told one by one. */
const leastTimes = 4;
/** Waves that are done by turns, such as one that creates and one that deletes. */
const longestTurn = 3;

/**
 * A rollout that goes machine by machine reads as one run instead of hundreds of waves: the same wave
 * again and again, or a few by turns. Pure, linear in the number of waves.
 */
export function alikeWaves(
  waves: readonly Wave[],
  kindOf: (key: NodeKey) => Step["kind"],
): WaveRun[] {
  const shapes = waves.map((wave) => shapeOf(wave, kindOf));
  const runs: WaveRun[] = [];
  for (let from = 0; from < waves.length;) {
    const { turn, times } = longestRun(shapes, from);
    const taken = waves.slice(from, from + turn * times);
    const reasons = new Set(taken.slice(0, turn).map(({ reason }) => reason));
    runs.push({
      first: from + 1,
      last: from + taken.length,
      times,
      reason: [...reasons].join("; "),
      keys: taken.flatMap(({ keys }) => keys),
    });
    from += taken.length;
  }
  return runs;
}

/** The shortest turn that is done often enough from there on, and how often; else one wave, once. */
function longestRun(shapes: readonly string[], from: number): { turn: number; times: number } {
  for (let turn = 1; turn <= longestTurn; turn += 1) {
    let end = from + turn;
    while (end < shapes.length && shapes[end] === shapes[end - turn]) end += 1;
    const times = Math.floor((end - from) / turn);
    if (times >= leastTimes) return { turn, times };
  }
  return { turn: 1, times: 1 };
}

/** How many of each kind of step, and why: numbers in reasons count up as machines follow each other. */
function shapeOf({ keys, reason }: Wave, kindOf: (key: NodeKey) => Step["kind"]): string {
  const kinds = keys.map(kindOf).sort().join();
  return `${reason.replace(/\d+/g, "#")}|${kinds}`;
}
