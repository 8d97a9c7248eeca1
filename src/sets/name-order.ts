/** "workers-2" before "workers-10"; total, and the same everywhere, whatever the machine's locale. */
export function inNameOrder(left: string, right: string): number {
  return (
    left.localeCompare(right, "en", { numeric: true }) || (left < right ? -1 : Number(left > right))
  );
}
