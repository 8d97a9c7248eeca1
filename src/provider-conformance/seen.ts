import { type CapstanError, isCapstanError, messageOf } from "../api/error.js";
import { callOf } from "./call-watch.js";

/** The error of a promise that must not succeed; undefined when it does. */
export async function errorOf(work: Promise<unknown>): Promise<Error | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** The code of an error of ours, also inside one that tells of an unfinished resource. */
export function codeOf(error: unknown): CapstanError["code"] | undefined {
  if (isCapstanError(error)) return error.code;
  return error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : undefined;
}

/** What happened instead, for a failure's message. */
export function seenOf(error: unknown): string {
  if (error === undefined) return "it succeeded";
  return `${kindOf(error)}${byCall(error)} (${messagesOf(error)})`;
}

/** The call of the provider that threw and what: "locate of AcmeHost threw PERMISSION: ..."; undefined: none did. */
export function originOf(error: unknown): string | undefined {
  const call = callOf(error);
  return call === undefined ? undefined : `${call} threw ${kindOf(error)}: ${messagesOf(error)}`;
}

/** Call, kind of error and messages of a thrown value; of an error that is no CapstanError also the line that threw it. */
export function thrownText(error: unknown): string {
  return `${originOf(error) ?? `${kindOf(error)}: ${messagesOf(error)}`}${placeOf(error)}`;
}

/** Code of the error, with `retryable` and `ambiguous`; the class of an error without a code. */
function kindOf(error: unknown): string {
  const code = codeOf(error);
  if (code === undefined) return error instanceof Error ? error.name : "a value that is no Error";
  const ours = causesOf(error).find(isCapstanError);
  const ways = (["retryable", "ambiguous"] as const).filter((way) => ours?.[way] === true);
  return [code, ...ways].join(", ");
}

function byCall(error: unknown): string {
  const call = callOf(error);
  return call === undefined ? "" : ` from ${call}`;
}

/** The message of an error, and those of its causes that it does not contain. */
function messagesOf(error: unknown): string {
  const messages: string[] = [];
  for (const message of causesOf(error).map(messageOf)) {
    if (!messages.some((one) => one.includes(message))) messages.push(message);
  }
  return messages.join(", caused by: ");
}

/** The line of code that threw an error; empty for a CapstanError, whose message is enough. */
function placeOf(error: unknown): string {
  const thrown = causesOf(error).at(-1);
  if (!(thrown instanceof Error) || isCapstanError(thrown)) return "";
  const frames = (thrown.stack ?? "").split("\n").map((line) => line.trim());
  const frame = frames.find((line) => line.startsWith("at ") && !line.includes("node:"));
  return frame === undefined ? "" : ` (${frame})`;
}

const mostCauses = 8;

function causesOf(error: unknown): unknown[] {
  const causes = [error];
  while (causes.length < mostCauses) {
    const last = causes.at(-1);
    if (!(last instanceof Error) || last.cause === undefined) break;
    causes.push(last.cause);
  }
  return causes;
}
