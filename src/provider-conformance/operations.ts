import type { OperationState } from "../provider/port.js";
import { asProduct } from "./calls.js";
import type { Rig } from "./rig.js";
import { errorOf, seenOf } from "./seen.js";
import { checkable, must, offered } from "./subject.js";

/** "tells what became of what its cloud has accepted, or makes at once" */
export async function tellsOperations(rig: Rig): Promise<void> {
  const { handler, context } = rig;
  offered(handler.poll !== undefined, "it answers no create with an operation");
  const world = rig.able("acceptNextCreate");
  // A name whose creation was refused is free again, so that one comes first.
  for (const fate of ["refused", "made"] as const) {
    const { who, spec } = await rig.prepare(`web-${fate}`);
    const end = await world.acceptNextCreate(fate);
    const { id, phase, operation } = await handler.create(context, who, spec);
    must(
      operation !== undefined && phase === "pending",
      "answer a create with phase pending and its operation where the cloud has only accepted it",
      `${phase}, operation ${String(operation)}`,
    );
    const before = await handler.poll(context, operation);
    must(before.state === "running", "say that an operation runs while it does", shown(before));
    end();
    const after = await handler.poll(context, operation);
    const presence = await handler.locate(context, who, id);
    if (fate === "made") {
      must(after.state === "done", "say that an operation is done once it has ended", shown(after));
      must(presence.found === "one", "find by its id what an operation has made", presence.found);
      continue;
    }
    must(
      after.state === "failed" && after.failure.reason !== "",
      "say of an operation that failed that it has, and why",
      shown(after),
    );
    must(presence.found === "none", "find nothing where an operation failed", presence.found);
  }
}

/** "reports a forgotten operation as over" */
export async function forgottenOperations(rig: Rig): Promise<void> {
  const { handler, context } = rig;
  offered(handler.poll !== undefined, "it answers no create with an operation");
  const world = rig.able("acceptNextCreate", "forgetOperations");
  const { who, spec } = await rig.prepare();
  const end = await world.acceptNextCreate("refused");
  const { id, operation } = await handler.create(context, who, spec);
  checkable(operation !== undefined, "a create was answered without an operation");
  end();
  await world.forgetOperations();
  let outcome: OperationState | undefined;
  const error = await errorOf(handler.poll(context, operation).then((one) => void (outcome = one)));
  must(
    outcome !== undefined && outcome.state !== "running",
    "say of an operation that its cloud knows no more that it is over: it is asked about what does not show, which would stay pending for ever (poll)",
    outcome === undefined ? seenOf(error) : shown(outcome),
  );
  const { found } = await handler.locate(context, who, id);
  must(found === "none", "find nothing where an operation failed", found);
}

/** "reports a removal that the cloud refuses after it has accepted it" */
export async function refusedRemovals(rig: Rig): Promise<void> {
  const { handler, context } = rig;
  offered(
    handler.poll !== undefined,
    "it has no poll: removals are over at once, or are asked for again",
  );
  const world = rig.able("refuseNextRemoval");
  const inputs = await rig.prepare();
  const current = await rig.make(inputs);
  const end = await world.refuseNextRemoval();
  const { operation } = (await asProduct(context, () => handler.remove(context, current))) ?? {};
  must(
    operation !== undefined,
    "answer a removal with its operation where the cloud may still refuse it (remove)",
    "it answers none",
  );
  const before = await handler.poll(context, operation);
  must(before.state === "running", "say that a removal runs while it does (poll)", shown(before));
  end();
  const after = await handler.poll(context, operation);
  must(
    after.state === "failed" && after.failure.reason !== "",
    "say of a removal that failed that it has, and why (poll)",
    shown(after),
  );
  const { found } = await handler.locate(context, inputs.who, current.id);
  must(found === "one", "show a resource whose removal has failed (locate)", found);
  const error = await errorOf(rig.resource().delete(current.id, inputs));
  must(error === undefined, "remove a resource after a removal has failed (remove)", seenOf(error));
}

function shown(outcome: OperationState): string {
  return JSON.stringify(outcome);
}
