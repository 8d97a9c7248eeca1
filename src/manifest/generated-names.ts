import type { Violation } from "../api/diagnostic-codes.js";
import { digestOf } from "../api/digest.js";
import { isJsonObject, type JsonObject } from "../api/json.js";
import { unknownValue } from "../api/unknown.js";
import type { ObjectHolder } from "./object-parts.js";

/** As many characters as an API server puts behind generateName, and as long a name as it makes. */
const suffixLength = 5;
const longestName = 63;

/**
 * Gives names to objects that have generateName instead. An API server draws one at random, once; manifests are read again and
 * again, so a name is made of generateName and of how many objects with the same one came before: equal manifests give equal names.
 */
export class GeneratedNames {
  private readonly seen = new Map<string, number>();

  constructor(private readonly holder: ObjectHolder) {}

  /** Names an object of manifests, whose generateName goes. Answers what its user has to know. Changes the object. */
  give(object: JsonObject): Violation | undefined {
    const { metadata } = object;
    if (!isJsonObject(metadata)) return undefined;
    const { generateName: stem, name, namespace = "default" } = metadata;
    if (typeof stem !== "string" || stem === "") return undefined;
    delete (metadata as { generateName?: unknown }).generateName;
    if (name !== undefined) return this.holder === "apiServer" ? undefined : nameCounts;
    if (stem === unknownValue) {
      Object.assign(metadata, { name: unknownValue });
      return undefined;
    }
    const key = [object["kind"], namespace, stem].join(" ");
    const ordinal = this.seen.get(key) ?? 0;
    this.seen.set(key, ordinal + 1);
    const suffix = digestOf([key, ordinal], suffixLength);
    const made = `${stem.slice(0, longestName - suffixLength)}${suffix}`;
    Object.assign(metadata, { name: made });
    return {
      code: "NAME_MADE",
      path: ["metadata", "generateName"],
      summary: `its name is made of it: ${made}`,
      detail:
        "It is told apart from others with the same generateName by their order: taking one away renames those behind it.",
      hint: `write name: ${made}`,
    };
  }
}

const nameCounts: Violation = {
  code: "NO_EFFECT",
  path: ["metadata", "generateName"],
  summary: "has no effect beside name",
};
