import type { NodeKey } from "../graph/graph.js";
import type { Step } from "../plan/step.js";
import type { PlannedWave } from "./report.js";

/** Waves that follow each other and do as much, for the same reason; mostly a single one. */
export interface WaveRun {
  /** Numbers of the first and the last of them, counted from 1. */
  readonly first: number;
  readonly last: number;
  /** The first one's. */
  readonly reason: string;
  /** Of all of them, in order. */
  readonly keys: readonly NodeKey[];
}

/** Fewer than these are told one by one. */
const leastAlike = 4;

/** A rollout that goes machine by machine reads as one run instead of hundreds of waves. Pure. */
export function alikeWaves(
  waves: readonly PlannedWave[],
  kindOf: (key: NodeKey) => Step["kind"],
): WaveRun[] {
  const runs: { shape: string; from: number; waves: PlannedWave[] }[] = [];
  for (const [place, wave] of waves.entries()) {
    const shape = shapeOf(wave, kindOf);
    const run = runs.at(-1);
    if (run?.shape === shape) run.waves.push(wave);
    else runs.push({ shape, from: place + 1, waves: [wave] });
  }
  return runs.flatMap(({ from, waves: alike }) =>
    alike.length < leastAlike
      ? alike.map((wave, index) => runOf([wave], from + index))
      : [runOf(alike, from)],
  );
}

function runOf(waves: readonly PlannedWave[], first: number): WaveRun {
  return {
    first,
    last: first + waves.length - 1,
    reason: waves[0]?.reason ?? "",
    keys: waves.flatMap(({ keys }) => keys),
  };
}

/** How many of each kind of step, and why: numbers in reasons count up as machines follow each other. */
function shapeOf({ keys, reason }: PlannedWave, kindOf: (key: NodeKey) => Step["kind"]): string {
  const kinds = keys.map(kindOf).sort().join();
  return `${reason.replace(/\d+/g, "#")}|${kinds}`;
}
