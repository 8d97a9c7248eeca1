import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../../api/json.js";

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

/**
 * What several members of one control plane say of it: kubeadm has one ClusterConfiguration for all of them. The first
 * member's value counts where two members contradict each other; of list items with a name, the first of that name. Pure.
 */
export function mergedPatches(patches: readonly JsonObject[]): JsonObject {
  return patches.toReversed().reduce(merged, {});
}

function merged(own: JsonObject, patch: JsonObject): JsonObject {
  const added = Object.entries(patch).map(([name, value]) => [name, mergedValue(own[name], value)]);
  return { ...own, ...(Object.fromEntries(added) as JsonObject) };
}

function mergedValue(own: Json | undefined, patch: Json): Json {
  if (isJsonObject(own) && isJsonObject(patch)) return merged(own, patch);
  return isList(own) && isList(patch) ? mergedList(own, patch) : patch;
}

/** Items of a patch take the place of equal ones, volumes that of volumes with their name. */
function mergedList(own: readonly Json[], patch: readonly Json[]): readonly Json[] {
  return [...new Map([...own, ...patch].map((item) => [itemKey(item), item])).values()];
}

function itemKey(item: Json): string {
  return canonicalJson(isJsonObject(item) && "name" in item ? ["name", item["name"]] : item);
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
