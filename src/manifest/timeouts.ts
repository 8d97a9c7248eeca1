import { defaultProgressDeadlineSeconds } from "../api/schema.js";
import { type AnyObject, type Desired, objectsOf } from "../api/types.js";
import type { Violation } from "../api/diagnostic-codes.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { Diagnostic, Position } from "./diagnostic.js";
import { describe } from "./object-parts.js";

/**
 * What sets ask for that a wait of so many seconds for each host does not leave room for: a deadline that
 * can never run out, or machines that can never count. Warnings. Pure.
 */
export function timeoutWarnings(
  desired: Desired,
  timeoutSeconds: number,
  positionOf: (object: AnyObject, path: Violation["path"]) => Position | undefined,
): Diagnostic[] {
  return objectsOf(desired).flatMap((object) =>
    beyondTimeout(object, timeoutSeconds).map((violation) =>
      omitUndefined({
        ...violation,
        severity: "warning",
        position: positionOf(object, violation.path) ?? { file: describe(object) },
        subject: describe(object),
        path: violation.path.join("."),
      }),
    ),
  );
}

function beyondTimeout(object: AnyObject, timeoutSeconds: number): Violation[] {
  if (object.kind !== "MachineSet" && object.kind !== "MachineDeployment") return [];
  const { minReadySeconds } = object.spec;
  const deadline = object.kind === "MachineDeployment" ? object.spec.progressDeadlineSeconds : 0;
  const limit = `${timeoutSeconds} s, which is what --timeout gives a host`;
  return [
    ...(minReadySeconds >= timeoutSeconds
      ? [
          {
            code: "NOT_ALLOWED" as const,
            path: ["spec", "minReadySeconds"],
            summary: `no new machine can ever count: it is given up after ${limit}`,
            hint: `lower it, or give --timeout more than ${minReadySeconds} s and the time that a host takes to come up`,
          },
        ]
      : []),
    // Nobody has to have written the default.
    ...(deadline > timeoutSeconds && deadline !== defaultProgressDeadlineSeconds
      ? [
          {
            code: "NO_EFFECT" as const,
            path: ["spec", "progressDeadlineSeconds"],
            summary: `has no effect beyond ${limit}`,
            hint: `give --timeout ${deadline}, or lower it`,
          },
        ]
      : []),
  ];
}
