import { readFileSync } from "node:fs";
import { isJsonObject, type JsonObject } from "../../src/api/json.js";
import { messageOf } from "../../src/api/error.js";
import { defaultProfile, isProfile, type Profile } from "../../src/api/set-profile.js";

/** One question with the answer that is wanted. */
export interface VectorCase {
  readonly id: string;
  readonly profile: Profile;
  readonly given: JsonObject;
  readonly want: JsonObject;
}

/** A case, or why it, or the file it stands in, cannot be asked. */
export type ReadCase =
  | { readonly kind: "case"; readonly asked: VectorCase }
  | { readonly kind: "malformed"; readonly id: string; readonly problem: string };

/** The cases of a file, in order; a file that cannot be read is one case that is malformed. */
export function readVectorFile(path: string): ReadCase[] {
  try {
    return casesOf(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    return [malformed("file", `cannot be read: ${messageOf(error)}`)];
  }
}

function casesOf(file: unknown): ReadCase[] {
  if (!isJsonObject(file)) return [malformed("file", "is no object")];
  const { cases, profile = defaultProfile } = file;
  if (!isProfile(profile)) {
    return [malformed("file", `profile ${JSON.stringify(profile)} is not known`)];
  }
  if (!Array.isArray(cases) || cases.length === 0) return [malformed("file", "holds no cases")];
  return cases.map((value: unknown, index) => caseOf(value, `case ${index + 1}`, profile));
}

function caseOf(value: unknown, place: string, ofFile: Profile): ReadCase {
  if (!isJsonObject(value)) return malformed(place, "is no object");
  const { given, want } = value;
  const id = typeof value["id"] === "string" ? value["id"] : place;
  if (!isJsonObject(given)) return malformed(id, "has no given");
  if (!isJsonObject(want) || Object.keys(want).length === 0) return malformed(id, "has no want");
  const profile = value["profile"] ?? given["profile"] ?? ofFile;
  if (!isProfile(profile)) {
    return malformed(id, `profile ${JSON.stringify(profile)} is not known`);
  }
  return { kind: "case", asked: { id, profile, given, want } };
}

function malformed(id: string, problem: string): ReadCase {
  return { kind: "malformed", id, problem };
}
