import { explain, type ExplainableKind, explainableKinds } from "../../api/explain.js";
import type { CommandContext, GlobalOptions } from "../context.js";
import { exitCodes } from "../exit.js";
import { explanationText } from "../explain-text.js";
import { table } from "../table.js";

export interface ExplainOptions extends GlobalOptions {
  readonly recursive?: boolean;
  /** Of a provider's object that has several. */
  readonly apiVersion?: string;
}

/** Lines longer than this are hard to read, however wide the terminal is. */
const widestText = 100;

/** capstan explain: what a kind or a field means, from the schemas that manifests are checked with. */
export function explainCommand(
  words: string | undefined,
  options: ExplainOptions,
  context: CommandContext,
): number {
  const known = explainableKinds(context.providers.all);
  if (words === undefined) {
    listKinds(known, context);
    return exitCodes.done;
  }
  const explanation = explain(words, known, options.apiVersion);
  if (context.json) context.emit({ type: "explain", explanation });
  else {
    const width = Math.min(context.terminal.columns, widestText);
    const recursive = options.recursive === true;
    context.terminal.write(explanationText(explanation, { recursive, width }));
  }
  return exitCodes.done;
}

function listKinds(
  known: readonly ExplainableKind[],
  { json, emit, terminal }: CommandContext,
): void {
  if (json) {
    for (const { schema, heldBy: _, olderVersions, ...kind } of known) {
      const older = olderVersions.map(({ version }) => version);
      emit({
        type: "kind",
        ...kind,
        olderVersions: older.length === 0 ? undefined : older,
        description: schema.description,
      });
    }
    return;
  }
  const rows = known.map(({ kind, shortNames, group, schema }) => [
    kind,
    shortNames.join(","),
    group,
    schema.description ?? "",
  ]);
  terminal.write(table(["KIND", "SHORT", "GROUP", "DESCRIPTION"], rows, terminal.columns));
}
