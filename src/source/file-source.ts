import { recordedKeys } from "../records/recorded-keys.js";
import { digestOf } from "../api/digest.js";
import { isCapstanError } from "../api/error.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import { clusterNameOf } from "../api/types.js";
import { type Manifests, readDesired } from "../manifest/desired.js";
import type { Diagnostic } from "../manifest/diagnostic.js";
import type { Overrides } from "../manifest/overrides.js";
import type { SourceText } from "../manifest/parse.js";
import type { Clock, InfrastructureProvider } from "../provider/port.js";
import { fileOwner } from "../records/hand-over.js";
import type { DeletionShare } from "../sweep/limits.js";
import { Absences, type AbsenceFate, type PruneLimits } from "./absences.js";
import { authorityExpiries, type CertificateReport } from "./certificate-report.js";
import type { ClusterSource } from "./cluster-source.js";
import type { ClusterView } from "./cluster-view.js";
import type { Intent } from "./intent.js";

/** What people should know about the manifests. Each is told once, until something else is true. */
export type FileNews =
  /** Everything is kept as it was read before. */
  | { readonly kind: "wrong"; readonly diagnostics: readonly Diagnostic[] }
  /** What is not known is not gone: everything is kept as it was read before. */
  | { readonly kind: "unreadable"; readonly message: string }
  | { readonly kind: "warnings"; readonly diagnostics: readonly Diagnostic[] }
  /** Read as a whole, without an error. */
  | { readonly kind: "read"; readonly clusters: number; readonly objects: number }
  | { readonly kind: "gone"; readonly cluster: string; readonly fate: Exclude<AbsenceFate, "held"> }
  /** More are gone at once than may be taken down: they are all left alone until a person says so. */
  | {
      readonly kind: "held";
      readonly clusters: readonly string[];
      readonly share: DeletionShare;
    };

export interface FileSourceOptions {
  /** Every text as it is now. Throws INVALID_INPUT when one of them cannot be read. */
  readonly read: () => readonly SourceText[];
  /** What is put into them, each time that they are read. */
  readonly overrides?: Overrides;
  readonly providers: readonly ProviderSpecs[];
  /** Clusters that are in the manifests no more are taken down, within these limits; left alone without. */
  readonly prune?: PruneLimits;
  readonly clock: Pick<Clock, "now">;
  /** "<namespace>/<name>" of clusters that an earlier process made from the same manifests. */
  readonly known: readonly string[];
  /** Whether no other manifests hold a cluster, as far as is noted: what is in a second folder is not gone with the first. */
  readonly isFromHere: (key: string) => boolean;
  /** Notes that these manifests hold a cluster no more, which others hold. */
  readonly leave: (key: string) => void;
  /** Notes for processes to come that a cluster is to be made from these manifests, or is as they say. */
  readonly remember: (key: string, how: "begun" | "kept") => void;
  readonly onChange: (key: string) => void;
  readonly tell: (news: FileNews) => void;
}

/** Of one look at the manifests. */
export type Refreshed =
  /** They are as they were. */
  | "same"
  /** They have changed, and may be in the middle of being written: to be read again in a moment. */
  | "unsettled"
  /** They have changed, and what they say counts from now on. */
  | "accepted"
  | "unreadable";

const gone: Intent = { kind: "absent", digest: "absent" };
const pruned: Intent = { kind: "remove", digest: "remove" };

/**
 * Clusters as manifests in files. A change counts once two reads in a row have shown the same, since a
 * text that is half written may well be right and ask for less. What is wrong or cannot be read changes
 * nothing: what was read last as a whole stays wanted. A cluster that is gone is taken down only when that was asked
 * for, once it has been missing for a grace, and never too many of them: an emptied file looks like that.
 */
export class FileSource implements ClusterSource {
  readonly owner = fileOwner;
  private readonly intents = new Map<string, Intent>();
  /** Clusters that are ours, in the manifests or not any more. */
  private readonly ours: Set<string>;
  private readonly absences: Absences;
  private accepted: string | undefined;
  /** What was accepted last holds no error: it tells which clusters are missing. */
  private isWhole = false;
  private candidate: string | undefined;
  private toldUnreadable: string | undefined;

  constructor(private readonly options: FileSourceOptions) {
    this.ours = new Set(options.known);
    this.absences = new Absences(options.prune);
  }

