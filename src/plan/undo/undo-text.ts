import { counted } from "../../api/counted.js";
import { passedText } from "./point-of-no-return.js";
import { leftoversToRemove } from "../leftovers.js";
import type { Plan, UndoClass } from "../plan.js";
import { isLettingGo } from "../step.js";
import type { PointOfNoReturn } from "../../records/transaction.js";
import type { NodeKey } from "../../graph/graph.js";

/**
 * "Undo: every step can be taken back until the commit; then 2 resources are deleted". Empty for a plan
 * that does nothing, or that takes something back itself. Pure.
 */
export function undoText(plan: Plan): string {
  const { transaction, empty, passed } = plan;
  if (empty || transaction.direction === "back") return "";
  const [beyond] = passed;
  if (beyond !== undefined) return `Undo: none; ${passedText(beyond)}, so there is only forward`;
  switch (transaction.goal.kind) {
    case "adopt":
      return "Undo: its records are forgotten again; nothing in the cloud is changed either way";
    case "import":
      return "Undo: its marks can be taken off again until the commit; it stays in the cloud either way";
    case "destroy":
      return destroyText(plan);
    default:
      return changeText(plan);
  }
}

function destroyText({ fromRevision, transaction, leftovers }: Plan): string {
  if (fromRevision === 0) return "Undo: none; there is no revision to go back to";
  const lost =
    leftoversToRemove(leftovers).length > 0 ? "; what controllers have made is lost" : "";
  const until = (transaction.pointsOfNoReturn ?? []).flatMap(pointText);
  const anew = "what is deleted is made anew";
  return until.length === 0
    ? `Undo: ${anew} until nothing is left${lost}`
    : `Undo: ${anew}, but only until ${until.join(", ")}; what it stores is lost then${lost}`;
}

/** "the control plane has lost its quorum (fewer than 2 of 3 members)". Pure. */
export function pointText(point: PointOfNoReturn): string {
  switch (point.kind) {
    case "version":
      return `${point.host} runs a control plane of ${point.version}`;
    case "data":
      return `${point.host} has ${Object.keys(point.fields).join(", ")} changed`;
    case "quorum":
      return point.members.length === 1
        ? "the only control-plane host is gone"
        : `the control plane has lost its quorum (fewer than ${point.needed} of ${point.members.length} members)`;
  }
}

function changeText(plan: Plan): string {
  const { undo } = plan;
  const before = undo.filter(({ step }) => step !== "delete");
  const early = earlyDeletions(plan);
  const letGo = new Set(plan.steps.filter(isLettingGo).map(({ key }) => key));
  const deletions = undo.filter(
    ({ step, class: found, key }) =>
      step === "delete" && found !== "reversible" && !early.has(key) && !letGo.has(key),
  ).length;
  const point = before.find((one) => one.class === "pointOfNoReturn");
  const rebuilt = before.filter((one) => one.class === "compensable").length + early.size;
  const until =
    point === undefined
      ? "every step can be taken back until the commit"
      : `only until ${point.key} ${point.step === "create" ? "serves" : `is ${point.step}d`}: ${point.reason}`;
  const how = rebuilt === 0 ? "" : `, ${rebuilt} of them by making something new`;
  const then =
    deletions === 0 ? "" : `; then ${counted(deletions, "resource is", "resources are")} deleted`;
  const nobodys =
    letGo.size === 0
      ? ""
      : `; then ${counted(letGo.size, "resource is", "resources are")} nobody's, for ever`;
  return `Undo: ${until}${how}${then}${nobodys}`;
}

/** Hosts that make room for others before the commit. */
function earlyDeletions(plan: Plan): ReadonlySet<NodeKey> {
  const toDelete = new Set(plan.leaving.map(({ host }) => host));
  const early = plan.waves
    .slice(0, -1)
    .flatMap(({ keys }) => keys.filter((key) => toDelete.has(key)));
  return new Set(early);
}

/** The classes as people read them. */
export const undoNames: Readonly<Record<UndoClass, string>> = {
  reversible: "reversible",
  compensable: "compensable only",
  pointOfNoReturn: "a point of no return",
};
