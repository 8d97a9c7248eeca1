import { isJsonObject, type Json } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { MachineVersions } from "../../api/types.js";
import { unknownValue } from "../../api/unknown.js";
import type { NodeKey } from "../../graph/graph.js";
import { ownerText } from "../../sets/owning-objects.js";
import { wavesText } from "../waves/list-waves.js";
import type {
  ChangeKind,
  InfrastructureChange,
  MachineChange,
  Plan,
  ResourceInput,
  StageNote,
} from "../plan.js";
import { boundedLines } from "../../records/history.js";
import { type ChangedField, isLettingGo, type Step } from "../step.js";
import type { ChangeSummary } from "../../records/transaction.js";

/** What becomes of one thing, or what a group of them is. */
export interface ChangeLine {
  readonly label: string;
  readonly kind: ChangeKind | "group";
  /** Whose place it takes, field changes and the reason, in one text. */
  readonly detail: string;
  /** The same without whose place it takes. */
  readonly described: string;
  /** The detail's parts; of a group there are none. */
  readonly changes: readonly ChangedField[];
  /** Those that no change tells itself. */
  readonly reasons: readonly string[];
  readonly supersedes?: string;
  /** The resource whose progress the line shows while the plan is applied. */
  readonly key?: NodeKey;
}

/** The tree of a plan's changes, which every format shows. */
export interface ChangeNode {
  readonly line: ChangeLine;
  readonly children: readonly ChangeNode[];
}

/** One line of the tree that plan, up and status print. */
export interface TreeLine extends ChangeLine {
  /** Box-drawing characters in front of the label. */
  readonly branch: string;
}

/** The part of a plan that its tree shows. */
type Shown = Pick<Plan, "cluster" | "infrastructure" | "machines" | "target">;

const verbs: Record<ChangeKind, string> = {
  same: "unchanged",
  move: "> move",
  create: "+ create",
  adopt: "= adopt",
  import: "= import",
  update: "~ in place",
  replace: "± replace",
  forget: "- forget",
  delete: "- delete",
  external: "external",
};

/** What the tree says about a kind of change. */
export function verbOf(kind: TreeLine["kind"]): string {
  return kind === "group" ? "" : verbs[kind];
}

/** Whether nothing becomes of it: what is external stays as it is, unless it is another one than before. Pure. */
export function isUnchanged({ kind, changes }: Pick<ChangeLine, "kind" | "changes">): boolean {
  return kind === "same" || (kind === "external" && changes.length === 0);
}

/** The plan as a tree: cluster, infrastructure, machines without a set, then sets. Pure. */
export function changeTree(plan: Shown): ChangeNode {
  const name = plan.cluster.split("/")[1] ?? plan.cluster;
  return {
    line: groupLine(`Cluster ${name}`),
    children: [...infrastructureBranches(plan), ...machineBranches(plan)],
  };
}

/** The same, a line each. Pure. */
export function planTree(plan: Shown): TreeLine[] {
  return flatten(changeTree(plan), "", "");
}

/** The sentence under the tree. Counts hosts and infrastructure alike. Pure. */
export function planSummary(plan: Plan): string {
  if (plan.empty) return "No changes: objects, state and cloud agree.";
  const counts = planCounts(plan);
  const head = plan.stage === undefined ? "Plan" : `Plan: ${stageText(plan.stage)}`;
  const isTouching = plan.steps.length + plan.orphaned.length > 0;
  const waves = isTouching ? wavesText(plan) : "no resource changes";
  if (counts !== "") return `${head}: ${counts}; ${waves}`;
  return `${head}: ${recordsText(plan)}`;
}

/** What there is to do where nothing in the cloud is to be touched. */
function recordsText({ open, fromRevision, transaction }: Plan): string {
  if (open !== undefined) return "nothing to change; an earlier transaction is to be committed";
  return transaction.number === fromRevision
    ? "nothing to change; what a killed command left in the records is put in order"
    : "no resource changes; the objects are recorded";
}

