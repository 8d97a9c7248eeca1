import type { Clock } from "../provider/port.js";
import { isStepping } from "./subject.js";

/** More than a year, and neither whole days nor whole weeks. */
const laterMs = 401.3 * 24 * 3_600_000;

/**
 * What a pure function answers at another time and with other luck: whatever reads a clock or draws lots gives
 * another answer. The work is synchronous, so nobody else sees the other time.
 */
export function elsewhen<T>(clock: Clock, work: () => T): T {
  const { Date: today } = globalThis;
  const { random } = Math;
  if (isStepping(clock)) clock.advance(laterMs);
  globalThis.Date = new Proxy(today, {
    construct: (target, given: unknown[], newTarget) =>
      Reflect.construct(target, given.length === 0 ? [later()] : given, newTarget) as object,
    apply: () => new today(later()).toString(),
    get: (target, key) => (key === "now" ? later : (Reflect.get(target, key) as unknown)),
  });
  Math.random = () => 1 - random();
  try {
    return work();
  } finally {
    globalThis.Date = today;
    Math.random = random;
  }
  function later(): number {
    return today.now() + laterMs;
  }
}
