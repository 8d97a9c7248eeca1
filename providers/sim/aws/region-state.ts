// One region of one account as it is held.

import { seededDigits } from "../core/ids.js";
import { Draft, type PastChange, type Snapshot, Store } from "../core/store.js";
import { furnishRegion } from "./ec2/new-region.js";
import { timers } from "./services.js";
import type { Principal, Scope } from "./model/scope.js";
import type { SimSettings } from "./model/settings.js";
import type { RegionTables, TimerRow } from "./model/tables.js";

/** A region in a file. */
export interface RegionDocument {
  readonly draws: number;
  readonly tables: Snapshot;
  /** What was written of late; without, describe calls that lag show what is there now. */
  readonly past?: readonly PastChange[];
}

/** Records stay readable as they were for so long, in the cloud's own time. */
const memoryMs = 600_000;

type CallScope = Pick<Scope, "who" | "fates" | "openSession">;

export class RegionState {
  readonly store: Store<RegionTables>;
  private draws: number;

  constructor(
    readonly account: string,
    readonly region: string,
    private readonly settings: () => SimSettings,
    document?: RegionDocument,
  ) {
    this.draws = document?.draws ?? 0;
    this.store = new Store(document?.tables, document?.past);
    if (document === undefined) this.doByItself(0, furnishRegion);
  }

  /** What is due happens, in its order, each thing at its own time. */
  settle(nowMs: number): boolean {
    let hasChanged = false;
    for (;;) {
      const due = this.nextTimer(nowMs);
      if (due === undefined) return hasChanged;
      hasChanged = true;
      this.doByItself(due.atMs, (scope) => {
        scope.db.remove("timers", due.id);
        timers[due.kind](scope, due.subject);
      });
    }
  }

  /** Runs what nobody has called for. */
  doByItself(nowMs: number, work: (scope: Scope) => void): void {
    this.change(nowMs, ownCall(this.account), work);
  }

  private nextTimer(nowMs: number): TimerRow | undefined {
    const due = this.store.all("timers").filter(({ atMs }) => atMs <= nowMs);
    return due.reduce<TimerRow | undefined>(
      (first, timer) => (first === undefined || timer.atMs < first.atMs ? timer : first),
      undefined,
    );
  }

  /** Runs what changes the region: all of it or, where it throws, nothing. Answers what has changed. */
  change<R>(nowMs: number, call: CallScope, work: (scope: Scope) => R) {
    const db = new Draft<RegionTables>(this.store);
    const result = work(this.scopeOf(db, nowMs, call));
    const changes = this.store.commit(db, nowMs, memoryMs);
    return { result, changes };
  }

  /** Runs what only looks, at the region as it was so long ago. */
  look<R>(nowMs: number, lagMs: number, call: CallScope, work: (scope: Scope) => R): R {
    const past = lagMs > 0 ? this.store.at(nowMs - lagMs) : this.store;
    return work(this.scopeOf(new Draft<RegionTables>(past), nowMs, call));
  }

  document(): RegionDocument {
    return { draws: this.draws, tables: this.store.snapshot() };
  }

  /** With what was written of late. */
  documentWithPast(): RegionDocument {
    return { ...this.document(), past: this.store.past() };
  }

  private scopeOf(db: Draft<RegionTables>, nowMs: number, call: CallScope): Scope {
    const { account, region } = this;
    const settings = this.settings();
    const digits = (length: number) => {
      this.draws += 1;
      return seededDigits(settings.seed, `${account}/${region}/${this.draws}`, length);
    };
    return { db, nowMs, account, region, settings, digits, ...call };
  }
}

/** What the cloud does by itself, it may. */
function ownCall(account: string): CallScope {
  const who: Principal = {
    arn: "arn:aws:iam::aws:root",
    account,
    accessKey: "",
    authorize: () => {},
  };
  return { who, fates: [], openSession: () => "" };
}