/** Counts and waves are those of this stage: what later ones come to is planned when they begin. */
function stageText({ number, count }: StageNote): string {
  return `stage ${number} of ${count}`;
}

/** "2 to create, 1 to delete"; empty when no resource changes. Pure. */
export function planCounts(plan: Plan): string {
  const count = (kind: Step["kind"]) => plan.steps.filter((step) => step.kind === kind).length;
  const orphansLetGo = plan.orphaned.filter(({ letGo }) => letGo).length;
  const orphansDeleted = plan.orphaned.length - orphansLetGo;
  const parts = [
    [count("adopt"), "to adopt"],
    [count("import"), "to import"],
    [count("create"), "to create"],
    [count("update"), "to update in place"],
    [count("delete") - forgottenCount(plan) + orphansDeleted, "to delete"],
    [forgottenCount(plan) + orphansLetGo, "to forget"],
    [movedCount(plan), "to move"],
  ] as const;
  const some = parts.filter(([number]) => number > 0);
  return some.map(([number, what]) => `${number} ${what}`).join(", ");
}

function forgottenCount({ steps }: Pick<Plan, "steps">): number {
  return steps.filter(isLettingGo).length;
}

/** Machines that get another owner and stay. */
function movedCount({ machines }: Pick<Plan, "machines">): number {
  return machines.filter(
    ({ movedFrom, kind }) => movedFrom !== undefined && kind !== "delete" && kind !== "forget",
  ).length;
}

/** What a plan changes, in short, for history. Pure. */
export function summaryOf(plan: Shown & Pick<Plan, "steps">): ChangeSummary {
  const count = (kind: Step["kind"]) => plan.steps.filter((step) => step.kind === kind).length;
  const lines = planTree(plan)
    .filter((line) => line.kind !== "group" && !isUnchanged(line))
    .map(({ kind, label, detail }) => `${verbOf(kind)} ${label}${detail && `: ${detail}`}`);
  return omitUndefined({
    create: count("create"),
    update: count("update"),
    delete: count("delete") - forgottenCount(plan),
    forget: forgottenCount(plan) > 0 ? forgottenCount(plan) : undefined,
    adopt: count("adopt") > 0 ? count("adopt") : undefined,
    import: count("import") > 0 ? count("import") : undefined,
    move: movedCount(plan) > 0 ? movedCount(plan) : undefined,
    lines: boundedLines(lines),
  });
}

/** "its host failed in the cloud; size small -> large (this provider cannot resize), diskGib 20 -> 40". Pure. */
export function describeChanges(
  changes: readonly ChangedField[],
  reasons: readonly string[] = [],
): string {
  return [...untoldReasons(reasons, changes), fieldsText(changes)].filter(isText).join("; ");
}

/** Reasons that no change tells itself. Pure. */
function untoldReasons(
  reasons: readonly string[],
  changes: readonly ChangedField[],
): readonly string[] {
  return reasons.filter((reason) => !changes.some((change) => change.reason === reason));
}

/** A reason that all fields have is told once. */
function fieldsText(changes: readonly ChangedField[]): string {
  const whys = changes.map(whyOf);
  const [first] = whys;
  const isOne = first !== undefined && whys.every((why) => why === first);
  if (isOne) return `${changes.map(fieldText).join(", ")} (${first})`;
  const fields = changes.map((change, index) => {
    const why = whys[index];
    return why === undefined ? fieldText(change) : `${fieldText(change)} (${why})`;
  });
  return fields.join(", ");
}

function whyOf({ reason, disruptive }: ChangedField): string | undefined {
  return reason ?? (disruptive && `disruptive: ${disruptive}`);
}

function fieldText({ path, from, to }: ChangedField): string {
  if (from === undefined) return `${path} ${shownValue(to, path)}`;
  if (to === undefined) return `${path} ${shownValue(from, path)} -> none`;
  const [before, after] = [shownValue(from, path), shownValue(to, path)];
  const isPlain = ![from, to].some(needsQuotes);
  return isPlain || typeof from !== "string" || typeof to !== "string"
    ? `${path} ${before} -> ${after}`
    : `${path} ${JSON.stringify(from)} -> ${JSON.stringify(to)}`;
}