  /** Looks at the manifests. Never throws for what they hold. */
  refresh(): Refreshed {
    const texts = this.read();
    if (texts === undefined) return "unreadable";
    const digest = digestOf(texts, 32);
    if (digest === this.accepted) {
      this.candidate = undefined;
      if (this.isWhole) this.judgeAbsences();
      return "same";
    }
    if (digest !== this.candidate) {
      this.candidate = digest;
      return "unsettled";
    }
    this.accepted = digest;
    this.candidate = undefined;
    const { providers, overrides } = this.options;
    this.accept(readDesired(texts, providers, overrides));
    return "accepted";
  }

  keys(): string[] {
    return [...this.intents.keys()];
  }

  /** Asked under the lock of the stack as well, before anything of it is deleted. */
  intentOf(key: string): Intent {
    const intent = this.intents.get(key) ?? gone;
    return intent.kind === "remove" && !this.options.isFromHere(key) ? gone : intent;
  }

  async claim(key: string): Promise<void> {
    this.ours.add(key);
    this.options.remember(key, "begun");
  }

  async show(): Promise<void> {
    // Whoever looks at files sees what is asked for; how it is, `capstan status` tells.
  }

  /** Files that hold a cluster as it is are what it is made from, whoever has made it: others may have let it go to these. */
  noteKept(key: string): void {
    this.options.remember(key, "kept");
  }

  isShown(): boolean {
    return true;
  }

  givenKeys(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  certificatesOf(
    _key: string,
    { records }: ClusterView,
    _provider: InfrastructureProvider,
    nowMs: number,
  ): CertificateReport {
    return { expiries: authorityExpiries(recordedKeys(records), nowMs), conflicts: [] };
  }

  forget(): Promise<void> {
    return Promise.resolve();
  }

  async release(key: string): Promise<void> {
    this.letGo(key);
  }

  private letGo(key: string): void {
    this.ours.delete(key);
    this.absences.remove(key);
    this.intents.delete(key);
  }

  private read(): readonly SourceText[] | undefined {
    const { tell } = this.options;
    try {
      const texts = this.options.read();
      // Who was told that they cannot be read is told when they can.
      if (this.toldUnreadable !== undefined) this.accepted = undefined;
      this.toldUnreadable = undefined;
      return texts;
    } catch (error) {
      if (!isCapstanError(error)) throw error;
      const { message } = error;
      this.candidate = undefined;
      this.absences.unseen();
      if (message !== this.toldUnreadable) tell({ kind: "unreadable", message });
      this.toldUnreadable = message;
      return undefined;
    }
  }

  private accept({ clusters, diagnostics, objects, positionOf }: Manifests): void {
    const { tell, onChange } = this.options;
    this.isWhole = !diagnostics.some(({ severity }) => severity === "error");
    if (!this.isWhole) {
      this.absences.unseen();
      tell({ kind: "wrong", diagnostics });
      return;
    }
    if (diagnostics.length > 0) tell({ kind: "warnings", diagnostics });
    tell({ kind: "read", clusters: clusters.length, objects });
    const wanted = new Map(
      clusters.map((desired): [string, Intent] => [
        clusterNameOf(desired.cluster),
        {
          kind: "want",
          desired,
          positionOf,
          discarded: [],
          digest: digestOf(desired, 16),
        },
      ]),
    );
    const missing = [...this.ours, ...this.intents.keys()].filter((key) => !wanted.has(key));
    this.intents.clear();
    for (const [key, intent] of wanted) this.intents.set(key, intent);
    for (const key of wanted.keys()) this.absences.remove(key);
    for (const key of missing) this.absences.add(key);
    for (const key of this.absences.keys()) {
      if (this.absences.fateOf(key) === "pruned") this.intents.set(key, pruned);
    }
    this.judgeAbsences();
    for (const key of new Set([...wanted.keys(), ...missing])) onChange(key);
  }

  /** Takes down what is due, and tells what has become of each once. */
  private judgeAbsences(): void {
    const { tell, onChange, clock, isFromHere, leave } = this.options;
    for (const key of this.absences.keys()) {
      if (isFromHere(key)) continue;
      leave(key);
      this.letGo(key);
    }
    const present = [...this.intents.values()].filter(({ kind }) => kind === "want").length;
    const { changed, share } = this.absences.judge(present, clock.now());
    const held = changed.filter(({ fate }) => fate === "held").map(({ cluster }) => cluster);
    if (held.length > 0) tell({ kind: "held", clusters: held, share });
    for (const { cluster, fate } of changed) {
      if (fate === "held") continue;
      tell({ kind: "gone", cluster, fate });
      if (fate !== "pruned") continue;
      this.intents.set(cluster, pruned);
      onChange(cluster);
    }
  }
}
