import { deletionAnnotations } from "../../api/machine-annotations.js";
import type { MachineDeletion } from "../../api/machine-deletion.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { Annotations } from "../../api/update-policy.js";

/** What the host of a Machine waits for before it goes, and for how long. */
export interface DeletionTerms {
  /** Who has to say first that its pods may be moved away, and that it may go. */
  readonly hooks: Readonly<Record<HookStage, readonly DeletionHook[]>>;
  /** Whether its pods are moved away first. */
  readonly drains: boolean;
  /** Absent: no limit of its own. */
  readonly drainTimeoutMs?: number;
  /** Whether its volumes have to be detached first. */
  readonly waitsForVolumes: boolean;
  /** Absent: no limit of its own. */
  readonly volumeDetachTimeoutMs?: number;
}

export type HookStage = "preDrain" | "preTerminate";

/** An annotation that holds a deletion for as long as it is there, whatever it says. */
export interface DeletionHook {
  /** "pre-drain.delete.hook.machine.cluster.x-k8s.io/migrate". */
  readonly name: string;
  /** What the annotation says: by convention, who is to take it off. Empty: it says nothing. */
  readonly owner: string;
}

/** Every hook that holds the deletion, whenever it is asked. Pure. */
export function hooksIn({ hooks }: Pick<DeletionTerms, "hooks">): DeletionHook[] {
  return [...hooks.preDrain, ...hooks.preTerminate];
}

/** By what a Machine is annotated with, and by its spec. Pure. Source: docs/cluster-api.md#deletion. */
export function deletionTermsOf(
  annotations: Annotations = {},
  { nodeDrainTimeoutSeconds, nodeVolumeDetachTimeoutSeconds }: MachineDeletion = {},
): DeletionTerms {
  const hooksOf = (prefix: string) =>
    Object.entries(annotations)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, owner]) => ({ name, owner }))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  const { excludeDrain, excludeVolumes, preDrainHook, preTerminateHook } = deletionAnnotations;
  return omitUndefined({
    hooks: { preDrain: hooksOf(preDrainHook), preTerminate: hooksOf(preTerminateHook) },
    drains: !(excludeDrain in annotations),
    drainTimeoutMs: limitMs(nodeDrainTimeoutSeconds),
    waitsForVolumes: !(excludeVolumes in annotations),
    volumeDetachTimeoutMs: limitMs(nodeVolumeDetachTimeoutSeconds),
  });
}

/** Zero is no limit, as in Cluster API. */
function limitMs(seconds: number | undefined): number | undefined {
  return seconds === undefined || seconds === 0 ? undefined : seconds * 1_000;
}
