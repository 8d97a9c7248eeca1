import { counted } from "../../api/counted.js";
import { asJson, sameJson } from "../../api/json.js";
import { keyAlgorithmAnnotation } from "../../api/key-algorithm.js";
import { isShared } from "../../graph/graph.js";
import { profiles } from "../../api/set-profile.js";
import type { MachineDeploymentObject, MachineSetObject } from "../../api/types.js";
import { deleteMachineAnnotation } from "../../api/delete-marks.js";
import { goFirst } from "../../sets/expand-set.js";
import { isRollingUpdate } from "../../sets/fenceposts.js";
import { ownerText } from "../../sets/owning-objects.js";
import type { MachineOwner } from "../../sets/expanded.js";
import { isMajority, quorumOf } from "../../sets/quorum.js";
import { followsVersions } from "../../sets/versions.js";
import { goalText } from "../../records/goal-text.js";
import type { PreflightFinding } from "../../provider/port.js";
import { goneReason } from "../decisions/verdicts.js";
import { isRefusal } from "../foreseen.js";
import type { IgnoredDrift, LookupChange, Plan } from "../plan.js";
import { shownValue } from "./tree.js";

/** What else people should know before they agree, a sentence each: unfinished work, leftovers, unrecorded resources. Pure. */
export function planNotes(plan: Plan): string[] {
  return [
    ...heldText(plan),
    ...(plan.foreseen ?? []).map(foreseenText),
    ...laterKeysNote(plan),
    ...(plan.lookedUp ?? []).map(lookupText),
    ...(plan.open === undefined ? [] : [openText(plan)]),
    ...forgottenNote(plan),
    ...stillUsedNote(plan),
    ...lostMembers(plan),
    ...withoutMembers(plan),
    ...plan.orphaned.map(({ id, who, letGo }) =>
      letGo === true
        ? `In no record although it has this cluster's ownership tags, to lose them and stay: ${who.kind} ${who.name} (${id})`
        : `Left by an apply that broke off, to be deleted: ${who.kind} ${who.name} (${id})`,
    ),
    ...plan.unrecorded.map((what) => `In the cloud but in no record: ${what}`),
    ...ignoredText(plan),
    ...plan.target.objects.flatMap((object) => {
      if (object.kind === "MachineDeployment") {
        return [...heldBack(object, plan), ...idleMarks(object, plan)];
      }
      return object.kind === "MachineSet" ? idleMarks(object, plan) : [];
    }),
  ];
}

/** What somebody forgets is made again unless it is asked for no more. */
function forgottenNote({ transaction: { goal }, target, machines }: Plan): string[] {
  if (goal.kind !== "forget") return [];
  const owner = machines.find(({ machine }) => machine === goal.machine)?.owner;
  if (owner === undefined) {
    return [
      `The next up makes another host as long as the manifests hold Machine ${goal.machine}: take it out of them.`,
    ];
  }
  const { name, kind } = nameOf(owner);
  const replicas = target.objects.flatMap((object) =>
    object.kind === kind && object.metadata.name === name ? [object.spec.replicas] : [],
  );
  const left = target.machines.filter(
    (machine) => machine.owner !== undefined && ownerText(machine.owner) === ownerText(owner),
  ).length;
  return replicas
    .filter((wanted) => wanted > left)
    .map(
      (wanted) =>
        `${kind} ${name} asks for ${counted(wanted, "machine")} and keeps ${left}: the next up makes another unless its replicas are lowered.`,
    );
}

/** A host that runs on keeps what it uses from being deleted, and is in no record by then. */
function stillUsedNote({ transaction: { goal }, target: { nodes } }: Plan): string[] {
  const shared = nodes.filter(isShared);
  if (goal.kind !== "forget" || shared.length === 0) return [];
  const names = shared.map(({ kind, name }) => `${kind} ${name}`).join(", ");
  return [
    `The host of Machine ${goal.machine} may go on using what the machines share (${names}): a destroy of the cluster deletes that only once it is used no more, so take the host away in the cloud before.`,
  ];
}

