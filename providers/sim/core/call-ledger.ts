// Every call that reached a simulated cloud, and what came of it.

/** What came of a call. Absent in an entry: it is still under way, or held. */
export interface CallOutcome {
  /** HTTP status of the answer. */
  readonly status: number;
  /** The error's code; absent: none. */
  readonly code?: string;
  /** What the answer was, short: the ids in it, or the error's message. */
  readonly message?: string;
  /** The answer never left: the connection was cut. */
  readonly isLost: boolean;
  /** What was made, changed or taken away, e.g. "+ vpcs vpc-1". Empty: nothing has changed. */
  readonly changes: readonly string[];
}

interface CallEntry {
  /** From 1. */
  readonly seq: number;
  /** In the cloud's own time, milliseconds since the epoch. */
  readonly atMs: number;
  readonly requestId: string;
  /** "ec2:RunInstances". */
  readonly action: string;
  /** As they were sent; of secrets only how long they are. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly accessKey: string;
  /** ARN of who asked; absent where the access key is nobody's. */
  readonly principal?: string;
  readonly account: string;
  readonly region: string;
  /** Whether the action may change something. */
  readonly isMutating: boolean;
  /** What went wrong by order: kinds of the faults that it met. */
  readonly faults: readonly string[];
  readonly outcome?: CallOutcome;
}

/** Entries in the order in which the calls came. */
export class CallLedger {
  private readonly entries: CallEntry[] = [];

  /** Adds an entry under the next number, and answers that. */
  begin(entry: Omit<CallEntry, "seq" | "outcome">): number {
    const seq = this.entries.length + 1;
    this.entries.push({ ...entry, seq });
    return seq;
  }

  end(seq: number, outcome: CallOutcome, principal?: string): void {
    const entry = this.entries[seq - 1];
    if (entry === undefined) return;
    const who = principal === undefined ? {} : { principal };
    this.entries[seq - 1] = { ...entry, ...who, outcome };
  }

  /** The entries after a number. */
  after(seq: number): readonly CallEntry[] {
    return this.entries.slice(seq);
  }

  clear(): void {
    this.entries.length = 0;
  }
}
