import { NodeReports } from "../../engine/run/node-reports.js";
import { openWorkload } from "../../kube/open-workload.js";
import { CapstanError, isCapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { type Desired, objectsOf, stackNameOf } from "../../api/types.js";
import type { ObservationResult } from "../../drift/classify.js";
import { noMemory } from "../../drift/judge.js";
import { judgedDrift } from "../../drift/plan-with-drift.js";
import type { Engine } from "../../engine/pulumi/engine.js";
import { readExternals } from "../../engine/operations/externals.js";
import { callContext } from "../../engine/run/handler-session.js";
import { isOpen, type PriorState } from "../../records/prior-state.js";
import type { TransactionRecord } from "../../records/transaction.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { clusterDriftDocument, driftDocument } from "../../report/drift-json.js";
import { driftMarkdown } from "../../report/drift-markdown.js";
import {
  anyDrift,
  anyUnreadable,
  type DriftedCluster,
  type DriftRun,
} from "../../report/drift-report.js";
import type { DriftFormat } from "../../report/formats/format-names.js";
import { type CommandContext, type GlobalOptions, loadManifests, openRecords } from "../context.js";
import { type ManifestOptions, refuseIdleOverrides } from "../manifest-options.js";
import { clusterDriftText } from "../drift-text.js";
import { exitCodes } from "../exit.js";
import { packageVersion } from "../package.js";
import { noClustersText, nothingRecorded, recordedProvider, stacksOf } from "./stacks.js";

export interface DriftOptions extends GlobalOptions, ManifestOptions {
  readonly format?: DriftFormat;
}

/**
 * capstan drift: what the cloud shows against what is recorded, and what the watch loop would do about
 * it. Changes nothing. Exit 0: nothing, or only what is to be ignored; 2: drift; 1: a cloud could not be
 * read.
 */
export async function driftCommand(
  named: readonly string[],
  options: DriftOptions,
  context: CommandContext,
): Promise<number> {
  refuseTwoFormats(options, context);
  const engine = await openRecords(options, context);
  const wanted = wantedIn(options, context);
  const asked = named.length > 0 || wanted.size === 0;
  const others = asked ? await stacksOf(named, { file: [] }, engine, context) : [];
  const stacks = [...new Set([...others, ...wanted.keys()])];
  const { json, emit, emitDocument, terminal } = context;
  const isText = options.format === undefined || options.format === "text";
  if (stacks.length === 0 && isText && !json) {
    terminal.write(context.suggest(noClustersText(engine)));
  }
  const clusters: DriftedCluster[] = [];
  for (const stack of stacks) {
    const drifted = await driftOf(stack, wanted.get(stack), { engine, options, context });
    if (drifted === undefined) {
      terminal.error(context.suggest(`${stack} is not made yet; capstan up makes it\n`));
      continue;
    }
    if (json) emit({ type: "drift", ...clusterDriftDocument(drifted) });
    else if (isText) {
      const between = clusters.length === 0 ? "" : "\n";
      terminal.write(`${between}${clusterDriftText(drifted, terminal)}`);
    }
    clusters.push(drifted);
  }
  const run: DriftRun = { release: packageVersion(), clusters };
  if (options.format === "json") {
    emitDocument(driftDocument(run));
  }
  if (options.format === "markdown") terminal.write(driftMarkdown(run));
  if (anyUnreadable(run)) return exitCodes.failed;
  return anyDrift(run) ? exitCodes.changesPending : exitCodes.done;
}

function refuseTwoFormats({ format }: DriftOptions, { json }: CommandContext): void {
  if (!json || format === undefined) return;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `cannot report drift in two formats: --json and --format ${format}`,
    hint: "--json prints a line for each cluster, --format json one document",
  });
}

/** The policies of manifests count where they are named; those that were applied otherwise. */
function wantedIn(options: DriftOptions, context: CommandContext): Map<string, Desired> {
  refuseIdleOverrides(options, options.file);
  const clusters = options.file.length === 0 ? [] : loadManifests(options, context).clusters;
  return new Map(clusters.map((desired) => [stackNameOf(desired.cluster), desired]));
}

interface DriftMeans {
  readonly engine: Engine;
  readonly options: DriftOptions;
  readonly context: CommandContext;
}

/**
 * Nothing for a cluster of manifests that was never made: it cannot drift. Throws NOT_FOUND for any other
 * stack that nothing is recorded of, and for that one where a state is required.
 */
async function driftOf(
  stack: string,
  desired: Desired | undefined,
  { engine, options, context }: DriftMeans,
): Promise<DriftedCluster | undefined> {
  const state = await engine.readState(stack);
  const provider = recordedProvider(stack, state, context);
  const { transaction, revision } = state;
  if (provider === undefined || transaction === undefined) {
    if (desired !== undefined && options.requireState !== true) return undefined;
    throw await nothingRecorded("look for drift in", stack, engine);
  }
  const sight = await sightOf(state, transaction, provider, context);
  const judged = judgedDrift(state, sight, provider, {
    objects: desired === undefined ? transaction.target.objects : objectsOf(desired),
    memory: noMemory,
    nowMs: context.clock.now(),
    heals: {},
  });
  return omitUndefined({
    cluster: transaction.target.cluster,
    stack,
    provider: provider.name,
    judged,
    revision: revision?.number ?? 0,
    openTransaction: isOpen(state) ? transaction.number : undefined,
  });
}

async function sightOf(
  state: PriorState,
  { target, clusterUid }: TransactionRecord,
  provider: InfrastructureProvider,
  context: CommandContext,
): Promise<ObservationResult> {
  const call = callContext(context.clock, context.interruption.stop);
  try {
    const scope = { cluster: target.cluster, clusterUid };
    const looked = { provider, records: state, context: call };
    const seen = await new NodeReports(openWorkload).observe(scope, looked);
    const { externals = [] } = target;
    if (externals.length === 0) return seen;
    const { sights, unknown } = await readExternals(externals, provider, call);
    for (const error of unknown.values()) throw error;
    return { ...seen, externals: sights };
  } catch (error) {
    if (!isCapstanError(error) || error.source !== "cloud") throw error;
    return { failed: error.message };
  }
}
