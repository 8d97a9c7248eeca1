import { clearFaultsOf, setWideFault } from "../../scenario/cloud-faults.js";
import { until } from "../../scenario/until.js";
import { type LifeTargets, type ManifestObject, workerOf } from "../targets.js";
import { judgeShown } from "./watch-judge.js";
import type { WatchWorld } from "./world.js";

/** What a cluster goes through in its life, in this order. failing: an edit that cannot be made, and is then rolled back. */
export const watchOperations = ["create", "scale", "roll", "failing", "delete"] as const;
export type WatchOperation = (typeof watchOperations)[number];

/** Two terms of a lease and what is done in them, on a machine that others use. */
const settleDeadlineMs = 150_000;

/** What its users want in the end of an operation; undefined where it is to be gone. */
export function wantedAfter(
  operation: WatchOperation,
  life: LifeTargets,
): readonly ManifestObject[] | undefined {
  switch (operation) {
    case "create":
    case "scale":
    case "roll":
      return life[operation];
    case "failing":
      return life.roll;
    case "delete":
      return undefined;
  }
}

/** Does what a user does, and waits until it is brought about. Throws naming what is not when it never is. */
export async function play(
  world: WatchWorld,
  operation: WatchOperation,
  life: LifeTargets,
): Promise<void> {
  switch (operation) {
    case "create":
    case "scale":
    case "roll":
      await world.apply(life[operation]);
      break;
    case "failing":
      await playFailing(world, life);
      break;
    case "delete":
      await world.deleteCluster();
  }
  await untilSettled(world, wantedAfter(operation, life));
}

/** Its worker cannot be made, so all is taken back; then its user takes the edit back, too. */
async function playFailing(world: WatchWorld, { failing, roll }: LifeTargets): Promise<void> {
  const { cloudFile } = world.sandbox;
  const name = workerOf(failing).metadata.name;
  setWideFault(cloudFile, { call: "create", mode: "fail", name });
  await world.apply(failing);
  await until(
    "the failing edit is taken back",
    async () => {
      const cluster = (await world.objects()).find(({ kind }) => kind === "Cluster");
      return String(cluster?.status?.["message"]).startsWith("taken back");
    },
    settleDeadlineMs,
    200,
  );
  clearFaultsOf(cloudFile, "fail");
  await world.apply(roll);
}

/** Until everything is as it is wanted and stays so for a moment. */
export async function untilSettled(
  world: WatchWorld,
  wanted: readonly ManifestObject[] | undefined,
): Promise<void> {
  let last: readonly string[] = [];
  await until(
    "it settles",
    async () => {
      // Nothing makes good what went wrong already.
      if (world.trespasses.length > 0) throw new Error("it went wrong on its way");
      if (!world.isQuiet()) return false;
      last = judgeShown({
        rows: world.own(),
        objects: await world.objects(),
        wanted,
        names: undefined,
      });
      return last.length === 0;
    },
    settleDeadlineMs,
    200,
  ).catch((error: unknown) => {
    throw new Error(`${(error as Error).message}; ${last.join("; ")}`);
  });
}
