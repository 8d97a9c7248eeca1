import { type AnyObject, machineLabelsOf } from "../api/types.js";
import type { MachineDeletion } from "../api/machine-deletion.js";
import { type Annotations, machineAnnotations } from "../api/update-policy.js";
import { type NodeKey, nodeName } from "../graph/graph.js";
import { type OwningObject, owningObjects } from "../sets/owning-objects.js";
import { machineNameOf } from "./host-name.js";
import { knownMachines, type PriorState, recordAt } from "./prior-state.js";
import { machineOfKey, type Target, type TargetMachine } from "./target.js";
import type { TransactionRecord } from "./transaction.js";

/** What Machines are annotated with now, in an API server or in manifests, by name. */
export type MachineAnnotations = Readonly<Record<string, NonNullable<Annotations>>>;

/** The machine of a host, with what it is annotated with. */
interface HostMachine {
  readonly machine: TargetMachine;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Annotations;
  /** Limits of the deletion of the machine; undefined: it has none of its own. */
  readonly deletion: MachineDeletion | undefined;
}

/** What Machines are annotated with, beside what targets say. */
interface ToldAnnotations {
  /** Now, in an API server or in manifests that were named. */
  readonly live?: MachineAnnotations | undefined;
  /** Of hosts that go when a change is taken back: `TransactionRecord.heldAs`. */
  readonly heldAs?: TransactionRecord["heldAs"];
}

/**
 * Tells of hosts which machines they serve, or served: by their records, and of one that no record tells of by its name: its
 * machine may be wanted on another host since. What a target wants counts before what is recorded, what was said of a host when it was to
 * go before that, and what a Machine is annotated with now before all. Undefined: nobody knows. Pure.
 */
export function hostMachines(
  target: Target,
  records: PriorState,
  { live = {}, heldAs = {} }: ToldAnnotations = {},
): (host: NodeKey) => HostMachine | undefined {
  const machines = knownMachines(records);
  for (const machine of target.machines) machines.set(machine.name, machine);
  const wordsOf = newestWords(records, target);
  return (host) => {
    const parent = recordAt(records.resources, host)?.parent;
    const name = (parent && machineOfKey(parent)) ?? machineNameOf(nodeName(host));
    const found = machines.get(name);
    if (found === undefined) return undefined;
    // Of several hosts of one machine an adoption gives the others machines of their own, which no object describes.
    const machine = machines.get(found.duplicateOf ?? name) ?? found;
    const { object, annotations, deletion } = wordsOf(machine);
    return {
      machine,
      labels: object === undefined ? {} : machineLabelsOf(object),
      annotations: live[machine.name] ?? heldAs[host] ?? annotations,
      // A change that is rolled back has stated both, the annotations and the limits of the machines that it made.
      deletion: heldAs[host] === undefined ? deletion : machine.spec.deletion,
    };
  };
}

/** What was said last of a machine. */
interface NewestWords {
  /** The Machine, or the set whose template it is made from; undefined: no target has either. */
  readonly object: OwningObject | undefined;
  readonly annotations: Annotations;
  readonly deletion: MachineDeletion | undefined;
}

/**
 * What was said last of machines: by the object in a target, or in that of the last transaction; then, of annotations and limits, by what
 * that transaction remembers of a machine that goes; then by the revision, which is older. A machine that a change no longer wants keeps
 * its own spec in the records, so its limits come from the template: a change from 2 to 1 replicas may set nodeDrainTimeoutSeconds. Pure.
 */
export function newestWords(
  { transaction, revision }: PriorState,
  target?: Target,
): (machine: TargetMachine) => NewestWords {
  const newestOf = recordedOwners([target, transaction?.target]);
  const revisionOf = recordedOwners([revision?.target]);
  const former = new Map(transaction?.former?.map((machine) => [machine.name, machine]));
  return (machine) => {
    const newest = newestOf(machine);
    const remembered = newest === undefined ? former.get(machine.name) : undefined;
    const object = newest ?? revisionOf(machine);
    if (remembered !== undefined) {
      const { deletionAnnotations: annotations, spec } = remembered;
      return { object, annotations, deletion: spec.deletion };
    }
    const annotations = annotationsIn(object, machine);
    return { object, annotations, deletion: deletionIn(object, machine) };
  };
}

/**
 * What objects that somebody shows say now of the machines that are recorded: an annotation that was taken off them holds nothing any
 * more. Of machines that they do not want what is recorded counts on. Pure.
 */
export function annotationsToldBy(
  objects: readonly AnyObject[],
  records: PriorState,
): MachineAnnotations {
  const objectOf = recordedOwners([{ objects }]);
  return Object.fromEntries(
    [...knownMachines(records).values()].flatMap((machine) => {
      const object = objectOf(machine);
      // Without any it says that there are none, and is not silent.
      return object === undefined ? [] : [[machine.name, annotationsIn(object, machine) ?? {}]];
    }),
  );
}

function annotationsIn(object: OwningObject | undefined, machine: TargetMachine): Annotations {
  return object === undefined ? machine.deletionAnnotations : machineAnnotations(object)[0];
}

function deletionIn(object: OwningObject | undefined, machine: TargetMachine) {
  switch (object?.kind) {
    case undefined:
      return machine.spec.deletion;
    case "Machine":
      return object.spec.deletion;
    case "MachineSet":
    case "MachineDeployment":
      return object.spec.template.spec.deletion;
  }
}

/** Objects of some targets; those of the first that has one count. */
type RecordedTargets = readonly (Pick<Target, "objects"> | undefined)[];

function recordedOwners(targets: RecordedTargets) {
  const owners = targets.map((one) => owningObjects(one?.objects ?? []));
  return (machine: TargetMachine) => {
    const { duplicateOf: name = machine.name } = machine;
    return owners.flatMap((ownerOf) => ownerOf({ ...machine, name }) ?? [])[0];
  };
}
