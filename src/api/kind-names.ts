import { apiVersion, type Kind, schemas } from "./schema.js";

/** How an API server and its users call a kind. */
interface KindNames {
  readonly kind: string;
  readonly listKind: string;
  readonly singular: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  /** `kubectl get capstan` shows the objects of all kinds. */
  readonly categories: readonly string[];
}

export const [apiGroup = "", apiVersionName = ""] = apiVersion.split("/");

export const kinds = Object.keys(schemas) as Kind[];

/**
 * Names of a kind by rule: lower case, English plural, and as short name the initials of its words,
 * or two letters of the only one: cl, ma, ms, md, mc. Source: docs/cluster-api.md#types.
 */
export function namesOf(kind: string): KindNames {
  const singular = kind.toLowerCase();
  const initials = kind.replace(/[^A-Z]/g, "").toLowerCase();
  return {
    kind,
    listKind: `${kind}List`,
    singular,
    plural: singular.endsWith("s") ? `${singular}es` : `${singular}s`,
    categories: ["capstan", "cluster-api"],
    shortNames: [initials.length > 1 ? initials : singular.slice(0, 2)],
  };
}

/** Whether somebody who writes `word` means this kind: any case, singular, plural or short. */
export function isNameOf(kind: string, word: string): boolean {
  const { singular, plural, shortNames } = namesOf(kind);
  return [singular, plural, ...shortNames].includes(word.toLowerCase());
}
