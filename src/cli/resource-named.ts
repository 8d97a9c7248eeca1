import type { LocalCloud, LocalResource } from "../../providers/local/cloud.js";
import { CapstanError } from "../api/error.js";
import { isHostOf } from "../records/host-name.js";

/** The one resource alive of that id, of that name, or that serves the Machine of that name. Throws NOT_FOUND. */
export async function findAlive(cloud: LocalCloud, name: string): Promise<LocalResource> {
  const alive = (await cloud.everything()).filter(({ state }) => state !== "terminated");
  const named = alive.filter(({ id, who }) => id === name || who.name === name);
  const found = named.length > 0 ? named : alive.filter(({ who }) => isHostOf(name, who.name));
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  throw new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    message:
      only === undefined
        ? `nothing in the local cloud is called ${name}`
        : `${name} is not clear: ${found.map(({ id, who }) => `${who.cluster} ${who.name} (${id})`).join(", ")}`,
    hint: "capstan local machines lists what there is",
  });
}
