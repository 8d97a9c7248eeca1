import type { Rig } from "./rig.js";
import { errorOf, seenOf } from "./seen.js";
import { checkable, must, offered } from "./subject.js";

/** "loses no change to a concurrent one" */
export async function conflictingChanges(rig: Rig): Promise<void> {
  const { handler, kind, context } = rig;
  offered(handler.update !== undefined, `${kind} has no update: every change replaces it`);
  const world = rig.able("conflictNextChange");
  const { who, spec } = await rig.prepare();
  const wanted = await rig.changedInPlace();
  checkable(wanted !== undefined, `the subject does not say what changes in place of a ${kind}`);
  const { id } = await rig.make({ who, spec });
  await world.conflictNextChange();
  const error = await errorOf(rig.resource().update(id, { who, spec }, { who, spec: wanted }));
  const presence = await handler.locate(context, who, id);
  const isShown = presence.found === "one" && rig.isShownAs(presence.resource, wanted);
  must(
    error !== undefined || isShown,
    "make a change that the cloud refuses as out of date, or throw: retryable, and it is made anew (update)",
    `${seenOf(error)}, asked for ${JSON.stringify(wanted)}, and it shows ${JSON.stringify(presence)}`,
  );
}
