import type { TransactionGoal } from "./transaction.js";

/** What a transaction is called by what was asked for: "destroy", "rollback to revision 3". Pure. */
export function goalText(goal: TransactionGoal): string {
  switch (goal.kind) {
    case "up":
      return "up";
    case "adopt":
      return "adoption";
    case "rollback":
      return `rollback to revision ${goal.to}`;
    case "destroy":
      return "destroy";
    case "move":
      return "move";
    case "forget":
      return `forgetting Machine ${goal.machine}`;
    case "import":
      return `import of Machine ${goal.machine}`;
    case "rotateKeys":
      return `rotation of keys to ${goal.to}`;
    case "takeBack":
      return "rollback";
  }
}
