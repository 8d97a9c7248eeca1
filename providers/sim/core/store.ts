// The tables of one region: changed in drafts, and remembered for a while as they were.

/** What every record has. */
interface Row {
  readonly id: string;
}

/** Record types by table. */
type Schema<T> = { readonly [K in keyof T]: Row };

/** What can be read: the present, an earlier time, or a draft. The present has records in the order of their making. */
interface Reading<T extends Schema<T>> {
  get<K extends keyof T>(table: K, id: string): T[K] | undefined;
  all<K extends keyof T>(table: K): readonly T[K][];
}

/** One write: what was there before, and what is there after it; undefined: nothing. */
export interface Change {
  readonly table: string;
  readonly id: string;
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

/** A write and when it was, in the cloud's own time. */
export type PastChange = Change & { readonly atMs: number };

/** The tables as JSON, for a file. */
export type Snapshot = Readonly<Record<string, readonly Row[]>>;

/**
 * Tables of records. What was written stays readable as it was before for `memoryMs`, so that a reader can lag
 * behind. Times are milliseconds since the epoch, and never go back.
 */
export class Store<T extends Schema<T>> implements Reading<T> {
  private readonly tables = new Map<string, Map<string, Row>>();
  private readonly history: PastChange[];

  /** With what was written of late, whoever lags sees what was there before it. */
  constructor(snapshot: Snapshot = {}, past: readonly PastChange[] = []) {
    this.history = [...past];
    for (const [table, rows] of Object.entries(snapshot)) {
      this.tables.set(table, new Map(rows.map((row) => [row.id, row])));
    }
  }

  get<K extends keyof T>(table: K, id: string): T[K] | undefined {
    return this.rows(table).get(id) as T[K] | undefined;
  }

  all<K extends keyof T>(table: K): readonly T[K][] {
    return [...this.rows(table).values()] as unknown as T[K][];
  }

  /** The tables as they were at that time. What was forgotten since counts as unchanged. */
  at(timeMs: number): Reading<T> {
    const later = this.history.filter(({ atMs }) => atMs > timeMs);
    if (later.length === 0) return this;
    const draft = new Draft<T>(this);
    for (const { table, id, before } of later.reverse()) draft.restore(table, id, before);
    return draft;
  }

  /** Makes what a draft has written the present; answers the changes, each record once. */
  commit(draft: Draft<T>, atMs: number, memoryMs: number): Change[] {
    const changes = draft.changes().map(({ table, id, after }) => {
      const rows = this.rows(table as keyof T);
      const before = rows.get(id);
      if (after === undefined) rows.delete(id);
      else rows.set(id, after);
      return { table, id, before, after };
    });
    this.history.push(...changes.map((change) => ({ ...change, atMs })));
    const forgotten = this.history.findIndex((change) => change.atMs >= atMs - memoryMs);
    this.history.splice(0, forgotten === -1 ? this.history.length : forgotten);
    return changes;
  }

  /** What was written in the time that is remembered, the oldest first. */
  past(): readonly PastChange[] {
    return [...this.history];
  }

  snapshot(): Snapshot {
    return Object.fromEntries([...this.tables].map(([table, rows]) => [table, [...rows.values()]]));
  }

  private rows(table: keyof T): Map<string, Row> {
    const name = String(table);
    const known = this.tables.get(name);
    if (known !== undefined) return known;
    const rows = new Map<string, Row>();
    this.tables.set(name, rows);
    return rows;
  }
}

/** Writes that nobody else sees before they are committed; dropped, they never happened. */
export class Draft<T extends Schema<T>> implements Reading<T> {
  private readonly written = new Map<string, Map<string, Row | undefined>>();

  constructor(private readonly base: Reading<T>) {}

  get<K extends keyof T>(table: K, id: string): T[K] | undefined {
    const written = this.written.get(String(table));
    return written?.has(id) === true
      ? (written.get(id) as T[K] | undefined)
      : this.base.get(table, id);
  }

  all<K extends keyof T>(table: K): readonly T[K][] {
    const written = this.written.get(String(table));
    const before = this.base.all(table);
    if (written === undefined) return before;
    const known = new Set(before.map(({ id }) => id));
    const kept = before.flatMap((row) => (written.has(row.id) ? (written.get(row.id) ?? []) : row));
    const added = [...written].flatMap(([id, row]) => (known.has(id) ? [] : (row ?? [])));
    return [...kept, ...added] as T[K][];
  }

  /** Adds a record, or puts it in the place of the one with its id. */
  put<K extends keyof T>(table: K, row: T[K]): void {
    this.restore(String(table), row.id, row);
  }

  remove(table: keyof T, id: string): void {
    this.restore(String(table), id, undefined);
  }

  restore(table: string, id: string, row: Row | undefined): void {
    const written = this.written.get(table) ?? new Map<string, Row | undefined>();
    this.written.set(table, written.set(id, row));
  }

  /** What was written, each record once, as it is now. */
  changes(): { readonly table: string; readonly id: string; readonly after: Row | undefined }[] {
    return [...this.written].flatMap(([table, rows]) =>
      [...rows].map(([id, after]) => ({ table, id, after })),
    );
  }
}
