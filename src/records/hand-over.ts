import { omitUndefined } from "../api/omit-undefined.js";
import { isOpen, type PriorState } from "./prior-state.js";
import type { ChangeSummary, TransactionRecord } from "./transaction.js";

// Who may change a stack: one owner at a time (architecture section 7). Pure.

/** The owner of stacks whose clusters are described in files. */
export const fileOwner = "files";

/** Who owns a stack, for people: manifests in files, or the objects of one API server. */
export function ownerText(owner: string): string {
  return owner === fileOwner ? "manifests in files" : `the API server ${owner}`;
}

/** What a transaction is about that changes nothing but the owner. */
export function handOverSummary(owner: string): ChangeSummary {
  return { create: 0, update: 0, delete: 0, lines: [`moved to ${ownerText(owner)}`] };
}

/** Whether a transaction changes nothing but the owner. */
export function isHandOver({ goal }: Pick<TransactionRecord, "goal">): boolean {
  return goal.kind === "move";
}

/** A change of owner. */
export interface HandOver {
  readonly to: string;
  /** Absent in records of early releases. */
  readonly from?: string;
}

/**
 * The change of owner that was begun and not committed. Until it is, objects of the cluster come or go, and nobody
 * owns the stack: whoever acted on it could be followed by objects that act once more.
 */
export function openHandOver(
  prior: Pick<PriorState, "transaction" | "revision">,
): HandOver | undefined {
  const { transaction } = prior;
  if (transaction?.goal.kind !== "move" || !isOpen(prior)) return undefined;
  return omitUndefined({ to: transaction.owner, from: transaction.goal.from });
}

/** The words that finish a change of owner, and those that turn it round. */
export function moveWords(
  stack: string,
  to: string,
): { readonly goOn: string; readonly back: string } {
  const files = `capstan move ${stack} --to files --out FOLDER`;
  const server = `capstan move ${stack} --to kubernetes`;
  return to === fileOwner ? { goOn: files, back: server } : { goOn: server, back: files };
}
