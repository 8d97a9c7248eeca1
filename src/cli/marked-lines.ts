import { linesOf } from "../api/quoted.js";

/**
 * Every line of a text behind the same mark: what an engine or a provider says in several lines stays
 * told from everything around it, and is found by its mark. Pure.
 */
export function markedLines(mark: string, text: string): string {
  return linesOf(text)
    .map((line) => `${mark}${line}\n`)
    .join("");
}
