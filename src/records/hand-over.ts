import { sameJson } from "../api/json.js";
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
export function isHandOver({ owner, summary }: TransactionRecord): boolean {
  return sameJson(summary, handOverSummary(owner));
}
