import type { StackWorker } from "../engine/locks/stack-worker.js";
import { passedText, type WayBack } from "../plan/undo/point-of-no-return.js";
import { goalText } from "../records/goal-text.js";
import { moveWords } from "../records/hand-over.js";
import type { TransactionGoal } from "../records/transaction.js";
import { pointText } from "../plan/undo/undo-text.js";

/** An open transaction, under way or broken off. */
interface OpenTransaction {
  readonly number: number;
  readonly goal: TransactionGoal;
  readonly wayBack: WayBack;
  readonly stack: string;
  readonly worker: StackWorker;
  /** The last committed one; 0 for none. */
  readonly revision: number;
  /** "2h ago". */
  readonly begun?: string;
}

/**
 * The sentence about an open transaction: its worker where that is alive, else the commands that go on. Pure.
 */
export function openTransactionText(open: OpenTransaction): string {
  const { number, goal, begun, stack, worker } = open;
  const what = goal.kind === "up" || goal.kind === "takeBack" ? "" : ` (${goalText(goal)})`;
  const since = begun === undefined ? "" : `, begun ${begun}`;
  const head = `Transaction ${number}${what} is`;
  switch (worker.kind) {
    case "alive":
      return `${head} under way${since}: ${worker.holder} works on it.`;
    case "none":
      return `${head} not finished${since}: ${waysOn(open)}.`;
    case "unknown": {
      const seen = `${stack} is locked by ${worker.holder}, and nothing here can tell whether it lives`;
      return `${head} not finished${since}. ${seen}. If it has ended: capstan unlock ${stack} removes its lock; ${waysOn(open)}.`;
    }
  }
}

function waysOn({ goal, stack, revision, wayBack }: OpenTransaction): string {
  const forward = `${wordsOf(goal, stack)} goes on with it`;
  const back = wordsBack(goal, stack, revision);
  if (back === undefined) return forward;
  switch (wayBack.kind) {
    case "free":
      return `${forward}, ${back}`;
    case "closed":
      return `${forward}, and there is no way back: ${wayBack.crossed.map(passedText).join(", ")}`;
    case "unknown":
      return `${forward}; ${back}, unless ${wayBack.points.map(pointText).join(" or ")} already`;
  }
}

/** The command that goes on with a transaction, in the words that began it as far as records know them. Pure. */
function wordsOf(goal: TransactionGoal, stack: string): string {
  switch (goal.kind) {
    case "up":
    case "adopt":
      return "capstan up";
    case "rollback":
      return goal.named ? `capstan rollback ${stack} --to ${goal.to}` : `capstan rollback ${stack}`;
    case "destroy":
      return `capstan destroy ${stack}`;
    case "move":
      return goal.to === undefined ? "capstan move" : moveWords(stack, goal.to).goOn;
    case "forget":
      return `capstan state forget ${stack} Machine/${goal.machine}`;
    case "import":
      return `capstan import ${stack} Machine/${goal.machine} ${goal.id}`;
    case "rotateKeys":
      return `capstan certificates rotate ${stack}`;
    case "takeBack":
      return `capstan rollback ${stack}`;
  }
}

/** "capstan rollback default.a takes it back"; undefined for what leads back itself. */
function wordsBack(goal: TransactionGoal, stack: string, revision: number): string | undefined {
  const rollback = `capstan rollback ${stack}`;
  switch (goal.kind) {
    case "takeBack":
      return undefined;
    case "adopt":
      return `${rollback} forgets its records`;
    case "import":
      return `${rollback} takes its marks off`;
    case "destroy":
      return `${rollback} brings the last revision back`;
    case "rollback":
      // Without a number the same words go on with it.
      return `${rollback}${goal.named ? "" : ` --to ${revision}`} takes it back`;
    case "move":
      return goal.to === undefined ? undefined : `${moveWords(stack, goal.to).back} takes it back`;
    case "up":
    case "forget":
    case "rotateKeys":
      return `${rollback} takes it back`;
  }
}
