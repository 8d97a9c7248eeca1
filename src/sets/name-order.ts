/** Made once: a comparison that makes its own takes ten times as long. */
const { compare } = new Intl.Collator("en", { numeric: true });

/** "workers-2" before "workers-10"; total, and the same everywhere, whatever the machine's locale. */
export function inNameOrder(left: string, right: string): number {
  return compare(left, right) || (left < right ? -1 : Number(left > right));
}
