import type { Command } from "../scenario/command.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { type Target, type Targets, workerOf, writeTarget } from "./targets.js";

/**
 * rollback: from revision 2 back to 1. failing: the create of a worker fails after the control plane
 * was changed, so that it takes itself back. stillborn: the same in the first creation. plain: an update by a plain `pulumi up`.
 * roll: new hosts for the machines of MachineDeployments. members: new hosts for the control plane.
 * upgrade: the next minor version, beyond which there is no way back.
 */
export const operationNames = [
  "create",
  "update",
  "scale",
  "shrink",
  "replace",
  "destroy",
  "rollback",
  "failing",
  "stillborn",
  "plain",
  "roll",
  "members",
  "upgrade",
] as const;
export type OperationName = (typeof operationNames)[number];

/** What is there before an operation: nothing, revision 1, or revision 2 with everything updated. */
export type Baseline = "nothing" | "first" | "updated";

/** Those that come in waves, for which there is a scenario of its own. */
export const rolloutNames: readonly OperationName[] = ["roll", "members", "upgrade"];

/** What a run does, from where to where. */
export interface Operation {
  readonly name: OperationName;
  readonly baseline: Baseline;
  readonly previous: Target;
  /** Where it wants to go. */
  readonly target: Target;
  /** How it ends when nobody disturbs it. */
  readonly undisturbed: { readonly code: number; readonly reaches: Target };
  readonly third: NonNullable<Target>;
  /** A call of the cloud that fails in it for good, so that it takes itself back. */
  readonly breaks?: { readonly call: string; readonly name: string };
  /** From its first new control plane on there is only forward: what leads back is refused. */
  readonly crosses?: true;
  start(sandbox: Sandbox): Command;
}

/** The operations on a scenario. */
export function operationsOf(targets: Targets, stack: string): Record<OperationName, Operation> {
  const { first, updated, third } = targets;
  const up = (target: NonNullable<Target>) => (sandbox: Sandbox) => startUp(sandbox, target);
  const change = (name: OperationName, target: NonNullable<Target>): Operation => ({
    ...{ name, baseline: "first", previous: first, target, third },
    undisturbed: { code: 0, reaches: target },
    start: up(target),
  });
  return {
    create: { ...change("create", first), baseline: "nothing", previous: undefined },
    update: change("update", updated),
    scale: change("scale", targets.scaled),
    shrink: change("shrink", targets.shrunk),
    replace: change("replace", targets.replaced),
    destroy: {
      ...{ name: "destroy", baseline: "first", previous: first, target: undefined, third },
      undisturbed: { code: 0, reaches: undefined },
      start: (sandbox) => startDestroy(sandbox, stack),
    },
    rollback: {
      ...{ name: "rollback", baseline: "updated", previous: updated, target: first, third },
      undisturbed: { code: 0, reaches: first },
      start: (sandbox) => startRollback(sandbox, stack, "--to", "1"),
    },
    failing: {
      ...change("failing", targets.grown),
      undisturbed: { code: 1, reaches: first },
      breaks: { call: "create", name: workerOf(first).metadata.name },
    },
    stillborn: {
      ...change("stillborn", targets.seedling),
      ...{ baseline: "nothing", previous: undefined, third: first },
      undisturbed: { code: 1, reaches: undefined },
      breaks: { call: "create", name: workerOf(first).metadata.name },
    },
    roll: change("roll", targets.rolled),
    members: change("members", targets.reseated),
    upgrade: {
      ...change("upgrade", targets.upgraded),
      ...{ third: targets.upgradedFurther, crosses: true },
    },
    plain: {
      ...change("plain", third),
      third: targets.shrunk,
      start: (sandbox) => {
        writeTarget(sandbox.manifests, third);
        return sandbox.startPlain("up", stack, "--yes", "--skip-preview");
      },
    },
  };
}

export function startUp(sandbox: Sandbox, target: NonNullable<Target>): Command {
  writeTarget(sandbox.manifests, target);
  return sandbox.startUp();
}

export function startDestroy(sandbox: Sandbox, stack: string): Command {
  return sandbox.start("destroy", "--yes", stack);
}

/** What is under way goes back to what was committed last. */
export function startRollback(sandbox: Sandbox, stack: string, ...args: string[]): Command {
  return sandbox.start("rollback", "--yes", stack, ...args);
}
