import { counted, wordFor } from "../../api/counted.js";
import { CapstanError, isCapstanError } from "../../api/error.js";
import { asJson, sameJson } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { providerOf } from "../../api/served-versions.js";
import { providerFor } from "../../provider/for-cluster.js";
import { stackNameOf } from "../../api/types.js";
import { refuseHeld } from "../../drift/hold.js";
import { foreseenFailure } from "../../plan/foreseen.js";
import type { DriftFilter } from "../../drift/drift-filter.js";
import type { ApplyResult } from "../../engine/operations/apply-result.js";
import { applyPlan } from "../../engine/operations/apply.js";
import { keySource } from "../../engine/operations/key-source.js";
import { comesFirst } from "../../engine/operations/survey.js";
import type { KeySource } from "../../engine/run/run-keys.js";
import type { Engine } from "../../engine/pulumi/engine.js";
import type { StackState } from "../../engine/backend/state.js";
import type { Workspace } from "../../engine/backend/workspace.js";
import type { Manifests } from "../../manifest/desired.js";
import { stageLines } from "../../plan/changes/notes.js";
import type { Plan } from "../../plan/plan.js";
import type { Binding } from "../../plan/saved.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { fileOwner } from "../../records/hand-over.js";
import { confirm } from "../confirm.js";
import {
  type CommandContext,
  loadManifests,
  openEngine,
  warnOfTimeout,
  withLockedEngine,
} from "../context.js";
import { manifestWords, overrideNames, sourcesOf } from "../manifest-options.js";
import { withNamedFiles } from "../named-files.js";
import { exitCodes } from "../exit.js";
import {
  findGoneClusters,
  keptMeanwhile,
  leftBehind,
  pruneBindings,
  refuseGoneClusters,
} from "../gone-clusters.js";
import {
  type GivenCertificates,
  readCertificates,
  refuseIdleCertificates,
  refuseOtherKeys,
  refusePartOfKeys,
} from "../given-certificates.js";
import { failureOf, followRun, type FollowUp, secondsText, wayBackNow } from "../outcome.js";
import { settleCluster } from "../settled-cluster.js";
import {
  allNotes,
  forgetManifests,
  forgetThese,
  notedManifests,
  rememberBegun,
  rememberManifests,
} from "../stack-settings.js";
import { readSavedPlan, refuseOtherOverrides, SavedPlanCheck } from "../saved-plan.js";
import { destroyStack } from "./destroy.js";
import { type ClusterOf, planLine, plansIn, plansText, surveyCluster } from "../survey-cluster.js";
import type { PlanOptions } from "../plan-options.js";
import type { MachineAnnotations } from "../../records/host-machine.js";
import { openWorkload } from "../../kube/open-workload.js";

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
  /** Folder with keys of one's own, for a cluster that has none. */
  readonly certificates?: string;
}

/** capstan up: plans, asks, applies; takes back what fails. */
export async function upCommand(given: UpOptions, context: CommandContext): Promise<number> {
  const { options: asked, check } = withSavedPlan(given);
  const options = withNamedFiles(asked, "up", context);
  const manifests = loadManifests(options, context);
  warnOfTimeout(manifests, options.timeout, context);
  const { engine, workspace } = await openEngine(options, context);
  const sources = sourcesOf(options, context.env);
  const noted = allNotes(workspace);
  const gone = await findGoneClusters(manifests.clusters, sources, engine, noted);
  refuseGoneClusters(gone, options);
  for (const { stack, text } of leftBehind(manifests.clusters, sources, noted)) {
    context.terminal.error(`warning: ${text}\n`);
    forgetThese(workspace, stack, sources);
  }
  if (check !== undefined) {
    await check.open(workspace);
    check.all(
      await bindingsOf(check, manifests, { engine, options, context }),
      pruneBindings(gone),
    );
  }
  const certificates = certificatesFor(manifests, options, context);
  for (const desired of manifests.clusters) {
    const command = `capstan up ${manifestWords(options)}`;
    const how = { command, ...omitUndefined({ check, certificates }) };
    await bringAbout({ desired, manifests }, options, context, how);
  }
  let code: number = exitCodes.done;
  // A saved plan names no leftovers: nothing is removed by it that nobody has seen.
  const leftovers =
    check === undefined ? {} : ({ leftovers: "report", leftoverData: "keep" } as const);
  for (const { stack } of gone) {
    const unless = (workspace: Workspace) =>
      keptMeanwhile(stack, sources, notedManifests(workspace, stack));
    code = Math.max(code, await destroyStack(stack, { ...options, ...leftovers, unless }, context));
  }
  return code;
}

