import type { NodeKey } from "../graph/graph.js";
import { inNameOrder } from "../sets/name-order.js";
import type { Plan, StepUndo } from "../plan/plan.js";
import type { Step } from "../plan/step.js";
import {
  type ChangeLine,
  type ChangeNode,
  changeTree,
  isUnchanged,
  verbOf,
} from "../plan/changes/tree.js";
import { undoNames } from "../plan/undo/undo-text.js";
import {
  entryDetail,
  entryLabel,
  firstLine,
  groupAlike,
  nameRanges,
  rangesText,
  withThousands,
} from "./alike.js";
import { alikeWaves, type WaveRun } from "./wave-runs.js";

/** One line of a list of changes, in columns. */
export interface Row {
  /** As in a diff: "!" is what is neither only added nor only removed, "@@" a headline. */
  readonly sign: "+" | "-" | "!" | " " | "@@";
  readonly indent: number;
  readonly label: string;
  readonly verb: string;
  readonly detail: string;
  /** How many changes it stands for; 0 for a headline. */
  readonly size: number;
}

const signs = {
  create: "+",
  adopt: "!",
  import: "!",
  move: "!",
  forget: "-",
  delete: "-",
  update: "!",
  replace: "!",
  same: " ",
  external: " ",
} as const;

/** The lines of the plan's tree that change something, those alike in one row; under their groups. Pure. */
export function changedRows(plan: Plan): Row[] {
  return treeRows(changeTree(plan), (line) => !isUnchanged(line));
}

/** The lines that stay as they are. Pure. */
export function unchangedRows(plan: Plan): Row[] {
  return treeRows(changeTree(plan), isUnchanged);
}

function treeRows(
  { children }: ChangeNode,
  isWanted: (line: ChangeLine) => boolean,
  indent = 0,
): Row[] {
  const leaves = children.filter(({ line }) => line.kind !== "group" && isWanted(line));
  const own = groupAlike(leaves.map(({ line }) => line)).map((entry): Row => {
    const { kind } = firstLine(entry);
    return {
      sign: kind === "group" ? " " : signs[kind],
      indent,
      label: entryLabel(entry),
      verb: verbOf(kind).replace(/^\S /, ""),
      detail: entryDetail(entry),
      size: entry.kind === "single" ? 1 : entry.lines.length,
    };
  });
  const groups = children
    .filter(({ line }) => line.kind === "group")
    .flatMap((group): Row[] => {
      const inside = treeRows(group, isWanted, indent + 1);
      if (inside.length === 0) return [];
      return [headline(`${group.line.label} ${group.line.detail}`.trimEnd(), indent), ...inside];
    });
  return [...own, ...groups];
}

function headline(label: string, indent = 0, sign: Row["sign"] = " "): Row {
  return { sign, indent, label, verb: "", detail: "", size: 0 };
}

/** Each wave, those that follow each other and are alike in one, with what changes in it. Pure. */
export function waveRows(plan: Plan): Row[] {
  const steps = new Map(plan.steps.map((step) => [step.key, step]));
  const machines = machinesByHost(plan);
  const kindOf = (key: NodeKey): Step["kind"] => steps.get(key)?.kind ?? "update";
  return alikeWaves(plan.waves, kindOf).flatMap((run) => [
    headline(`${waveTitle(run)}: ${run.reason} @@`, 0, "@@"),
    ...stepKinds.flatMap((kind) => {
      const keys = run.keys.filter((key) => kindOf(key) === kind);
      const detail = eachTime(keys.length, run);
      return keyRows(keys, kind, machines).map((row) => ({ ...row, detail }));
    }),
  ]);
}

/** In the order in which they are told. */
export const stepKinds = ["create", "update", "delete"] as const;

/** "Wave 1", "Waves 5 to 502, by turns". Pure. */
export function waveTitle({ first, last, times }: WaveRun): string {
  if (first === last) return `Wave ${withThousands(first)}`;
  const how = last - first + 1 === times ? "alike" : "by turns";
  return `Waves ${withThousands(first)} to ${withThousands(last)}, ${how}`;
}

/** How many of them a wave changes, where several do the same: "3 each time". Pure. */
export function eachTime(all: number, { times }: WaveRun): string {
  return times === 1 || all === 0 ? "" : `${withThousands(all / times)} each time`;
}

/** Resources that have the same done to them: few by their names, many hosts by their machines. */
function keyRows(
  keys: readonly NodeKey[],
  kind: Step["kind"],
  machines: ReadonlyMap<NodeKey, string>,
): Row[] {
  const row = (label: string, size: number): Row => ({
    sign: signs[kind],
    indent: 0,
    label,
    verb: verbOf(kind).replace(/^\S /, ""),
    detail: "",
    size,
  });
  const names = keys.flatMap((key) => machines.get(key) ?? []);
  if (names.length < fewHosts) return keys.map((key) => row(key, 1));
  const others = keys.filter((key) => !machines.has(key));
  const text = rangesText(nameRanges(names.sort(inNameOrder)));
  return [
    ...others.map((key) => row(key, 1)),
    row(`${withThousands(names.length)} hosts of ${text}`, names.length),
  ];
}

const fewHosts = 4;

/** Whose host each is, or was. */
function machinesByHost({ target, leaving }: Plan): Map<NodeKey, string> {
  return new Map([
    ...leaving.map(({ host, machine }) => [host, machine] as const),
    ...target.machines.map(({ host, name }) => [host, name] as const),
  ]);
}

/** Steps that cannot be taken back exactly, those with the same reason in one row. Pure. */
export function undoRows(plan: Plan): Row[] {
  const machines = machinesByHost(plan);
  return lossyUndo(plan).flatMap(({ class: found, reason, step, keys }) => [
    headline(`${undoNames[found]}: ${reason} @@`, 0, "@@"),
    ...keyRows(keys, step, machines),
  ]);
}

/** Steps of one kind that can be taken back in one way, for one reason. */
interface LossyUndo extends Omit<StepUndo, "key"> {
  readonly keys: readonly NodeKey[];
}

/** All steps that cannot be taken back exactly. Pure. */
export function lossyUndo({ undo }: Plan): LossyUndo[] {
  const groups = new Map<string, LossyUndo & { readonly keys: NodeKey[] }>();
  for (const { key, ...rest } of undo) {
    if (rest.class === "reversible") continue;
    const name = JSON.stringify([rest.class, rest.step, rest.reason]);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, { ...rest, keys: [key] });
    else group.keys.push(key);
  }
  return [...groups.values()];
}

/** A row with its columns aligned. */
export function rowText({ sign, indent, label, verb, detail }: Row, width: number): string {
  const head = `${sign} ${"  ".repeat(indent)}${label}`;
  if (verb === "") return head;
  return `${head.padEnd(width + 2)}  ${verb.padEnd(verbWidth)}  ${detail}`.trimEnd();
}

const verbWidth = "unchanged".length;
