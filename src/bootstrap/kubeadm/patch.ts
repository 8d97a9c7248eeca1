import { isJsonObject, type Json, type JsonObject } from "../../api/json.js";

type Arguments = Readonly<Record<string, string>>;
/** How arguments of a component are written: as a map, or as a list. */
type Spelling = (args: Arguments) => Json;

/**
 * An object with a user's members over its own: members of objects are merged at every depth, what a user lists comes
 * behind our own, and anything else is the user's. What would make it another cluster was refused before
 * (src/api/kubeadm-patch.ts). Pure.
 */
export function withPatch(own: JsonObject, patch: JsonObject, spell: Spelling): JsonObject {
  return spelled(merged(own, patch), spell);
}

function merged(own: JsonObject, patch: JsonObject): JsonObject {
  const added = Object.entries(patch).map(([name, value]) => [name, mergedValue(own[name], value)]);
  return { ...own, ...(Object.fromEntries(added) as JsonObject) };
}

function mergedValue(own: Json | undefined, patch: Json): Json {
  if (isJsonObject(own) && isJsonObject(patch)) return merged(own, patch);
  return isList(own) && isList(patch) ? [...new Set([...own, ...patch])] : patch;
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

function spelled(value: JsonObject, spell: Spelling): JsonObject {
  const members = Object.entries(value).map(([name, member]) => {
    if (!isJsonObject(member)) return [name, member];
    return [name, name === "extraArgs" ? spell(member as Arguments) : spelled(member, spell)];
  });
  return Object.fromEntries(members) as JsonObject;
}
