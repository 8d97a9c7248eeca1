import { omitUndefined } from "../api/omit-undefined.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import { type ProviderObject, toStorageVersion } from "../api/served-versions.js";
import type { Kind } from "../api/schema.js";
import { providerValuePaths, withReplaced } from "../manifest/object-parts.js";
import { withoutEmptyMarks } from "../manifest/normal-form.js";
import type { PriorState } from "./prior-state.js";
import { withObjects } from "./taken-back.js";
import type { Target } from "./target.js";
import type { HistoryEntry, RevisionRecord, TransactionRecord } from "./transaction.js";

/** Providers that are loaded at the first look. */
export interface KnownProviders {
  readonly all: readonly ProviderSpecs[];
}

/**
 * A state whose objects and machines hold their provider's objects in the storage versions of this release: a provider
 * that has moved on changes nothing by that, and neither do empty labels and annotations. What a provider does not serve, or cannot convert, stays as it is
 * recorded. The inputs of hosts are of no version: a provider goes on to read them (docs/provider-options.md). Pure.
 */
export function inStorageVersions<S extends PriorState>(state: S, providers: KnownProviders): S {
  const { transaction, revision } = state;
  const records: Pick<PriorState, "transaction" | "revision"> = omitUndefined({
    transaction: transaction && storedTransaction(transaction, providers),
    revision: revision && storedRevision(revision, providers),
  });
  return { ...state, ...records };
}

function storedTransaction(record: TransactionRecord, { all }: KnownProviders): TransactionRecord {
  return omitUndefined({
    ...record,
    target: storedTarget(record.target, all),
    former: record.former?.map((machine) => stored(machine, "Machine", all)),
  });
}

function storedRevision(record: RevisionRecord, { all }: KnownProviders): RevisionRecord {
  return {
    ...record,
    target: storedTarget(record.target, all),
    history: record.history.map((entry) => storedEntry(entry, all)),
  };
}

function storedTarget(target: Target, providers: readonly ProviderSpecs[]): Target {
  const objects = target.objects.map((object) =>
    withoutEmptyMarks(stored(object, object.kind, providers)),
  );
  const machines = target.machines.map((machine) => stored(machine, "Machine", providers));
  return { ...target, objects, machines };
}

/** Whether two transactions wanted the same is told by the digest of their objects. */
function storedEntry(entry: HistoryEntry, providers: readonly ProviderSpecs[]): HistoryEntry {
  if (entry.target === undefined) return entry;
  const target = storedTarget(entry.target, providers);
  const told = { ...entry, target };
  return entry.objectsDigest === undefined ? told : withObjects(told, target);
}

/** What has a spec like that of a kind. */
function stored<T>(object: T, kind: Kind, providers: readonly ProviderSpecs[]): T {
  return providerValuePaths(kind).reduce(
    (current, path) =>
      withReplaced(current, path, (value) => {
        const found = toStorageVersion(providers, value as ProviderObject);
        return found.kind === "stored" ? found.object : value;
      }),
    object,
  );
}