function nameOf({ machineSet, machineDeployment }: MachineOwner) {
  return machineDeployment === undefined
    ? ({ kind: "MachineSet", name: machineSet } as const)
    : ({ kind: "MachineDeployment", name: machineDeployment } as const);
}

/** Workers have nothing to join: mostly somebody forgot `versions.controlPlane`. */
function withoutMembers({ target: { machines } }: Plan): string[] {
  if (machines.length === 0 || machines.some(({ controlPlane }) => controlPlane)) return [];
  return [
    "No Machine is a control-plane member: the workers have nothing to join; versions.controlPlane makes one",
  ];
}

/** Of what is implausible: who believes it, or what makes it be believed. */
function heldText({ held }: Plan): string[] {
  switch (held?.believed) {
    case "person":
      return [`Believed, as a person says so: ${held.reason}.`];
    case "proven":
      return [`Believed, as this is the recorded cloud: ${held.reason}.`];
    case undefined:
      return held === undefined
        ? []
        : [`Frozen, not to be applied: ${held.reason}. If it is true: --thaw ${held.fingerprint}`];
  }
}

/** What would fail, or may. */
function foreseenText(finding: PreflightFinding): string {
  const hint = finding.hint === undefined ? "" : `; ${finding.hint}`;
  const about = isRefusal(finding) ? "Would fail, not to be applied" : "May fail";
  return `${about} (${finding.code}): ${finding.message}${hint}`;
}

/** A cluster keeps the keys that it was made with, whatever its annotation says since. */
function laterKeysNote({ laterKeys, stack }: Plan): string[] {
  if (laterKeys === undefined) return [];
  return [
    `The cluster's keys stay as they are: ${keyAlgorithmAnnotation} ${laterKeys} counts for keys that capstan certificates rotate ${stack} makes.`,
  ];
}

/** "Looked up for MachineDeployment web (imageFamily ubuntu): image a -> b". */
function lookupText({ by, question, answer, before = {} }: LookupChange): string {
  const asked = question.kind === "machine" ? question.providerSpec : question.clusterSpec;
  const fields = Object.entries(asked)
    .filter(([field]) => field !== "apiVersion" && field !== "kind")
    .map(([field, value]) => `${field} ${shownValue(value, field)}`);
  const values = Object.entries(answer).map(([field, value]) => {
    const former = before[field];
    const isOther = former !== undefined && !sameJson(former, value);
    return `${field} ${isOther ? `${shownValue(former)} -> ` : ""}${shownValue(value)}`;
  });
  const about = fields.length === 0 ? "" : ` (${fields.join(", ")})`;
  return `Looked up for ${by.join(", ")}${about}: ${values.join(", ") || "nothing"}`;
}

const ignoredReasons: Record<IgnoredDrift["because"], string> = {
  ignore: "drifted, ignored by policy",
  report: "drifted, only reported by policy",
  frozen: "drifted, not believed",
  overBudget: "drifted, corrected later",
};

/** "1 drifted, ignored by policy: LocalHost/web-7ca2dcf0-1". */
function ignoredText({ ignoredDrift = [] }: Plan): string[] {
  const reasons = [...new Set(ignoredDrift.map(({ because }) => because))];
  return reasons.map((reason) => {
    const keys = ignoredDrift.filter(({ because }) => because === reason).map(({ key }) => key);
    const more = keys.length > mostNamed ? `, ... (${keys.length - mostNamed} more)` : "";
    const named = keys.slice(0, mostNamed).join(", ");
    return `${keys.length} ${ignoredReasons[reason]}: ${named}${more}`;
  });
}

/** So many are named of what is not touched. */
const mostNamed = 5;

/** A template that is not brought about now, and on how many machines. */
function heldBack({ metadata, spec }: MachineDeploymentObject, { target }: Plan): string[] {
  if (!spec.paused && isRollingUpdate(spec)) return [];
  const { providerSpec, versions } = spec.template.spec;
  const behind = target.machines.filter(
    (machine) =>
      machine.owner?.machineDeployment === metadata.name &&
      (!sameJson(asJson(machine.spec.providerSpec), asJson(providerSpec)) ||
        !followsVersions(machine.spec.versions, versions)),
  ).length;
  if (behind === 0) return [];
  const machines = counted(behind, "machine does", "machines do");
  const why = spec.paused ? "it is paused" : "its strategy is OnDelete";
  return [`MachineDeployment ${metadata.name}: ${machines} not follow the template (${why}).`];
}

