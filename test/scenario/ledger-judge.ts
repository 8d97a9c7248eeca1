import { DatabaseSync } from "node:sqlite";

// The judge of scenarios. It reads what the local cloud and Pulumi wrote and imports nothing of ours.

type Properties = Readonly<Record<string, unknown>>;

/** A row of the table `resources`. */
export interface CloudRow {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly name: string;
  readonly token: string;
  /** Namespace and name of the cluster that it is of. */
  readonly cluster: string;
  readonly clusterUid: string;
  readonly spec: Properties;
}

/** A row of the table `ledger`. */
export interface LedgerRow {
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly atMs?: number;
  /** Who asked. */
  readonly pid: number;
  readonly call: string;
  readonly effect: string;
  /** What went wrong by fault, with its milliseconds. */
  readonly fault: string | null;
  readonly kind: string | null;
  readonly id: string | null;
  readonly cluster: string | null;
  readonly name: string | null;
  /** JSON of the fields that were written. */
  readonly detail?: string | null;
}

/** The part of `pulumi stack export` that scenarios look at. */
export interface Deployment {
  resources?: ExportedResource[];
  pending_operations?: { readonly type: string }[];
}

export interface ExportedResource {
  readonly urn: string;
  readonly type: string;
  readonly custom?: boolean;
  readonly parent?: string;
  readonly id?: string;
  readonly delete?: boolean;
  readonly inputs?: Record<string, unknown>;
  readonly outputs?: Record<string, unknown>;
}

/** What is wrong between cloud and state; each line names one thing. All empty: nothing is. */
export interface Judgement {
  /** Several alive with one name, one identity, or for one machine. */
  readonly duplicates: readonly string[];
  /** Alive in the cloud, in no state. */
  readonly orphans: readonly string[];
  /** In the state, not alive in the cloud. */
  readonly missing: readonly string[];
  /** The state says other fields than the cloud. */
  readonly wrongContent: readonly string[];
  /** What an engine left unfinished. */
  readonly pending: readonly string[];
}

export const nothingWrong: Judgement = {
  duplicates: [],
  orphans: [],
  missing: [],
  wrongContent: [],
  pending: [],
};

const recordTypes = /:(Transaction|Revision)$/;
const dynamicType = "pulumi-nodejs:dynamic/capstan:";

/**
 * Holds a cloud against the exported state of the one stack that uses it. `types` is how the types of
 * what is in the cloud begin.
 */
export function judge(
  rows: readonly CloudRow[],
  deployment: Deployment,
  types = dynamicType,
): Judgement {
  // What was let go has no marks, and is nobody's.
  const alive = rows.filter(({ state, token }) => state !== "terminated" && token !== "");
  const recorded = (deployment.resources ?? []).filter(
    ({ type }) => type.startsWith(types) && !recordTypes.test(type),
  );
  const byId = new Map(recorded.map((resource) => [resource.id, resource]));
  const ids = new Set(alive.map(({ id }) => id));
  return {
    duplicates: duplicatesAmong(alive),
    orphans: alive.filter(({ id }) => !byId.has(id)).map(({ id, name }) => `${name} (${id})`),
    missing: recorded.filter(({ id }) => !ids.has(id ?? "")).map(({ urn }) => urn),
    wrongContent: alive
      .filter(({ id, spec }) => byId.has(id) && !same(byId.get(id)?.outputs?.["spec"], spec))
      .map(({ id, name }) => `${name} (${id})`),
    pending: [
      ...(deployment.pending_operations ?? []).map(({ type }) => type),
      ...recorded.filter((resource) => resource.delete === true).map(({ urn }) => `owed: ${urn}`),
    ],
  };
}

function duplicatesAmong(alive: readonly CloudRow[]): string[] {
  const seen = new Set<string>();
  return alive
    .flatMap(({ kind, name, clusterUid, token }) => [
      ...new Set([`${clusterUid} ${kind} ${name}`, `token ${token}`]),
      ...(kind === "LocalHost" ? [`${clusterUid} host of ${machineOf(name)}`] : []),
    ])
    .filter((mark) => seen.has(mark) || !seen.add(mark));
}

/** The machine that a host serves, by its name: <machine>-<8 hex digits>-<incarnation>. */
export function machineOf(host: string): string {
  return host.replace(/-[0-9a-f]{8}-\d+$/, "");
}

function same(left: unknown, right: unknown): boolean {
  return JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sorted(member)]));
}

/** Every row that the cloud ever had, oldest first. A host whose boot time is over runs. */
export function readCloud(file: string): CloudRow[] {
  return query(
    file,
    `SELECT id, kind, iif(state = 'pending' AND ready_ms <= ${Date.now()}, 'running', state) AS state, name, token, cluster, cluster_uid AS clusterUid, spec
     FROM resources ORDER BY rowid`,
  ).map((row) => ({ ...row, spec: JSON.parse(String(row["spec"])) as Properties }) as CloudRow);
}

/** The ledger after an entry, in order. */
export function readLedger(file: string, after = 0): LedgerRow[] {
  return query(
    file,
    `SELECT seq, at_ms AS atMs, pid, call, effect, fault, kind, id, cluster, name, detail FROM ledger WHERE seq > ${after} ORDER BY seq`,
  ) as unknown as LedgerRow[];
}

const mutatingCalls = ["create", "update", "terminate", "disown", "mark"];

/** The calls of a provider that asked for a change, whether or not they were granted. */
export function mutationsIn(ledger: readonly LedgerRow[]): LedgerRow[] {
  return ledger.filter(({ call }) => mutatingCalls.includes(call));
}

function query(file: string, sql: string): Record<string, unknown>[] {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    // The file of a cloud that is just being made has no tables yet.
    const isMade = database.prepare("SELECT 1 FROM sqlite_schema").get() !== undefined;
    return isMade ? database.prepare(sql).all() : [];
  } finally {
    database.close();
  }
}
