import type { ResourceLookup } from "../../dynamic/attached-server.js";

/** The same lookup, and whether anything was asked of it yet: what no resource was asked for has done nothing. */
export function noticing(lookup: ResourceLookup): {
  readonly lookup: ResourceLookup;
  readonly hasAsked: () => boolean;
} {
  let wasAsked = false;
  return {
    lookup: (kind) => {
      wasAsked = true;
      return lookup(kind);
    },
    hasAsked: () => wasAsked,
  };
}
