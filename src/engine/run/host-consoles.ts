import { isCapstanError } from "../../api/error.js";
import type { NodeKey } from "../../graph/graph.js";
import type { CallContext, Observed, UserDataTerms } from "../../provider/port.js";

/** Of a console: as much as a person reads. */
const mostLines = 12;

/** The last lines that hosts have printed, by host; of those alone whose consoles can be read. */
export async function consolesOf(
  hosts: ReadonlyMap<NodeKey, Observed>,
  { console }: Pick<UserDataTerms, "console">,
  ctx: CallContext,
): Promise<Map<NodeKey, string>> {
  const texts = new Map<NodeKey, string>();
  if (console === undefined) return texts;
  for (const [key, host] of hosts) {
    try {
      const text = shownLines(await console(ctx, host));
      if (text !== "") texts.set(key, text);
    } catch (error) {
      // What a host prints explains a failure; that it cannot be read is none.
      if (!isCapstanError(error)) throw error;
    }
  }
  return texts;
}

/** The last lines without control characters, and without what looks like a token or a private key. Pure. */
function shownLines(text: string): string {
  const lines = text
    .replace(
      /-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g,
      "(key)",
    )
    .replace(/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, "(token)")
    .split(/\r?\n|\r/)
    .map((line) => line.replace(/\p{Cc}\[?[0-9;]*[A-Za-z]?/gu, "").trimEnd())
    .filter((line) => line !== "");
  return lines.slice(-mostLines).join("\n");
}
