import { CheckpointReader } from "../engine/backend/checkpoint-reader.js";
import { StackKeys } from "../engine/backend/stack-keys.js";
import { stateOf } from "../engine/backend/state.js";
import type { Workspace } from "../engine/backend/workspace.js";
import type { NumberedTransaction } from "./completions.js";
import { historyReport } from "./history-report.js";

/**
 * The transactions of the one stack that is meant, newest first, as far as they are told without
 * Pulumi. None where several stacks could be meant: the command will want one to be named.
 */
export async function numberedTransactions(
  named: readonly string[],
  workspace: Workspace,
): Promise<NumberedTransaction[]> {
  const meant = named.length > 0 ? named : (workspace.stackNames() ?? []);
  const [stack, ...others] = meant.map((name) => name.replace("/", "."));
  if (stack === undefined || others.length > 0) return [];
  try {
    const deployment = await new CheckpointReader(workspace, new StackKeys(workspace)).read(stack);
    if (deployment === undefined) return [];
    const { items } = historyReport(stack, stateOf(deployment, stack));
    return items.map(({ number, reach }) => ({
      number,
      kept: reach === "present" || reach === "kept",
    }));
  } catch {
    return []; // The command itself says what is wrong with the state; a completion offers nothing.
  }
}
