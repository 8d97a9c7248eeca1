import type { ClusterObject } from "./types.js";
import { ownAnnotationPrefix } from "./update-policy.js";

/**
 * Which of its keys hosts of a cluster are made with, by their numbers: they sign with the first, and trust all of
 * them. "1", "1+2". Source: docs/adr/0022.
 */
export type KeyStage = `${number}` | `${number}+${number}`;

/** On a Cluster: the stage that is wanted; without it, the one that is recorded. */
export const keysAnnotation = `${ownAnnotationPrefix}keys`;

/** With which keys the first hosts of a cluster are made, unless it asks for others. */
export const firstStage: KeyStage = "1";

/** Whether a text names a stage: one set of keys, or two that follow one another. Pure. */
export function isKeyStage(text: string): text is KeyStage {
  if (!/^[1-9]\d{0,5}(\+[1-9]\d{0,5})?$/.test(text)) return false;
  const [signs = 0, trusts] = text.split("+").map(Number);
  return trusts === undefined || Math.abs(signs - trusts) === 1;
}

/** The stage that a Cluster asks for; undefined where it leaves that to its records. Pure. */
export function askedStage({ metadata }: ClusterObject): KeyStage | undefined {
  const asked = metadata.annotations?.[keysAnnotation];
  return asked !== undefined && isKeyStage(asked) ? asked : undefined;
}

/** The numbers of the keys of a stage, the one that signs first. Pure. */
export function numbersIn(stage: KeyStage): number[] {
  return stage.split("+").map(Number);
}

/** The number of the keys that sign. Pure. */
export function signerOf(stage: KeyStage): number {
  return numbersIn(stage)[0] ?? 1;
}

/** The next of the three steps that lead from one set of keys to another: "1", "1+2", "2+1", "2". Pure. */
export function nextStage(stage: KeyStage): KeyStage {
  const [signs = 1, trusts] = numbersIn(stage);
  if (trusts === undefined) return `${signs}+${signs + 1}`;
  return trusts > signs ? `${trusts}+${signs}` : `${signs}`;
}

/** Whether hosts of two stages can be in one cluster: each trusts what the other signs. Pure. */
export function trustEachOther(one: KeyStage, other: KeyStage): boolean {
  return numbersIn(one).includes(signerOf(other)) && numbersIn(other).includes(signerOf(one));
}