/** What new control-plane hosts do not bring back. */
function lostMembers({ machines, transaction }: Plan): string[] {
  const members = machines.filter(({ controlPlane, kind }) => controlPlane && kind !== "delete");
  if (transaction.goal.kind === "adopt") {
    const found = counted(members.length, "control-plane host");
    return [
      `${found} found: what others have stored, if there were any, new ones do not bring back.`,
    ];
  }
  const lost = members.filter(({ reasons }) => reasons.includes(goneReason)).length;
  const left = members.length - lost;
  if (lost === 0 || isMajority(left, members.length)) return [];
  return [
    `${left} of ${members.length} control-plane hosts are left, etcd needs ${quorumOf(members.length)}: what it stored may be lost.`,
  ];
}

/** Delete marks that choose nobody: a name that none of its machines has, or an annotation of another profile. */
function idleMarks(
  object: MachineDeploymentObject | MachineSetObject,
  { machines }: Pick<Plan, "machines">,
): string[] {
  const { kind, metadata } = object;
  const { profile, marked } = goFirst(object);
  const members = machines.filter(({ owner }) =>
    kind === "MachineDeployment"
      ? owner?.machineDeployment === metadata.name
      : owner?.machineSet === metadata.name && owner.machineDeployment === undefined,
  );
  const names = new Set(members.map(({ machine }) => machine));
  const idle = [...marked].filter((name) => !names.has(name));
  const others = profiles
    .filter((other) => other !== profile)
    .map((other) => deleteMachineAnnotation[other])
    .filter((annotation) => metadata.annotations?.[annotation] !== undefined);
  const subject = `${kind} ${metadata.name}`;
  return [
    ...idle.map(
      (name) =>
        `${subject}: ${deleteMachineAnnotation[profile]} marks ${name}, and no machine of it has that name.`,
    ),
    ...others.map(
      (annotation) =>
        `${subject}: ${annotation} marks nothing in profile ${profile}; ${deleteMachineAnnotation[profile]} does.`,
    ),
  ];
}

/** What becomes of an open transaction: nothing by a plan while a process works on it. */
function openText({ transaction, open }: Plan): string {
  if (open?.worker !== undefined) {
    return `Transaction ${open.number} is under way: ${open.worker} works on it. This plan is what it had left to do when the cloud was read.`;
  }
  if (open?.number === transaction.number) {
    return `Transaction ${open.number} is not finished; this goes on with it.`;
  }
  const goal = open?.goal.kind ?? "up";
  const what = open === undefined || goal === "up" ? "" : `${article(goalText(open.goal))}, `;
  const instead =
    transaction.direction === "back" ? "this takes it back" : "this goes on from there";
  return `Transaction ${open?.number ?? 0} (${what}begun by ${open?.by ?? "?"}) is not finished; ${instead}.`;
}

function article(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
}

/** A chain of upgrades is several plans: this one, and those that follow its commit. None for a single plan. Pure. */
export function stageLines({ stage }: Plan): string[] {
  if (stage === undefined) return [];
  const { number, count, reason, later } = stage;
  return [
    `Stage ${number} of ${count}: ${reason}`,
    ...later.map((next, index) => {
      const units = next.changes.map(({ unit }) => unit).join(", ");
      const what = units === "" ? "" : ` (${units})`;
      return `  then stage ${number + 1 + index}: ${next.reason}${what}`;
    }),
  ];
}

/** "revision 3 -> 4", "revision none -> 1", "revision 3" of an empty plan. Pure. */
export function revisionText({ fromRevision, transaction, empty }: Plan): string {
  if (empty) return `revision ${fromRevision}`;
  return `revision ${fromRevision === 0 ? "none" : fromRevision} -> ${transaction.number}`;
}
