import { stringify } from "yaml";
import { CapstanError } from "../../api/error.js";
import type { JsonObject } from "../../api/json.js";
import { nearest } from "../../api/validate.js";
import type { StackState } from "../../engine/backend/state.js";
import type { NodeKey } from "../../graph/graph.js";
import { versionsText } from "../../plan/changes/tree.js";
import { type CommandContext, type GlobalOptions, openRecords } from "../context.js";
import { exitCodes } from "../exit.js";
import type { OverrideOptions } from "../manifest-options.js";
import {
  ownerOfItem,
  type StateItem,
  type StateItemDetails,
  stateItemDetails,
  stateItems,
} from "../state-report.js";
import { facts, table } from "../table.js";
import { noClustersText, nothingRecorded, stacksOf } from "./stacks.js";

export interface StateOptions extends GlobalOptions, OverrideOptions {
  readonly file: readonly string[];
}

/** capstan state list: every resource and Machine that is recorded. Changes nothing, asks no cloud. */
export async function stateListCommand(
  named: readonly string[],
  options: StateOptions,
  context: CommandContext,
): Promise<number> {
  const { json, emit, terminal, suggest } = context;
  const engine = await openRecords(options, context);
  const stacks = await stacksOf(named, options, engine, context);
  if (stacks.length === 0 && !json) {
    terminal.write(suggest(noClustersText(engine)));
  }
  for (const stack of stacks) {
    const state = await engine.readState(stack);
    if (state.transaction === undefined && named.length > 0) {
      throw await nothingRecorded("list the state of", stack, engine);
    }
    const items = stateItems(state);
    if (json) emit({ type: "state", stack, cluster: clusterOf(state), items });
    else terminal.write(`${listText(stack, state, items, terminal.columns)}\n`);
  }
  return exitCodes.done;
}

/** capstan state show: everything that is recorded of one of them. Changes nothing, asks no cloud. */
export async function stateShowCommand(
  stackName: string,
  word: string,
  options: GlobalOptions,
  context: CommandContext,
): Promise<number> {
  const engine = await openRecords(options, context);
  const [stack = stackName] = await stacksOf([stackName], { file: [] }, engine, context);
  const state = await engine.readState(stack);
  if (state.transaction === undefined) {
    throw await nothingRecorded("show the state of", stack, engine);
  }
  const key = recordedKey(word, state, "show");
  const details = stateItemDetails(key, state);
  if (details === undefined) throw new Error(`${key} is listed`);
  const { json, emit, terminal } = context;
  if (json) emit({ type: "stateItem", stack, cluster: clusterOf(state), ...details });
  else terminal.write(detailsText(clusterOf(state) ?? stack, details));
  return exitCodes.done;
}

/** What a person calls "localhost/web-0-a830c4ef-1". Throws NOT_FOUND with what was meant. */
export function recordedKey(word: string, state: StackState, verb: string): NodeKey {
  const keys = stateItems(state).map(({ key }) => key);
  const found = keys.find((key) => key.toLowerCase() === word.toLowerCase());
  if (found !== undefined) return found;
  const near = nearest(word, keys);
  throw new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: word,
    message: `cannot ${verb} ${word}: ${clusterOf(state) ?? "the cluster"} has no record of that name`,
    hint: near === undefined ? "capstan state list names the records" : `did you mean ${near}?`,
  });
}

function clusterOf({ transaction }: StackState): string | undefined {
  return transaction?.target.cluster;
}

function listText(
  stack: string,
  state: StackState,
  items: readonly StateItem[],
  columns: number,
): string {
  if (state.transaction === undefined) return `Cluster ${stack}: nothing is recorded\n`;
  const head = `Cluster ${clusterOf(state) ?? stack}   revision ${state.revision?.number ?? 0}`;
  const rows = items.map((item) => [
    item.key,
    item.id ?? "",
    item.phase,
    item.machine === undefined ? "" : `Machine ${item.machine}`,
    ownerOfItem(item),
  ]);
  return `${head}\n\n${table(["RECORD", "ID", "PHASE", "OF", "SET"], rows, columns)}`;
}

function detailsText(cluster: string, details: StateItemDetails): string {
  const { key, id, phase, machine, undo, urn, identity, inputs, outputs, versions } = details;
  return [
    ...facts("", [
      ["Record", key],
      ["Cluster", cluster],
      ["Id", id ?? ""],
      ["Phase", phase],
      ["Machine", machine ?? ""],
      ["Set", ownerOfItem(details)],
      ["Versions", versions === undefined ? "" : versionsText(versions)],
      ["Hosts", (details.hosts ?? []).join(", ")],
      ["Undo", undo ?? ""],
      ["Needs", (details.dependsOn ?? []).join(", ")],
      ["URN", urn ?? ""],
    ]),
    ...block("Identity", identity),
    ...block("Inputs", inputs),
    ...block("Outputs", outputs),
    "",
  ].join("\n");
}

function block(title: string, value: JsonObject | undefined): string[] {
  if (value === undefined || Object.keys(value).length === 0) return [];
  const lines = stringify(value).trimEnd().split("\n");
  return [`${title}:`, ...lines.map((line) => `  ${line}`)];
}
