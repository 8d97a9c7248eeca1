/** Whether a text is what a pattern says: `*` stands for any characters, `?` for one. Pure. */
export function matchesPattern(pattern: string, text: string): boolean {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  const source = escaped.replaceAll("*", "[^]*").replaceAll("?", "[^]");
  return new RegExp(`^${source}$`).test(text);
}
