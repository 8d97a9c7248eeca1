import { isJsonObject, type JsonObject, sameJson } from "../api/json.js";
import { questionsOf } from "../compile/lookups.js";
import { seenOf } from "./seen.js";
import type { Rig } from "./rig.js";
import { checkable, must, offered } from "./subject.js";

/** "looks up the same as long as nothing changes, and only reads" */
export async function looksUpTheSame(rig: Rig): Promise<void> {
  const { provider, subject, context } = rig;
  offered(provider.resolve !== undefined, "it looks nothing up");
  const questions = questionsOf(provider, rig.desired({ web: subject.asking ?? {} }));
  checkable(questions.length > 0, "its sample asks nothing; asking has fields that do");
  await mustOnlyRead(rig, "resolve", async () => {
    for (const { question } of questions) {
      const ask = async (): Promise<unknown> => provider.resolve?.(context, question);
      const [first, second] = [await ask(), await ask()];
      must(isFlat(first), "answer with a flat object (resolve)", seenOf(first));
      must(
        isFlat(second) && sameJson(first, second),
        "answer the same while nothing has changed (resolve)",
        `${JSON.stringify(first)}, then ${JSON.stringify(second)}`,
      );
    }
  });
}

/** "reads what is not ours without changing it, or cannot" */
export async function readsWhatIsNotOurs(rig: Rig): Promise<void> {
  const { handler, kind, context, world } = rig;
  offered(handler.find !== undefined, `${kind} has no find: nothing of it can be external`);
  const { who, spec } = await rig.prepare();
  const id = await world.plant(rig.stranger(who, { cluster: "elsewhere", uid: "uid-else" }), spec);
  await mustOnlyRead(rig, "find", async () => {
    const [first, second] = [await handler.find?.(context, id), await handler.find?.(context, id)];
    must(first !== undefined, "find by its id what somebody else has made (find)", "none");
    must(
      sameJson(first.status, second?.status ?? null),
      "show the same while nothing has changed (find)",
      `${JSON.stringify(first.status)}, then ${JSON.stringify(second?.status)}`,
    );
  });
}

/** What a world cannot show is said, and counts as well. */
async function mustOnlyRead(rig: Rig, call: string, read: () => Promise<void>): Promise<void> {
  const { world } = rig;
  if (world.beforeChange === undefined) {
    rig.exceptions.push(`whether ${call} changes anything, which the world cannot tell`);
    return read();
  }
  let changes = 0;
  world.beforeChange(() => void (changes += 1));
  try {
    await read();
  } finally {
    world.beforeChange();
  }
  must(changes === 0, `change nothing while it looks (${call})`, `${changes} requests did`);
}

function isFlat(answer: unknown): answer is JsonObject {
  const isScalar = (value: unknown) => typeof value !== "object" || value === null;
  return isJsonObject(answer) && Object.values(answer).every(isScalar);
}
