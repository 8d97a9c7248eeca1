import type { DatabaseSync } from "node:sqlite";
import type { JsonObject } from "../../../src/api/json.js";
import type { Identity } from "../../../src/provider/port.js";

/** One call and its effect. `call` is what was asked; `boot` and `die` are the cloud's own. */
export interface LedgerEntry {
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** Who asked. */
  readonly pid: number;
  readonly call: string;
  /** What it did, or "refused: <why>". */
  readonly effect: string;
  /** The faults that the call met, e.g. "lose" or "lag 1000". */
  readonly fault: string | null;
  readonly kind: string | null;
  readonly id: string | null;
  readonly name: string | null;
  /** JSON of the fields that were written. */
  readonly detail: string | null;
}

/** What an entry is about, as far as it is known. */
interface LedgerSubject {
  readonly kind?: string;
  readonly id?: string;
  readonly who?: Identity;
  /** Where there is no `who`. */
  readonly name?: string;
}

/** Writes the entry of one call: its effect, on what, and the fields that were written. */
export type LedgerLog = (effect: string, subject?: LedgerSubject, detail?: JsonObject) => void;

/** Entries go into the same SQLite transaction as the effect that they tell of. */
export function logOf(
  database: DatabaseSync,
  entry: { readonly call: string; readonly atMs: number; readonly fault?: string },
): LedgerLog {
  return (effect, subject, detail) => {
    const { cluster, clusterUid, name = subject?.name, token, kind } = subject?.who ?? {};
    database
      .prepare(
        `INSERT INTO ledger
           (at_ms, pid, call, effect, fault, kind, id, cluster, cluster_uid, name, token, detail)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        entry.atMs,
        process.pid,
        entry.call,
        effect,
        entry.fault ?? null,
        subject?.kind ?? kind ?? null,
        subject?.id ?? null,
        cluster ?? null,
        clusterUid ?? null,
        name ?? null,
        token ?? null,
        detail === undefined ? null : JSON.stringify(detail),
      );
  };
}

/** The entries after a number, in order. */
export function readLedger(database: DatabaseSync, afterSeq: number): LedgerEntry[] {
  return database
    .prepare(
      `SELECT seq, at_ms AS atMs, pid, call, effect, fault, kind, id, name, detail
       FROM ledger WHERE seq > ? ORDER BY seq`,
    )
    .all(afterSeq) as unknown as LedgerEntry[];
}
