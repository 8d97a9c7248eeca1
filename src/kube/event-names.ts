import { createHash } from "node:crypto";

/** What an Event is about: an object of the API server. */
export interface Regarding {
  readonly apiVersion: string;
  readonly kind: string;
  /** Empty for objects outside namespaces. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Something that happened to an object, for its users to read. */
export interface EventRequest {
  readonly regarding: Regarding;
  readonly type: "Normal" | "Warning";
  /** One word in CamelCase, for machines: "DriftFound". */
  readonly reason: string;
  /** What the controller did or does about it, one word in CamelCase: "Replace". */
  readonly action: string;
  /** For people. Cut at a kilobyte. */
  readonly note: string;
}

/** How long the same event counts as going on. */
export const seriesWindowMs = 3_600_000;
/** The API server refuses longer notes. */
const noteBytes = 1_024;
/** Names are DNS subdomains of at most 253 characters; the hash and the dot take 17. */
const longestOwnName = 236;

/** The note as the API server takes it: cut between characters, with a mark. */
export function fitNote(note: string): string {
  if (Buffer.byteLength(note) <= noteBytes) return note;
  const cut = Buffer.from(note)
    .subarray(0, noteBytes - 3)
    .toString("utf8");
  return `${cut.replace(/(?<!\uFFFD)\uFFFD+$/, "")}...`;
}

/**
 * The name of the Event: the same for the same event within a window of time, whoever tells of it
 * and however often it was restarted. Windows of different happenings end at different times. Pure.
 */
export function eventName(event: EventRequest, atMs: number): string {
  const { regarding, type, reason, action, note } = event;
  const about = [regarding.uid, regarding.kind, type, reason, action, fitNote(note)];
  const digest = hash(about.join("\n"));
  const offsetMs = parseInt(digest.slice(0, 8), 16) % seriesWindowMs;
  const window = Math.floor((atMs + offsetMs) / seriesWindowMs);
  const own = regarding.name.slice(0, longestOwnName).replace(/[^a-z0-9]+$/, "");
  return `${own}.${hash(`${digest}\n${window}`)}`;
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
