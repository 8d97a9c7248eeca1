import { omitUndefined } from "../../api/omit-undefined.js";
import type { KnownExternals } from "./externals.js";
import { recordedMachines } from "./recorded-machines.js";
import type { PlanInput } from "../plan-input.js";
import { planUpgrade } from "./stage-objects.js";
import { lastStageReason } from "./upgrade.js";
import { refuseVersions, versionRefusals } from "./version-rules.js";
import { compiled, frozen, type CompiledGoal, type GoalFacts } from "./compiled-goal.js";
import type { StageNote } from "../plan.js";

/** What was pinned counts as long as nobody wants it to be read anew. */
function knownExternals({ externals, prior, refreshesExternals }: PlanInput): KnownExternals {
  const pinned = refreshesExternals === true ? [] : (prior.transaction?.target.externals ?? []);
  return omitUndefined({ seen: externals, pinned });
}

interface StagedGoal {
  readonly compiledGoal: CompiledGoal;
  /** What it comes to in the end. */
  readonly whole: CompiledGoal;
  readonly stage?: StageNote;
}

/**
 * What a goal comes to now: the whole of it, or the first stage on the way there. A recorded graph is
 * never taken apart. Pure. Throws UNSUPPORTED_CHANGE for versions that no stages lead to.
 */
export function stagedGoal(input: PlanInput): StagedGoal {
  const { planGoal, provider, prior, goal, nowMs, stagesBefore = 0 } = input;
  const running = goal.kind !== "takeBack" ? (prior.revision?.target.machines ?? []) : [];
  if (planGoal.kind === "recorded") {
    if (running.length > 0) refuseVersions(versionRefusals(running, planGoal.target.machines));
    const compiledGoal = frozen(planGoal.target, provider);
    return { compiledGoal, whole: compiledGoal };
  }
  const memory = omitUndefined<GoalFacts>({
    recorded: recordedMachines(input),
    nowMs,
    lookups: input.lookups,
    externals: knownExternals(input),
  });
  const compiledGoal = compiled(planGoal.desired, provider, memory);
  const whole = compiledGoal;
  if (running.length === 0) return { compiledGoal, whole };
  const upgrade = planUpgrade({
    desired: planGoal.desired,
    wanted: compiledGoal.machines,
    running,
  });
  if (upgrade.kind === "refused") {
    refuseVersions(upgrade.refusals);
    return { compiledGoal, whole };
  }
  const [first, ...later] = upgrade.stages;
  if (first === undefined || stagesBefore + later.length === 0) return { compiledGoal, whole };
  return {
    compiledGoal: later.length === 0 ? compiledGoal : compiled(first.desired, provider, memory),
    whole,
    stage: {
      number: stagesBefore + 1,
      count: stagesBefore + upgrade.stages.length,
      reason: first.stage.reason === "" ? lastStageReason : first.stage.reason,
      later: later.map(({ stage }) => stage),
    },
  };
}
