import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { CloudRow } from "./ledger-judge.js";
import { signalAll } from "./process-tree.js";
import { until } from "./until.js";

/** A fault as the table `faults` of the local cloud has it; docs/local-cloud.md tells the modes. */
export interface FaultRow {
  readonly call: string;
  readonly mode: string;
  /** The whole name; null for calls that are about no single resource. */
  readonly name: string | null;
  /** How many such calls go well first. */
  readonly skip: number;
  /** Duration of modes that have one; theirs without. */
  readonly ms?: number;
}

/** Sets a fault as `capstan local fault --exact` does, without starting a command. */
export function setFault(cloudFile: string, { call, mode, name, skip, ms }: FaultRow): void {
  edit(cloudFile, (database) =>
    database
      .prepare(
        `INSERT INTO faults (call, modes, name, exact, skip, ms, times, probability, seed)
         VALUES (?, ?, ?, 1, ?, ?, 1, 1, 0)`,
      )
      .run(call, mode, name, skip, ms ?? null),
  );
}

/** A fault of all calls of a kind, or of those about resources whose name begins so. */
export interface WideFaultRow extends Omit<FaultRow, "skip"> {
  readonly skip?: number;
  /** How many calls meet it; all without. */
  readonly times?: number;
}

/** Sets a fault as `capstan local fault` does without `--exact`, without starting a command. */
export function setWideFault(
  cloudFile: string,
  { call, mode, name, skip = 0, ms, times }: WideFaultRow,
): void {
  edit(cloudFile, (database) =>
    database
      .prepare(
        `INSERT INTO faults (call, modes, name, exact, skip, ms, times, probability, seed)
         VALUES (?, ?, ?, 0, ?, ?, ?, 1, 0)`,
      )
      .run(call, mode, name, skip, ms ?? null, times ?? null),
  );
}

/**
 * SIGSTOP to processes, but not while one of them writes to one of these databases: whoever is stopped then keeps everybody out,
 * which neither a cloud nor another machine does.
 */
export async function stopOutsideOf(
  files: readonly string[],
  pids: readonly number[],
): Promise<void> {
  await until("they are stopped outside of all files", () => {
    signalAll(pids, "SIGSTOP");
    if (files.every(isWritable)) return true;
    signalAll(pids, "SIGCONT");
    return false;
  });
}

/** Whether somebody may write to a database at this moment, or make it. */
export function isWritable(file: string): boolean {
  if (!existsSync(file)) return true;
  const database = new DatabaseSync(file, { timeout: 200 });
  try {
    database.exec("BEGIN IMMEDIATE; ROLLBACK");
    return true;
  } catch {
    return false;
  } finally {
    database.close();
  }
}

/** Forgets the faults of one mode, and all that wait for their end go on. */
export function clearFaultsOf(cloudFile: string, mode: string): void {
  edit(cloudFile, (database) => database.prepare("DELETE FROM faults WHERE modes = ?").run(mode));
}

/** Forgets all faults as `capstan local fault --clear` does. */
export function clearFaults(cloudFile: string): void {
  edit(cloudFile, (database) => database.exec("DELETE FROM faults; DELETE FROM fault_uses"));
}

function edit(file: string, change: (database: DatabaseSync) => void): void {
  // As long as a command waits for it.
  const database = new DatabaseSync(file, { timeout: 20_000 });
  try {
    change(database);
  } finally {
    database.close();
  }
}

/** A host appears like one that a cluster has, under another name: a create that comes late. */
export function addTwin(
  cloudFile: string,
  { cluster, name: of }: Pick<CloudRow, "cluster" | "name">,
  name: string,
): void {
  edit(cloudFile, (database) => {
    const columns = database.prepare("SELECT name FROM pragma_table_info('resources')").all();
    const values: Record<string, string> = {
      id: "'host-late'",
      name: "?2",
      token: "'late ' || token",
    };
    const twin = columns.map(({ name: column }) => values[String(column)] ?? String(column));
    database
      .prepare(
        `INSERT INTO resources SELECT ${twin.join(", ")} FROM resources WHERE name = ?1 AND cluster = ?3`,
      )
      .run(of, name, cluster);
  });
}

/** Hosts that are still to boot, or never would have, run from now on. */
export function letBoot(cloudFile: string): void {
  edit(cloudFile, (database) =>
    database
      .prepare("UPDATE resources SET ready_ms = ? WHERE kind = 'LocalHost' AND state = 'pending'")
      .run(Date.now()),
  );
}
