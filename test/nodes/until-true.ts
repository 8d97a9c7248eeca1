import { until } from "../scenario/until.js";

const timeoutMs = 4 * 60_000;

/** Waits long, and asks seldom; whoever does not answer yet may do so later. */
export async function untilTrue(what: string, ask: () => Promise<boolean>): Promise<void> {
  let cause: unknown;
  const answer = async () => {
    try {
      return await ask();
    } catch (error) {
      cause = error;
      return false;
    }
  };
  await until(what, answer, timeoutMs, 1_000).catch((error: unknown) => {
    throw new Error(String(error), { cause });
  });
}
