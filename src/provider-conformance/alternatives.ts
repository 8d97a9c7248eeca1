import { type JsonObject, sameJson } from "../api/json.js";
import { choicesOf, nearestChoice } from "../provider/alternatives.js";
import { asKnown, unobservableOf } from "../provider/unobservable.js";
import { frozen } from "./pure.js";
import { errorOf, seenOf } from "./seen.js";
import type { Rig } from "./rig.js";
import { checkable, must, offered } from "./subject.js";

/** "makes another host where there is no room for the one that is asked for, or cannot" */
export async function takesAlternatives(rig: Rig): Promise<void> {
  const { provider, subject, kind } = rig;
  offered(provider.alternatives !== undefined, "a host of it is never another one");
  const { who, spec } = await rig.prepare("web", subject.choosing ?? {});
  const ask = () => choicesOf(provider, kind, frozen(spec)).slice(1);
  const alternatives = ask();
  const [first] = alternatives;
  checkable(first !== undefined, "its sample has no alternative; choosing has fields that do");
  must(
    sameJson([...alternatives], [...ask()]),
    "name the same alternatives each time (alternatives)",
    `${JSON.stringify(alternatives)}, then ${JSON.stringify(ask())}`,
  );
  for (const alternative of alternatives) {
    const { kind: verdict } = provider.verdict(kind, alternative, spec);
    must(verdict !== "same", "tell an alternative from what is asked for (alternatives)", verdict);
  }
  const world = rig.able("refuseNextCreate");
  await world.refuseNextCreate();
  let shown: JsonObject = {};
  const error = await errorOf(rig.make({ who, spec }).then((made) => void (shown = made.spec)));
  must(
    error === undefined,
    "refuse a create with CAPACITY where there is no room, so that the next alternative is made",
    seenOf(error),
  );
  // What the cloud cannot show is as it was asked for.
  const { spec: known } = asKnown({ spec: shown }, unobservableOf(provider, kind), first);
  const nearest = nearestChoice(provider, kind, known, spec);
  must(
    sameJson(nearest.asked, first) && nearest.verdict.kind === "same",
    "make the alternative that a create is given",
    `asked for ${JSON.stringify(first)}, it shows ${JSON.stringify(shown)}`,
  );
}
