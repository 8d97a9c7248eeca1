import type { DatabaseSync } from "node:sqlite";

/**
 * A fault for the calls to come:
 * fail: refused, no effect. throttle: refused, try again later. lose: takes effect, the answer is
 * lost. hang: no answer and no effect. hangAfter: takes effect, then no answer.
 */
export type FaultMode = "fail" | "throttle" | "lose" | "hang" | "hangAfter";
export const faultModes: readonly FaultMode[] = ["fail", "throttle", "lose", "hang", "hangAfter"];

/** The calls that a fault can be set for. */
export const faultCalls = ["create", "get", "list", "update", "terminate"] as const;

export interface Fault {
  readonly call: (typeof faultCalls)[number];
  readonly mode: FaultMode;
  /** Only for resources whose name begins with this. */
  readonly name?: string;
}

/** Whether the call is carried out before its answer goes missing. */
export function takesEffect(mode: FaultMode): boolean {
  return mode === "lose" || mode === "hangAfter";
}

/** Takes the oldest fault that fits the call and counts it down. Must run inside a transaction. */
export function takeFault(
  database: DatabaseSync,
  call: string,
  name: string | undefined,
): FaultMode | undefined {
  const row = database
    .prepare(
      `SELECT id, mode FROM faults
       WHERE call = ?1 AND remaining > 0 AND (name IS NULL OR (?2 IS NOT NULL AND instr(?2, name) = 1))
       ORDER BY id LIMIT 1`,
    )
    .get(call, name ?? null);
  if (row === undefined) return undefined;
  database.prepare("UPDATE faults SET remaining = remaining - 1 WHERE id = ?").run(Number(row["id"]));
  return String(row["mode"]) as FaultMode;
}
