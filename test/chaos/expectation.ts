import type { Operation } from "./operation.js";
import { type Place, placeOf } from "./place.js";
import type { OperationProgress } from "./progress.js";
import type { NextCommand } from "./recovery.js";

/** How the command that comes next may end. */
export type ExpectedEnding =
  /** With 0, at a place. */
  | { readonly kind: "reaches"; readonly place: Place }
  /** With one of these codes, without any change; then the place is as it was. */
  | {
      readonly kind: "refuses";
      readonly codes: readonly number[] | "any but 0";
      readonly at: Place;
    };

const badInput = 65;
const failed = 1;
const ambiguousOwner = 5;
const found: Place = { kind: "found" };
const open: Place = { kind: "open" };
const nothing: Place = { kind: "nothing" };

const reaches = (place: Place): ExpectedEnding => ({ kind: "reaches", place });
const refuses = (at: Place, ...codes: number[]): ExpectedEnding => ({ kind: "refuses", codes, at });
const refusesSomehow = (at: Place): ExpectedEnding => ({ kind: "refuses", codes: "any but 0", at });

/**
 * Every ending that is right for a command after an operation that had come so far; one at least. Pure.
 * The laws behind it are in docs/adr/0016.
 */
export function endingsOf(
  operation: Operation,
  recovery: NextCommand,
  progress: OperationProgress,
): readonly ExpectedEnding[] {
  const { target, previous, third } = operation;
  switch (recovery) {
    case "same":
      return operation.verb === "plain"
        ? afterPlain(operation, progress)
        : [reaches(placeOf("target", target))];
    case "up":
      return toManifests(operation, progress, placeOf("target", target), "forward");
    case "old":
      return toManifests(operation, progress, placeOf("previous", previous), "back");
    case "third":
      return toManifests(operation, progress, placeOf("third", third), "forward");
    case "rollback":
      return afterRollback(operation, progress);
    case "rollbackTo":
      return afterRollbackTo(operation, progress);
    case "destroy":
      return afterDestroy(operation, progress);
    case "adopt":
      return [reaches(placeOf("target", target ?? previous))];
    case "plain":
      return afterPlain(operation, progress);
    case "forget":
    case "forgetAmiss":
    case "import":
      return afterRequest(operation, progress);
  }
}

/** The revision that `rollback --to` asks for: other than the one that the operation goes to. */
export function revisionAsked({ verb }: Operation): number {
  return verb === "rollbackTo" ? 2 : 1;
}

/** `up` with other manifests takes the place of whatever is open, on this side of the undo line. */
function toManifests(
  { verb, crosses }: Operation,
  progress: OperationProgress,
  place: Place,
  way: "forward" | "back",
): readonly ExpectedEnding[] {
  if (verb === "destroy" && progress === "beyond") return [refuses(open, badInput)];
  if (verb === "adopt" && progress === "untouched") return [refuses(found, ambiguousOwner)];
  if (crosses !== true || way === "forward") return [reaches(place)];
  switch (progress) {
    case "untouched":
    case "begun":
      return [reaches(place)];
    case "beyond":
      return [refuses(open, badInput)];
    case "committed":
      return [refuses(open, badInput), reaches(place)];
  }
}

function afterRollback(
  operation: Operation,
  progress: OperationProgress,
): readonly ExpectedEnding[] {
  const { verb, target, previous, revisions, crosses } = operation;
  const back = placeOf("previous", previous);
  const there = placeOf("target", target);
  if (verb === "rollback") return [reaches(there)];
  if (verb === "adopt") {
    if (progress === "untouched") return [refuses(found, failed)];
    // The adoption is a revision of its own: behind it nothing can be open, and there is none before it.
    return isDone(progress)
      ? [reaches(found), reaches(there), refuses(there, failed), refuses(found, failed)]
      : [reaches(found)];
  }
  switch (progress) {
    case "untouched":
      return [asIfNotTyped(operation)];
    case "begun":
      return [reaches(back)];
    case "beyond":
      return [refuses(open, badInput)];
    case "committed":
      if (verb === "destroy") return [refuses(nothing, failed)];
      if (operation.undisturbed.code === 1) return [reaches(back), refuses(back, failed)];
      if (revisions.length === 0) return [refuses(there, failed)];
      if (crosses === true) return [refuses(there, badInput), reaches(back)];
      return verb === "rollbackTo" ? [reaches(back), reaches(there)] : [reaches(back)];
  }
}

/** `rollback` of what is idle goes to the revision before, if there is one. */
function asIfNotTyped({ previous, revisions }: Operation): ExpectedEnding {
  const before = revisions.at(-2);
  if (before !== undefined) return reaches(placeOf("revision", before));
  return refuses(placeOf("previous", previous), failed);
}

function afterRollbackTo(
  operation: Operation,
  progress: OperationProgress,
): readonly ExpectedEnding[] {
  const { verb, target, revisions, crosses } = operation;
  const asked = placeOf("revision", revisions[revisionAsked(operation) - 1]);
  const there = placeOf("target", target);
  if (verb === "adopt") {
    if (progress === "untouched") return [refuses(found, failed)];
    return [reaches(found), refuses(open, failed), ...(isDone(progress) ? [reaches(there)] : [])];
  }
  if (progress === "beyond") return [refuses(open, badInput)];
  if (progress !== "committed") return [reaches(asked)];
  if (verb === "destroy") return [refuses(nothing, failed)];
  return crosses === true ? [refuses(there, badInput), reaches(asked)] : [reaches(asked)];
}

/**
 * A request that changes records alone goes on with nothing that is open, and needs a revision. The place is the one whose manifests stay
 * wanted.
 */
function afterRequest(
  { verb, target, previous, revisions, undisturbed }: Operation,
  progress: OperationProgress,
): readonly ExpectedEnding[] {
  switch (progress) {
    case "untouched":
      if (verb === "adopt") return [refusesSomehow(found)];
      if (revisions.length === 0) return [refuses(nothing, failed)];
      return [reaches(placeOf("previous", previous))];
    case "begun":
    case "beyond":
      return [refuses(open, failed)];
    case "committed": {
      if (verb === "destroy") return [refuses(nothing, failed)];
      const isBack = undisturbed.code === 1 && verb !== "adopt";
      const place = isBack ? placeOf("previous", previous) : placeOf("target", target);
      return [reaches(place), refuses(open, failed)];
    }
  }
}

function isDone(progress: OperationProgress): boolean {
  return progress === "committed";
}

function afterDestroy(
  { verb, revisions }: Operation,
  progress: OperationProgress,
): readonly ExpectedEnding[] {
  if (progress !== "untouched" || revisions.length > 0) return [reaches(nothing)];
  // Nothing is recorded: then nothing is touched, and what was lost is not said to be gone.
  if (verb === "adopt") return [refuses(found, ambiguousOwner)];
  return [reaches(nothing), refuses(nothing, failed)];
}

/** A plain `pulumi up` goes on with nothing that is open; it says which command does. */
function afterPlain(operation: Operation, progress: OperationProgress): readonly ExpectedEnding[] {
  const { verb, target, previous } = operation;
  const place = placeOf("target", target ?? previous);
  const stays = placeOf("previous", previous);
  switch (progress) {
    case "untouched":
      return verb === "adopt" ? [refusesSomehow(found)] : [reaches(place), refusesSomehow(stays)];
    case "begun":
    case "beyond":
      return [refusesSomehow(open)];
    case "committed":
      return verb === "destroy"
        ? [refusesSomehow(nothing)]
        : [reaches(place), refusesSomehow(open)];
  }
}
