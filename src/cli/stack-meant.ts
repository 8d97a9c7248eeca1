import { CapstanError } from "../api/error.js";
import { stackNamed } from "../api/types.js";
import type { NotedCluster } from "../sweep/clusters.js";

/** Where a word is looked up. */
export interface KnownStacks {
  /** Of the backend. */
  readonly stacks: readonly string[];
  /** Clusters that were made from the state folder, those that have ended included, oldest first. */
  readonly noted: readonly NotedCluster[];
}

/**
 * The stack of the cluster that a word names: "default/prod", "default.prod", the name of a stack, or "prod" where one
 * cluster alone has that name. A name of which nothing is known is that of its stack. Throws BAD_USAGE for what names no
 * stack, and for a bare name that several clusters have. Pure.
 */
export function stackMeant(word: string, known: KnownStacks): string {
  const stack = stackNamed(word);
  if (stack.includes(".") || known.stacks.includes(stack)) return stack;
  const ended = known.noted.map((one) => one.stack);
  for (const stacks of [known.stacks, ended]) {
    const meant = [...new Set(stacks)].filter((one) => bareNameOf(one, known) === word);
    const [only, ...others] = meant;
    if (others.length > 0) throw several(word, meant);
    if (only !== undefined) return only;
  }
  return stack;
}

/** "prod" of default/prod. A note has the whole name, where that is too long for a stack. */
function bareNameOf(stack: string, { noted }: KnownStacks): string {
  const cluster = noted.findLast((one) => one.stack === stack)?.cluster ?? stack;
  return cluster.slice(cluster.search(/[/.]/) + 1);
}

function several(word: string, stacks: readonly string[]): CapstanError {
  return new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    subject: word,
    message: `which cluster? ${stacks.length} are called ${word}`,
    hint: `name one: ${stacks.join(", ")}`,
  });
}
