import { resolve } from "node:path";
import type { Command } from "commander";
import { explainableKinds, explainWords } from "../../api/explain.js";
import { Workspace } from "../../engine/backend/workspace.js";
import { completionsOf } from "../completions.js";
import type { CommandContext } from "../context.js";
import { exitCodes } from "../exit.js";

/** capstan __complete: what may stand in the place of the last word, for the completion scripts. */
export async function completeCommand(
  typed: readonly string[],
  program: Command,
  context: CommandContext,
): Promise<number> {
  // Of the embedded default: asking Pulumi would take too long.
  const stateDir = typedValue("--state", typed) ?? context.stateDir;
  const workspace = new Workspace({ stateDir, pulumiBinDir: "", env: context.env });
  const { words, files } = await completionsOf(program, typed, {
    stacks: () => workspace.stackNames() ?? [],
    transactions: async (named) => {
      // Loaded when it is needed: most words are completed without any state.
      const { numberedTransactions } = await import("../recorded-words.js");
      return numberedTransactions(named, workspace);
    },
    records: async (stack) => {
      const { recordsOfStack } = await import("../recorded-words.js");
      return recordsOfStack(stack, workspace);
    },
    contexts: async () => {
      const { contextNames } = await import("../../kube/connection.js");
      return contextNames({ kubeconfig: typedValue("--kubeconfig", typed), env: context.env });
    },
    // Who presses a key has not asked for code of the project to run.
    explainWords: (begun) => explainWords(begun, explainableKinds(context.providers.ours)),
  });
  const lines = [...words, ...(files ? [":files"] : [])];
  context.terminal.write(lines.map((line) => `${line}\n`).join(""));
  return exitCodes.done;
}

/** A path among the words that are being completed: it is not yet an option of this call. */
function typedValue(option: string, typed: readonly string[]): string | undefined {
  const at = typed.lastIndexOf(option);
  const named = at < 0 ? undefined : typed[at + 1];
  return named === undefined ? undefined : resolve(named);
}
