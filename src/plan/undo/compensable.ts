import type { NodeKey } from "../../graph/graph.js";
import type { TransactionPayload } from "../../records/transaction.js";
import { decidingPaths } from "../../provider/fields.js";
import { canServe, type Judged } from "../decisions/verdicts.js";

/** What a rollback may replace of what there was before, as transactions record it. */
export type Compensable = Pick<TransactionPayload, "compensable" | "compensableFields">;

/** What either of two plans makes compensable; what one of them does whatever it is like stays so. Pure. */
export function bothCompensable(first: Compensable, second: Compensable): Compensable {
  const compensable = [...new Set([...first.compensable, ...second.compensable])];
  const bounded = compensable.flatMap((key) => {
    const fields = [first, second]
      .filter((one) => one.compensable.includes(key))
      .map((one) => one.compensableFields?.[key]);
    const known = fields.filter((one) => one !== undefined);
    return known.length < fields.length ? [] : [[key, [...new Set(known.flat())]] as const];
  });
  return bounded.length === 0
    ? { compensable }
    : { compensable, compensableFields: Object.fromEntries(bounded) };
}

/**
 * Law 9: what the revision has, and is alive, was there before. Taking a transaction back replaces of it
 * only what cannot follow in a field that the transaction itself was to change beyond repair, as its plan
 * has said; anything else, since somebody else has changed it, is left as it is. Pure.
 */
export function replaceableOnTheWayBack(
  before: ReadonlySet<NodeKey>,
  { compensable, compensableFields = {} }: Compensable,
): (judged: Judged) => boolean {
  const keys = new Set(compensable);
  return ({ resource: { key }, verdict }) => {
    if (!before.has(key)) return true;
    if (!keys.has(key)) return false;
    const fields = compensableFields[key];
    if (fields === undefined || canServe(verdict)) return true;
    return decidingPaths(verdict).some((path) => fields.includes(path));
  };
}
