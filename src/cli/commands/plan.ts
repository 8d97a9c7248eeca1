import { CapstanError } from "../../api/error.js";
import type { Removal } from "../../api/protection.js";
import { type Desired, objectsOf, stackNameOf } from "../../api/types.js";
import { holdOf, withHold } from "../../drift/hold.js";
import { ignoringByPolicy } from "../../drift/drift-filter-factory.js";
import type { Engine } from "../../engine/engine.js";
import { settleLastCalls } from "../../engine/recover.js";
import { callContext } from "../../engine/session.js";
import type { StackState } from "../../engine/state.js";
import { type Survey, survey } from "../../engine/survey.js";
import { defaultDeadlineMs } from "../../plan/deadline.js";
import { fileOwner } from "../../records/hand-over.js";
import type { Plan, UndoClass } from "../../plan/plan.js";
import { type Binding, bindingOf } from "../../plan/saved.js";
import { refuseBeyond } from "../../plan/undo/undo-text.js";
import { wavesOf } from "../../plan/waves/list-waves.js";
import type { Manifests } from "../../manifest/desired.js";
import type { PlanFormat } from "../../report/format-names.js";
import type { DocumentFormat } from "../../report/formats.js";
import { clusterDocument } from "../../report/plan-json.js";
import type { PlannedCluster, PlanReport } from "../../report/report.js";
import {
  type CommandContext,
  type GlobalOptions,
  loadManifests,
  openEngine,
  providerOf,
} from "../context.js";
import { exitCodes } from "../exit.js";
import {
  findGoneClusters,
  type GoneCluster,
  leftBehind,
  refuseGoneClusters,
  stacksIn,
} from "../gone-clusters.js";
import { savePlan } from "../saved-plan.js";
import { planText, type Terminal } from "../terminal.js";
import { packageVersion } from "../version.js";

export interface PlanOptions extends GlobalOptions {
  readonly file: readonly string[];
  readonly adopt?: boolean;
  /** Delete clusters that the manifests no longer hold. */
  readonly prune?: boolean;
  /** Where to save the plan. */
  readonly out?: string;
  readonly format?: PlanFormat;
  /** The worst class of step that is allowed. */
  readonly require?: UndoClass;
  /** The fingerprint of an implausible answer of the cloud that is true. */
  readonly thaw?: string;
  /** What may be lost that a cluster cannot lose by accident. */
  readonly allowRemoval?: readonly Removal[];
}

/** capstan plan: what up would do. Exit 0: nothing; 2: changes pending. Changes nothing. */
export async function planCommand(options: PlanOptions, context: CommandContext): Promise<number> {
  refuseTwoFormats(options, context);
  const manifests = loadManifests(options.file, context);
  const { engine, workspace } = await openEngine(options, context);
  const gone = await findGoneClusters(manifests.clusters, options.file, engine, workspace);
  refuseGoneClusters(gone, options);
  for (const left of leftBehind(manifests.clusters, options.file, workspace.readSources())) {
    context.terminal.error(`warning: ${left}\n`);
  }
  const format = documentFormat(options, context);
  const show = format === undefined ? context : undefined;
  for (const one of gone) if (show !== undefined) showGone(one, show);
  const bindings: Binding[] = [];
  const plans: Plan[] = [];
  for (const desired of manifests.clusters) {
    const found = await surveyCluster({ desired, manifests }, engine, options, context);
    bindings.push(bindingOf(found));
    plans.push(...plansIn(found));
    if (show?.json === true) for (const plan of plansIn(found)) show.emit(planLine(plan));
    else show?.terminal.write(plansText(found, show.terminal));
  }
  if (format !== undefined) {
    const { renderReport } = await import("../../report/formats.js");
    const about = { release: packageVersion(), files: options.file, destroyed: gone };
    const report: PlanReport = { ...about, clusters: plans.map(planned) };
    context.terminal.write(renderReport(report, format));
  }
  if (options.out !== undefined) {
    const { file: files, allowRemoval } = options;
    savePlan(options.out, {
      files,
      clusters: bindings,
      prune: stacksIn(gone),
      ...(allowRemoval !== undefined && { allowRemoval }),
    });
    tellSaved(options.out, show, context);
  }
  const isPending = gone.length > 0 || plans.some(({ empty }) => !empty);
  return isPending ? exitCodes.changesPending : exitCodes.done;
}

