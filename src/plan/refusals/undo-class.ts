import { CapstanError } from "../../api/error.js";
import { passedText } from "../undo/point-of-no-return.js";
import { type Plan, type UndoClass, undoClasses } from "../plan.js";
import type { PassedPoint } from "../../records/transaction.js";
import { undoNames } from "../undo/undo-text.js";

/** Throws NOT_REVERSIBLE naming every step that is worse than what is allowed. */
export function refuseBeyond(
  {
    undo,
    cluster,
    passed,
  }: Pick<Plan, "undo" | "cluster"> & { readonly passed: readonly PassedPoint[] },
  worst?: UndoClass,
): void {
  if (worst === undefined) return;
  const allowed = undoClasses.slice(0, undoClasses.indexOf(worst) + 1);
  const refused = undo.filter((one) => !allowed.includes(one.class));
  const beyond = allowed.includes("pointOfNoReturn") ? [] : passed;
  if (refused.length + beyond.length === 0) return;
  throw new CapstanError({
    code: "NOT_REVERSIBLE",
    source: "user",
    subject: cluster,
    message: [
      ...beyond.map((one) => `cannot go on: ${passedText(one)}`),
      ...refused.map(
        ({ step, key, class: found, reason }) =>
          `cannot ${step} ${key}: it is ${undoNames[found]}: ${reason}`,
      ),
    ].join("\n"),
    hint: "nothing was changed; leave the change out, or ask for less with --require",
  });
}
