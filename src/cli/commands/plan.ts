import { stackNameOf, type Desired } from "../../api/types.js";
import type { Engine } from "../../engine/engine.js";
import type { Look } from "../../engine/look.js";
import { settleLastCalls } from "../../engine/recover.js";
import { callContext } from "../../engine/session.js";
import type { StackState } from "../../engine/state.js";
import { survey } from "../../engine/survey.js";
import { defaultDeadlineMs } from "../../plan/deadline.js";
import type { Plan } from "../../plan/plan.js";
import { type Binding, bindingOf } from "../../plan/saved.js";
import { planSummary } from "../../plan/tree.js";
import { refuseBeyond, type UndoClass } from "../../plan/undo.js";
import { wavesOf } from "../../plan/admission/waves.js";
import type { Manifests } from "../../manifest/desired.js";
import {
  type CommandContext,
  type GlobalOptions,
  loadManifests,
  openEngine,
  providerOf,
} from "../context.js";
import { exitCodes } from "../exit.js";
import { findGoneClusters, refuseGoneClusters, stacksIn } from "../gone-clusters.js";
import { savePlan } from "../saved-plan.js";
import { planText } from "../terminal.js";

export interface PlanOptions extends GlobalOptions {
  readonly file: readonly string[];
  readonly adopt?: boolean;
  /** Delete clusters that the manifests no longer hold. */
  readonly prune?: boolean;
  /** Where to save the plan. */
  readonly out?: string;
  /** The worst class of step that is allowed. */
  readonly require?: UndoClass;
}

/** capstan plan: what up would do. Exit 0: nothing; 2: changes pending. Changes nothing. */
export async function planCommand(options: PlanOptions, context: CommandContext): Promise<number> {
  const manifests = loadManifests(options.file, context);
  const { engine, workspace } = await openEngine(options, context);
  const gone = await findGoneClusters(manifests.clusters, options.file, engine, workspace);
  if (options.prune !== true) refuseGoneClusters(gone, options.file);
  let pending = gone.length > 0;
  const bindings: Binding[] = [];
  for (const { stack, cluster } of gone) {
    if (context.json) context.emit({ type: "prune", stack, cluster });
    else context.terminal.write(`Cluster ${cluster} is to be destroyed (--prune)\n\n`);
  }
  for (const desired of manifests.clusters) {
    const found = await surveyCluster({ desired, manifests }, engine, options, context);
    const { plan } = found;
    bindings.push(bindingOf(found));
    pending ||= !plan.empty;
    if (context.json) context.emit({ type: "plan", ...planDocument(plan) });
    else context.terminal.write(`${planText(plan, context.terminal)}\n`);
  }
  if (options.out !== undefined) {
    savePlan(options.out, { files: options.file, clusters: bindings, prune: stacksIn(gone) });
    if (!context.json) {
      context.terminal.write(
        `Saved: capstan up --plan ${options.out} applies this and nothing else\n`,
      );
    }
  }
  return pending ? exitCodes.changesPending : exitCodes.done;
}

/** One cluster of some manifests. */
export interface ClusterOf {
  readonly desired: Desired;
  readonly manifests: Manifests;
}

/** A plan with all that it was made from. */
export interface Surveyed {
  readonly plan: Plan;
  readonly state: StackState;
  readonly seen: Look;
}

/** Reads state and cloud of one cluster and plans. */
export async function surveyCluster(
  { desired, manifests }: ClusterOf,
  engine: Engine,
  {
    adopt,
    require: worst,
    deadlineMs = defaultDeadlineMs,
  }: Pick<PlanOptions, "adopt" | "require"> & { readonly deadlineMs?: number },
  context: CommandContext,
): Promise<Surveyed> {
  const provider = providerOf(desired, context);
  const calls = callContext(context.clock, context.interruption.stop);
  await settleLastCalls(engine, provider, calls);
  const state = await engine.readState(stackNameOf(desired.cluster));
  const { plan, seen } = await survey({
    desired,
    positionOf: (object, path) => manifests.positionOf(object, path),
    provider,
    state,
    context: calls,
    adopt: adopt === true,
    newClusterUid: () => context.newClusterUid(),
    newDigestKey: () => context.newClusterUid(),
    owner: "files",
    by: context.by,
    deadlineMs,
  });
  refuseBeyond(plan, worst);
  return { plan, state, seen };
}

/**
 * The plan for machines: everything that is decided, without the objects it was made from.
 * `resources` is what there will be, with Refs ({"$ref", "output"}) for what is not known yet.
 */
export function planDocument(plan: Plan) {
  const { target, transaction, ...rest } = plan;
  const { number, clusterUid, direction } = transaction;
  return {
    ...rest,
    transaction: { number, clusterUid, direction },
    resources: target.nodes
      .filter(({ type }) => type === "resource")
      .map(({ kind, name, spec }) => ({ kind, name, spec })),
    waves: wavesOf(plan),
    summary: planSummary(plan),
  };
}
