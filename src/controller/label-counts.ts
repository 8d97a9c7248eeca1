export type Counts = Readonly<Record<string, number>>;

/** Counts of several owners by label, and their sums. A label that was there once stays, as 0. */
export class LabelCounts {
  private readonly byOwner = new Map<string, Counts>();
  private readonly labels = new Set<string>();

  /** Replaces what the owner had. Answers by how much each label rose; what fell is left out. */
  set(owner: string, counts: Counts): Counts {
    const before = this.byOwner.get(owner) ?? {};
    this.byOwner.set(owner, counts);
    const risen: Record<string, number> = {};
    for (const [label, count] of Object.entries(counts)) {
      this.labels.add(label);
      const rise = count - (before[label] ?? 0);
      if (rise > 0) risen[label] = rise;
    }
    return risen;
  }

  forget(owner: string): void {
    this.byOwner.delete(owner);
  }

  owners(): readonly string[] {
    return [...this.byOwner.keys()];
  }

  /** Of one owner, with 0 for the labels that it lacks. */
  of(owner: string): Counts {
    return this.filled([this.byOwner.get(owner) ?? {}]);
  }

  totals(): Counts {
    return this.filled([...this.byOwner.values()]);
  }

  private filled(all: readonly Counts[]): Counts {
    const sums = [...this.labels].map((label): [string, number] => [
      label,
      all.reduce((sum, counts) => sum + (counts[label] ?? 0), 0),
    ]);
    return Object.fromEntries(sums);
  }
}
