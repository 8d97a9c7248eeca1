import { existsSync } from "node:fs";
import { counted } from "../../api/counted.js";
import { CapstanError } from "../../api/error.js";
import { clusterNameOf } from "../../api/types.js";
import { nearest } from "../../api/validate.js";
import { isSame, type TargetDifference } from "../../plan/compare/compare.js";
import { compareClusters } from "../../plan/compare/neutral.js";
import { isOpen } from "../../records/prior-state.js";
import type { Target } from "../../records/target.js";
import { withAlikeMachines } from "../../report/difference.js";
import { differenceMarkdown } from "../../report/difference-markdown.js";
import type { DiffFormat } from "../../report/formats/format-names.js";
import { type CommandContext, type GlobalOptions, loadManifests, openEngine } from "../context.js";
import { type OverrideOptions, refuseIdleOverrides } from "../manifest-options.js";
import { differenceText } from "../difference-text.js";
import { stacksOf } from "./stacks.js";
import { exitCodes } from "../exit.js";
import { firstTarget } from "../first-target.js";

export interface DiffOptions extends GlobalOptions, OverrideOptions {
  /** Also what has to differ between two clusters. */
  readonly all?: boolean;
  readonly ignoreAddresses?: boolean;
  readonly format: DiffFormat;
}

/** One side of a comparison. */
interface Side {
  readonly source:
    | { readonly kind: "manifests"; readonly path: string }
    | { readonly kind: "stack"; readonly stack: string; readonly revision: number };
  readonly target: Target;
}

/** Of the JSON document. */
const diffSchemaVersion = 1;

/**
 * capstan diff: what two clusters differ in, each from manifests or from what is recorded. Changes
 * nothing, asks no cloud. Exit 0: the same; 2: they differ.
 */
export async function diffCommand(
  [left, right]: readonly [string, string],
  options: DiffOptions,
  context: CommandContext,
): Promise<number> {
  refuseIdleOverrides(
    options,
    [left, right].filter((one) => existsSync(one)),
  );
  const from = await sideOf(left, options, context);
  const to = await sideOf(right, options, context);
  const difference = compareClusters(from.target, to.target, {
    all: options.all === true,
    addresses: options.ignoreAddresses !== true,
  });
  show({ from, to }, difference, options, context);
  return isSame(difference) ? exitCodes.done : exitCodes.changesPending;
}

function show(
  { from, to }: { readonly from: Side; readonly to: Side },
  difference: TargetDifference,
  { format }: DiffOptions,
  { json, emit, emitDocument, terminal }: CommandContext,
): void {
  const names = { from: nameOf(from), to: nameOf(to) };
  if (json || format === "json") {
    const document = {
      schemaVersion: diffSchemaVersion,
      kind: "ClusterDiff",
      same: isSame(difference),
      from: { ...from.source, cluster: from.target.cluster },
      to: { ...to.source, cluster: to.target.cluster },
      ...difference,
    };
    if (json) emit({ type: "diff", ...document });
    else emitDocument(document);
    return;
  }
  const short = withAlikeMachines(difference);
  if (format === "markdown") terminal.write(differenceMarkdown(names, short));
  else if (isSame(difference)) terminal.write(`${names.from} and ${names.to} are the same\n`);
  else terminal.write(differenceText(`${names.from} -> ${names.to}`, short, terminal));
}

/** "default/prod (clusters/prod)", "default/prod (recorded, revision 4)". */
function nameOf({ source, target }: Side): string {
  const where = source.kind === "manifests" ? source.path : `recorded, revision ${source.revision}`;
  return `${target.cluster} (${where})`;
}

/** A path that exists is read as manifests; anything else names a stack. */
async function sideOf(
  operand: string,
  options: DiffOptions,
  context: CommandContext,
): Promise<Side> {
  return existsSync(operand)
    ? manifestSide(operand, options, context)
    : recordedSide(operand, options, context);
}

function manifestSide(path: string, options: OverrideOptions, context: CommandContext): Side {
  const { clusters } = loadManifests({ ...options, file: [path] }, context);
  const [only, ...others] = clusters;
  if (only !== undefined && others.length === 0) {
    return { source: { kind: "manifests", path }, target: firstTarget(only, context) };
  }
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    subject: path,
    message: `cannot compare ${path}: it holds ${counted(clusters.length, "cluster")}: ${clusters.map(({ cluster }) => clusterNameOf(cluster)).join(", ")}`,
    hint: "name a file or a folder that holds one",
  });
}

async function recordedSide(
  operand: string,
  options: GlobalOptions,
  context: CommandContext,
): Promise<Side> {
  const { engine } = await openEngine(options, context);
  const [stack = operand] = await stacksOf([operand], { file: [] }, engine, context);
  const state = await engine.readState(stack);
  const { revision } = state;
  if (revision === undefined) {
    const stacks = await engine.stacks.list();
    const near = nearest(stack, stacks);
    throw new CapstanError({
      code: "NOT_FOUND",
      source: "user",
      subject: stack,
      message: `cannot compare ${stack}: there is no such path, and no revision of such a stack`,
      hint:
        near !== undefined && near !== stack
          ? `did you mean ${near}?`
          : `stacks: ${stacks.length === 0 ? "none yet" : stacks.join(", ")}`,
    });
  }
  if (isOpen(state)) {
    context.terminal.error(
      `${stack} has an unfinished transaction; compared is its revision ${revision.number}\n`,
    );
  }
  const source = { kind: "stack", stack, revision: revision.number } as const;
  return { source, target: revision.target };
}
