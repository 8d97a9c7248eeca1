import { createInterface } from "node:readline/promises";
import { CapstanError } from "../api/error.js";
import type { CommandContext } from "./context.js";
import { isTerminal } from "./terminal.js";

/**
 * Asks before anything changes. Throws NOT_CONFIRMED for any answer but "yes", and when there is
 * nobody to ask.
 */
export async function confirm(
  question: string,
  assumeYes: boolean,
  context: CommandContext,
): Promise<void> {
  if (assumeYes) return;
  if (!isTerminal(process.stdin) || context.json) {
    throw new CapstanError({
      code: "NOT_CONFIRMED",
      source: "user",
      message: "cannot ask for confirmation: this is not a terminal",
      hint: "add --yes",
    });
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await context.stopwatch.except(() =>
      asking.question(`${question} Only "yes" goes on: `, { signal: context.interruption.stop }),
    );
    if (answer.trim() === "yes") return;
  } finally {
    asking.close();
  }
  throw new CapstanError({
    code: "NOT_CONFIRMED",
    source: "user",
    message: "not confirmed; nothing was changed",
  });
}
