import type { JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { underPolicy } from "../../compile/update-policy.js";
import { keyOf, nodeKey, type NodeKey } from "../../graph/graph.js";
import { choicesOf, differencesIn, nearestChoice } from "../../provider/alternatives.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import type { GoReason } from "../../sets/deletion-order.js";
import type { ExpandedMachine, MachineOwner } from "../../sets/expanded.js";
import { ownerText } from "../../sets/owning-objects.js";
import type { HostDecision } from "../decisions/hosts.js";
import { machineKey, machineOfKey, type TargetMachine } from "../../records/target.js";
import { recordedHostOf } from "../decisions/satellites.js";
import type { InfrastructureDecision } from "../decisions/infrastructure.js";
import {
  knownMachines,
  cloudResources,
  type PriorState,
  type RecordedResource,
  recordedSpec,
} from "../../records/prior-state.js";
import { changesOf, drainingAmong, type Step } from "../step.js";
import { inNameOrder } from "../../sets/name-order.js";
import { conditionReasons, subjectOf } from "../decisions/verdicts.js";
import type { DecidedHost } from "../decisions/decided.js";
import type { PlanInput } from "../plan-input.js";
import type { MachineChange, InfrastructureChange } from "../plan.js";

/** What was decided about machines. */
interface DecidedMachines {
  /** Why sets give up one machine rather than another, by machine. */
  readonly going: ReadonlyMap<string, GoReason>;
  readonly hosts: readonly DecidedHost[];
  /** The records before anything has moved. */
  readonly written: PriorState;
  /** Hosts that stay in the cloud without our marks. */
  readonly letGo: ReadonlySet<NodeKey>;
  readonly steps: readonly Step[];
}

type Known = Pick<PlanInput, "prior" | "provider" | "observedResources">;

type ChangesInput = DecidedMachines & Known;

/** Every machine there is or will be, in name order. Pure. */
export function machineChanges(known: Known, decided: DecidedMachines): MachineChange[] {
  const { prior, provider, observedResources } = known;
  const input = { ...decided, prior, provider, observedResources };
  const { hosts } = input;
  const movedFrom = formerOwners(input);
  const removed = removedMachines(input);
  const superseded = new Set<string>();
  const draining = drainingAmong(input.steps);
  const kept = hosts.map((host): MachineChange => {
    const key = keyOf({ kind: provider.hostKind, name: host.decision.name });
    const change: MachineChange = omitUndefined({
      machine: host.machine.name,
      controlPlane: host.controlPlane,
      owner: host.machine.owner,
      movedFrom: movedFrom(host.machine),
      ...shown(host.decision),
      ...inputsShown(provider, provider.hostKind, host.decision.kind, host.wanted),
      ...alternativesShown(provider, host),
      drains: draining.has(key) ? true : undefined,
      host: key,
    });
    const older =
      change.kind === "create"
        ? removed.find((one) => takesPlaceOf(host.machine, one) && !superseded.has(one.name))
        : undefined;
    if (older === undefined) return asMoved(change);
    superseded.add(older.name);
    const { inputs: _new, ...replaced } = change;
    return {
      ...replaced,
      kind: "replace",
      supersedes: older.name,
      ...differenceTo(older, host, input),
    };
  });
  const gone = removed
    .filter(({ name }) => !superseded.has(name))
    .map(({ name, owner, controlPlane, host }): MachineChange =>
      omitUndefined({
        machine: name,
        controlPlane,
        owner,
        movedFrom: movedFrom({ name, owner }),
        kind: isLetGo(name, input) ? "forget" : "delete",
        changes: [],
        reasons: isLetGo(name, input) ? [letGoReason] : deletionReasons(name, input),
        host,
      }),
    );
  return [...kept, ...gone, ...leftOver(input, removed)].sort((left, right) =>
    inNameOrder(left.machine, right.machine),
  );
}

function asMoved(change: MachineChange): MachineChange {
  const isMove = change.movedFrom !== undefined && change.kind === "same";
  return isMove ? { ...change, kind: "move" } : change;
}

/** Who owned a machine, by what was committed last or is open, where it was somebody else than now. */
function formerOwners({ written: { transaction, revision } }: ChangesInput) {
  const records = [transaction, revision].map(
    (record) => new Map(record?.target.machines.map((one) => [one.name, one])),
  );
  return ({ name, owner }: Owned): string | undefined => {
    const now = objectOf({ name, owner });
    const before = records.flatMap((machines) => machines.get(name) ?? []).map(objectOf);
    return before.find((object) => object !== now);
  };
}

interface Owned {
  readonly name: string;
  readonly owner?: MachineOwner | undefined;
}

function objectOf({ name, owner }: Owned): string {
  return owner === undefined ? `Machine ${name}` : ownerText(owner);
}

/** Why a host leaves the records and not the cloud. */
export const letGoReason = "its marks are taken off; it stays in the cloud and is nobody's";

function isLetGo(machine: string, { letGo, prior }: ChangesInput): boolean {
  return cloudResources(prior).some(
    ({ key, parent }) => parent === machineKey(machine) && letGo.has(key),
  );
}

function deletionReasons(name: string, input: ChangesInput): string[] {
  const { going, prior } = input;
  const reason = going.get(name);
  // The set has chosen it for that.
  if (reason?.kind === "failed") return [goText(reason)];
  const unasked = isRemembered(name, prior)
    ? "nothing asks for it any more"
    : "left over from an earlier change";
  return [...hostCondition(name, input), reason === undefined ? unasked : goText(reason)];
}

/** What is wrong with the last host of a machine; empty of one that is well, or unknown. */
function hostCondition(machine: string, { prior, observedResources }: ChangesInput): string[] {
  const host = cloudResources(prior).findLast(({ parent }) => parent === machineKey(machine));
  return host === undefined
    ? []
    : conditionReasons(observedResources.get(host.key), subjectOf(host));
}

function goText(reason: GoReason): string {
  switch (reason.kind) {
    case "double":
      return `${reason.of} serves in its place`;
    case "discarded":
      return "somebody deleted it";
    case "marked":
      return `one too many in its set; marked by ${reason.annotation}`;
    case "failed":
      return "one too many in its set; its host failed";
    case "policy":
      return `one too many in its set; the ${reason.policy.toLowerCase()} goes first (deletePolicy ${reason.policy})`;
    case "domain":
      return reason.isOffered
        ? `one too many in its set; no failure domain has more machines of it than ${reason.domain}`
        : `one too many in its set; failure domain ${reason.domain} is offered no more`;
    case "tie":
      return reason.ties === "asGiven"
        ? "one too many in its set; the highest number goes first"
        : "one too many in its set; the first by name goes first";
  }
}

/** What becomes of all that is no host: what machines share, and what lives with one host. */
interface ResourcesInput {
  readonly decisions: readonly InfrastructureDecision[];
  readonly hosts: readonly DecidedHost[];
  readonly prior: PriorState;
  readonly toDelete: readonly RecordedResource[];
  /** What stays in the cloud without our marks. */
  readonly letGo: ReadonlySet<NodeKey>;
  readonly provider: InfrastructureProvider;
}

/** Resources that are no hosts, wanted ones first. Pure. */
export function infrastructureChanges(input: ResourcesInput): InfrastructureChange[] {
  const { decisions, provider } = input;
  const machineOf = machinesByHost(input);
  return [
    ...decisions.map((one) => ({
      ...shown(one),
      ...inputsShown(provider, one.node.kind, one.kind, one.node.spec),
      key: keyOf(one.node),
      ...belongingTo(one.node.host, machineOf),
    })),
    ...removedResources(input, machineOf),
  ];
}

function removedResources(
  { decisions, toDelete, letGo, provider }: ResourcesInput,
  machineOf: ReadonlyMap<NodeKey, string>,
): InfrastructureChange[] {
  const replacing = decisions.some(
    ({ kind, node }) => kind === "replace" && node.host === undefined,
  );
  const removed = toDelete.filter(({ kind }) => kind !== provider.hostKind);
  const leaving = new Set(toDelete.map(({ key }) => key));
  return removed.map((resource): InfrastructureChange => {
    const host = recordedHostOf(resource, provider);
    const about = { key: resource.key, changes: [], ...belongingTo(host, machineOf) };
    if (letGo.has(resource.key)) return { ...about, kind: "forget", reasons: [letGoReason] };
    const isSuperseded = host === undefined && replacing;
    const reason = isSuperseded ? "its successor serves instead" : "nothing asks for it any more";
    const goes = host !== undefined && leaving.has(host);
    return { ...about, kind: "delete", reasons: [goes ? "it goes with its host" : reason] };
  });
}

function belongingTo(
  host: NodeKey | undefined,
  machineOf: ReadonlyMap<NodeKey, string>,
): Pick<InfrastructureChange, "machine"> {
  const machine = host && machineOf.get(host);
  return machine === undefined ? {} : { machine };
}

function machinesByHost({ hosts, prior, provider }: ResourcesInput): ReadonlyMap<NodeKey, string> {
  const recorded = cloudResources(prior).flatMap(({ key, parent }) => {
    const machine = parent === undefined ? undefined : machineOfKey(parent);
    return machine === undefined ? [] : [[key, machine] as const];
  });
  const decided = hosts.map(
    ({ machine, decision }) => [nodeKey(provider.hostKind, decision.name), machine.name] as const,
  );
  return new Map([...recorded, ...decided]);
}

/** Machines that have a host on record and are no longer wanted. */
function removedMachines({ hosts, prior }: ChangesInput): TargetMachine[] {
  const wanted = new Set(hosts.map(({ machine }) => machine.name));
  const recorded = new Set(cloudResources(prior).map(({ parent }) => parent));
  return [...knownMachines(prior).values()].filter(
    ({ name }) => recorded.has(machineKey(name)) && !wanted.has(name),
  );
}

/** Whether the last revision, or what is open, still wanted it. */
function isRemembered(name: string, { revision, transaction }: PriorState): boolean {
  return [revision, transaction].some((record) =>
    record?.target.machines.some((machine) => machine.name === name),
  );
}

/** Machines that only their record still knows: an earlier transaction could not finish deleting them. */
function leftOver(
  { hosts, prior }: ChangesInput,
  removed: readonly TargetMachine[],
): MachineChange[] {
  const known = new Set([
    ...hosts.map(({ machine }) => machine.name),
    ...removed.map(({ name }) => name),
  ]);
  const records = new Map(cloudResources(prior).map((record) => [record.parent, record]));
  return prior.resources
    .filter(({ kind, key, name }) => kind === "Machine" && !known.has(name) && records.has(key))
    .map(({ key, name }): MachineChange => {
      const host = records.get(key)?.key;
      return omitUndefined({
        machine: name,
        controlPlane: false,
        kind: "delete",
        changes: [],
        reasons: ["left over from an earlier change"],
        host,
      });
    });
}

function takesPlaceOf(machine: ExpandedMachine, older: TargetMachine): boolean {
  const deployment = machine.owner?.machineDeployment;
  return (
    deployment !== undefined &&
    older.owner?.machineDeployment === deployment &&
    older.owner.machineSet !== machine.owner?.machineSet
  );
}

/** Why the older machine's host could not follow. */
function differenceTo(older: TargetMachine, host: DecidedHost, input: ChangesInput) {
  const { prior, provider } = input;
  const record = cloudResources(prior).findLast(({ parent }) => parent === machineKey(older.name));
  if (record === undefined) return {};
  const judging = underPolicy(provider, host.decision.policy);
  const was = recordedSpec(record);
  const { asked, verdict } = nearestChoice(judging, provider.hostKind, was, host.wanted);
  const reason = verdict.kind === "replace" ? verdict.reason : "its MachineSet is superseded";
  const reasons = [...hostCondition(older.name, input), reason];
  return { changes: changesOf(verdict, was, asked), reasons };
}

/** Of what no record told before. */
const newKinds: ReadonlySet<HostDecision["kind"]> = new Set(["create", "adopt", "import"]);

/** What is to be known of a new resource at the first look. */
function inputsShown(
  { keyInputs = {} }: InfrastructureProvider,
  resource: string,
  kind: HostDecision["kind"],
  spec: JsonObject,
): Pick<MachineChange, "inputs"> {
  const paths = keyInputs[resource] ?? [];
  if (!newKinds.has(kind) || paths.length === 0) return {};
  return {
    inputs: paths.flatMap((path) => {
      const value = spec[path];
      return value === undefined ? [] : [{ path, value }];
    }),
  };
}

/** In what a host that is made may differ from what is wanted. */
function alternativesShown(
  provider: InfrastructureProvider,
  { decision, wanted }: DecidedHost,
): Pick<MachineChange, "alternatives"> {
  if (decision.kind !== "create" && decision.kind !== "replace") return {};
  const [, ...others] = choicesOf(provider, provider.hostKind, wanted);
  if (others.length === 0) return {};
  return { alternatives: others.map((other) => differencesIn(wanted, other)) };
}

function shown({ kind, changes, reasons }: InfrastructureDecision | HostDecision) {
  // An unsupported change never gets into a plan: it was refused before.
  return { kind: kind === "unsupported" ? ("same" as const) : kind, changes, reasons };
}
