import type { StackState } from "../../src/engine/backend/state.js";
import type { StackEngine } from "../../src/engine/pulumi/engine.js";
import type { TransactionRecord } from "../../src/records/transaction.js";
import type { CommandTools } from "./fake-engine.js";

/** An engine whose records of the transaction are other than what was recorded. */
export function recalling(
  { engine, ...rest }: CommandTools,
  change: (transaction: TransactionRecord) => TransactionRecord,
): CommandTools {
  const other = Object.create(engine, {
    readState: {
      value: async (stack: string): Promise<StackState> => {
        const state = await engine.readState(stack);
        const { transaction } = state;
        return transaction === undefined ? state : { ...state, transaction: change(transaction) };
      },
    },
  }) as StackEngine;
  return { ...rest, engine: other };
}
