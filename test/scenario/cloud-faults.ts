import { DatabaseSync } from "node:sqlite";
import type { CloudRow } from "./ledger-judge.js";

/** A fault as the table `faults` of the local cloud has it; docs/local-cloud.md tells the modes. */
export interface FaultRow {
  readonly call: string;
  readonly mode: string;
  /** The whole name; null for calls that are about no single resource. */
  readonly name: string | null;
  /** How many such calls go well first. */
  readonly skip: number;
}

/** Sets a fault as `capstan local fault --exact` does, without starting a command. */
export function setFault(cloudFile: string, { call, mode, name, skip }: FaultRow): void {
  edit(cloudFile, (database) =>
    database
      .prepare(
        `INSERT INTO faults (call, modes, name, exact, skip, times, probability, seed)
         VALUES (?, ?, ?, 1, ?, 1, 1, 0)`,
      )
      .run(call, mode, name, skip),
  );
}

/** Forgets all faults as `capstan local fault --clear` does. */
export function clearFaults(cloudFile: string): void {
  edit(cloudFile, (database) => database.exec("DELETE FROM faults; DELETE FROM fault_uses"));
}

function edit(file: string, change: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(file, { timeout: 5_000 });
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

/** Every host is gone at once, as where a cloud's zone is, or its listing is wrong. */
export function killAllHosts(cloudFile: string): void {
  edit(cloudFile, (database) =>
    database
      .prepare(
        `UPDATE resources SET state = 'terminated', gone_ms = ?, ready_since_ms = NULL,
                joins_ms = NULL
         WHERE kind = 'LocalHost' AND state <> 'terminated'`,
      )
      .run(Date.now()),
  );
}
