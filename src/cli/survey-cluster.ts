import { NodeReports } from "../engine/run/node-reports.js";
import { openWorkload } from "../kube/open-workload.js";
import { type Desired, objectsOf, stackNameOf } from "../api/types.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { providerFor } from "../provider/for-cluster.js";
import type { Lookups } from "../provider/port.js";
import type { Manifests } from "../manifest/desired.js";
import type { StackState } from "../engine/backend/state.js";
import { type Survey, survey } from "../engine/operations/survey.js";
import { holdOf, withHold } from "../drift/hold.js";
import { rulesOfHealing } from "../drift/plan-with-drift.js";
import type { StackWorker } from "../engine/locks/stack-worker.js";
import type { Engine } from "../engine/pulumi/engine.js";
import { settleLastCalls } from "../engine/run/recover.js";
import { callContext } from "../engine/run/handler-session.js";
import { defaultDeadlineMs } from "../plan/deadline.js";
import { clusterUidOf, ownerMarkOf } from "../records/cluster-uid.js";
import { fileOwner } from "../records/hand-over.js";
import { refuseBeyond } from "../plan/refusals/undo-class.js";
import type { CommandContext } from "./context.js";
import type { OwnerMove } from "../sets/moves.js";
import type { PlanOptions } from "./plan-options.js";
import type { Plan } from "../plan/plan.js";
import { planText, type Terminal } from "./terminal.js";
import { clusterDocument } from "../report/formats/plan-json.js";

/** One cluster of some manifests. */
export interface ClusterOf {
  readonly desired: Desired;
  readonly manifests: Manifests;
  /** Stages of an upgrade that this command has brought about; none without. */
  readonly stagesBefore?: number;
  /** Machines that get another owner on the way; none without. */
  readonly moves?: readonly OwnerMove[];
}

/** A plan with all that it was made from. */
export interface Surveyed extends Survey {
  readonly state: StackState;
}

/** Reads state and cloud of one cluster and plans. */
export async function surveyCluster(
  { desired, manifests, stagesBefore = 0, moves }: ClusterOf,
  engine: Engine,
  {
    adopt,
    require: worst,
    thaw,
    allowRemoval = [],
    deadlineMs = defaultDeadlineMs,
    verb,
    givesKeys,
    refreshLookups,
    answers,
  }: Pick<PlanOptions, "adopt" | "require" | "thaw" | "allowRemoval" | "refreshLookups"> & {
    /** Of a saved plan, by stack. */
    readonly answers?: ReadonlyMap<string, Lookups>;
    readonly deadlineMs?: number;
    /** A plan alone changes nothing. */
    readonly verb?: "plan";
    /** Keys come with it, for a cluster that has none recorded. */
    readonly givesKeys?: boolean;
  },
  context: CommandContext,
): Promise<Surveyed> {
  const provider = providerFor(desired.cluster, context.providers.all);
  const calls = callContext(context.clock, context.interruption.stop);
  await settleLastCalls(engine, provider, calls);
  const { state, worker } = await readFor(verb, engine, stackNameOf(desired.cluster));
  const objects = objectsOf(desired);
  const place = verb === "plan" ? "reads" : "makes";
  const ownerMark = () => ownerMarkOf(fileOwner, () => engine.stateName(place));
  const found = await survey(
    omitUndefined({
      desired,
      driftRules: rulesOfHealing(objects, context.clock.now()),
      nodeReports: new NodeReports(openWorkload),
      positionOf: (object, path) => manifests.positionOf(object, path),
      provider,
      state,
      context: calls,
      adopt: adopt === true,
      removal: { allow: allowRemoval },
      newClusterUid: () => clusterUidOf(context.newClusterUid(), ownerMark()),
      ownerMark,
      newDigestKey: () => context.newClusterUid(),
      owner: fileOwner,
      verb,
      givesKeys,
      refreshLookups,
      answers: answers?.get(stackNameOf(desired.cluster)),
      by: context.by,
      deadlineMs,
      stagesBefore,
      moves,
    }),
  );
  for (const plan of plansIn(found)) refuseBeyond(plan, worst);
  const held = holdOf(state, found.observation, { provider, objects, thaw });
  return { ...found, plan: withWorker(withHold(found.plan, held), worker), state };
}

/** A plan alone is made beside whatever command works on the stack; every other verb holds its lock. */
async function readFor(
  verb: "plan" | undefined,
  engine: Engine,
  stack: string,
): Promise<{ readonly state: StackState; readonly worker: StackWorker }> {
  if (verb === "plan") return engine.readWithWorker(stack);
  return { state: await engine.readState(stack), worker: { kind: "none" } };
}

/** A plan of a stack whose open transaction a living process works on says so. Pure. */
export function withWorker(plan: Plan, worker: StackWorker): Plan {
  if (plan.open === undefined || worker.kind !== "alive") return plan;
  return { ...plan, open: { ...plan.open, worker: worker.holder } };
}

/** The plans of a survey, in the order in which they are carried out. */
export function plansIn({ plan, then }: Pick<Survey, "plan" | "then">): Plan[] {
  return then === undefined ? [plan] : [plan, then];
}

/** All of them as people read them. */
export function plansText(
  found: Pick<Survey, "plan" | "then">,
  terminal: Terminal,
  { details = false }: Pick<PlanOptions, "details">,
): string {
  return plansIn(found)
    .map((plan) => `${planText(plan, terminal, details)}\n`)
    .join("");
}

/** The plan for machines, as every verb prints it with --json. */
export function planLine(plan: Plan) {
  return { type: "plan", ...clusterDocument(plan) };
}
