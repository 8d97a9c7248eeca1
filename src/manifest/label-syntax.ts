import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import { isLabelValue, isQualifiedName } from "../api/name-forms.js";
import { ruleWords } from "../api/rules.js";
import type { AnyObject } from "../api/types.js";
import { machineSpecsIn, metadataIn, type PlacedSpec } from "./object-parts.js";

/**
 * What is wrong with the labels and annotations of an object, of Machines that are made from it and of
 * their Nodes, and with the taints of these: everything that an API server would refuse. Pure.
 */
export function checkLabelSyntax(object: AnyObject): Violation[] {
  const specs = machineSpecsIn(object);
  return [
    ...metadataIn(object).flatMap(({ metadata: { labels = {}, annotations = {} }, path }) => [
      ...Object.entries(labels).flatMap(([key, value]) =>
        badLabel(key, value, [...path, "labels"]),
      ),
      ...Object.keys(annotations)
        // Capitals before the slash are fine in keys of annotations alone.
        .filter((key) => !isQualifiedName(key.toLowerCase()))
        .map((key) => badKey([...path, "annotations", key])),
    ]),
    ...specs.flatMap(checkTaints),
  ];
}

function checkTaints({ spec: { taints = [] }, path }: PlacedSpec): Violation[] {
  return taints.flatMap(({ key, value = "", effect }, index): Violation[] => {
    const at = [...path, "taints", index];
    const isDouble = taints
      .slice(0, index)
      .some((earlier) => earlier.key === key && earlier.effect === effect);
    return [
      ...(isQualifiedName(key) ? [] : [badKey([...at, "key"], key)]),
      ...(isLabelValue(value) ? [] : [badValue(value, [...at, "value"])]),
      ...(isDouble ? [{ code: "DUPLICATE" as const, path: at, ...ruleWords.doubleTaint }] : []),
    ];
  });
}

function badLabel(key: string, value: string, path: MemberPath): Violation[] {
  return [
    ...(isQualifiedName(key) ? [] : [badKey([...path, key])]),
    ...(isLabelValue(value) ? [] : [badValue(value, [...path, key])]),
  ];
}

/** The path itself tells the key of a label or an annotation. */
function badKey(path: MemberPath, key?: string): Violation {
  const { summary, hint } = ruleWords.badKey;
  const told = key === undefined ? summary : `"${key}" ${summary}`;
  return { code: "BAD_FORMAT", path, summary: told, hint };
}

function badValue(value: string, path: MemberPath): Violation {
  const { summary, hint } = ruleWords.badLabelValue;
  return { code: "BAD_FORMAT", path, summary: `"${value}" ${summary}`, hint };
}
