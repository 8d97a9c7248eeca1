import { isJsonObject } from "../../src/api/json.js";

/**
 * The first place where an answer is not what is wanted, or undefined. Members that nobody wants are
 * no difference; lists and everything inside them are compared in full.
 */
export function firstDifference(want: unknown, came: unknown, path = ""): string | undefined {
  if (Array.isArray(want) && Array.isArray(came)) {
    if (want.length !== came.length) return saying(path, want, came);
    return want
      .map((item, index) => firstDifference(item, came[index], `${path}[${index}]`))
      .find((difference) => difference !== undefined);
  }
  if (isJsonObject(want) && isJsonObject(came)) {
    // At the top an answer may say more than was asked; below, an object is meant as a whole.
    const keys = new Set([...Object.keys(want), ...(path === "" ? [] : Object.keys(came))]);
    return [...keys]
      .map((key) => firstDifference(want[key], came[key], path === "" ? key : `${path}.${key}`))
      .find((difference) => difference !== undefined);
  }
  return Object.is(want, came) ? undefined : saying(path, want, came);
}

function saying(path: string, want: unknown, came: unknown): string {
  return `${path}: wanted ${shown(want)}, came ${shown(came)}`;
}

function shown(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
