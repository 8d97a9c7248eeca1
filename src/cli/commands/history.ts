import { CapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { StackWorker } from "../../engine/locks/stack-worker.js";
import type { Engine } from "../../engine/pulumi/engine.js";
import type { StackState } from "../../engine/backend/state.js";
import { compareTargets, isSame } from "../../plan/compare/compare.js";
import type { Target } from "../../records/target.js";
import { type CommandContext, type GlobalOptions, openRecords } from "../context.js";
import type { ManifestOptions } from "../manifest-options.js";
import { exitCodes } from "../exit.js";
import {
  type HistoryItem,
  type HistoryReport,
  historyReport,
  recordedMachines,
  targetOfTransaction,
} from "../history-report.js";
import { revisionDifferenceText } from "../difference-text.js";
import { historyText, transactionText } from "../history-text.js";
import { noClustersText, nothingRecorded, stacksOf, tellEnd } from "./stacks.js";

export interface HistoryOptions extends GlobalOptions, ManifestOptions {}

/** capstan history: the transactions of clusters, newest first. Changes nothing, asks no cloud. */
export async function historyCommand(
  named: readonly string[],
  options: HistoryOptions,
  context: CommandContext,
): Promise<number> {
  const engine = await openRecords(options, context);
  const stacks = await stacksOf(named, options, engine, context);
  if (stacks.length === 0 && !context.json) {
    context.terminal.write(context.suggest(noClustersText(engine)));
  }
  for (const stack of stacks) {
    const { state, worker } = await engine.readWithWorker(stack);
    if (named.length > 0 && tellEnd("history", stack, state, { engine, context })) continue;
    if (named.length > 0) await refuseUnrecorded(stack, state, engine);
    const report = reportOf(stack, { state, worker }, context);
    const { terminal, clock, suggest } = context;
    if (context.json) context.emit(historyDocument(report));
    else terminal.write(`${historyText(report, { ...terminal, suggest }, clock.now())}\n`);
  }
  return exitCodes.done;
}

/** A release without the provider that made a stack tells its history all the same. */
function reportOf(
  stack: string,
  { state, worker }: { readonly state: StackState; readonly worker: StackWorker },
  { providers }: CommandContext,
): HistoryReport {
  const name = state.transaction?.target.provider;
  const provider = providers.all.find((one) => one.name === name);
  return historyReport(stack, state, omitUndefined({ worker, provider }));
}

/** capstan history show: everything that is recorded about one transaction. */
export async function historyShowCommand(
  number: number,
  named: string | undefined,
  options: HistoryOptions,
  context: CommandContext,
): Promise<number> {
  const { state, report } = await oneHistory(named, options, context);
  const item = report.items.find((one) => one.number === number);
  if (item === undefined) throw unknownNumber("show", number, report);
  const target = targetOfTransaction(state, number);
  const machines = target === undefined ? undefined : recordedMachines(target);
  const { terminal, clock, suggest } = context;
  if (context.json) {
    const { stack, cluster } = report;
    context.emit({ type: "transaction", stack, cluster, ...itemDocument(item), machines });
  } else {
    const text = { columns: terminal.columns, nowMs: clock.now(), suggest };
    terminal.write(transactionText(report, item, machines, text));
  }
  return exitCodes.done;
}

/** capstan history diff: what leads from one revision to another. Exit 2: they differ. */
export async function historyDiffCommand(
  { from, to }: { readonly from: number; readonly to: number },
  named: string | undefined,
  options: HistoryOptions,
  context: CommandContext,
): Promise<number> {
  const { state, report } = await oneHistory(named, options, context);
  const difference = compareTargets(keptTarget(from, state, report), keptTarget(to, state, report));
  const { stack, cluster = stack } = report;
  const same = isSame(difference);
  if (context.json) {
    context.emit({ type: "revisionDiff", stack, cluster, from, to, same, ...difference });
  } else {
    context.terminal.write(
      revisionDifferenceText({ from, to, cluster }, difference, context.terminal),
    );
  }
  return same ? exitCodes.done : exitCodes.changesPending;
}

/** The one cluster that is meant. Throws BAD_USAGE when it could be several, NOT_FOUND for none. */
async function oneHistory(
  named: string | undefined,
  options: HistoryOptions,
  context: CommandContext,
): Promise<{ state: StackState; report: HistoryReport }> {
  const engine = await openRecords(options, context);
  const names = named === undefined ? [] : [named];
  const [stack, ...others] = await stacksOf(names, options, engine, context);
  if (stack === undefined) {
    throw new CapstanError({
      code: "NOT_FOUND",
      source: "user",
      message: "cannot show any history: no cluster is recorded",
      hint: "capstan init DIR writes the manifests of one",
    });
  }
  if (others.length > 0) {
    throw new CapstanError({
      code: "BAD_USAGE",
      source: "user",
      message: `which cluster? there are ${others.length + 1}`,
      hint: `name one: ${[stack, ...others].join(", ")}`,
    });
  }
  const { state, worker } = await engine.readWithWorker(stack);
  await refuseUnrecorded(stack, state, engine);
  return { state, report: reportOf(stack, { state, worker }, context) };
}

async function refuseUnrecorded(stack: string, state: StackState, engine: Engine): Promise<void> {
  if (state.transaction !== undefined) return;
  throw await nothingRecorded("show the history of", stack, engine);
}

/** What a transaction led to. Throws NOT_FOUND that says why it cannot be compared. */
function keptTarget(number: number, state: StackState, report: HistoryReport): Target {
  const target = targetOfTransaction(state, number);
  if (target !== undefined) return target;
  const item = report.items.find((one) => one.number === number);
  if (item === undefined) throw unknownNumber("compare", number, report);
  const kept = report.items
    .map((one) => one.number)
    .filter((one) => targetOfTransaction(state, one) !== undefined);
  const why =
    item.reach === "dropped"
      ? "its target is no longer kept, for want of room"
      : "it was never committed, and targets of such are not kept";
  throw new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: report.stack,
    message: `cannot compare revision ${number} of ${report.stack}: ${why}`,
    hint: `these can be compared: ${kept.toReversed().join(", ")}`,
  });
}

function unknownNumber(verb: string, number: number, report: HistoryReport): CapstanError {
  const { stack, items } = report;
  const [newest, oldest] = [items[0]?.number ?? 0, items.at(-1)?.number ?? 0];
  const why =
    number > 0 && number < oldest
      ? `history goes back to transaction ${oldest} only`
      : number > newest
        ? `the newest transaction is ${newest}`
        : "there is no transaction of that number";
  return new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: stack,
    message: `cannot ${verb} transaction ${number} of ${stack}: ${why}`,
    hint: `capstan history ${stack} lists them`,
  });
}

function historyDocument({ items, ...report }: HistoryReport) {
  return { type: "history", ...report, transactions: items.map(itemDocument) };
}

/** Times as other programs read them. */
function itemDocument({ startedAtMs, endedAtMs, ...item }: HistoryItem) {
  const iso = (ms: number) => new Date(ms).toISOString();
  return omitUndefined({
    ...item,
    startedAt: startedAtMs === undefined ? undefined : iso(startedAtMs),
    endedAt: endedAtMs === undefined ? undefined : iso(endedAtMs),
  });
}
