import type { CapstanError } from "../api/error.js";
import { sameJson } from "../api/json.js";
import { type AnyObject, type Desired, objectsOf } from "../api/types.js";
import type { Survey } from "../engine/operations/survey.js";
import { BadInput } from "../manifest/bad-input.js";
import { RefusedChange } from "../plan/refused-change.js";
import { RefusedRemovals } from "../plan/refusals/protection.js";
import { isOpen, type PriorState } from "../records/prior-state.js";
import { desiredIn } from "../records/target.js";
import type { ObjectFailure, TerminalError } from "../source/cluster-view.js";
import { type FailurePlaces, objectFailuresOf, type WrongObjects } from "./object-failures.js";
import { terminalErrorOf } from "./terminal-error.js";

interface AllowedOptions {
  readonly desired: Desired;
  readonly state: PriorState;
  /** The last revision is kept running whatever the objects ask for. */
  readonly keepsRevision: boolean;
  readonly survey: (goal: {
    readonly desired: Desired;
    readonly keepsRevision: boolean;
  }) => Promise<Survey>;
}

/** What the objects of a cluster ask for and cannot have, as one work on the cluster finds it. */
export class Refusals {
  private readonly errors: CapstanError[] = [];

  /** `wrong`: objects that cannot be used as they are written; undefined: none. */
  constructor(
    private readonly places: FailurePlaces,
    wrong: WrongObjects | undefined,
  ) {
    if (wrong !== undefined) this.errors.push(wrong);
  }

  get all(): readonly CapstanError[] {
    return this.errors;
  }

  get failures(): ObjectFailure[] {
    return this.errors.flatMap((error) => objectFailuresOf(error, this.places));
  }

  /** Undefined: nothing is refused. */
  get terminalError(): TerminalError | undefined {
    const [first, ...others] = this.errors.flatMap((error) => terminalErrorOf(error) ?? []);
    if (first === undefined) return undefined;
    return { ...first, message: [first, ...others].map(({ message }) => message).join("\n") };
  }

  /**
   * The survey of what is allowed. The accepted forms of objects stand for those that ask for a change that is
   * refused; where that is no way out, and for a loss by accident, the last revision is kept. In the middle of a
   * transaction the revision is no goal. Throws what `survey` throws.
   */
  async surveyAllowed({ desired, state, keepsRevision, survey }: AllowedOptions): Promise<Survey> {
    for (let goal = desired; ;) {
      try {
        return await survey({ desired: goal, keepsRevision });
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const without = withoutRefused(goal, objectFailuresOf(error, this.places), state);
        if (without === undefined && (state.revision === undefined || isOpen(state))) throw error;
        this.errors.push(error);
        if (without === undefined) return survey({ desired: goal, keepsRevision: true });
        goal = without;
      }
    }
  }
}

function isRefusal(error: unknown): error is CapstanError {
  return (
    error instanceof RefusedChange || error instanceof RefusedRemovals || error instanceof BadInput
  );
}

/**
 * The same goal with the accepted forms of the objects that a refusal is about, without those that were never
 * accepted. Undefined where that is the same goal, or where the Cluster itself is refused. Pure.
 */
function withoutRefused(
  desired: Desired,
  refused: readonly Pick<ObjectFailure, "kind" | "name">[],
  { transaction }: PriorState,
): Desired | undefined {
  if (refused.some(({ kind }) => kind === "Cluster")) return undefined;
  const accepted = transaction === undefined ? [] : objectsOf(desiredIn(transaction.target));
  const isRefused = ({ kind, metadata }: AnyObject) =>
    refused.some((one) => one.kind === kind && one.name === metadata.name);
  const standing = <O extends AnyObject>(objects: readonly O[]): O[] =>
    objects.flatMap((object) => {
      if (!isRefused(object)) return [object];
      const { kind, metadata } = object;
      const known = accepted.find(
        (one) => one.kind === kind && one.metadata.name === metadata.name,
      );
      return known === undefined ? [] : [known as O];
    });
  const without = {
    ...desired,
    machines: standing(desired.machines),
    machineSets: standing(desired.machineSets),
    machineDeployments: standing(desired.machineDeployments),
  };
  return sameJson(without, desired) ? undefined : without;
}
