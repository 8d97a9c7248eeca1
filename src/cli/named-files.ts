import { CapstanError } from "../api/error.js";
import { foldersIn, holdsCluster, withFoldersBelow } from "../manifest/files.js";
import type { CommandContext } from "./context.js";
import type { ManifestOptions } from "./manifest-options.js";

/** The manifests that a verb was told of by -f and -R. */
export interface NamedFiles extends ManifestOptions {
  /** Folders are read with all that is below them. */
  readonly recursive?: boolean;
}

/**
 * The options of a verb that needs manifests, with every folder that is meant in `file`: what -f names, the
 * folders below with -R, and the present folder where nothing is named and it holds a Cluster. Tells of
 * folders with manifests right below that are not read: no more is looked at than what a person would see. Throws BAD_USAGE when nobody named anything.
 */
export function withNamedFiles<O extends NamedFiles>(
  options: O,
  verb: string,
  { terminal, suggest }: Pick<CommandContext, "terminal" | "suggest">,
): O {
  const named = options.file.length > 0 ? options.file : presentFolder(verb);
  if (options.recursive === true) {
    return { ...options, file: [...new Set(named.flatMap(withFoldersBelow))] };
  }
  const skipped = named.flatMap(foldersIn).filter((path) => !named.includes(path));
  if (skipped.length > 0) {
    const most = skipped.slice(0, mostNamed).join(", ");
    const more = skipped.length > mostNamed ? `, ... (${skipped.length - mostNamed} more)` : "";
    terminal.error(suggest(`note: not read, as -R was not given: ${most}${more}\n`));
  }
  return { ...options, file: named };
}

const mostNamed = 3;

function presentFolder(verb: string): readonly string[] {
  if (holdsCluster(".")) return ["."];
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: "which manifests? name them with -f",
    hint: `e.g. capstan ${verb} -f examples/quickstart`,
  });
}
