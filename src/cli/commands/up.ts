import { isCapstanError } from "../../api/error.js";
import { stackNameOf } from "../../api/types.js";
import type { Lens } from "../../drift/lens.js";
import { type ApplyResult, applyPlan } from "../../engine/apply.js";
import { noteCluster } from "../../engine/cluster-registry.js";
import type { Engine } from "../../engine/engine.js";
import type { StackState } from "../../engine/state.js";
import type { Workspace } from "../../engine/workspace.js";
import type { Manifests } from "../../manifest/desired.js";
import { stageLines } from "../../plan/notes.js";
import type { Plan } from "../../plan/plan.js";
import { type Binding, bindingOf } from "../../plan/saved.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { confirm } from "../confirm.js";
import {
  type CommandContext,
  loadManifests,
  openEngine,
  providerOf,
  withLockedEngine,
} from "../context.js";
import { exitCodes } from "../exit.js";
import { findGoneClusters, refuseGoneClusters, stacksIn } from "../gone-clusters.js";
import { failureOf, followRun, type FollowUp, secondsText } from "../outcome.js";
import { rememberManifests } from "../stack-settings.js";
import { readSavedPlan, SavedPlanCheck } from "../saved-plan.js";
import { planText } from "../terminal.js";
import { destroyStack } from "./destroy.js";
import { type ClusterOf, planLine, type PlanOptions, surveyCluster } from "./plan.js";

export interface UpOptions extends PlanOptions {
  readonly yes?: boolean;
  /** A saved plan: nothing else is applied. */
  readonly plan?: string;
  /** Seconds that hosts may take to become ready. */
  readonly timeout: number;
  /** Seconds that the whole change may take. */
  readonly deadline: number;
  /** False: what exists is kept when something fails. */
  readonly rollback: boolean;
}

/** capstan up: plans, asks, applies; takes back what fails. */
export async function upCommand(given: UpOptions, context: CommandContext): Promise<number> {
  const { options, check } = withSavedPlan(given);
  const manifests = loadManifests(options.file, context);
  const { engine, workspace } = await openEngine(options, context);
  const gone = await findGoneClusters(manifests.clusters, options.file, engine, workspace);
  refuseGoneClusters(gone, options);
  if (check !== undefined) {
    check.all(await bindingsOf(manifests, engine, options, context), stacksIn(gone));
  }
  for (const desired of manifests.clusters) {
    const stack = stackNameOf(desired.cluster);
    const command = `capstan up ${filesText(options.file)}`;
    await withLockedEngine(options, context, { stack, command }, async (locked, prepared) => {
      const tools = { engine: locked, workspace: prepared, ...(check !== undefined && { check }) };
      let left: number;
      let stagesBefore = 0;
      do {
        left = await upCluster({ desired, manifests, stagesBefore }, options, context, tools);
        stagesBefore += 1;
        // A saved plan is of one stage: nobody has seen the next.
      } while (left > 0 && check === undefined);
      if (left > 0 && !context.json) {
        context.terminal.write(
          `${left} more ${left === 1 ? "stage" : "stages"} to come, which this saved plan is not of: plan and save again\n`,
        );
      }
    });
  }
  let code: number = exitCodes.done;
  for (const { stack } of gone) code = Math.max(code, await destroyStack(stack, options, context));
  return code;
}

/** A saved plan names its manifests, and was looked at: nobody is asked again. */
function withSavedPlan(given: UpOptions): { options: UpOptions; check?: SavedPlanCheck } {
  if (given.plan === undefined) return { options: given };
  const saved = readSavedPlan(given.plan);
  const file = given.file.length > 0 ? given.file : saved.files;
  return {
    options: {
      ...(saved.allowRemoval && { allowRemoval: saved.allowRemoval }),
      ...given,
      file,
      yes: true,
    },
    check: new SavedPlanCheck(given.plan, saved),
  };
}

/** What every cluster's plan would be made from now. */
async function bindingsOf(
  manifests: Manifests,
  engine: Engine,
  options: UpOptions,
  context: CommandContext,
): Promise<Binding[]> {
  const bindings: Binding[] = [];
  for (const desired of manifests.clusters) {
    bindings.push(bindingOf(await surveyCluster({ desired, manifests }, engine, options, context)));
  }
  return bindings;
}