function groupLine(label: string, detail = ""): ChangeLine {
  return { label, kind: "group", detail, described: detail, changes: [], reasons: [] };
}

/** What machines share, and what lives with none of those that the tree shows. */
function infrastructureBranches(plan: Shown): ChangeNode[] {
  const shown = new Set(plan.machines.flatMap(namesOf));
  const changes = plan.infrastructure.filter(
    ({ machine }) => machine === undefined || !shown.has(machine),
  );
  const names = changes.map(({ key }) => nameOf(key));
  // Where a name is that of several, as of a balancer and its group, kinds tell them apart.
  const hasKinds = new Set(names).size < names.length;
  return changes.map((change) =>
    resourceBranch(change, hasKinds ? change.key.replace("/", " ") : nameOf(change.key)),
  );
}

function nameOf(key: NodeKey): string {
  return key.split("/")[1] ?? key;
}

function resourceBranch(
  { key, kind, inputs = [], reasons, ...change }: InfrastructureChange,
  label: string,
): ChangeNode {
  const changes = [...asChanges(inputs), ...change.changes];
  const described = describeChanges(changes, reasons);
  const untold = untoldReasons(reasons, changes);
  const line = { label, kind, detail: described, described, changes, reasons: untold };
  // Nothing is ever done to what is external, although something of ours may have had its name.
  return { line: kind === "external" ? line : { ...line, key }, children: [] };
}

/** Under a machine's own name, and that of another whose place it takes. */
function namesOf({ machine, supersedes }: MachineChange): string[] {
  return supersedes === undefined ? [machine] : [machine, supersedes];
}

/** What lives with the hosts of each machine, by its name: "LocalVolume data of cp-0". What does not change is left out. */
function satelliteBranches({ infrastructure }: Shown): ReadonlyMap<string, readonly ChangeNode[]> {
  const branches = new Map<string, ChangeNode[]>();
  for (const change of infrastructure) {
    const { key, kind: does, machine } = change;
    if (does === "same" || machine === undefined) continue;
    const [kind = "", name = ""] = key.split("/");
    // Behind the name of its host: "cp-0-07be390c-1-data".
    const own = /^-[0-9a-f]{8}-\d+-(.+)$/.exec(name.slice(machine.length))?.[1] ?? name;
    const branch = resourceBranch(change, `${kind} ${own} of ${machine}`);
    branches.set(machine, [...(branches.get(machine) ?? []), branch]);
  }
  return branches;
}

function machineBranches(plan: Shown): ChangeNode[] {
  const satellites = satelliteBranches(plan);
  const versions = new Map(
    plan.target.machines.map(({ name, spec }) => [name, versionsText(spec.versions)]),
  );
  const branch = (change: MachineChange) => [
    machineBranch(change, versions.get(change.machine)),
    ...namesOf(change).flatMap((name) => satellites.get(name) ?? []),
  ];
  const single = plan.machines.filter(({ owner }) => owner === undefined).flatMap(branch);
  const groups = new Map<string, MachineChange[]>();
  for (const change of plan.machines) {
    const { owner } = change;
    if (owner === undefined) continue;
    const label = ownerText(owner);
    groups.set(label, [...(groups.get(label) ?? []), change]);
  }
  const sets = [...groups].map(([label, changes]) => ({
    line: groupLine(label, scaling(changes)),
    children: changes.flatMap(branch),
  }));
  return [...single, ...sets];
}

