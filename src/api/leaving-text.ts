declare const scrubbed: unique symbol;
declare const verbatim: unique symbol;

/** What has been through `SecretValues.scrub`. */
export type Scrubbed = string & { readonly [scrubbed]: true };
/** What goes out word for word. */
type Verbatim = string & { readonly [verbatim]: true };

/** The only texts that may leave the process. */
export type LeavingText = Scrubbed | Verbatim;

/**
 * A text that leaves as it is: somebody has asked for it with the secrets that are in it (a kubeconfig, keys, user data), or it is
 * text of ours alone. Pure.
 */
export function asVerbatim(text: string): Verbatim {
  return text as Verbatim;
}
