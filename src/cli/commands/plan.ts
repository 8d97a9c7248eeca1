import { CapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { stackNameOf } from "../../api/types.js";
import type { Plan } from "../../plan/plan.js";
import { bindingOf, digestKeyOf } from "../../plan/saved.js";
import type { DocumentFormat } from "../../report/formats/formats.js";
import type { PlanReport } from "../../report/report.js";
import { defaultTimeoutSeconds } from "../../plan/deadline.js";
import { type CommandContext, loadManifests, openEngine, warnOfTimeout } from "../context.js";
import { withNamedFiles } from "../named-files.js";
import { exitCodes } from "../exit.js";
import {
  findGoneClusters,
  type GoneCluster,
  leftBehind,
  refuseGoneClusters,
  pruneBindings,
} from "../gone-clusters.js";
import { newPlanKey } from "../plan-key.js";
import { savePlan } from "../saved-plan.js";
import { allNotes } from "../stack-settings.js";
import { manifestWords, overrideNames, overrideWords, sourcesOf } from "../manifest-options.js";
import { packageVersion } from "../package.js";
import { nothingRecorded } from "./stacks.js";
import type { PlanOptions } from "../plan-options.js";
import { surveyCluster, type Surveyed, plansIn, plansText, planLine } from "../survey-cluster.js";

/** capstan plan: what up would do. Exit 0: nothing; 2: changes pending. Changes nothing. */
export async function planCommand(given: PlanOptions, context: CommandContext): Promise<number> {
  refuseTwoFormats(given, context);
  const options = withNamedFiles(given, "plan", context);
  const manifests = loadManifests(options, context);
  warnOfTimeout(manifests, defaultTimeoutSeconds, context);
  const { engine, workspace } = await openEngine(options, context);
  const sources = sourcesOf(options, context.env);
  const noted = allNotes(workspace);
  const gone = await findGoneClusters(manifests.clusters, sources, engine, noted);
  refuseGoneClusters(gone, options);
  for (const { text } of leftBehind(manifests.clusters, sources, noted)) {
    context.terminal.error(`warning: ${text}\n`);
  }
  const format = documentFormat(options, context);
  const show = format === undefined ? context : undefined;
  for (const one of gone) if (show !== undefined) showGone(one, show);
  const surveys: Surveyed[] = [];
  const plans: Plan[] = [];
  for (const desired of manifests.clusters) {
    const found = await surveyCluster(
      { desired, manifests },
      engine,
      { ...options, verb: "plan" },
      context,
    );
    if (options.requireState === true && found.state.transaction === undefined) {
      throw await nothingRecorded("plan against", stackNameOf(desired.cluster), engine);
    }
    surveys.push(found);
    plans.push(...plansIn(found));
    if (show?.json === true) for (const plan of plansIn(found)) show.emit(planLine(plan));
    else show?.terminal.write(plansText(found, show.terminal, options));
  }
  if (format !== undefined) {
    const { planDocument } = await import("../../report/formats/plan-json.js");
    const { renderReport } = await import("../../report/formats/formats.js");
    const about = { release: packageVersion(), manifests: manifestWords(options), destroyed: gone };
    const report: PlanReport = { ...about, plans };
    if (format === "json") context.emitDocument(planDocument(report));
    else context.terminal.write(renderReport(report, format));
  }
  if (options.out !== undefined) {
    const { file: files, allowRemoval, refreshLookups } = options;
    const names = overrideNames(options);
    const overrides = names.length === 0 ? undefined : names;
    const planKey = surveys.every((found) => digestKeyOf(found.state) !== undefined)
      ? undefined
      : await newPlanKey(workspace);
    savePlan(
      options.out,
      omitUndefined({
        files,
        clusters: surveys.map((found) => bindingOf(found, planKey?.key ?? "")),
        salt: planKey?.salt,
        prune: pruneBindings(gone),
        allowRemoval,
        refreshLookups,
        overrides,
      }),
      context.secrets,
    );
    tellSaved([options.out, ...overrideWords(options)].join(" "), show, context);
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
  words: string,
  show: CommandContext | undefined,
  { json, suggest, terminal }: CommandContext,
): void {
  if (json) return;
  const text = suggest(`Saved: capstan up --plan ${words} applies this and nothing else\n`);
  // A document stays one.
  if (show === undefined) terminal.error(text);
  else terminal.write(text);
}