/**
 * Plans, asks and applies until a cluster is as its objects say, in as many plans as that takes, under the lock of
 * its stack. `command` is who holds it.
 */
export async function bringAbout(
  cluster: Omit<ClusterOf, "stagesBefore">,
  options: UpOptions,
  context: CommandContext,
  { command, ...how }: { readonly command: string } & Pick<UpTools, "check" | "certificates">,
): Promise<void> {
  const stack = stackNameOf(cluster.desired.cluster);
  await withLockedEngine(
    options,
    context,
    { stack, command, owner: fileOwner },
    async (engine, workspace) => {
      const tools: Omit<UpTools, "agreed" | "isFirst"> = { engine, workspace, ...how };
      let left: number;
      let stagesBefore = 0;
      let agreed: Plan | undefined;
      let isFirst = true;
      do {
        const applied = await upCluster({ ...cluster, stagesBefore }, options, context, {
          ...tools,
          agreed,
          isFirst,
        });
        isFirst = false;
        left = applied.left;
        stagesBefore += applied.isStage ? 1 : 0;
        agreed = applied.agreed;
        // A saved plan is of one stage: nobody has seen the next.
      } while (left > 0 && how.check === undefined);
      if (left > 0 && !context.json) {
        context.terminal.write(
          `${left} more ${wordFor(left, "stage")} to come, which this saved plan is not of: plan and save again\n`,
        );
      }
    },
  );
}

/** A saved plan names its manifests, and was looked at: nobody is asked again. */
function withSavedPlan(given: UpOptions): { options: UpOptions; check?: SavedPlanCheck } {
  if (given.plan === undefined) return { options: given };
  const saved = readSavedPlan(given.plan);
  refuseOtherOverrides(given.plan, saved, overrideNames(given));
  const file = given.file.length > 0 ? given.file : saved.files;
  return {
    options: omitUndefined({
      ...given,
      allowRemoval: given.allowRemoval ?? saved.allowRemoval,
      refreshLookups: given.refreshLookups ?? saved.refreshLookups,
      file,
      yes: true,
    }),
    check: new SavedPlanCheck(given.plan, saved),
  };
}

/** Throws BAD_USAGE for several clusters: each has to have an authority of its own. */
function certificatesFor(
  { clusters }: Manifests,
  { certificates }: UpOptions,
  { clock }: CommandContext,
): GivenCertificates | undefined {
  if (certificates === undefined || clusters.length === 1) {
    return readCertificates(certificates, clock.now());
  }
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `--certificates gives one cluster its keys, and these manifests hold ${clusters.length}`,
    hint: "name the manifests of one cluster",
  });
}

/** What every cluster's plan would be made from now. */
async function bindingsOf(
  check: SavedPlanCheck,
  manifests: Manifests,
  { engine, options, context }: { engine: Engine; options: UpOptions; context: CommandContext },
): Promise<Binding[]> {
  const bindings: Binding[] = [];
  const how = { ...options, answers: check.answers };
  for (const desired of manifests.clusters) {
    const found = await surveyCluster({ desired, manifests }, engine, how, context);
    bindings.push(check.bindingOf(found));
  }
  return bindings;
}

/** What one plan of an `up` has brought about, and what comes behind it. */
interface Applied {
  /** Plans that are still to come: stages of an upgrade, or what comes behind an adoption. */
  readonly left: number;
  /** It was a stage of an upgrade. */
  readonly isStage: boolean;
  /** The next plan, as far as it was shown and agreed to with this one. */
  readonly agreed: Plan | undefined;
}

