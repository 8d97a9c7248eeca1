import type { JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { withoutSecretFields } from "../api/secret-fields.js";
import type { MachineVersions } from "../api/types.js";
import type { StackWorker } from "../engine/locks/stack-worker.js";
import type { NodeKey } from "../graph/graph.js";
import { takenBackBy, type WayBack, wayBackOf } from "../plan/undo/point-of-no-return.js";
import { targetOfRevision } from "../records/history.js";
import { isOpen, type PriorState } from "../records/prior-state.js";
import { versionRefusals } from "../plan/goal/version-rules.js";
import type {
  ChangeSummary,
  PassedPoint,
  Direction,
  TransactionGoal,
  HistoryEntry,
  RevisionRecord,
} from "../records/transaction.js";
import type { Target, TargetMachine } from "../records/target.js";
import type { InfrastructureProvider } from "../provider/port.js";

/** What became of a transaction. */
type ShownResult =
  | { readonly kind: "committed" }
  /** It broke off, and no command has gone on with it; or nothing here can tell whether one does. */
  | { readonly kind: "open" }
  /** A living worker carries it out. */
  | { readonly kind: "underWay" }
  | {
      readonly kind: "rolledBack";
      readonly failure: string;
      /** The transaction that took it back, or was to. */
      readonly by?: number;
      /** Whether that one has got to its end. */
      readonly done: boolean;
    }
  | { readonly kind: "superseded"; readonly failure: string; readonly by?: number };

/** Whether `rollback --to` can go to where a transaction led. */
type FolderWriters =
  /** It is where the cluster is. */
  | "present"
  | "kept"
  /** Kept, but of versions that there is no way back to. */
  | "barred"
  /** It was committed, and history has no room for its target any more. */
  | "dropped"
  /** It never got there. */
  | "never";

/** A transaction as history shows it. What a record of an early release does not tell is absent. */
export interface HistoryItem {
  readonly number: number;
  readonly direction: Direction;
  readonly goal: TransactionGoal;
  readonly result: ShownResult;
  readonly reach: FolderWriters;
  /** The transaction that this one took back. */
  readonly tookBack?: number;
  readonly by?: string;
  readonly startedAtMs?: number;
  readonly endedAtMs?: number;
  readonly summary?: ChangeSummary;
}

export interface HistoryReport {
  readonly stack: string;
  /** "<namespace>/<name>"; absent when nothing is recorded. */
  readonly cluster?: string;
  /** Number of the present revision; 0 for none. */
  readonly revision: number;
  /** Whether the open transaction can be taken back, as far as the records tell; absent without one. */
  readonly wayBack?: WayBack;
  /** The process that works on the open transaction; none without one. */
  readonly worker: StackWorker;
  /** Newest first. */
  readonly items: readonly HistoryItem[];
}

export interface HistoryMachine {
  readonly name: string;
  readonly controlPlane: boolean;
  readonly versions: MachineVersions;
  readonly host: NodeKey;
  readonly providerSpec: JsonObject;
}

/** What a state does not tell about its open transaction. */
interface OpenContext {
  readonly worker: StackWorker;
  /** Its provider, which knows whether its records show it past its point of no return. */
  readonly provider?: InfrastructureProvider;
}

/** What is recorded about the transactions of a stack, newest first. Pure. */
export function historyReport(
  stack: string,
  state: PriorState,
  { worker, provider }: OpenContext = { worker: { kind: "none" } },
): HistoryReport {
  const { transaction, revision } = state;
  const past = endedTransactions(state);
  const open = transaction !== undefined && isOpen(state) ? [{ ...transaction, open: worker }] : [];
  const all: readonly ShownTransaction[] = [...past, ...open].sort(
    (left, right) => left.number - right.number,
  );
  const wayBack = open.length > 0 ? wayBackOf(provider, state) : undefined;
  const ways = { revision, provider, passed: wayBack?.kind === "closed" ? wayBack.crossed : [] };
  return omitUndefined({
    stack,
    cluster: transaction?.target.cluster,
    revision: revision?.number ?? 0,
    wayBack,
    worker,
    items: all.map((told, index) => itemOf(told, all, index, ways)).toReversed(),
  });
}

/** What a transaction led to; undefined when that is not kept. Pure. */
export function targetOfTransaction(state: PriorState, number: number): Target | undefined {
  const { transaction, revision } = state;
  const open = isOpen(state) && transaction?.number === number ? transaction.target : undefined;
  return open ?? targetOfRevision(revision, number);
}

export function recordedMachines({ machines, secretFields }: Target): HistoryMachine[] {
  return machines.map(({ name, controlPlane, spec, host }: TargetMachine) => ({
    name,
    controlPlane,
    versions: spec.versions,
    host,
    providerSpec: withoutSecretFields(spec.providerSpec.value ?? {}, secretFields),
  }));
}

/** An ended transaction, one without a word about its end, or the open one. */
type ShownTransaction = Pick<HistoryEntry, "number" | "direction"> &
  Partial<HistoryEntry> & { readonly open?: StackWorker };

/** Everything that is over. The present revision of an early release is in no history. */
function endedTransactions(state: PriorState): ShownTransaction[] {
  const { transaction, revision } = state;
  const history = revision?.history ?? [];
  const attempts = transaction !== undefined && isOpen(state) ? transaction.attempts : [];
  const known = new Set(history.map(({ number }) => number));
  const unknown: ShownTransaction[] =
    revision === undefined || known.has(revision.number)
      ? []
      : [{ number: revision.number, direction: "forward" }];
  return [...history, ...unknown, ...attempts];
}

/** What decides where a rollback can go to. */
interface Ways {
  readonly revision: RevisionRecord | undefined;
  readonly provider: InfrastructureProvider | undefined;
  /** With what the open transaction is past its point of no return, as far as the records tell. */
  readonly passed: readonly PassedPoint[];
}

function itemOf(
  told: ShownTransaction,
  all: readonly ShownTransaction[],
  index: number,
  ways: Ways,
): HistoryItem {
  const { number, direction, by, startedAtMs, endedAtMs, summary } = told;
  const later = all.slice(index + 1);
  const result = resultOf(told, later);
  const before = all.slice(0, index).findLast((one) => one.direction === "forward");
  return omitUndefined({
    number,
    direction,
    goal: told.goal ?? { kind: direction === "back" ? "takeBack" : "up" },
    result,
    reach: folderWriters(number, result, ways),
    tookBack: direction === "back" ? before?.number : undefined,
    by,
    startedAtMs,
    endedAtMs,
    summary,
  });
}

function resultOf(
  { open, ending }: ShownTransaction,
  later: readonly ShownTransaction[],
): ShownResult {
  if (open !== undefined) return { kind: open.kind === "alive" ? "underWay" : "open" };
  if (ending === undefined || ending.kind === "committed") return { kind: "committed" };
  const next = later[0]?.number;
  const { kind, failure } = ending;
  if (kind === "superseded") return omitUndefined({ kind, failure, by: next });
  // A rollback that does not get to its end is followed by another.
  const onward = later.findIndex(({ direction }) => direction === "forward");
  const rollback = later.slice(0, onward < 0 ? undefined : onward).at(-1);
  return omitUndefined({
    kind,
    failure,
    by: rollback?.number,
    done: rollback?.ending?.kind === "committed",
  });
}

function folderWriters(
  number: number,
  { kind }: ShownResult,
  { revision, provider, passed }: Ways,
): FolderWriters {
  if (number === revision?.number) return "present";
  if (kind !== "committed") return "never";
  const target = targetOfRevision(revision, number);
  if (target === undefined) return "dropped";
  if (takenBackBy(target, passed, provider).length > 0) return "barred";
  const refusals = versionRefusals(revision?.target.machines ?? [], target.machines);
  return refusals.length === 0 ? "kept" : "barred";
}
