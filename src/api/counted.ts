/** A word as it stands with a number: "machine" with 1, "machines" with others. Pure. */
export function wordFor(count: number, one: string, several = `${one}s`): string {
  return count === 1 ? one : several;
}

/** "1 machine", "3 machines", "0 machines". Pure. */
export function counted(count: number, noun: string, several?: string): string {
  return `${count} ${wordFor(count, noun, several)}`;
}
