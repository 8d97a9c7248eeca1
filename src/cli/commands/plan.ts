import { stackNameOf, type Desired } from "../../api/types.js";
import type { Engine } from "../../engine/engine.js";
import { callContext } from "../../engine/session.js";
import type { StackState } from "../../engine/state.js";
import { survey } from "../../engine/survey.js";
import type { Plan } from "../../plan/plan.js";
import { planSummary } from "../../plan/tree.js";
import { wavesOf } from "../../transaction/admit.js";
import { type CommandContext, type GlobalOptions, loadClusters, openEngine, providerOf } from "../context.js";
import { exitCodes } from "../exit.js";
import { planText } from "../terminal.js";

export interface PlanOptions extends GlobalOptions {
  readonly file: readonly string[];
  readonly adopt?: boolean;
}

/** capstan plan: what up would do. Exit 0: nothing; 2: changes pending. Changes nothing. */
export async function planCommand(options: PlanOptions, context: CommandContext): Promise<number> {
  const clusters = loadClusters(options.file, context);
  const { engine } = await openEngine(options, context);
  let pending = false;
  for (const desired of clusters) {
    const { plan } = await surveyCluster(desired, engine, options, context);
    pending ||= !plan.empty;
    if (context.json) context.emit({ type: "plan", ...planDocument(plan) });
    else context.terminal.write(`${planText(plan, context.terminal.colors)}\n`);
  }
  return pending ? exitCodes.changesPending : exitCodes.done;
}

/** Reads state and cloud of one cluster and plans. */
export async function surveyCluster(
  desired: Desired,
  engine: Engine,
  { adopt }: { readonly adopt?: boolean },
  context: CommandContext,
): Promise<{ plan: Plan; state: StackState }> {
  const state = await engine.readState(stackNameOf(desired.cluster));
  const { plan } = await survey({
    desired,
    provider: providerOf(desired, context),
    state,
    context: callContext(context.clock, context.interruption.stop),
    adopt: adopt === true,
    newClusterUid: () => context.newClusterUid(),
    owner: "files",
  });
  return { plan, state };
}

/**
 * The plan for machines: everything that is decided, without the objects it was made from.
 * `resources` is what there will be, with Refs ({"$ref", "output"}) for what is not known yet.
 */
export function planDocument(plan: Plan) {
  const { target, transaction, ...rest } = plan;
  const { number, clusterUid } = transaction;
  return {
    ...rest,
    transaction: { number, clusterUid },
    resources: target.nodes
      .filter(({ type }) => type === "resource")
      .map(({ kind, name, spec }) => ({ kind, name, spec })),
    waves: wavesOf(plan),
    summary: planSummary(plan),
  };
}
