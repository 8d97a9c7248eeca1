import type { CapstanError } from "../api/error.js";
import type { TerminalError } from "../source/cluster-view.js";

/**
 * What only a person can mend, in Cluster API's words; undefined for what may heal by itself. Pure.
 * Source: docs/cluster-api.md#cluster.
 */
export function terminalErrorOf(error: CapstanError): TerminalError | undefined {
  const { message, hint, retryable } = error;
  // A backend that is away for a moment, say: whoever met it knows better than the code tells.
  if (retryable) return undefined;
  const told = hint === undefined ? message : `${message}; ${hint}`;
  switch (error.code) {
    case "INVALID_INPUT":
    case "NOT_OWNER":
    case "PROTECTED":
      return { reason: "InvalidConfiguration", message: told };
    case "UNSUPPORTED_CHANGE":
    case "NOT_REVERSIBLE":
      return { reason: "UnsupportedChange", message: told };
    case "PERMISSION":
      return { reason: "PermissionDenied", message: told };
    case "AMBIGUOUS_OWNER":
      return { reason: "CreateError", message: told };
    case "BAD_STATE":
    case "SCHEMA_NEWER":
    case "WRONG_CLOUD":
      return { reason: "UpdateError", message: told };
    default:
      return undefined;
  }
}
