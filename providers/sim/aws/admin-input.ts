// What somebody orders through the simulator's own routes, checked: an order that would have no effect is refused.

import type { FaultOrder } from "../core/faults.js";
import { matchesPattern } from "../core/patterns.js";
import type { AccountsDocument } from "./accounts.js";
import { defaultSettings, type SettingsChange } from "./model/settings.js";
import { services } from "./services.js";

/** Throws where somebody has ordered what there is not. */
export function faultOrderOf(body: unknown): FaultOrder {
  const order = objectOf(body, "a fault", [
    "action",
    "effect",
    "accessKey",
    "where",
    "skip",
    "times",
  ]);
  checkAction(order["action"]);
  const effect = objectOf(order["effect"], "an effect");
  const kind = String(effect["kind"]);
  const fields = effects[kind];
  if (fields === undefined) throw unknown("effect", kind, Object.keys(effects));
  objectOf(effect, `an effect of kind ${kind}`, ["kind", ...Object.keys(fields)]);
  for (const [name, words] of Object.entries(fields)) {
    const value = effect[name];
    if (words.length > 0 && !words.includes(String(value)))
      throw unknown(name, String(value), words);
  }
  return body as FaultOrder;
}

/** The fields of each kind of effect, and what they may be where not everything will do. */
const effects: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  refuse: { code: [], message: [], status: [] },
  cut: { when: ["before", "after"] },
  hold: { when: ["before", "after"] },
  delay: { ms: [] },
  fate: { fate: ["fails", "never", "interrupted"], ms: [] },
};

function checkAction(action: unknown): void {
  if (typeof action !== "string") throw new Error("a fault names an action");
  if (action === "mutating") return;
  const pattern = action.includes(":") || action === "*" ? action : `*:${action}`;
  const known = [...services.values()].flatMap(({ prefix, actions }) =>
    [...actions.keys()].map((name) => `${prefix}:${name}`),
  );
  if (!known.some((name) => matchesPattern(pattern, name))) {
    throw new Error(`no action of the simulator fits ${action}`);
  }
}

/** Throws for settings, quotas and durations that there are not. */
export function settingsChangeOf(body: unknown): SettingsChange {
  const { quotas, durations } = defaultSettings;
  const change = objectOf(body, "the settings", [
    ...Object.keys(defaultSettings),
    "instanceProfiles",
  ]);
  if (change["quotas"] !== undefined) objectOf(change["quotas"], "the quotas", Object.keys(quotas));
  if (change["durations"] !== undefined) {
    objectOf(change["durations"], "the durations", Object.keys(durations));
  }
  return body as SettingsChange;
}

/** The fields of a body; throws for one that is no object, or has others than those that are named. */
export function objectOf(
  value: unknown,
  what: string,
  names?: readonly string[],
): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${what} is a JSON object`);
  }
  const other =
    names === undefined ? undefined : Object.keys(value).find((name) => !names.includes(name));
  if (other !== undefined) throw unknown(`field of ${what}`, other, names ?? []);
  return value as Readonly<Record<string, unknown>>;
}

function unknown(what: string, value: string, known: readonly string[]): Error {
  return new Error(`there is no ${what} ${value}: ${known.join(", ")}`);
}

/** Reads what was answered as a snapshot. Throws for anything else. */
export function snapshotOf(body: unknown): AccountsDocument {
  const { version, nowMs, regions, sessions } = objectOf(body, "a snapshot", [
    "version",
    "nowMs",
    "regions",
    "sessions",
  ]);
  const parts = [regions, sessions].every((part) => typeof part === "object" && part !== null);
  if (typeof version !== "number" || typeof nowMs !== "number" || !parts) {
    throw new Error("a snapshot is what GET /_sim/snapshot answers");
  }
  return body as AccountsDocument;
}
