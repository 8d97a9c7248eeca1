import { isDeepStrictEqual } from "node:util";
import type { Command } from "../scenario/command.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { type Place, placeOf } from "./place.js";
import { type ChaosTarget, type Targets, workerOf, writeTarget } from "./targets.js";

/**
 * rollback: from revision 3 to the one before. rollbackTo: from revision 3 to 1. failing: the create of
 * a worker fails after the control plane was changed, so that it takes itself back. cornered: the same
 * after a disk of the control plane has grown, which nothing takes back. stillborn: a first creation
 * fails. adopt: the state was lost, the manifests are the same; adoptChanged: they are others;
 * adoptFailing: a host is dead as well, and its new one cannot be made. plain: an update by a plain `pulumi up`.
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
  "rollbackTo",
  "failing",
  "stillborn",
  "cornered",
  "adopt",
  "adoptChanged",
  "adoptFailing",
  "plain",
  "roll",
  "members",
  "upgrade",
] as const;
export type OperationName = (typeof operationNames)[number];

/** What people type. `up` stands for a plain one and for one with --adopt, too. */
export type Verb = "up" | "destroy" | "rollback" | "rollbackTo" | "adopt" | "plain";

/**
 * What is there before an operation: nothing; revision 1; revision 2 with everything updated; revision
 * 3 with something else; revision 1 whose state was lost, with a dead worker as well.
 */
export type Baseline = "nothing" | "first" | "updated" | "third" | "lost" | "lostAndDead";

/** Those that come in waves, for which there is a scenario of its own. */
export const rolloutNames: readonly OperationName[] = ["roll", "members", "upgrade"];

/** What a run does, from where to where. */
export interface Operation {
  readonly name: OperationName;
  readonly verb: Verb;
  readonly baseline: Baseline;
  /** What its baseline has committed, the oldest first; the first has number 1. */
  readonly revisions: readonly NonNullable<ChaosTarget>[];
  readonly previous: ChaosTarget;
  /** Where it wants to go. */
  readonly target: ChaosTarget;
  /** How it ends when nobody disturbs it. */
  readonly undisturbed: { readonly code: number; readonly reaches: Place };
  readonly third: NonNullable<ChaosTarget>;
  /** A call of the cloud that fails in it for good, so that it takes itself back. */
  readonly breaks?: { readonly call: string; readonly name: string };
  /** From one of its steps on there is only forward: what leads back is refused. */
  readonly crosses?: true;
  start(sandbox: Sandbox): Command;
}

/** The operations on a scenario. */
export function operationsOf(targets: Targets, stack: string): Record<OperationName, Operation> {
  const { first, updated, third } = targets;
  const reaching = (target: ChaosTarget): Operation["undisturbed"] => ({
    code: 0,
    reaches: placeOf("target", target),
  });
  const change = (name: OperationName, target: NonNullable<ChaosTarget>): Operation => ({
    name,
    verb: "up",
    baseline: "first",
    revisions: [first],
    previous: first,
    target,
    third,
    undisturbed: reaching(target),
    start: (sandbox) => startUp(sandbox, target),
  });
  const creation = (name: OperationName, target: NonNullable<ChaosTarget>): Operation => ({
    ...change(name, target),
    baseline: "nothing",
    revisions: [],
    previous: undefined,
  });
  const back = (name: "rollback" | "rollbackTo", target: NonNullable<ChaosTarget>): Operation => ({
    ...change(name, target),
    verb: name,
    baseline: "third",
    revisions: [first, updated, third],
    previous: third,
    third: targets.shrunk,
    start: (sandbox) => startRollback(sandbox, stack, ...(target === first ? ["--to", "1"] : [])),
  });
  const adoption = (name: OperationName, target: NonNullable<ChaosTarget>): Operation => ({
    ...change(name, target),
    verb: "adopt",
    baseline: "lost",
    revisions: [],
    start: (sandbox) => startUp(sandbox, target, "--adopt"),
  });
  const breaks = { call: "create", name: workerOf(first).metadata.name };
  return {
    create: creation("create", first),
    update: change("update", updated),
    scale: change("scale", targets.scaled),
    shrink: change("shrink", targets.shrunk),
    replace: change("replace", targets.replaced),
    destroy: {
      name: "destroy",
      verb: "destroy",
      baseline: "updated",
      revisions: [first, updated],
      previous: updated,
      target: undefined,
      third,
      undisturbed: reaching(undefined),
      start: (sandbox) => startDestroy(sandbox, stack),
    },
    rollback: back("rollback", updated),
    rollbackTo: back("rollbackTo", first),
    failing: {
      ...change("failing", targets.grown),
      undisturbed: { code: 1, reaches: placeOf("previous", first) },
      breaks,
    },
    stillborn: {
      ...creation("stillborn", targets.seedling),
      undisturbed: { code: 1, reaches: { kind: "nothing" } },
      third: first,
      breaks,
    },
    cornered: {
      ...change("cornered", targets.extended),
      undisturbed: { code: 4, reaches: { kind: "open" } },
      third: targets.extendedFurther,
      breaks,
      crosses: true,
    },
    adopt: adoption("adopt", first),
    adoptChanged: adoption("adoptChanged", targets.replaced),
    adoptFailing: {
      ...adoption("adoptFailing", first),
      baseline: "lostAndDead",
      undisturbed: { code: 1, reaches: { kind: "found" } },
      breaks,
    },
    roll: change("roll", targets.rolled),
    members: change("members", targets.reseated),
    upgrade: {
      ...change("upgrade", targets.upgraded),
      third: targets.upgradedFurther,
      crosses: true,
    },
    plain: {
      // Of several members it changes none: that is for a command that takes one after the other.
      ...change("plain", targets.scaled),
      verb: "plain",
      third: targets.shrunk,
      start: (sandbox) => startPlainUp(sandbox, stack, targets.scaled),
    },
  };
}

/** Whether an operation does anything in a scenario. */
export function isMeantIn({ verb, previous, target }: Operation): boolean {
  return verb !== "up" || !isDeepStrictEqual(previous, target);
}

export function startUp(
  sandbox: Sandbox,
  target: NonNullable<ChaosTarget>,
  ...args: string[]
): Command {
  writeTarget(sandbox.manifests, target);
  return sandbox.startUp(...args);
}

/** Pulumi's own command, without any of ours. */
export function startPlainUp(
  sandbox: Sandbox,
  stack: string,
  target: NonNullable<ChaosTarget>,
): Command {
  writeTarget(sandbox.manifests, target);
  return sandbox.startPlain("up", stack, "--yes", "--skip-preview");
}

export function startDestroy(sandbox: Sandbox, stack: string): Command {
  return sandbox.start("destroy", "--yes", stack);
}

/** What is under way goes back to what was committed last. */
export function startRollback(sandbox: Sandbox, stack: string, ...args: string[]): Command {
  return sandbox.start("rollback", "--yes", stack, ...args);
}
