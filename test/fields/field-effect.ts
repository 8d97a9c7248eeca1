import { isDeepStrictEqual } from "node:util";
import type { FieldRun } from "./field-run.js";

/** How two runs that differ in one field differ. */
export interface FieldEffect {
  /** "LocalHost.size": inputs of a provider's resources that are not the same. */
  readonly inputs: readonly string[];
  /** What was done, in which order, or how it ended is not the same. */
  readonly decides: boolean;
  /** One of them is refused, or warned of, with these codes. */
  readonly refused: readonly string[];
  readonly warned: readonly string[];
  /** Objects on an API server are not the same. */
  readonly shows: boolean;
}

/** The effect of what two runs differ in. Pure. */
export function effectOf(one: FieldRun, other: FieldRun): FieldEffect {
  const inputs = new Set<string>();
  const isSameCourse =
    isDeepStrictEqual(one.ends, other.ends) && isDeepStrictEqual(courseOf(one), courseOf(other));
  for (const [index, { kind, name, spec }] of one.calls.entries()) {
    const beside = other.calls[index];
    if (beside?.kind !== kind || beside.name !== name) break;
    for (const field of new Set([...Object.keys(spec), ...Object.keys(beside.spec)])) {
      if (!isDeepStrictEqual(spec[field], beside.spec[field])) inputs.add(`${kind}.${field}`);
    }
  }
  return {
    inputs: [...inputs].sort(),
    decides: !isSameCourse,
    refused: onlyIn(other.refused, one.refused),
    warned: onlyIn(other.warned, one.warned),
    shows: !isDeepStrictEqual(one.shown, other.shown),
  };
}

/** Whether somebody would have noticed before anything is shown. Pure. */
export function hasEffect({ inputs, decides, refused, warned }: FieldEffect): boolean {
  return inputs.length + refused.length + warned.length > 0 || decides;
}

function courseOf({ calls }: FieldRun): string[] {
  return calls.map(({ call, kind, name }) => `${call} ${kind} ${name}`);
}

function onlyIn(codes: readonly string[], others: readonly string[]): string[] {
  return [...new Set(codes)].filter((code) => !others.includes(code));
}
