// What is to go wrong with coming calls.

import { matchesPattern } from "./patterns.js";

/** Before a call has its effect, or after it, when nothing but the answer is missing. */
export type FaultMoment = "before" | "after";

/**
 * refuse: answered with an error, no effect. cut: the connection ends without an answer. hold: stands still until
 * somebody releases it. delay: so many milliseconds pass before the effect. fate: what an instance that the call starts comes to.
 */
export type FaultEffect =
  | {
      readonly kind: "refuse";
      readonly code: string;
      readonly message?: string;
      /** HTTP status; that of the code without. */
      readonly status?: number;
    }
  | { readonly kind: "cut"; readonly when: FaultMoment }
  | { readonly kind: "hold"; readonly when: FaultMoment }
  | { readonly kind: "delay"; readonly ms: number }
  | {
      readonly kind: "fate";
      /** fails: it ends instead of running. never: it stays pending. interrupted: a spot instance is taken back. */
      readonly fate: InstanceFate;
      /** Milliseconds after the start until it happens; where it is not said, when it would run. */
      readonly ms?: number;
    };

export type InstanceFate = "fails" | "never" | "interrupted";

/** A fault for calls to come. */
export interface FaultOrder {
  /** "RunInstances", "ec2:Describe*", "*", or "mutating" for every call that changes something. */
  readonly action: string;
  readonly effect: FaultEffect;
  /** Only calls of this access key. */
  readonly accessKey?: string;
  /** Only calls with these parameters, e.g. `{ InstanceType: "c7*" }`; lists count from 1: `Filter.1.Name`. */
  readonly where?: Readonly<Record<string, string>>;
  /** How many fitting calls go well first. */
  readonly skip?: number;
  /** How many calls go wrong. 1 without. */
  readonly times?: number;
}

/** A fault with its number, and how many calls it has seen. */
export interface PlannedFault extends FaultOrder {
  readonly id: number;
  readonly seen: number;
}

/** The call that faults are looked for. */
export interface FaultyRequest {
  /** "ec2:RunInstances". */
  readonly action: string;
  readonly isMutating: boolean;
  readonly accessKey: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Which effects a call meets, in the order of the faults, and the faults as they are after it. Pure. */
export function meetFaults(
  faults: readonly PlannedFault[],
  request: FaultyRequest,
): { readonly met: readonly FaultEffect[]; readonly faults: readonly PlannedFault[] } {
  const met: FaultEffect[] = [];
  const after = faults.flatMap((fault) => {
    if (!fits(fault, request)) return [fault];
    const { skip = 0, times = 1, seen, effect } = fault;
    if (seen >= skip) met.push(effect);
    return seen + 1 >= skip + times ? [] : [{ ...fault, seen: seen + 1 }];
  });
  return { met, faults: after };
}

function fits(fault: PlannedFault, request: FaultyRequest): boolean {
  const { accessKey, where = {} } = fault;
  if (accessKey !== undefined && accessKey !== request.accessKey) return false;
  return (
    fitsAction(fault.action, request) &&
    Object.entries(where).every(([name, pattern]) => {
      const value = request.parameters[name];
      return value !== undefined && matchesPattern(pattern, value);
    })
  );
}

function fitsAction(wanted: string, { action, isMutating }: FaultyRequest): boolean {
  if (wanted === "mutating") return isMutating;
  const pattern = wanted.includes(":") || wanted === "*" ? wanted : `*:${wanted}`;
  return matchesPattern(pattern, action);
}
