import { isCapstanError } from "../../api/error.js";
import { scrubber } from "../../api/scrubber.js";
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

const scrubbed = scrubber({});

/** A control character but a tab, and the sequence that ESC begins: colours and moves of the cursor. Source: ECMA-48, section 5.4. */
const controls = /(?!\t)\p{Cc}(?:\[[0-?]*[ -/]*[@-~])?/gu;

/** The last lines without control characters but tabs, and without what looks like a secret. Pure. */
function shownLines(text: string): string {
  const lines = scrubbed(text)
    .split(/\r?\n|\r/)
    .map((line) => line.replace(controls, "").trimEnd())
    .filter((line) => line !== "");
  return lines.slice(-mostLines).join("\n");
}
