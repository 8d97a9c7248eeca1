/** Quoted for POSIX shells where it needs to be. Pure. */
export function shellWord(value: string): string {
  return /^[\w./:@%+=,-]+$/.test(value) ? value : quotedWord(value);
}

/** Quoted for POSIX shells. Pure. */
export function quotedWord(value: string): string {
  return `'${value.replaceAll("'", `'\\''`)}'`;
}
