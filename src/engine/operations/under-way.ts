import { CapstanError } from "../../api/error.js";
import type { PriorState } from "../../records/prior-state.js";
import { standingOf } from "../../transaction/lifecycle.js";

/**
 * Throws TRANSACTION_OPEN while anything is open or owed: what only adds a machine to the records, or takes one
 * out, carries nothing of that on. An entry that an interrupted begin has left is nothing: any pass clears it.
 */
export function refuseUnderWay(what: string, stack: string, state: PriorState): void {
  const standing = standingOf({ ...state, pending: [] });
  if (standing === "idle") return;
  const number = state.transaction?.number ?? 0;
  const why = standing === "owing" ? "has not deleted all it supersedes" : "is not finished";
  throw new CapstanError({
    code: "TRANSACTION_OPEN",
    source: "user",
    subject: stack,
    message: `cannot ${what}: transaction ${number} of ${stack} ${why}`,
    hint: `finish it with capstan up, or take it back with capstan rollback ${stack}; nothing was changed`,
  });
}