interface UpTools {
  readonly engine: Engine;
  readonly workspace: Workspace;
  readonly check?: SavedPlanCheck;
  readonly certificates?: GivenCertificates;
  /** A plan that was agreed to before. */
  readonly agreed: Plan | undefined;
  /** No plan of the same command came before. */
  readonly isFirst: boolean;
}

async function upCluster(
  cluster: ClusterOf,
  options: UpOptions,
  context: CommandContext,
  { engine, workspace, check, certificates, agreed, isFirst }: UpTools,
): Promise<Applied> {
  const { terminal, json } = context;
  const sources = sourcesOf(options, context.env);
  const deadlineMs = options.deadline * 1_000;
  const givesKeys = certificates !== undefined;
  const how = omitUndefined({
    ...options,
    deadlineMs,
    givesKeys,
    // Whatever comes behind the first plan goes on with what that one has recorded.
    refreshLookups: options.refreshLookups === true && isFirst,
    answers: check?.answers,
  });
  const found = await surveyCluster(cluster, engine, how, context);
  const { plan, then, state, driftFilter } = found;
  check?.one(check.bindingOf(found));
  if (certificates !== undefined) {
    refuseIdleCertificates(providerOf(cluster.desired.cluster, context.providers.all));
    refuseOtherKeys(state, certificates);
    refusePartOfKeys(plan, state, certificates);
  }
  const isAgreed = agreed !== undefined && isSamePlan(plan, agreed);
  if (json) for (const one of plansIn(found)) context.emit(planLine(one));
  else if (!terminal.live || plan.empty || options.yes !== true) {
    if (!isAgreed) terminal.write(plansText(found, terminal, options));
  } else if (plan.stage !== undefined) {
    terminal.write(`${stageLines(plan).join("\n")}\n\n`);
  }
  if (plan.empty) {
    await settleCluster(found, cluster, context);
    // Perhaps others than those that led here: they say the same.
    rememberManifests(workspace, plan.stack, sources);
    if (json) context.emit({ type: "result", cluster: plan.cluster, changed: false });
    return { left: 0, isStage: false, agreed: undefined };
  }
  refuseHeld(plan.cluster, plan.held);
  const foreseen = foreseenFailure(plan);
  if (foreseen !== undefined) throw foreseen;
  await confirm(`Apply this to ${plan.cluster}?`, options.yes === true || isAgreed, context);
  await engine.ensureStack(plan.stack, state);
  rememberBegun(workspace, plan.stack, sources);
  const provider = providerFor(cluster.desired.cluster, context.providers.all);
  const next = upNext(options, plan);
  const onEnd = (end: End) => {
    if (end === "nothing") forgetManifests(workspace, plan.stack);
    // What was adopted was there before, and not because of these.
    else if (plan.transaction.goal.kind === "up") {
      rememberManifests(workspace, plan.stack, sources);
    }
  };
  const keys = keySource(provider, plan.target, context.clock, certificates?.keys);
  const apply = { engine, provider, driftFilter, options, next, onEnd, ...omitUndefined({ keys }) };
  await carryOut(plan, state, apply, context);
  const left = comesFirst(plan) ? 1 : (plan.stage?.later.length ?? 0);
  return { left, isStage: plan.stage !== undefined, agreed: then };
}

/** Whether a plan does what another one has shown. */
function isSamePlan(plan: Plan, shown: Plan): boolean {
  return (
    plan.targetDigest === shown.targetDigest && sameJson(asJson(plan.steps), asJson(shown.steps))
  );
}

/** What became of the revision: there is the plan's, or none any more. */
type End = "committed" | "nothing";

/** What `carryOut` works with. */
interface ApplyContext {
  readonly engine: Engine;
  readonly provider: InfrastructureProvider;
  /** Through which the plan was made. */
  readonly driftFilter: DriftFilter;
  readonly options: Pick<UpOptions, "timeout" | "deadline" | "rollback">;
  readonly next: FollowUp;
  /** Told as soon as there is another revision than before, or none. */
  readonly onEnd?: (end: End) => void;
  /** Of verbs that may make a cluster. */
  readonly keys?: KeySource;
  /** What Machines are annotated with now, by manifests that were named beside a recorded graph; absent: what is recorded counts. */
  readonly liveAnnotations?: MachineAnnotations;
}

