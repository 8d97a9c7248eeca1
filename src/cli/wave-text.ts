import { wordFor } from "../api/counted.js";
import type { NodeKey } from "../graph/graph.js";
import type { Plan } from "../plan/plan.js";
import type { Step } from "../plan/step.js";
import { withThousands } from "../report/alike.js";
import { waveTitle } from "../report/plan-rows.js";
import { countsText } from "../report/report.js";
import { alikeWaves, type WaveRun } from "../report/wave-runs.js";

/** More than these are for the formats that have room. */
const mostLines = 12;

/** The waves of a plan, those that are alike in one line; none of a plan that takes a single one. Pure. */
export function waveLines(plan: Plan): string[] {
  const { waves } = plan;
  if (waves.length < 2) return [];
  const kinds = new Map(plan.steps.map(({ key, kind }) => [key, kind]));
  const kindOf = (key: NodeKey): Step["kind"] => kinds.get(key) ?? "update";
  const runs = alikeWaves(waves, kindOf);
  const shown = runs.length > mostLines ? runs.slice(0, mostLines - 1) : runs;
  const rest = waves.length - (shown.at(-1)?.last ?? 0);
  return [
    ...shown.map((run) => `${waveTitle(run)}: ${runText(run, kindOf)}`),
    ...(rest > 0
      ? [
          `and ${withThousands(rest)} more ${wordFor(rest, "wave: --format markdown has it", "waves: --format markdown has them all")}`,
        ]
      : []),
  ];
}

/** What names no resource of the plan says itself what it does. */
function runText(run: WaveRun, kindOf: (key: NodeKey) => Step["kind"]): string {
  return run.keys.length === 0 ? run.reason : `${doneText(run, kindOf)} (${run.reason})`;
}

function doneText({ keys, times }: WaveRun, kindOf: (key: NodeKey) => Step["kind"]): string {
  const count = (kind: Step["kind"]) => keys.filter((key) => kindOf(key) === kind).length;
  const all = { create: count("create"), update: count("update"), delete: count("delete") };
  const each = `${withThousands(keys.length / times)} each time`;
  return times === 1 ? countsText(all) : `${countsText(all)}, ${each}`;
}
