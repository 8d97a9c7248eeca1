// Which Node.js runs Capstan. Parses on Node.js 18, so that an old one can still find a newer one.

/** The oldest Node.js that Capstan runs on: from here on node:sqlite has all that the state needs. */
export const minimumNode = "22.19.0";

/**
 * @param {string} version such as `v22.19.0`, or without the `v`
 * @returns {boolean} whether Capstan runs on that Node.js
 */
export function isFittingNode(version) {
  return compareVersions(version, minimumNode) >= 0;
}

/**
 * Compares major, minor and patch; a missing one is 0, whatever follows them is ignored.
 *
 * @param {string} left
 * @param {string} right
 * @returns {number} below, equal to or above 0
 */
export function compareVersions(left, right) {
  const [leftMajor, leftMinor, leftPatch] = numbersOf(left);
  const [rightMajor, rightMinor, rightPatch] = numbersOf(right);
  return leftMajor - rightMajor || leftMinor - rightMinor || leftPatch - rightPatch;
}

/**
 * @param {string} version
 * @returns {[number, number, number]}
 */
function numbersOf(version) {
  const [, major, minor = 0, patch = 0] = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?/.exec(version) ?? [];
  return [Number(major), Number(minor), Number(patch)];
}
