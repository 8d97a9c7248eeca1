import { recordedMachines } from "./recorded-machines.js";
import type { PlanInput } from "./plan.js";
import { planUpgrade } from "./stage-objects.js";
import { lastStageReason, type Stage } from "./upgrade.js";
import { refuseVersions, versionRefusals } from "./version-rules.js";
import { compiled, frozen, type Wanted } from "./wanted.js";

/** Where a plan stands in a chain of upgrades over several minor versions. */
export interface StageNote {
  /** Counts from 1; stages that the same `up` has brought about come before it. */
  readonly number: number;
  /** Of all stages, those before it included. */
  readonly count: number;
  /** Why this stage is one of its own. */
  readonly reason: string;
  /** What comes after its commit, each a plan of its own; none of the last stage. */
  readonly later: readonly Stage[];
}

export interface StagedWish {
  readonly wanted: Wanted;
  /** What it comes to in the end. */
  readonly whole: Wanted;
  readonly stage?: StageNote;
}

/**
 * What a wish comes to now: the whole of it, or the first stage on the way there. A recorded graph is
 * never taken apart. Pure. Throws UNSUPPORTED_CHANGE for versions that no stages lead to.
 */
export function stagedWish(input: PlanInput): StagedWish {
  const { wish, provider, prior, goal, nowMs, stagesBefore = 0 } = input;
  const running = goal.kind !== "takeBack" ? (prior.revision?.target.machines ?? []) : [];
  if (wish.kind === "recorded") {
    if (running.length > 0) refuseVersions(versionRefusals(running, wish.target.machines));
    const wanted = frozen(wish.target, provider);
    return { wanted, whole: wanted };
  }
  const memory = { recorded: recordedMachines(input), nowMs };
  const wanted = compiled(wish.desired, provider, memory);
  const whole = wanted;
  if (running.length === 0) return { wanted, whole };
  const upgrade = planUpgrade({ desired: wish.desired, wanted: wanted.machines, running });
  if (upgrade.kind === "refused") {
    refuseVersions(upgrade.refusals);
    return { wanted, whole };
  }
  const [first, ...later] = upgrade.stages;
  if (first === undefined || stagesBefore + later.length === 0) return { wanted, whole };
  return {
    wanted: later.length === 0 ? wanted : compiled(first.desired, provider, memory),
    whole,
    stage: {
      number: stagesBefore + 1,
      count: stagesBefore + upgrade.stages.length,
      reason: first.stage.reason === "" ? lastStageReason : first.stage.reason,
      later: later.map(({ stage }) => stage),
    },
  };
}
