// Finds a program that tests need, or installs it and looks again.

/**
 * @typedef {object} Wanted
 * @property {string} name for people, as in "cannot set up a browser"
 * @property {() => string | undefined} find
 * @property {Readonly<Record<string, () => Promise<void>>>} ways to install it, by name, in the
 *   order in which they are tried
 * @property {string} hint what to do where none of the ways works
 * @property {(text: string) => void} progress
 */

/**
 * @param {Wanted} wanted
 * @returns {Promise<string>} what `find` finds, at first or after the first way that leads to it
 * @throws what `find` throws at first, or an Error with the reasons of all ways and a hint
 */
export async function findOrInstall({ name, find, ways, hint, progress }) {
  const found = find();
  if (found !== undefined) return found;
  const causes = [];
  for (const [way, install] of Object.entries(ways)) {
    progress(`setting up ${name}: ${way}`);
    try {
      await install();
      const installed = find();
      if (installed !== undefined) return installed;
      throw new Error("it left none");
    } catch (error) {
      causes.push(`no ${way} (${error instanceof Error ? error.message : String(error)})`);
    }
  }
  throw withHint(`cannot set up ${name}: ${causes.join(", ")}`, hint);
}

/**
 * @param {string} message
 * @param {string} hint
 */
export function withHint(message, hint) {
  return Object.assign(new Error(`${message}; ${hint}`), { hint });
}
