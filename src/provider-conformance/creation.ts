import { isCapstanError } from "../api/error.js";
import { isJsonObject, type JsonObject, sameJson } from "../api/json.js";
import type { Identity, Observed, ResourceHandler } from "../provider/port.js";
import { withMembers } from "../provider/provider-calls.js";
import { codeOf, errorOf, seenOf } from "./seen.js";
import type { Rig } from "./rig.js";
import type { MachineSpecs } from "./sample.js";
import { harnessMust, must } from "./subject.js";

/** Longer than the product waits for a listing after a lost answer. */
const lagMs = 10_000;

/** "finds its own resource instead of making a second one" */
export async function findOrCreate(rig: Rig): Promise<void> {
  const inputs = await rig.prepare();
  const first = await rig.resource().create(inputs);
  const again = await rig.resource().create(inputs);
  must(
    first.id === again.id,
    "find by its identity the resource that is there (locate)",
    `${first.id} was there, and a second create gave ${again.id}`,
  );
  await mustBeOne(rig, inputs.who, "find the resource that is there instead of making another");
}

/** "makes one resource of one token" */
export async function createOnce(rig: Rig): Promise<void> {
  const { who, spec } = await rig.prepare();
  const { handler, context } = rig;
  const first = await handler.create(context, who, spec);
  mustBeWhole(first);
  const again = await handler.create(context, who, spec).catch(() => undefined);
  if (again !== undefined) mustBeWhole(again);
  await mustBeOne(rig, who, `give the token to the cloud in the create call (made ${first.id})`);
}

/** A provider may be plain JavaScript, so that no compiler has seen what is missing. */
function mustBeWhole(resource: Observed): void {
  const { id, who, phase, spec, status } = resource;
  must(
    typeof id === "string" &&
      id !== "" &&
      ["pending", "ready", "stopped", "failed", "deleting", "gone"].includes(phase) &&
      [who, spec, status].every((part) => isJsonObject(part)),
    "answer a create with id, who, phase, spec and status, also when the token had made it before",
    JSON.stringify(resource),
  );
}

/** "never brings a removed resource back" */
export async function spentToken(rig: Rig): Promise<void> {
  const inputs = await rig.prepare();
  const { id } = await rig.resource().create(inputs);
  await rig.resource().delete(id, inputs);
  const error = await errorOf(rig.resource().create(inputs));
  const alive = await rig.world.countAlive(inputs.who);
  must(
    error !== undefined && alive === 0,
    "refuse a token whose resource was removed, or answer with the removed one (phase gone)",
    `${seenOf(error)}, and ${alive} are alive`,
  );
}

/** "adopts what a create made whose answer was lost" */
export async function lostAnswer(rig: Rig): Promise<void> {
  const inputs = await rig.prepare();
  await rig.world.loseNextCreate();
  const errors: unknown[] = [];
  const resource = rig.resource(watched(rig.handler, errors));
  const error = await errorOf(resource.create(inputs));
  harnessMust(errors.length > 0, "lose the answer of the next create: it arrived");
  must(
    error === undefined,
    "mark an error after which the cloud may have acted as ambiguous, and then find what it made",
    seenOf(error),
  );
  const told = errors.filter(isCapstanError).find((one) => one.retryable && !one.ambiguous);
  must(
    told === undefined,
    "never call a create retryable whose answer is lost: it may have happened (ambiguous)",
    seenOf(told),
  );
  await mustBeOne(rig, inputs.who, "adopt what a lost create has made");
}

/** "makes no duplicate while listings lag" */
export async function laggingListing(rig: Rig): Promise<void> {
  const inputs = await rig.prepare();
  await rig.world.lagListings(lagMs);
  const first = await rig.resource().create(inputs);
  const again = await rig.resource().create(inputs);
  must(
    first.id === again.id,
    "find its own resource also while listings do not show it yet (by token, or by its name)",
    `${first.id} was there, and a second create gave ${again.id}`,
  );
  const machines = rig.machines({ web: {} });
  await rig.up(machines);
  must(
    (await rig.plan(machines)).empty,
    "know by id what listings do not show yet (locate with an id)",
    "a plan right after an apply wants changes",
  );
  await rig.context.clock.sleep(lagMs);
  await mustBeOne(rig, inputs.who, "make no second resource while listings lag");
}

/** "shows what it made as it was asked for" */
export function emptyPlan(rig: Rig): Promise<void> {
  return showsAsAsked(rig, { web: {}, db: {} });
}

/** "shows a control-plane member as it was asked for" */
export function memberPlan(rig: Rig): Promise<void> {
  return showsAsAsked(rig, rig.withMember({}));
}

async function showsAsAsked(rig: Rig, specs: MachineSpecs): Promise<void> {
  await rig.up(specs);
  for (const record of rig.recorded()) {
    const observed = await rig.observe(record);
    must(
      observed !== undefined && sameJson(observed.who, record.inputs["who"]),
      "show a resource with the identity that it was made with",
      `${record.key} is shown ${textOf(observed?.who)}`,
    );
    must(
      rig.isShownAs(observed, record.inputs["spec"] as JsonObject),
      "show a resource's spec in the shape of its inputs",
      `${record.key} was made with ${JSON.stringify(record.inputs["spec"])} and is shown with ${textOf(observed.spec)}`,
    );
  }
  const { empty, steps } = await rig.plan(specs);
  must(empty, "leave nothing to do after an apply", `the next plan has ${textOf(steps)}`);
}

/** "leaves what is not ours alone" */
export async function foreignResource(rig: Rig): Promise<void> {
  const inputs = await rig.prepare();
  const { world } = rig;
  const foreign = rig.stranger(inputs.who, {
    cluster: "elsewhere",
    uid: `${world.clusterUid}-else`,
  });
  const foreignId = await world.plant(foreign, inputs.spec);
  const untouched = async (done: string) =>
    must(
      (await world.countAlive(foreign)) === 1,
      "leave a resource with the marks of somebody else alone",
      `it was to be ${done}, and is gone`,
    );
  const taken = await rig
    .resource()
    .create(inputs)
    .then(({ id }) => id, refusal);
  must(
    taken === "NOT_OURS" || taken !== foreignId,
    "never adopt a resource with the marks of somebody else",
    `a create gave ${foreignId}`,
  );
  await untouched("created");
  const resource = rig.resource();
  const attempts = [
    ["changed", () => resource.update(foreignId, inputs, inputs)],
    ["deleted", () => resource.delete(foreignId, inputs)],
  ] as const;
  for (const [done, attempt] of attempts) {
    const error = await errorOf(attempt());
    await untouched(done);
    must(
      codeOf(error) === "NOT_OURS",
      `show whose a resource is, so that it is not ${done} by others (locate with an id)`,
      seenOf(error),
    );
  }
}

async function refusal(error: unknown): Promise<string> {
  const code = codeOf(error);
  if (code === undefined) throw error;
  return code;
}

async function mustBeOne(rig: Rig, who: Identity, requirement: string): Promise<void> {
  const alive = await rig.world.countAlive(who);
  must(alive === 1, requirement, `${alive} of ${who.name} are alive`);
}

/** The same calls; the errors of creates are kept. */
function watched(handler: ResourceHandler, errors: unknown[]): ResourceHandler {
  const create: ResourceHandler["create"] = async (...args) => {
    try {
      return await handler.create(...args);
    } catch (error) {
      errors.push(error);
      throw error;
    }
  };
  return withMembers(handler, { create });
}

function textOf(value: object | undefined): string {
  return value === undefined ? "not at all" : JSON.stringify(value);
}
