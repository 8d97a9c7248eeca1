import { createLog, type Log, type LogLevel } from "../controller/log.js";
import type { Voice } from "./context.js";

/**
 * The log of a controller, on standard error: text, or JSON lines with `--json`, as every verb writes them. Whether a terminal reads it
 * does not count, so that a log has one form wherever it goes.
 */
export function watchLog(
  level: LogLevel,
  { json, secrets, terminal }: Pick<Voice, "json" | "terminal" | "secrets">,
): Log {
  return createLog({
    level,
    redact: secrets.scrub,
    pretty: !json,
    write: (line) => terminal.error(line),
  });
}
