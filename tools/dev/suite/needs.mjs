// What some test files need of a machine that not every machine has. Where it is missing they are left out, which
// is said at the end of the run: nothing of it counts as passed.

/** @typedef {import("./files.mjs").Floor} Floor */

/**
 * Why a need is not met, in a line; undefined when it is.
 *
 * @typedef {(env: NodeJS.ProcessEnv) => Promise<string | undefined>} Lack
 */

/**
 * @param {Floor} floor
 * @param {Readonly<Record<string, Lack>>} lacks by the names that the floor has for needs
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ runnable: Floor, leftOut: { file: string, line: string }[] }>}
 * @throws an Error for a need that nothing is known of
 */
export async function sortByNeeds(floor, lacks, env) {
  /** @type {Map<string, string | undefined>} */
  const known = new Map();
  /** @type {{ file: string, line: string }[]} */
  const leftOut = [];
  for (const [file, { tests, needs }] of Object.entries(floor)) {
    if (needs === undefined) continue;
    const lack = lacks[needs];
    if (lack === undefined)
      throw new Error(`test/floor.json: ${file} needs ${needs}, which is unknown`);
    if (!known.has(needs)) known.set(needs, await lack(env));
    const reason = known.get(needs);
    if (reason === undefined) continue;
    leftOut.push({ file, line: `${file} (${tests} tests) needs ${needs}: ${reason}` });
  }
  const names = new Set(leftOut.map(({ file }) => file));
  const runnable = Object.fromEntries(Object.entries(floor).filter(([file]) => !names.has(file)));
  return { runnable, leftOut };
}