/** A new machine's line says which versions it gets: they may have been chosen for it. */
function machineBranch(change: MachineChange, versions = ""): ChangeNode {
  const { machine, kind, supersedes, movedFrom, inputs = [], alternatives = [], host } = change;
  const isNew = kind === "create" || kind === "adopt" || kind === "import";
  const changes = isNew ? asChanges(inputs) : change.changes;
  const isPlain = isNew && change.reasons.length === 0;
  const notes = [
    ...(movedFrom === undefined ? [] : [`from ${movedFrom}`]),
    ...(change.drains === true ? ["drains first"] : []),
  ];
  const reasons = isPlain
    ? [versions].filter(isText)
    : [...untoldReasons(change.reasons, changes), ...notes];
  const told = isPlain
    ? [describeChanges(changes), versions].filter(isText).join(", ")
    : noted(describeChanges(changes, change.reasons), notes);
  const described = [told, withoutRoomText(alternatives)].filter(isText).join("; ");
  const detail = supersedes === undefined ? described : `of ${supersedes}: ${described}`;
  return {
    line: omitUndefined({
      label: `Machine ${machine}`,
      kind,
      described,
      detail: detail === "of : " ? "" : detail,
      changes,
      reasons,
      supersedes,
      key: host,
    }),
    children: [],
  };
}

/** "its host is gone from the cloud (from MachineSet a)"; the notes alone without a text. */
function noted(text: string, notes: readonly string[]): string {
  const all = notes.join("; ");
  return text === "" || all === "" ? `${text}${all}` : `${text} (${all})`;
}

/** "for want of room size medium, else size large, zone b". */
function withoutRoomText(alternatives: NonNullable<MachineChange["alternatives"]>): string {
  const texts = alternatives.map((inputs) => describeChanges(asChanges(inputs)));
  return texts.length === 0 ? "" : `for want of room ${texts.join(", else ")}`;
}

function isText(text: string): boolean {
  return text !== "";
}

/** What is new has no value from before. */
function asChanges(inputs: readonly ResourceInput[]): ChangedField[] {
  return inputs.map(({ path, value }) => ({ path, to: value }));
}

/** "kubelet 1.34.2, control plane 1.34.2, containerd 2.1.5". Pure. */
export function versionsText({ kubelet, controlPlane, containerRuntime }: MachineVersions): string {
  return [
    `kubelet ${kubelet}`,
    ...(controlPlane === undefined ? [] : [`control plane ${controlPlane}`]),
    ...(containerRuntime === undefined
      ? []
      : [`${containerRuntime.name} ${containerRuntime.version}`]),
  ].join(", ");
}

/** "2 -> 3", or nothing when the number stays. */
function scaling(changes: readonly MachineChange[]): string {
  const before = changes.filter(({ kind }) => kind !== "create").length;
  const after = changes.filter(({ kind }) => kind !== "delete" && kind !== "forget").length;
  return before === after ? "" : `${before} -> ${after}`;
}

function flatten({ line, children }: ChangeNode, branch: string, indent: string): TreeLine[] {
  const own = { ...line, branch };
  return [
    own,
    ...children.flatMap((child, index) => {
      const last = index === children.length - 1;
      return flatten(child, `${indent}${last ? "└─ " : "├─ "}`, `${indent}${last ? "   " : "│  "}`);
    }),
  ];
}

/** A value as plans show it. */
export function shownValue(value: Json | undefined, path = ""): string {
  if (value === unknownValue) return knownLater;
  if (path === "taints" && Array.isArray(value)) return value.map(taintText).join(" ");
  if (typeof value === "string") return needsQuotes(value) ? JSON.stringify(value) : value;
  // Unknown values stand in lists and objects, too.
  return JSON.stringify(value ?? null).replaceAll(JSON.stringify(unknownValue), knownLater);
}

const knownLater = "(known after apply)";

/** A text that could be taken for none, for several words or for something else than a text. */
function needsQuotes(value: Json | undefined): boolean {
  return typeof value === "string" && (value === "" || /\s/.test(value));
}

/** "dedicated=db:NoSchedule", as kubectl writes it. */
function taintText(taint: Json): string {
  if (!isJsonObject(taint)) return JSON.stringify(taint);
  const { key, value, effect } = taint;
  const pair = value === undefined ? [key] : [key, value];
  return `${pair.map(String).join("=")}:${String(effect)}`;
}
