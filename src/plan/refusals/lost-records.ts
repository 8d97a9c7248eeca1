import { CapstanError } from "../../api/error.js";
import { sameJson } from "../../api/json.js";
import { withLostRecords } from "../decisions/lost-records.js";
import type { PlanInput } from "../plan-input.js";
import type { RemainingPlan } from "../plan.js";

/**
 * A change waits until resources that the last revision made have their records again: an `up` toward the objects of that
 * revision is never refused. It finds them, and gives records to those that it replaces for another reason than
 * a change, as a host that its cloud announces to go. What loses its marks needs no record. Throws BAD_STATE naming them. Pure.
 */
export function refuseLostRecords(
  input: Pick<PlanInput, "goal" | "prior" | "unrecorded" | "observedResources" | "provider">,
  { orphaned, target: { objects } }: Pick<RemainingPlan, "orphaned" | "target">,
): void {
  const { transaction } = input.prior;
  if (transaction === undefined || sameJson(objects, transaction.target.objects)) return;
  const { target, number } = transaction;
  const staying = orphaned.filter(({ letGo }) => letGo !== true);
  const lost = withLostRecords(staying, input);
  const names = lost.map(({ id, who }) => `${who.kind} ${who.name} (${id})`);
  if (names.length === 0) return;
  throw new CapstanError({
    code: "BAD_STATE",
    source: "user",
    subject: target.cluster,
    message: `cannot change ${target.cluster}: what revision ${number} has made lives and has no record: ${names.join(", ")}`,
    hint: `first capstan up with the manifests of revision ${number}, which gives it a record again; nothing was changed`,
  });
}
