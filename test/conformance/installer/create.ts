import { isDeepStrictEqual } from "node:util";
import { isMoving } from "../../../src/kube/move-objects.js";
import type { LiveObject } from "../../../src/kube/live-object.js";
import { counterpartsOf, createCounterparts, faultsOf, type GivenFaults } from "./counterparts.js";
import { InstallerCourse } from "./installer-course.js";
import { clusterOf, type GivenCluster } from "./given-objects.js";
import { type InstalledCluster, InstallerWorld } from "./installer-world.js";
import { failureOf, isFree, phaseOf, refuseWrong } from "./outcome.js";

export interface CreateGiven extends GivenFaults {
  readonly clusters: readonly GivenCluster[];
}

/** The ways on from whatever a create has come to: the same commands again, or none of it any more. */
const waysOn = ["again", "away"] as const;

/**
 * `capstan up` and `capstan move --to kubernetes` for one cluster after the other, as far as the first that fails, in the
 * words of the cases. Throws an Error where anything is orphaned, or a way on does not lead to its end.
 */
export async function created(given: CreateGiven): Promise<object> {
  const answers: object[] = [];
  for (const way of waysOn) answers.push(await createdAndOn(given, way));
  const [answer = {}, other] = answers;
  if (!isDeepStrictEqual(answer, other)) throw new Error("the same create came to two ends");
  return answer;
}

async function createdAndOn(given: CreateGiven, way: (typeof waysOn)[number]): Promise<object> {
  const counterparts = counterpartsOf(given, createCounterparts);
  const course = new InstallerCourse();
  course.startOver(faultsOf(counterparts));
  // Clusters of one name are one cluster: they are asked for one after another, and nothing differs in what is wanted.
  const world = new InstallerWorld(distinct(given.clusters).map(clusterOf), course);
  try {
    const failure = await failureOf(async () => {
      for (const cluster of world.clusters) await brought(world, cluster);
    });
    const answer = answerOf(world, phaseOf(failure, course, counterparts));
    refuseWrong(world.orphans());
    const isTakenBack = course.command === "up" && !course.isTo("isNotRecorded");
    if (failure !== undefined && isTakenBack) refuseWrong(world.left());
    if (failure === undefined) refuseWrong(world.notInstalled());
    world.mend();
    await goOn(world, way);
    refuseWrong(world.orphans());
    return answer;
  } finally {
    world.close();
  }
}

async function brought(world: InstallerWorld, cluster: InstalledCluster): Promise<void> {
  await world.up(cluster);
  await world.moveToServer(cluster);
}

async function goOn(world: InstallerWorld, way: (typeof waysOn)[number]): Promise<void> {
  if (way === "again") {
    for (const cluster of world.clusters) {
      if (isFree(cluster)) await world.up(cluster);
      await world.moveToServer(cluster);
    }
    return refuseWrong(world.notInstalled());
  }
  for (const cluster of world.clusters) {
    const shown = world.shown(cluster).find(({ kind }) => kind === "Cluster");
    if (isMoving(shown) || !isFree(cluster)) await world.moveToFiles(cluster);
    await world.destroy(cluster);
  }
  refuseWrong(world.left());
}

function answerOf(world: InstallerWorld, failsInPhase: string | null): object {
  const { server, clusters } = world;
  const own = new Set(["Cluster", "Machine"]);
  const stacks = clusters.flatMap(({ engine, key }) =>
    engine.prior.transaction === undefined ? [] : [key.split("/")[0] ?? ""],
  );
  const others = server.all().filter(({ kind }) => !own.has(kind));
  return {
    error: failsInPhase !== null,
    failsInPhase,
    bootstrapCluster: { everCreated: world.hasMadeOthers, existsAfterwards: world.hasOthers },
    target: {
      clusters: namesByNamespace(server.all(), "Cluster"),
      machines: namesByNamespace(server.all(), "Machine"),
      namespacesEnsured: world.namespacesMade(),
    },
    bootstrap: { namespacesEnsured: [...new Set(stacks)] },
    bootstrapOnlyComponentsAppliedToTarget: others.length > 0,
    saveCalledWith: world.saved(),
  };
}

function namesByNamespace(objects: readonly LiveObject[], kind: string): Record<string, string[]> {
  const names: Record<string, string[]> = {};
  for (const one of objects.filter((some) => some.kind === kind)) {
    (names[one.metadata.namespace] ??= []).push(one.metadata.name);
  }
  return names;
}

function distinct(clusters: readonly GivenCluster[]): GivenCluster[] {
  return [...new Map(clusters.map((one) => [`${one.namespace}/${one.name}`, one])).values()];
}