/** Applies a plan and tells how it went. Throws a CommandFailure that says what is left behind. */
export async function carryOut(
  plan: Plan,
  state: StackState,
  { engine, provider, driftFilter, options, next, onEnd, keys, liveAnnotations }: ApplyContext,
  context: CommandContext,
): Promise<void> {
  const { clock } = context;
  const begin = clock.now();
  const timeoutMs = options.timeout * 1_000;
  const progress = followRun(plan, context, timeoutMs);
  // The same goal may take another plan, where names turn out to be spent.
  let applied = plan;
  let result: ApplyResult;
  try {
    result = await applyPlan(plan, state, {
      engine,
      provider,
      driftFilter,
      clock,
      by: context.by,
      timeoutMs,
      deadlineMs: options.deadline * 1_000,
      keys,
      liveAnnotations,
      onFailure: options.rollback ? "rollBack" : "keep",
      openWorkload,
      stop: context.interruption.stop,
      report: (event) => {
        if (event.kind === "plannedAnew") applied = event.plan;
        const { number } = applied.transaction;
        if (event.kind === "committed" && event.revision === number) onEnd?.("committed");
        progress.on(event);
      },
      onObservation: (_, observation) => progress.observed(observation),
    });
  } catch (error) {
    if (!isCapstanError(error)) throw error;
    const wayBack = await wayBackNow(engine, provider, plan.stack, clock);
    throw failureOf({ kind: "open", failure: error }, applied, next, wayBack);
  } finally {
    progress.end();
  }
  const tookMs = clock.now() - begin;
  if (result.kind === "rolledBack" && result.to !== "revision") onEnd?.("nothing");
  if (result.kind !== "done") {
    if (context.json) context.emit(resultDocument(result, applied));
    throw failureOf(result, applied, next, await wayBackNow(engine, provider, plan.stack, clock));
  }
  done(applied, { passes: result.passes, tookMs }, next, context);
}

/** What became of a change that failed; the error itself follows. */
function resultDocument(result: Exclude<ApplyResult, { kind: "done" }>, { cluster }: Plan) {
  const about = {
    type: "result",
    cluster,
    changed: result.kind !== "rolledBack" && result.result !== "untouched",
  };
  if (result.kind === "stopped") return { ...about, outcome: result.result };
  const { number, to, inventory } = result;
  return { ...about, outcome: result.kind, number, toNothing: to !== "revision", inventory };
}

function done(
  { cluster, transaction, target, steps }: Plan,
  how: { readonly passes: number; readonly tookMs: number },
  next: FollowUp,
  { json, emit, suggest, terminal, stopwatch }: CommandContext,
): void {
  if (json) {
    emit({ type: "result", cluster, changed: true, revision: transaction.number, ...how });
    return;
  }
  if (transaction.goal.kind === "adopt") {
    terminal.write(
      `\n${terminal.colors.green("Adopted")}: ${counted(steps.length, "resource")} of ${cluster} ${wordFor(steps.length, "is", "are")} recorded as revision ${transaction.number}; nothing in the cloud was changed\n\n`,
    );
    return;
  }
  terminal.write(
    `\n${terminal.colors.green("Done")} in ${secondsText(stopwatch.elapsedMs())}: revision ${transaction.number} of ${cluster}, ${counted(target.machines.length, "machine runs", "machines run")}\nNext: ${suggest(next.look)}\n`,
  );
}

function upNext(options: UpOptions, { stack }: Plan): FollowUp {
  const { allowRemoval } = options;
  const files = manifestWords(options);
  // Standard input cannot be read again by whoever types the next command.
  const whose = options.file.includes("-") ? stack : files;
  const allowing = allowRemoval === undefined ? "" : ` --allow-removal ${allowRemoval.join(",")}`;
  return {
    look: `capstan status ${whose}`,
    again: `capstan up ${files}${allowing}`,
    takeBack: `capstan rollback ${stack}`,
    takeDown: `capstan destroy ${whose}`,
  };
}
