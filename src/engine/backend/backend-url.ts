/** The URL of a backend in its parts, as Go's net/url takes it apart. */
export interface BackendUrl {
  readonly scheme: string;
  /** What stands before the path, with user and password, as it is written. */
  readonly authority: string;
  /** Decoded, with the slash that it begins with. */
  readonly path: string;
  /** As it is written, without the question mark. */
  readonly query: string;
}

/**
 * Undefined for what is no URL with two slashes after its scheme. Not Node's URL: that takes dots out of
 * paths, which are part of keys. Pure. Source: https://pkg.go.dev/net/url#Parse.
 */
export function parseBackendUrl(url: string): BackendUrl | undefined {
  const parts = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?$/i.exec(url);
  if (parts === null) return undefined;
  const [, scheme = "", authority = "", path = "", query = ""] = parts;
  const decoded = decodedPart(path);
  if (decoded === undefined) return undefined;
  return { scheme: scheme.toLowerCase(), authority, path: decoded, query };
}

/** Undefined where a percent sign encodes nothing. Pure. */
export function decodedPart(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The first value of each parameter by its name, without the empty ones, which count for nothing. Pure. */
export function parametersOf({ query }: BackendUrl): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (value !== "" && !found.has(name)) found.set(name, value);
  }
  return found;
}

/**
 * What stands before each key in the bucket or the table: the URL's `prefix` as it is, then its path. So the
 * keys of a PostgreSQL backend begin with the name of its database. Pure. Source:
 * https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/backend/diy/backend.go, newDIYBackend;
 * https://github.com/google/go-cloud/blob/b5401c07b5f1/blob/blob.go, applyPrefixParam.
 */
export function keyPrefixOf(url: BackendUrl): string {
  const prefix = parametersOf(url).get("prefix") ?? "";
  if (url.scheme === "file") return prefix;
  const folder = url.path.replace(/^\/+/, "");
  return folder === "" || folder.endsWith("/") ? `${prefix}${folder}` : `${prefix}${folder}/`;
}

/** A truth value as Go spells it; undefined for any other text. Pure. Source: https://pkg.go.dev/strconv#ParseBool. */
export function parseGoBool(text: string): boolean | undefined {
  if (["1", "t", "T", "true", "TRUE", "True"].includes(text)) return true;
  return ["0", "f", "F", "false", "FALSE", "False"].includes(text) ? false : undefined;
}
