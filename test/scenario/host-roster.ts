import { DatabaseSync } from "node:sqlite";

// Imports nothing of ours: what the local cloud has written down is all that counts.

/** Which hosts there are, and which of them serve, just after one entry of the cloud's ledger. */
export interface Roster {
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly call: string;
  /** The host that the entry is about. */
  readonly name: string;
  readonly alive: ReadonlySet<string>;
  /** Their nodes are ready. */
  readonly serving: ReadonlySet<string>;
}

interface HostEntry {
  readonly seq: number;
  readonly atMs: number;
  readonly call: string;
  readonly effect: string;
  readonly name: string;
  readonly detail: string | null;
}

/** What was granted about hosts from the first entry on, each with what there was after it. */
export function rostersOf(file: string): Roster[] {
  const alive = new Set<string>();
  const serving = new Set<string>();
  return hostEntries(file).map((entry) => {
    apply(entry, alive, serving);
    const { seq, atMs, call, name } = entry;
    return { seq, atMs, call, name, alive: new Set(alive), serving: new Set(serving) };
  });
}

/** Those of what came after an entry. */
export function rostersAfter(file: string, seq: number): Roster[] {
  return rostersOf(file).filter((roster) => roster.seq > seq);
}

/** How many of some hosts are of machines whose names begin so. */
export function countOf(hosts: ReadonlySet<string>, machines: string): number {
  return [...hosts].filter((name) => name.startsWith(`${machines}-`)).length;
}

/** The changes that somebody asked for, as "create worker-0-a830c4ef-1", in order. */
export function changesAmong(rosters: readonly Roster[]): string[] {
  return rosters
    .filter(({ call }) => ["create", "update", "terminate"].includes(call))
    .map(({ call, name }) => `${call} ${name}`);
}

function apply(
  { call, effect, name, detail }: HostEntry,
  alive: Set<string>,
  serving: Set<string>,
): void {
  if (effect === "terminated") {
    alive.delete(name);
    serving.delete(name);
    return;
  }
  const joins = detail !== null && "joinsMs" in (JSON.parse(detail) as object);
  if (call === "create") alive.add(name);
  if (call === "join" || (call === "boot" && !joins)) serving.add(name);
  if (call === "restart") serving.delete(name);
}

function hostEntries(file: string): HostEntry[] {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    return database
      .prepare(
        `SELECT seq, at_ms AS atMs, call, effect, name, detail FROM ledger
         WHERE kind = 'LocalHost' AND effect IN ('created', 'updated', 'terminated', 'running', 'ready', 'not ready')
         ORDER BY seq`,
      )
      .all() as unknown as HostEntry[];
  } finally {
    database.close();
  }
}
