import { counted, wordFor } from "../../api/counted.js";
import { CapstanError } from "../../api/error.js";
import { BadInput } from "../../manifest/bad-input.js";
import { readDesired } from "../../manifest/desired.js";
import { byPosition, type Diagnostic, diagnosticText } from "../../manifest/diagnostic.js";
import { readSources } from "../../manifest/files.js";
import { type CommandContext, type GlobalOptions } from "../context.js";
import { overridesOf } from "../manifest-options.js";
import { type NamedFiles, withNamedFiles } from "../named-files.js";
import { unfitMachines } from "../unfit-machines.js";
import { exitCodes } from "../exit.js";

export interface ValidateOptions extends GlobalOptions, NamedFiles {}

/**
 * capstan validate: every diagnostic of what the user named; looks at no state and no cloud. Exit 0:
 * valid, perhaps with warnings; 65: not.
 */
export function validateCommand(given: ValidateOptions, context: CommandContext): number {
  const options = withNamedFiles(given, "validate", context);
  const { all } = context.providers;
  const overrides = overridesOf(options, context.env);
  const manifests = readDesired(readSources(options.file), all, overrides);
  const { clusters, objects } = manifests;
  if (objects === 0 && manifests.diagnostics.length === 0) throw nothingIn(options.file);
  const unfit = hasError(manifests.diagnostics) ? [] : unfitMachines(manifests, all);
  const diagnostics = [...manifests.diagnostics, ...unfit].sort(byPosition);
  const isValid = !hasError(diagnostics);
  if (context.json) {
    const counts = { objects, clusters: clusters.length };
    context.emit({ type: "validate", valid: isValid, ...counts, diagnostics });
    return isValid ? exitCodes.done : exitCodes.badInput;
  }
  if (!isValid) throw new BadInput(diagnostics);
  for (const warning of diagnostics) context.terminal.error(`${diagnosticText(warning)}\n`);
  const verb = wordFor(objects, "is", "are");
  context.terminal.write(
    `${counted(objects, "object")} in ${counted(clusters.length, "cluster")} ${verb} valid\n`,
  );
  return exitCodes.done;
}

function hasError(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some(({ severity }) => severity === "error");
}

function nothingIn(paths: readonly string[]): CapstanError {
  return new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `there are no objects in ${paths.join(", ")}`,
    hint: "capstan init DIR writes a cluster to begin with",
  });
}
