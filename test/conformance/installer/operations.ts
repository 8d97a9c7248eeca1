import { created } from "./create.js";
import { deleted } from "./delete.js";
import { splitControlPlane } from "./split.js";

/** What the old installer did, by what `up`, `move` and `destroy` do. */
export const installerOperations = {
  create: once(created),
  delete: once(deleted),
  splitControlPlane: once(splitControlPlane),
};

/** An answer depends on nothing but what is given, so that it is asked for once, however many wants it is held against. */
function once<G extends object>(ask: (given: G) => Promise<object>): (given: G) => Promise<object> {
  const answers = new WeakMap<G, Promise<object>>();
  return (given) => {
    const known = answers.get(given) ?? ask(given);
    answers.set(given, known);
    return known;
  };
}
