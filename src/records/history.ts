import { asJson, canonicalJson, type Json, sameJson } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { type Ref, resolveRefs } from "../graph/graph.js";
import type {
  ChangeSummary,
  Ending,
  TransactionGoal,
  HistoryEntry,
  RevisionRecord,
  TransactionRecord,
} from "./transaction.js";
import { stageOf } from "./recorded-keys.js";
import { machineOfKey, type Target } from "./target.js";

/** Entries that a revision keeps, and the JSON characters that their targets may take together. */
export const maxEntries = 100;
export const maxTargetCharacters = 1_000_000;
/** Characters of what an entry says that it failed with. */
const maxFailureCharacters = 2_000;
/** Lines of one summary; a cluster of a thousand machines still has a short history. */
export const maxSummaryLines = 40;

/** A transaction as history tells it. */
export function entryOf(
  transaction: Pick<
    TransactionRecord,
    "number" | "direction" | "by" | "startedAtMs" | "summary"
  > & {
    readonly goal?: TransactionGoal;
  },
  endedAtMs: number,
  ending: Ending,
): HistoryEntry {
  const { number, direction, goal, by, startedAtMs, summary } = transaction;
  return omitUndefined({
    number,
    direction,
    by,
    startedAtMs,
    endedAtMs,
    summary,
    ending: bounded(ending),
    goal,
  });
}

function bounded(ending: Ending): Ending {
  if (ending.kind === "committed" || ending.failure.length <= maxFailureCharacters) return ending;
  return { ...ending, failure: `${ending.failure.slice(0, maxFailureCharacters)}...` };
}

/**
 * What a revision keeps of the past: what it kept before, then what has ended since. The target that
 * it supersedes is put into its entry, so that a rollback can go there; the oldest targets are dropped
 * beyond the bound on characters, but never the newest, and the oldest entries beyond the bound on
 * entries. Pure.
 */
export function historyWith(
  prior: RevisionRecord | undefined,
  ended: readonly HistoryEntry[],
): HistoryEntry[] {
  const known = (prior === undefined ? [] : withPresent(prior)).map((entry) =>
    entry.number === prior?.number ? { ...entry, target: prior.target } : entry,
  );
  return withoutOldTargets([...known, ...ended].slice(-maxEntries));
}

/** A revision that a release without history wrote has no entry of its own. */
function withPresent({ number, history }: RevisionRecord): readonly HistoryEntry[] {
  if (history.some((entry) => entry.number === number)) return history;
  const summary = { create: 0, update: 0, delete: 0, lines: [] };
  const transaction = {
    number,
    direction: "forward",
    by: "unknown",
    startedAtMs: 0,
    summary,
  } as const;
  return [...history, entryOf(transaction, 0, { kind: "committed" })];
}

function withoutOldTargets(entries: readonly HistoryEntry[]): HistoryEntry[] {
  let left = maxTargetCharacters;
  let newest = true;
  return entries
    .toReversed()
    .map((entry) => {
      if (entry.target === undefined) return entry;
      left -= canonicalJson(entry.target).length;
      const { target: _dropped, ...rest } = entry;
      const kept = newest || left >= 0 ? entry : rest;
      newest = false;
      return kept;
    })
    .toReversed();
}

/** Whether a revision is what an adoption found: rollbacks to it may have come after, and no other commit. Pure. */
export function isAsAdopted({ history }: Pick<RevisionRecord, "history">): boolean {
  const last = history.findLast(
    ({ direction, ending }) => direction === "forward" && ending.kind === "committed",
  );
  return last?.goal?.kind === "adopt";
}

/** The recorded target of a revision; undefined when it is unknown or was dropped. Pure. */
export function targetOfRevision(
  revision: RevisionRecord | undefined,
  number: number,
): Target | undefined {
  if (revision?.number === number) return revision.target;
  return revision?.history.find((entry) => entry.number === number)?.target;
}

/**
 * The last committed revision that wanted something else than the present one: other objects, or other owners or
 * fewer machines for the same, as a move or a machine that was let go leaves them, or other inputs of what the
 * machines share, as another release compiles them, or other keys, or other answers to what is looked up. Undefined without one that is kept. A revision that took a failed change back wants the same as the one before it, though perhaps on other
 * hosts. Pure.
 */
export function previousRevision(revision: RevisionRecord | undefined): number | undefined {
  return revision?.history.findLast(
    ({ number, target }) =>
      number !== revision.number && target !== undefined && wantsOther(target, revision.target),
  )?.number;
}

function wantsOther(one: Target, other: Target): boolean {
  if (!sameJson(one.objects, other.objects)) return true;
  if (one.machines.length !== other.machines.length) return true;
  if (stageOf(one) !== stageOf(other)) return true;
  if (!sameJson(sharedInputs(one), sharedInputs(other))) return true;
  if (!sameJson(factsOf(one), factsOf(other))) return true;
  const owners = new Map(other.machines.map(({ name, owner }) => [name, owner]));
  return one.machines.some(
    ({ name, owner }) => owners.has(name) && !sameJson(owner ?? null, owners.get(name) ?? null),
  );
}

/** What is taken from the cloud as it was when somebody asked. */
function factsOf({ lookups = {}, externals = [] }: Target): Json {
  return asJson({ lookups, externals });
}

/** What machines share, by kind and inputs: a new one in the place of another has its inputs, and another name. */
function sharedInputs({ nodes }: Target): string[] {
  return nodes
    .filter(
      ({ type, parent }) =>
        type === "resource" && (parent === undefined || machineOfKey(parent) === undefined),
    )
    .map(({ kind, spec }) => canonicalJson([kind, resolveRefs(spec, withoutName)]))
    .sort();
}

function withoutName({ $ref, output }: Ref): Json {
  return [$ref.split("/")[0] ?? "", output];
}

/** Lines with what they leave out counted. Pure. */
export function boundedLines(lines: readonly string[]): ChangeSummary["lines"] {
  if (lines.length <= maxSummaryLines) return lines;
  const shown = lines.slice(0, maxSummaryLines - 1);
  return [...shown, `... and ${lines.length - shown.length} more`];
}
