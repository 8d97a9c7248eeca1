import { type DeletionShare, isFrozen } from "../sweep/limits.js";

/** What keeps an emptied file from taking clusters down. */
export interface PruneLimits {
  /** How long a cluster has to be missing at each look, milliseconds. */
  readonly graceMs: number;
  /** More of all clusters are not taken down. */
  readonly maxSharePercent: number;
}

/** What becomes of a cluster that its manifests hold no more. */
export type AbsenceFate =
  /** It is left alone: nobody has asked for anything else. */
  | "left"
  /** It is left alone until it has been missing for the whole grace. */
  | "waiting"
  /** It is left alone: with it, more are missing than may be taken down. */
  | "held"
  /** It is taken down, and that is not taken back by what else disappears. */
  | "pruned";

interface AbsenceJudgement {
  /** Those that have another fate than before, in the order in which they were missed. */
  readonly changed: readonly { readonly cluster: string; readonly fate: AbsenceFate }[];
  /** Of all clusters, those that are missing. */
  readonly share: DeletionShare;
}

interface Absence {
  /** Milliseconds since the epoch; undefined where the last look could not tell. */
  sinceMs: number | undefined;
  fate: AbsenceFate | undefined;
}

/** Clusters that manifests hold no more. Without limits none of them is taken down. */
export class Absences {
  private readonly missing = new Map<string, Absence>();

  constructor(private readonly limits: PruneLimits | undefined) {}

  add(cluster: string): void {
    if (!this.missing.has(cluster)) {
      this.missing.set(cluster, { sinceMs: undefined, fate: undefined });
    }
  }

  remove(cluster: string): void {
    this.missing.delete(cluster);
  }

  keys(): string[] {
    return [...this.missing.keys()];
  }

  fateOf(cluster: string): AbsenceFate | undefined {
    return this.missing.get(cluster)?.fate;
  }

  /** A look has not told what is missing: whatever waits begins to wait anew. */
  unseen(): void {
    for (const absence of this.missing.values()) absence.sinceMs = undefined;
  }

  /** They were missing at a look, `nowMs` since the epoch, at which manifests held `present` clusters. */
  judge(present: number, nowMs: number): AbsenceJudgement {
    const share = { toDelete: this.missing.size, owned: this.missing.size + present };
    const changed: { cluster: string; fate: AbsenceFate }[] = [];
    for (const [cluster, absence] of this.missing) {
      absence.sinceMs ??= nowMs;
      const fate = this.judged(absence, share, nowMs);
      if (fate !== absence.fate) changed.push({ cluster, fate });
      absence.fate = fate;
    }
    return { changed, share };
  }

  private judged({ sinceMs = 0, fate }: Absence, share: DeletionShare, nowMs: number): AbsenceFate {
    if (this.limits === undefined) return "left";
    if (fate === "pruned") return fate;
    if (isFrozen(share, this.limits.maxSharePercent)) return "held";
    return nowMs - sinceMs >= this.limits.graceMs ? "pruned" : "waiting";
  }
}
