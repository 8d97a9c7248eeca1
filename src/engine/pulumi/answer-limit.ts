import { CapstanError } from "../../api/error.js";
import type { Clock } from "../../provider/port.js";
import { engineFailed } from "./engine-refusals.js";
import type { PulumiResult } from "./pulumi.js";

/** The longest that Pulumi may take to list the stacks of a backend, whose states it reads one after the other. */
const answerLimitMs = 120_000;

/** A question to Pulumi about its backend. */
interface Question {
  readonly args: readonly string[];
  /** "cannot list stacks". */
  readonly what: string;
  readonly clock: Clock;
}

/**
 * What Pulumi answers. `run` asks it, and is to kill it at the abort of `late`. Throws ENGINE_FAILED when the answer is
 * an error, and BAD_STATE when none comes in time.
 */
export async function answerInTime(
  { args, what, clock }: Question,
  run: (late: AbortSignal) => Promise<PulumiResult>,
): Promise<PulumiResult> {
  const [late, answered] = [new AbortController(), new AbortController()];
  void clock.sleep(answerLimitMs, answered.signal).then(
    () => late.abort(),
    () => undefined,
  );
  try {
    const result = await run(late.signal);
    if (result.code === null && late.signal.aborted) throw unanswered(what, args);
    if (result.code !== 0) throw engineFailed(what, result);
    return result;
  } finally {
    answered.abort();
  }
}

function unanswered(what: string, args: readonly string[]): CapstanError {
  const command = ["pulumi", ...args].join(" ");
  return new CapstanError({
    code: "BAD_STATE",
    source: "engine",
    message: `${what}: ${command} gave no answer within ${answerLimitMs / 1000} s`,
    hint: `see that ${command} answers in this backend; the same command then goes on`,
    retryable: true,
  });
}
