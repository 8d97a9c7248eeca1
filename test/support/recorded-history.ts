import { versionPoints } from "../../src/plan/undo/point-of-no-return.js";
import { entryOf, historyWith } from "../../src/records/history.js";
import type {
  ChangeSummary,
  Direction,
  Ending,
  TransactionGoal,
  HistoryEntry,
  RevisionRecord,
  TransactionRecord,
} from "../../src/records/transaction.js";
import { emptyState, type PriorState } from "../../src/records/prior-state.js";
import type { Target } from "../../src/records/target.js";
import { firstPlan } from "./first-plan.js";
import { desiredOf, localProvider, type Manifest } from "./manifests.js";

const minute = 60_000;

/** Where a first creation of the objects would lead. */
export function targetOf(objects: readonly Manifest[]): Target {
  return firstPlan(desiredOf(objects), localProvider()).target;
}

interface Step {
  readonly target: Target;
  readonly direction?: Direction;
  readonly goal?: TransactionGoal;
  readonly by?: string;
  readonly summary?: Partial<ChangeSummary>;
}

/**
 * The records of a cluster's life, made by the same functions as an apply makes them. Each
 * transaction begins ten minutes after the one before and takes one minute.
 */
export class RecordedHistory {
  private transaction: TransactionRecord | undefined;
  private revision: RevisionRecord | undefined;
  private attempts: HistoryEntry[] = [];

  constructor(private readonly startMs: number) {}

  get state(): PriorState {
    return {
      ...emptyState,
      ...(this.transaction !== undefined && { transaction: this.transaction }),
      ...(this.revision !== undefined && { revision: this.revision }),
    };
  }

  /** Begins a transaction and leaves it open. */
  begin({ target, direction = "forward", by = "ann@laptop", summary = {}, ...rest }: Step): this {
    const { goal = { kind: direction === "back" ? "takeBack" : "up" } } = rest;
    const number = (this.transaction?.number ?? 0) + 1;
    const pointsOfNoReturn =
      direction === "back" ? [] : versionPoints(localProvider(), target, this.revision?.target);
    const startedAtMs = this.startMs + number * 10 * minute;
    this.transaction = {
      number,
      clusterUid: "5a1b",
      owner: "files",
      digestKey: "",
      target,
      spent: {},
      direction,
      goal,
      by,
      pointsOfNoReturn,
      compensable: [],
      startedAtMs,
      deadlineAtMs: startedAtMs + 60 * minute,
      attempts: this.attempts,
      summary: { create: 0, update: 0, delete: 0, lines: [], ...summary },
    };
    return this;
  }

  /** Begins a transaction that ends in a commit. */
  commit(step: Step): this {
    this.begin(step);
    const committed = this.ended({ kind: "committed" });
    this.revision = {
      number: committed.number,
      target: step.target,
      history: historyWith(this.revision, [...this.attempts, committed]),
    };
    this.attempts = [];
    return this;
  }

  /** Begins a transaction that another one has to take the place of. */
  fail(step: Step, ending: Exclude<Ending, { kind: "committed" }>): this {
    this.begin(step);
    this.attempts = [...this.attempts, this.ended(ending)];
    return this;
  }

  private ended(ending: Ending): HistoryEntry {
    if (this.transaction === undefined) throw new Error("nothing was begun");
    return entryOf(this.transaction, this.transaction.startedAtMs + minute, ending);
  }
}
