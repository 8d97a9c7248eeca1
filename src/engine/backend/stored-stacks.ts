import { basename } from "node:path";
import type { BackendObjects } from "./backend-objects.js";
import { layoutByProject } from "./new-stack.js";

/** How the name of a state's file ends: compressed where the user's environment asks Pulumi for that. */
export const checkpointEndings = [".json", ".json.gz", ".json.zst"];

/** The stacks whose states have these file names, in name order. Backups and metadata beside a state are no stacks. Pure. */
export function stacksAmong(names: readonly string[]): string[] {
  const stacks = names.flatMap((name) => {
    const ending = checkpointEndings.find((one) => name.endsWith(one));
    return ending === undefined ? [] : [name.slice(0, -ending.length)];
  });
  return [...new Set(stacks)].sort();
}

/**
 * The stacks of a project in a backend, in name order, whether or not their states can be read. Undefined where the
 * stacks do not lie in folders by project, as older releases of Pulumi have made them: there Pulumi has to be asked.
 * Throws BAD_STATE. Source: https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/backend/diy/meta.go.
 */
export async function storedStacks(
  objects: Pick<BackendObjects, "list" | "read">,
  project: string,
): Promise<string[] | undefined> {
  const stacksIn = async (folder: string) =>
    stacksAmong((await objects.list(folder)).map((key) => basename(key)));
  const layout = await objects.read(".pulumi/meta.yaml");
  if (layout === layoutByProject) return stacksIn(`.pulumi/stacks/${project}`);
  // Pulumi writes the layout before the first stack, except for the older one.
  const isNew = layout === undefined && (await stacksIn(".pulumi/stacks")).length === 0;
  return isNew ? [] : undefined;
}
