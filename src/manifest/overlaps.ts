import type { Violation } from "../api/diagnostic-codes.js";
import { selectorMatches } from "../api/label-selector.js";
import { clusterNameLabel } from "../api/schema.js";
import type {
  ClusterMember,
  MachineDeploymentObject,
  MachineObject,
  MachineSetObject,
} from "../api/types.js";
import { clusterOf } from "./object-parts.js";

type SelectingObject = MachineSetObject | MachineDeploymentObject;

/** A MachineSet or MachineDeployment, and how it is named with its place. */
interface NamedSet {
  readonly set: SelectingObject;
  readonly name: string;
}

const why =
  "A selector says which Machines belong to a set, and each Machine belongs to one set at most.";

/** Whether an object selects Machines. */
export function isSelecting(object: ClusterMember): object is SelectingObject {
  return object.kind === "MachineSet" || object.kind === "MachineDeployment";
}

/**
 * A selector that holds for Machines that are not its set's: those of a set before it, or one that a user
 * wrote and that Cluster API would adopt; undefined where each selects its own. `sets` are those of one
 * cluster, in order. Pure. Source: docs/cluster-api.md#machinesets.
 */
export function checkOverlap(
  object: ClusterMember,
  sets: readonly NamedSet[],
): Violation | undefined {
  if (object.kind === "Machine") return checkMachine(object, sets);
  if (!isSelecting(object)) return undefined;
  const own = sets.findIndex(({ set }) => set === object);
  return checkSet(object, sets.slice(0, own));
}

function checkSet(set: SelectingObject, earlier: readonly NamedSet[]): Violation | undefined {
  const other = earlier.find((one) => selects(one.set, set) || selects(set, one.set));
  if (other === undefined) return undefined;
  return {
    code: "SELECTOR",
    path: ["spec", "selector"],
    summary: selects(set, other.set)
      ? `selects the Machines of ${other.name} too`
      : `${other.name} selects the Machines of this ${set.kind} too`,
    detail: why,
    hint: `give them different values of one label, e.g. set: ${set.metadata.name} here, in spec.selector.matchLabels and spec.template.metadata.labels of each`,
  };
}

function checkMachine(machine: MachineObject, sets: readonly NamedSet[]): Violation | undefined {
  const labels = machine.metadata.labels ?? {};
  const found = sets.find(({ set }) => selectorMatches(set.spec.selector, labels));
  if (found === undefined) return undefined;
  const { set, name } = found;
  const wanted = wantedLabels(set).find((label) => label !== clusterNameLabel);
  return {
    code: "SELECTOR",
    path: ["metadata", "labels"],
    summary: `${name} selects this Machine, which it did not make`,
    detail: why,
    hint:
      wanted === undefined
        ? `let the ${set.kind} select a label that this Machine does not have, e.g. set: ${set.metadata.name}`
        : `take the label ${wanted} away from the Machine, or raise replicas of the ${set.kind} instead of writing a Machine`,
  };
}

/** Labels without which nothing belongs to the set. */
function wantedLabels({ spec: { selector } }: SelectingObject): string[] {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const needed = matchExpressions.filter(
    ({ operator }) => operator === "In" || operator === "Exists",
  );
  return [...Object.keys(matchLabels), ...needed.map(({ key }) => key)];
}

/** Whether the first selects the Machines that the second makes: those carry their cluster's label, too. */
function selects({ spec }: SelectingObject, other: SelectingObject): boolean {
  const cluster = clusterOf(other) ?? "";
  const labels = { ...other.spec.template.metadata?.labels, [clusterNameLabel]: cluster };
  return selectorMatches(spec.selector, labels);
}