/** Returns how many stages of an upgrade are still to come. */
async function upCluster(
  cluster: ClusterOf,
  options: UpOptions,
  context: CommandContext,
  { engine, workspace, check }: { engine: Engine; workspace: Workspace; check?: SavedPlanCheck },
): Promise<number> {
  const { terminal, json } = context;
  const deadlineMs = options.deadline * 1_000;
  const found = await surveyCluster(cluster, engine, { ...options, deadlineMs }, context);
  const { plan, state, lens } = found;
  check?.one(bindingOf(found));
  if (json) context.emit(planLine(plan));
  else if (!terminal.live || plan.empty || options.yes !== true) {
    terminal.write(`${planText(plan, terminal)}\n`);
  } else if (plan.stage !== undefined) {
    terminal.write(`${stageLines(plan).join("\n")}\n\n`);
  }
  if (plan.empty) {
    if (json) context.emit({ type: "result", cluster: plan.cluster, changed: false });
    return 0;
  }
  await confirm(`Apply this to ${plan.cluster}?`, options.yes === true, context);
  await engine.ensureStack(plan.stack, state);
  rememberManifests(workspace, plan.stack, options.file);
  const provider = providerOf(cluster.desired, context);
  noteCluster(context.stateDir, {
    ...{ clusterUid: plan.transaction.clusterUid, cluster: plan.cluster, stack: plan.stack },
    ...{ provider: provider.name, backend: workspace.backendKey, notedAtMs: context.clock.now() },
  });
  const next = upNext(options, plan);
  await carryOut(plan, state, { engine, provider, lens, options, next }, context);
  return plan.stage?.later.length ?? 0;
}

/** What `carryOut` works with. */
export interface Means {
  readonly engine: Engine;
  readonly provider: InfrastructureProvider;
  /** Through which the plan was made. */
  readonly lens: Lens;
  readonly options: Pick<UpOptions, "timeout" | "deadline" | "rollback">;
  readonly next: FollowUp;
}

/** Applies a plan and tells how it went. Throws a CommandFailure that says what is left behind. */
export async function carryOut(
  plan: Plan,
  state: StackState,
  { engine, provider, lens, options, next }: Means,
  context: CommandContext,
): Promise<void> {
  const { clock } = context;
  const begin = clock.now();
  const progress = followRun(plan, context);
  let result: ApplyResult;
  try {
    result = await applyPlan(plan, state, {
      ...{ engine, provider, lens, clock, by: context.by },
      timeoutMs: options.timeout * 1_000,
      deadlineMs: options.deadline * 1_000,
      onFailure: options.rollback ? "rollBack" : "keep",
      stop: context.interruption.stop,
      report: (event) => progress.on(event),
    });
  } catch (error) {
    throw isCapstanError(error) ? failureOf({ kind: "open", failure: error }, plan, next) : error;
  } finally {
    progress.end();
  }
  const tookMs = clock.now() - begin;
  if (result.kind !== "done") {
    if (context.json) context.emit(resultDocument(result, plan));
    throw failureOf(result, plan, next);
  }
  done(plan, { passes: result.passes, tookMs }, next, context);
}

/** What became of a change that failed; the error itself follows. */
function resultDocument(result: Exclude<ApplyResult, { kind: "done" }>, { cluster }: Plan) {
  const about = {
    type: "result",
    cluster,
    changed: result.kind !== "rolledBack" && result.result !== "untouched",
  };
  if (result.kind === "stopped") return { ...about, outcome: result.result };
  const { number, toNothing, inventory } = result;
  return { ...about, outcome: result.kind, number, toNothing, inventory };
}

function done(
  { cluster, transaction, target }: Plan,
  how: { readonly passes: number; readonly tookMs: number },
  next: FollowUp,
  { json, emit, suggest, terminal }: CommandContext,
): void {
  if (json) {
    emit({ type: "result", cluster, changed: true, revision: transaction.number, ...how });
    return;
  }
  terminal.write(
    `\n${terminal.colors.green("Done")} in ${secondsText(how.tookMs)}: revision ${transaction.number} of ${cluster}, ${target.machines.length} machines run\nNext: ${suggest(next.look)}\n`,
  );
}

function upNext({ file, allowRemoval }: UpOptions, { stack }: Plan): FollowUp {
  const files = filesText(file);
  const allowing = allowRemoval === undefined ? "" : ` --allow-removal ${allowRemoval.join(",")}`;
  return {
    look: `capstan status ${files}`,
    again: `capstan up ${files}${allowing}`,
    takeBack: `capstan rollback ${stack}`,
    takeDown: `capstan destroy ${files}`,
  };
}

function filesText(files: readonly string[]): string {
  return files.map((file) => `-f ${file}`).join(" ");
}
