/** How a Node and its Machine know that they are the same host. */
export interface ProviderId {
  /** What stands before the first colon, e.g. "aws". */
  readonly cloudProvider: string;
  /** The last segment, e.g. "i-0123". */
  readonly id: string;
  /** The text as it was given. */
  readonly text: string;
}

type ParsedProviderId =
  | { readonly kind: "valid"; readonly providerId: ProviderId }
  | { readonly kind: "malformed"; readonly reason: "empty" | "invalid" };

/**
 * A provider id such as "aws:///eu-west-1a/i-0123". What lies between provider and last segment
 * varies with who wrote it and is not looked at. Pure. Source: docs/cluster-api.md#provider-ids.
 */
export function parseProviderId(text: string): ParsedProviderId {
  if (text === "") return { kind: "malformed", reason: "empty" };
  const match = /^([^:]+):\/\/.*[^/]$/s.exec(text);
  const cloudProvider = match?.[1];
  if (cloudProvider === undefined) return { kind: "malformed", reason: "invalid" };
  const id = text.slice(text.lastIndexOf("/") + 1);
  return { kind: "valid", providerId: { cloudProvider, id, text } };
}

/** The same host: the same provider and the same last segment. */
export function sameProviderId(former: ProviderId, latter: ProviderId): boolean {
  return former.cloudProvider === latter.cloudProvider && former.id === latter.id;
}
