import { digestOf } from "../api/digest.js";
import type { HistoryEntry, RevisionRecord } from "./transaction.js";
import type { Target } from "./target.js";

// What was wanted and taken back since somebody last got what they wanted. Pure.

/** A transaction that was taken back. */
interface TakenBack {
  readonly number: number;
  /** What it failed with, or who asked. */
  readonly why: string;
}

/** An entry that can be told by the objects that its transaction wanted. */
export function withObjects(entry: HistoryEntry, { objects }: Pick<Target, "objects">) {
  return { ...entry, objectsDigest: digestOf(objects, 32) };
}

/**
 * The last transaction that wanted the same objects as a target and was taken back since the last change
 * that was kept; undefined for none, and for what the revision holds anyway.
 */
export function takenBackLike(
  { objects }: Pick<Target, "objects">,
  revision: RevisionRecord | undefined,
): TakenBack | undefined {
  if (revision === undefined) return undefined;
  const digest = digestOf(objects, 32);
  if (digestOf(revision.target.objects, 32) === digest) return undefined;
  const last = takenBackSince(revision.history).findLast(({ entry }) => digestIn(entry) === digest);
  return last === undefined ? undefined : { number: last.entry.number, why: last.why };
}

interface Taken {
  readonly entry: HistoryEntry;
  readonly why: string;
}

/** A change that was kept ends what came before it: whoever made it knew. */
function takenBackSince(history: readonly HistoryEntry[]): Taken[] {
  let taken: Taken[] = [];
  for (const entry of history) {
    const { ending, goal, number } = entry;
    if (ending.kind === "rolledBack") taken.push({ entry, why: ending.failure });
    else if (ending.kind === "superseded") continue;
    else if (goal?.kind === "rollback") {
      const why = `capstan rollback went to revision ${goal.to}`;
      const left = history.filter((one) => isLeftBy(one, { to: goal.to, by: number }));
      taken.push(...left.map((one) => ({ entry: one, why })));
    } else if (isChange(entry)) taken = [];
  }
  return taken;
}

/** Whether a revision is one that a rollback went back from. */
function isLeftBy(
  { number, ending }: HistoryEntry,
  rollback: { readonly to: number; readonly by: number },
): boolean {
  return ending.kind === "committed" && number > rollback.to && number < rollback.by;
}

/** Early releases told of no goals: what went forward was asked for by objects. */
function isChange({ goal, direction }: HistoryEntry): boolean {
  return goal === undefined ? direction === "forward" : goal.kind === "up";
}

function digestIn({ objectsDigest, target }: HistoryEntry): string | undefined {
  return objectsDigest ?? (target === undefined ? undefined : digestOf(target.objects, 32));
}