function refuseTwoFormats({ format }: PlanOptions, { json }: CommandContext): void {
  if (!json || format === undefined) return;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `cannot plan in two formats: --json and --format ${format}`,
    hint: "--json prints a line for each cluster, --format json one document",
  });
}

/** Text and JSON lines come cluster by cluster: undefined. Every other format is one document. */
function documentFormat(
  { format = "text" }: PlanOptions,
  { json }: CommandContext,
): DocumentFormat | undefined {
  return json || format === "text" ? undefined : format;
}

function showGone({ stack, cluster }: GoneCluster, { json, emit, terminal }: CommandContext): void {
  if (json) emit({ type: "prune", stack, cluster });
  else terminal.write(`Cluster ${cluster} is to be destroyed (--prune)\n\n`);
}

function tellSaved(
  file: string,
  show: CommandContext | undefined,
  { json, suggest, terminal }: CommandContext,
): void {
  if (json) return;
  const text = suggest(`Saved: capstan up --plan ${file} applies this and nothing else\n`);
  // A document stays one.
  if (show === undefined) terminal.error(text);
  else terminal.write(text);
}

/** One cluster of some manifests. */
export interface ClusterOf {
  readonly desired: Desired;
  readonly manifests: Manifests;
  /** Stages of an upgrade that this command has brought about; none without. */
  readonly stagesBefore?: number;
}

/** A plan with all that it was made from. */
export interface Surveyed extends Survey {
  readonly state: StackState;
}

/** Reads state and cloud of one cluster and plans. */
export async function surveyCluster(
  { desired, manifests, stagesBefore = 0 }: ClusterOf,
  engine: Engine,
  {
    adopt,
    require: worst,
    thaw,
    allowRemoval = [],
    deadlineMs = defaultDeadlineMs,
  }: Pick<PlanOptions, "adopt" | "require" | "thaw" | "allowRemoval"> & {
    readonly deadlineMs?: number;
  },
  context: CommandContext,
): Promise<Surveyed> {
  const provider = providerOf(desired, context);
  const calls = callContext(context.clock, context.interruption.stop);
  await settleLastCalls(engine, provider, calls);
  const state = await engine.readState(stackNameOf(desired.cluster));
  const objects = objectsOf(desired);
  const found = await survey({
    desired,
    filterFactory: ignoringByPolicy(provider, objects),
    positionOf: (object, path) => manifests.positionOf(object, path),
    provider,
    state,
    context: calls,
    adopt: adopt === true,
    removal: { allow: allowRemoval },
    newClusterUid: () => context.newClusterUid(),
    newDigestKey: () => context.newClusterUid(),
    owner: fileOwner,
    by: context.by,
    deadlineMs,
    stagesBefore,
  });
  for (const plan of plansIn(found)) refuseBeyond(plan, worst);
  const held = holdOf(state, found.observation, { provider, objects, thaw });
  return { ...found, plan: withHold(found.plan, held), state };
}

/** The plans of a survey, in the order in which they are carried out. */
export function plansIn({ plan, then }: Pick<Survey, "plan" | "then">): Plan[] {
  return then === undefined ? [plan] : [plan, then];
}

/** All of them as people read them. */
export function plansText(found: Pick<Survey, "plan" | "then">, terminal: Terminal): string {
  return plansIn(found)
    .map((plan) => `${planText(plan, terminal)}\n`)
    .join("");
}

/** The plan for machines, as every verb prints it with --json. */
export function planLine(plan: Plan) {
  return { type: "plan", ...clusterDocument(planned(plan)) };
}

/** The waves that an undisturbed apply takes are decided by the planner, not by rendering. */
function planned(plan: Plan): PlannedCluster {
  return { plan, waves: wavesOf(plan) };
}
