/** Variables whose values are nobody's business, by name. */
const secretNames =
  /pass(word|phrase)?|secret|token|credential|private|api_?key|access_?key|auth(?!or)/i;
/** Variables that say where a secret is, or that there is one, and are none. */
const harmlessNames = /(_file|_path|_dir|_sock)$/i;
/** Shorter values would blot out ordinary words. */
const shortestSecret = 6;

/** Each takes a time that grows no faster than the text: other users write the texts, and one process reads those of all. */
const shapes: readonly (readonly [RegExp, string])[] = [
  // postgres://user:password@host, s3://key:secret@bucket; "***" stands for one already.
  [/(?<=[a-z0-9+.-])(:\/\/[^\s:@/"\\]*:)(?!\*{3}@)[^\s@/"\\]+@/gi, "$1[redacted]@"],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, "$1 [redacted]"],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)/gs, "[redacted]"],
  // A JSON web token. The lookahead finds its beginning once in each run of such characters: no text is walked through twice.
  [/(?<![\w-])(?=((?:[\w-]*?-)??)eyJ[\w-]{8})\1[\w-]+\.[\w-]{8,}\.[\w-]*/g, "$1[redacted]"],
  [/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, "[redacted]"],
  // A name in quotes is JSON's or YAML's: what follows it without quotes is no text, and stays what it is.
  [
    /((?:pass(?:word|phrase)|secret|token)(?:\\*["']\s*[=:]\s*\\*["']|\s*[=:]\s*\\*["']?))[^\s"',;&\\]+/gi,
    "$1[redacted]",
  ],
];

/** Whether the value that goes by such a name is a secret. Pure. */
export function isSecretName(name: string): boolean {
  return secretNames.test(name) && !harmlessNames.test(name);
}

/**
 * A function that blots out secrets in a text: the values of an environment's secret variables, as they
 * are and as JSON writes them, and what looks like a password in an address, a bearer or bootstrap
 * token, or a private key.
 */
export function scrubber(
  env: Readonly<Record<string, string | undefined>>,
): (text: string) => string {
  const values = Object.entries(env)
    .filter(([name]) => isSecretName(name))
    .flatMap(([, value = ""]) => [value, JSON.stringify(value).slice(1, -1)])
    .filter((value) => value.length >= shortestSecret);
  // The longest first: one secret may begin with another.
  const known = [...new Set(values)].sort((left, right) => right.length - left.length);
  return (text) => {
    const blotted = known.reduce((rest, value) => rest.replaceAll(value, "[redacted]"), text);
    return shapes.reduce((rest, [shape, mark]) => rest.replace(shape, mark), blotted);
  };
}
