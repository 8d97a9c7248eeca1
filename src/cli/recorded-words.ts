// Words of completions that are read from records: numbers of transactions, and names of what is recorded.

import { notedClusters } from "../engine/backend/cluster-registry.js";
import { CheckpointReader } from "../engine/backend/checkpoint-reader.js";
import { StackKeys } from "../engine/backend/stack-keys.js";
import { type StackState, stateOf } from "../engine/backend/state.js";
import type { Workspace } from "../engine/backend/workspace.js";
import type { NumberedTransaction } from "./completions.js";
import { stateItems } from "./state-report.js";
import { stackMeant } from "./stack-meant.js";
import { historyReport } from "./history-report.js";

/**
 * The transactions of the one stack that is meant, newest first, as far as they are told without
 * Pulumi. None where several stacks could be meant: the command will want one to be named.
 */
export async function numberedTransactions(
  named: readonly string[],
  workspace: Workspace,
): Promise<NumberedTransaction[]> {
  const stacks = workspace.stackNames() ?? [];
  const meant = named.length > 0 ? named.map((word) => stackOf(word, workspace)) : stacks;
  const [stack, ...others] = meant;
  if (stack === undefined || others.length > 0) return [];
  const state = await stateWithoutPulumi(stack, workspace);
  if (state === undefined) return [];
  return historyReport(stack, state).items.map(({ number, reach }) => ({
    number,
    kept: reach === "present" || reach === "kept",
  }));
}

/** What `capstan state list` names of a stack, told in the same way. */
export async function recordsOfStack(named: string, workspace: Workspace): Promise<string[]> {
  const state = await stateWithoutPulumi(stackOf(named, workspace), workspace);
  return state === undefined ? [] : stateItems(state).map(({ key }) => key);
}

function stackOf(word: string, workspace: Workspace): string {
  const noted = notedClusters(workspace.stateDir);
  return stackMeant(word, { stacks: workspace.stackNames() ?? [], noted });
}

async function stateWithoutPulumi(
  stack: string,
  workspace: Workspace,
): Promise<StackState | undefined> {
  try {
    const deployment = await new CheckpointReader(workspace, new StackKeys(workspace)).read(stack);
    return deployment === undefined ? undefined : stateOf(deployment, stack);
  } catch {
    return undefined; // The command itself says what is wrong with the state; a completion offers nothing.
  }
}
