import { createInterface } from "node:readline";
import { CapstanError } from "../api/error.js";
import type { CommandContext } from "./context.js";
import { isTerminal } from "./terminal.js";

/**
 * Asks before anything changes. Throws NOT_CONFIRMED for any answer but "yes", and when there is
 * nobody to ask; CANCELLED for Ctrl-C, Ctrl-D or a signal in the place of an answer.
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
  const { stopwatch, interruption, terminal } = context;
  const answer = await stopwatch.except(() =>
    ask(`${question} Only "yes" goes on: `, interruption.stop),
  );
  if (answer.kind === "line" && answer.text.trim() === "yes") return;
  // The cursor still stands behind the question.
  if (answer.kind === "ended") terminal.error("\n");
  throw new CapstanError({
    code: answer.kind === "ended" ? "CANCELLED" : "NOT_CONFIRMED",
    source: "user",
    message: "not confirmed; nothing was changed",
  });
}

type Answer =
  | { readonly kind: "line"; readonly text: string }
  /** Ctrl-C, Ctrl-D or a signal ended the question. */
  | { readonly kind: "ended" };

/**
 * The line that the user enters at the terminal. It never rejects: Ctrl-C and Ctrl-D close the interface
 * (raw mode turns them into keys, so no signal comes), and `stop` closes it as well.
 */
function ask(question: string, stop: AbortSignal): Promise<Answer> {
  return new Promise((resolve) => {
    const asking = createInterface({ input: process.stdin, output: process.stderr });
    const close = () => asking.close();
    asking.once("close", () => {
      stop.removeEventListener("abort", close);
      resolve({ kind: "ended" });
    });
    asking.question(question, (text) => {
      resolve({ kind: "line", text });
      close();
    });
    stop.addEventListener("abort", close);
    if (stop.aborted) close();
  });
}
