import type { Observed, Presence } from "../provider/port.js";
import { severalFound } from "./resource-refusals.js";

export function isGone(presence: Presence): boolean {
  return presence.found === "one" && presence.resource.phase === "gone";
}

/** The only one there is. Throws SEVERAL_FOUND. */
export function oneOf(presence: Presence, what: string): Observed {
  if (presence.found === "one") return presence.resource;
  throw severalFound(what, presence.found === "many" ? presence.ids : []);
}
