/** A noun as it stands behind a number: "machine" behind 1, "machines" behind others. Pure. */
export function nounFor(count: number, noun: string, several = `${noun}s`): string {
  return count === 1 ? noun : several;
}

/** "1 machine", "3 machines", "0 machines". Pure. */
export function counted(count: number, noun: string, several?: string): string {
  return `${count} ${nounFor(count, noun, several)}`;
}
