import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import type { AnyObject } from "../api/types.js";
import { bareWords } from "../api/validate.js";
import type { Position } from "./diagnostic.js";
import { placeOfSetting } from "./override-forms.js";
import type { ParsedDocument } from "./parse.js";
import type { Respelling } from "./respelling.js";
import type { MadeSetting } from "./settings.js";
import { writtenPath } from "./spelling.js";

/** An object that fits its schema, with the document that it came from. */
export interface Placed<O extends AnyObject = AnyObject> {
  readonly object: O;
  readonly document: ParsedDocument;
  readonly respellings: readonly Respelling[];
  /** What the command has set in it, in order. */
  readonly settings: MadeSetting[];
}

/** A violation that shows a bare value as its user wrote it, in a file or behind --set. */
export function asWritten(placed: Omit<Placed, "object">, violation: Violation): Violation {
  const { path, bare } = violation;
  if (bare === undefined) return violation;
  const { document, respellings, settings } = placed;
  const made = madeAt(path, settings);
  const written =
    made === undefined ? document.writtenAt(writtenPath(path, respellings)) : made.setting.given;
  if (written === undefined) return violation;
  const { summary, hint } = bareWords(written, bare);
  // What a variable stands for says more than its name, and its name is what has to be in quotes.
  return { ...violation, hint, summary: written.includes("${") ? violation.summary : summary };
}

/** Where a member was given: by the command, or in the manifest. */
export function placeIn(
  { document, respellings, settings }: Omit<Placed, "object">,
  path: MemberPath,
): Position {
  const made = madeAt(path, settings);
  if (made !== undefined) return { file: placeOfSetting(made.setting) };
  return document.positionOf(writtenPath(path, respellings));
}

/** The setting that has given a member, or something in it. */
export function madeAt(
  path: MemberPath,
  settings: readonly MadeSetting[],
): MadeSetting | undefined {
  const isAbout = (covers: MemberPath) =>
    leadsTo(covers, path) || (path.length > 0 && leadsTo(path, covers));
  return settings.findLast(({ covers }) => isAbout(covers));
}

/** Whether a path is that of a member, or of one above it. */
export function leadsTo(above: MemberPath, path: MemberPath): boolean {
  return above.every((part, index) => String(part) === String(path[index]));
}
