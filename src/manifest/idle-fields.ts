import type { Violation } from "../api/diagnostic-codes.js";
import { defaultRevisionHistoryLimit } from "../api/schema.js";
import type { AnyObject, MachineDeploymentObject } from "../api/types.js";
import type { ObjectHolder } from "./object-parts.js";

/**
 * Fields of an object that fits its schema which change nothing where they stand. A user who writes one
 * expects something of it. Pure.
 */
export function idleFields(object: AnyObject, holder: ObjectHolder): Violation[] {
  if (object.kind !== "MachineDeployment") return [];
  return holder === "files" ? idleHistoryLimit(object) : [];
}

function idleHistoryLimit({ spec }: MachineDeploymentObject): Violation[] {
  if (spec.revisionHistoryLimit === defaultRevisionHistoryLimit) return [];
  return [
    {
      code: "NO_EFFECT",
      path: ["spec", "revisionHistoryLimit"],
      summary: "has no effect in files, which keep no empty MachineSets",
      hint: "leave it out; capstan history keeps every revision, and capstan rollback goes back to one",
    },
  ];
}
