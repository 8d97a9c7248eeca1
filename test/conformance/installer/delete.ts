import type { AnyObject } from "../../../src/api/types.js";
import { counterpartsOf, deleteCounterparts, faultsOf, type GivenFaults } from "./counterparts.js";
import { InstallerCourse } from "./installer-course.js";
import { clustersOf, type GivenObject } from "./given-objects.js";
import { type InstalledCluster, InstallerWorld } from "./installer-world.js";
import { failureOf, isFree, phaseOf, refuseWrong, rootOf } from "./outcome.js";

export interface DeleteGiven extends GivenFaults {
  readonly targetObjects: readonly GivenObject[];
}

/** In the order in which the old installer deletes them. */
const kindsInOrder = ["MachineDeployment", "MachineSet", "Machine", "MachineClass", "Cluster"];

/**
 * `capstan move --to files` for every cluster of an API server, then `capstan destroy` for every one of them, as far as
 * the first that fails, in the words of the cases. Throws an Error where anything is orphaned, or the same commands again
 * leave anything.
 */
export async function deleted(given: DeleteGiven): Promise<object> {
  const counterparts = counterpartsOf(given, deleteCounterparts);
  const course = new InstallerCourse();
  const world = new InstallerWorld(clustersOf(given.targetObjects), course);
  try {
    for (const cluster of world.clusters) {
      await world.up(cluster);
      await world.moveToServer(cluster);
    }
    course.startOver(faultsOf(counterparts));
    const failure = await failureOf(() => takenAway(world));
    const phase = phaseOf(failure, course, counterparts);
    const root = rootOf(failure);
    const failed = await notDeletedBy(world, course);
    const answer = {
      error: phase !== null,
      failsInPhase: phase,
      rootCauseIsInjectedError: root === course.injected || world.isInTheWay(root),
      failedDeletions: kindsInOrder.filter((kind) => failed.has(kind)),
      remaining: {
        bootstrap: countsOf(given.targetObjects, world.clusters.flatMap(ofFiles)),
        target: countsOf(given.targetObjects, world.server.all()),
      },
      bootstrapCluster: { existsAfterwards: world.hasOthers },
    };
    refuseWrong([...world.orphans(), ...world.passedOver(), ...world.held()]);
    world.mend();
    await takenAway(world);
    refuseWrong([...world.left(), ...world.orphans()]);
    return answer;
  } finally {
    world.close();
  }
}

/**
 * Kinds of objects that `destroy` says it cannot delete. It asks for nothing that something else still needs: what a case lets fail
 * together is told by the destroys that get to it, each after what stood in the way of the one before is mended.
 */
async function notDeletedBy(
  world: InstallerWorld,
  course: InstallerCourse,
): Promise<ReadonlySet<string>> {
  const told = () => world.clusters.flatMap(({ notDeleted }) => [...notDeleted]);
  const kinds = new Set(told());
  while (kinds.size > 0 && course.mendMet().length > 0) {
    const failure = await failureOf(() => takenAway(world));
    if (failure === undefined) break;
    for (const kind of told()) kinds.add(kind);
  }
  return kinds;
}

/** As far as that has not happened yet. */
async function takenAway(world: InstallerWorld): Promise<void> {
  for (const cluster of world.clusters) {
    if (world.shown(cluster).length > 0 || !isFree(cluster)) await world.moveToFiles(cluster);
  }
  for (const cluster of world.clusters) await world.destroy(cluster);
}

/** The objects that manifests in files own. */
function ofFiles(cluster: InstalledCluster): readonly AnyObject[] {
  const { revision } = cluster.engine.prior;
  return isFree(cluster) ? (revision?.target.objects ?? []) : [];
}

/** How many of the objects of a case are among these; what a case lacks and had to be given does not count. */
function countsOf(
  given: readonly GivenObject[],
  objects: readonly { readonly kind: string; readonly metadata: Omit<GivenObject, "kind"> }[],
): object {
  const names = new Set(given.map(nameOf));
  const count = (kind: string) =>
    objects.filter(
      ({ kind: other, metadata: { namespace, name } }) =>
        other === kind && names.has(nameOf({ kind, namespace, name })),
    ).length;
  return {
    clusters: count("Cluster"),
    machineDeployments: count("MachineDeployment"),
    machineSets: count("MachineSet"),
    machines: count("Machine"),
    machineClasses: count("MachineClass"),
  };
}

function nameOf({ kind, namespace, name }: GivenObject): string {
  return `${kind} ${namespace}/${name}`;
}
