import { changesBeforeBegin, pastNoReturn } from "./laws.js";
import type { Operation } from "./operation.js";
import type { Scene } from "./scene.js";

/**
 * How far an operation had come when it met the fault, by what is recorded and what the cloud shows.
 * untouched: it has not begun. beyond: it is open, and past its point of no return.
 */
export type OperationProgress = "untouched" | "begun" | "beyond" | "committed";

/** What can be read from outside about an operation that met a fault. */
export interface Traces {
  /** The numbers that are recorded now; 0 for none. */
  readonly transaction: number;
  readonly revision: number;
  /** The number of the last revision before the operation. */
  readonly before: number;
  readonly hasChanged: boolean;
  readonly isPastNoReturn: boolean;
}

/** Pure. What is destroyed erases its records when nothing is left. */
export function progressIn({ verb }: Pick<Operation, "verb">, traces: Traces): OperationProgress {
  const { transaction, revision, before, hasChanged, isPastNoReturn } = traces;
  const isErased = transaction === 0 && before > 0;
  if (isErased || revision > before) return "committed";
  // A destroy that has changed something is under way, whatever it has recorded.
  const isBegun = transaction > before || (verb === "destroy" && hasChanged);
  if (!isBegun) return "untouched";
  return isPastNoReturn ? "beyond" : "begun";
}

/** The numbers of the recorded Transaction and Revision; 0 for none. */
export async function numbersOf({
  sandbox,
  stack,
}: Scene): Promise<Pick<Traces, "transaction" | "revision">> {
  const { resources = [] } = await sandbox.lastGoodDeployment(stack);
  const numberOf = (kind: string) =>
    Number(resources.find(({ type }) => type.endsWith(`:${kind}`))?.inputs?.["number"] ?? 0);
  return { transaction: numberOf("Transaction"), revision: numberOf("Revision") };
}

/** Reads the traces of an operation, and tells what it did before it had begun. */
export async function progressOf(
  scene: Scene,
  operation: Operation,
): Promise<{ readonly progress: OperationProgress; readonly problems: readonly string[] }> {
  const { transaction, revision } = await numbersOf(scene);
  const { course } = scene;
  const first = course.typed[0];
  const early = first === undefined ? [] : changesBeforeBegin(course, first);
  const before = operation.revisions.length;
  const progress = progressIn(operation, {
    transaction,
    revision,
    before,
    hasChanged: early.length > 0,
    isPastNoReturn:
      operation.verb === "destroy" ? scene.hasLostQuorum : pastNoReturn(course).length > 0,
  });
  const isRecorded = transaction > before || progress === "committed";
  return { progress, problems: isRecorded ? [] : early };
}
