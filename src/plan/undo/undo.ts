import type { JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { UpdatePolicy } from "../../api/update-policy.js";
import { policiesOf, policyGoing, underPolicy } from "../../compile/update-policy.js";
import { keyOf, type NodeKey } from "../../graph/graph.js";
import { decidingPaths } from "../../provider/fields.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { quorumOf } from "../../sets/quorum.js";
import { versionPoints } from "./point-of-no-return.js";
import { machineKey, type Target } from "../../records/target.js";
import { drainsHosts } from "../decisions/draining.js";
import { canServe } from "../decisions/verdicts.js";
import type { Compensable } from "./compensable.js";
import { type ChangedField, isLettingGo, type Step } from "../step.js";
import type { TransactionGoal, PointOfNoReturn } from "../../records/transaction.js";
import { type RecordedResource, recordedSpec } from "../../records/prior-state.js";
import type { StepUndo } from "../plan.js";
import { pointText } from "./undo-text.js";

interface UndoQuestion {
  readonly provider: InfrastructureProvider;
  readonly goal: TransactionGoal;
  readonly steps: readonly Step[];
  readonly target: Target;
  /** The last committed target, if there is one. */
  readonly from: Target | undefined;
  /** What is recorded and not gone from the cloud. */
  readonly recorded: readonly RecordedResource[];
}

/** What a plan says about its way back: the only place where that is decided. */
export interface Undo extends Compensable {
  /** One answer for each step, in their order. */
  readonly undo: readonly StepUndo[];
  /** What closes the way back once the cloud shows it done: recorded at the begin, asked by `passedPoints`. */
  readonly pointsOfNoReturn: readonly PointOfNoReturn[];
}

/** Pure. */
export function undoOf(question: UndoQuestion): Undo {
  const known = {
    ...question,
    versions: versionPoints(question.provider, question.target, question.from),
    quorum: quorumPoint(question),
    policies: policiesBack(question),
    committed: new Set(question.from?.nodes.map(keyOf)),
  };
  const answers = question.steps.map((step) => ({ ...step, ...classOf(step, known) }));
  const undo = answers.map(({ key, kind: step, class: found, reason }): StepUndo => ({
    key,
    step,
    class: found,
    reason,
  }));
  const points = answers.flatMap(({ point }) => point ?? []);
  const replaceable = answers.filter((one) => isOnlyReplaceable(one, known));
  const fields = replaceable.flatMap(({ key, fields }) => (fields ? [[key, fields] as const] : []));
  return omitUndefined({
    undo,
    // Several steps may lead to the same one.
    pointsOfNoReturn: [...new Set(points)],
    compensable: replaceable.map(({ key }) => key),
    compensableFields: fields.length === 0 ? undefined : Object.fromEntries(fields),
  });
}

/**
 * What is changed in a way that only a new one takes back; and what is gone and made again under its old name,
 * which is the transaction's own, whatever it is like.
 */
function isOnlyReplaceable({ kind, key, ...answer }: Step & Answer, known: KnownQuestion): boolean {
  if (kind === "update") return answer.class === "compensable";
  return kind === "create" && known.committed.has(key);
}

/** The question, with what is worked out once for all of its steps. */
interface KnownQuestion extends UndoQuestion {
  readonly versions: readonly Extract<PointOfNoReturn, { kind: "version" }>[];
  readonly quorum: PointOfNoReturn | undefined;
  /** Policies that a rollback would go by, of each host of the target that it goes to. */
  readonly policies: ReadonlyMap<NodeKey, UpdatePolicy>;
  /** Everything that the last committed target has. */
  readonly committed: ReadonlySet<NodeKey>;
}

/** A destroy that takes the control plane's majority away cannot be taken back. */
function quorumPoint(question: UndoQuestion): PointOfNoReturn | undefined {
  const { goal, from, recorded } = question;
  const alive = recorded.map(({ key }) => key).filter((key) => isMember(key, question));
  if (goal.kind !== "destroy" || alive.length === 0) return undefined;
  const members = (from?.machines ?? []).filter(({ controlPlane }) => controlPlane).length;
  return { kind: "quorum", members: alive, needed: Math.min(quorumOf(members), alive.length) };
}

function policiesBack({ from, target }: UndoQuestion): Map<NodeKey, UpdatePolicy> {
  const { objects, machines } = from ?? target;
  const policyOf = policiesOf(objects);
  return new Map(machines.map((machine) => [machine.host, policyOf(machine)]));
}

type Answer = Pick<StepUndo, "class" | "reason"> & {
  /** Of a point of no return before the commit: what it is told by. */
  readonly point?: PointOfNoReturn;
  /** Of an update that only a new one takes back: what keeps the old one from it. */
  readonly fields?: readonly string[];
};

const undoOfLettingGo: Answer = {
  class: "compensable",
  reason: "let go; taken back by making a new one, and the old one stays nobody's",
};

const reversible: Answer = { class: "reversible", reason: "" };

function classOf(step: Step, question: KnownQuestion): Answer {
  const version = question.versions.find(({ host }) => host === step.key);
  if (step.kind !== "delete" && version !== undefined) {
    const reason = "a newer control plane cannot be taken back to an older one";
    return { class: "pointOfNoReturn", reason, point: version };
  }
  switch (step.kind) {
    case "adopt":
    case "create":
    case "import":
      return reversible;
    case "update":
      return undoOfUpdate(step, question);
    case "delete":
      return isLettingGo(step) ? undoOfLettingGo : undoOfDeletion(step.key, question);
  }
}

/** Taken back by the opposite update, if the provider can make that one in place too. */
function undoOfUpdate(
  { key, changes }: Extract<Step, { kind: "update" }>,
  question: KnownQuestion,
): Answer {
  const { provider, target, recorded } = question;
  const record = recorded.find((one) => one.key === key);
  // What the revision does not have was made since: taken back, it goes, whatever it is like.
  const wasThere = question.committed.has(key);
  if (record === undefined || !wasThere) return reversible;
  const policy = question.policies.get(key) ?? "preferInPlace";
  const judging = underPolicy(provider, policyGoing("back", policy));
  const before = recordedSpec(record);
  const back = judging.verdict(record.kind, withChanges(before, changes), before);
  if (canServe(back)) return reversible;
  const why = "reason" in back ? back.reason : "";
  if (back.kind === "replace" && !isMember(key, question)) {
    const fields = decidingPaths(back);
    return { class: "compensable", reason: `taken back by making a new one: ${why}`, fields };
  }
  const reason =
    back.kind === "replace" ? `a control-plane machine would lose its data: ${why}` : why;
  const fields = Object.fromEntries(changes.map(({ path, to = null }) => [path, to]));
  const machine = target.machines.find(({ host }) => host === key)?.name;
  return {
    class: "pointOfNoReturn",
    reason,
    point: omitUndefined({ kind: "data", host: key, machine, fields, reason }),
  };
}

/** What is recorded, with what a step changes of it: what others have changed is not the step's to take back. */
function withChanges(recorded: JsonObject, changes: readonly ChangedField[]): JsonObject {
  const changed = Object.fromEntries(changes.map(({ path, to }) => [path, to]));
  return omitUndefined({ ...recorded, ...changed });
}

function undoOfDeletion(key: NodeKey, question: KnownQuestion): Answer {
  const record = question.recorded.find((one) => one.key === key);
  if (record === undefined) return reversible;
  const { quorum } = question;
  if (quorum?.kind === "quorum" && quorum.members.includes(key)) {
    const reason = `what the control plane stores goes with ${pointText(quorum)}`;
    return { class: "pointOfNoReturn", reason, point: quorum };
  }
  if (!isMember(key, question)) {
    const anew = "taken back by making a new one";
    return isDrainedFirst(record, question)
      ? {
          class: "compensable",
          reason: `deleted once its pods have moved; ${anew}, to which they do not come back by themselves`,
        }
      : { class: "compensable", reason: `deleted; ${anew}` };
  }
  const members = question.from?.machines.filter(({ controlPlane }) => controlPlane) ?? [];
  return members.length > 1
    ? { class: "compensable", reason: "a new member gets its data from the others" }
    : {
        class: "pointOfNoReturn",
        reason: "what the only control-plane machine stores goes with it",
      };
}

/** A host that is a node of a cluster which goes on. */
function isDrainedFirst({ kind }: RecordedResource, { provider, target }: UndoQuestion): boolean {
  return kind === provider.hostKind && drainsHosts(provider, target);
}

/** Whether a resource is the host of a control-plane machine, in the target or before. */
function isMember(key: NodeKey, { target, from, recorded }: UndoQuestion): boolean {
  const machines = [...target.machines, ...(from?.machines ?? [])];
  const parent = recorded.find((one) => one.key === key)?.parent;
  return machines.some(
    ({ controlPlane, host, name }) => controlPlane && (host === key || machineKey(name) === parent),
  );
}
