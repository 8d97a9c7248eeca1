/** A younger resource may belong to something that is recorded in a moment. */
export const defaultGraceMinutes = 60;

/** A cluster that its manifests do not hold may be back in a moment: a checkout, a copy, a volume that is mounted anew. */
export const pruneGraceMinutes = 5;

/** More of all that is owned is not deleted unless a person allows it. */
export const defaultMaxSharePercent = 25;

/** How much of what is owned would go. */
export interface DeletionShare {
  readonly toDelete: number;
  /** Everything of ours, what is to be deleted included. */
  readonly owned: number;
}

/**
 * Whether more would go than a person has allowed, in per cent: a lost state and an emptied file look exactly like
 * that. Pure.
 */
export function isFrozen({ toDelete, owned }: DeletionShare, maxSharePercent: number): boolean {
  return toDelete * 100 > owned * maxSharePercent;
}
