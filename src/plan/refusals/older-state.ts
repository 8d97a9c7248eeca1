import { CapstanError } from "../../api/error.js";
import { keyOf } from "../../graph/graph.js";
import type { Target } from "../../records/target.js";
import type { PlanInput } from "../plan-input.js";
import { newerThanRecords } from "../decisions/unrecorded.js";

/** As many as people read. */
const shownResources = 5;

/**
 * Law 9: a state that was brought back from a backup knows nothing of what was made since, so nothing follows from its
 * silence. Throws AMBIGUOUS_OWNER naming that; a destroy means all of it, and an adoption takes it over. A copy that
 * Capstan itself has gone back to lacks little: what its target finds again under its own name gets a record by that. Pure.
 */
export function refuseOlderState(input: PlanInput, targetOf: () => Target): void {
  const { goal, prior, provider } = input;
  if (goal.kind === "destroy" || goal.kind === "adopt") return;
  const unknown = newerThanRecords(prior, input, provider.hostKind);
  if (unknown.length === 0 || prior.transaction === undefined) return;
  const wanted = new Set(prior.fromCopy === true ? targetOf().nodes.map(keyOf) : []);
  const newer = unknown.filter(({ who }) => !wanted.has(keyOf(who)));
  if (newer.length === 0) return;
  const { number, target } = prior.transaction;
  const shown = newer
    .slice(0, shownResources)
    .map(({ id, who }) => `${who.kind} ${who.name} (${id})`);
  const more = newer.length > shown.length ? ` and ${newer.length - shown.length} more` : "";
  throw new CapstanError({
    code: "AMBIGUOUS_OWNER",
    source: "user",
    subject: target.cluster,
    message: `cannot change ${target.cluster}: its state is an older one: it ends with transaction ${number}, and the cloud holds ${shown.join(", ")}${more}, made after that`,
    hint: "bring the newest state back; if there is none: capstan certificates export, then pulumi stack rm --force in the environment of capstan env, then at once capstan up --adopt --certificates, since the cluster is lost to every other command meanwhile; nothing was changed",
  });
}
