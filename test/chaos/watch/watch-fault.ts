import { join } from "node:path";
import { clearFaultsOf, setWideFault, stopOutsideOf } from "../../scenario/cloud-faults.js";
import type { Command } from "../../scenario/command.js";
import type { WatchBoundary, WatchHold } from "./watch-boundary.js";
import type { Replica, WatchWorld } from "./world.js";

/**
 * What happens to a leader. tree: SIGKILL to it and all that it started. cli: to it alone, so that its engine lives on.
 * late: SIGKILL to all, and its write to the API server is carried out after the recovery. frozen: it stands still until
 * another one has done its work, then it goes on. api: cut off from the API server until then. cloud: cut off from the cloud
 * for some seconds. database: cut off from PostgreSQL for some seconds. isolated: from the API server and from PostgreSQL, until
 * another one has done its work.
 */
export const watchFaults = [
  "tree",
  "cli",
  "late",
  "frozen",
  "api",
  "cloud",
  "database",
  "isolated",
] as const;
export type WatchFault = (typeof watchFaults)[number];

/** Faults that need PostgreSQL. */
export const databaseFaults: readonly WatchFault[] = ["database", "isolated"];

/** Whether a fault has a meaning at a boundary. Pure. */
export function isMeantAt(fault: WatchFault, { kind, side }: WatchBoundary): boolean {
  switch (fault) {
    case "late":
      return kind === "write" && side === "before";
    case "cloud":
      return kind === "call";
    default:
      return true;
  }
}

/** Whether another controller has to take over. Pure. */
export function needsSuccessor(fault: WatchFault): boolean {
  return fault !== "cloud" && fault !== "database";
}

/** What is left to be done once somebody else has brought everything about. */
export type Aftermath = () => Promise<void>;

/** How long a way is cut off that nobody loses the lease by. */
const shortCutMs = 6_000;

/** How a call hangs in which a fault comes. Pure. */
export function hangingBy(fault: WatchFault): { how: "hang" | "late"; ms: number | undefined } {
  const ms = needsSuccessor(fault) ? undefined : shortCutMs;
  return { how: fault === "frozen" ? "late" : "hang", ms };
}

/** Does it to whoever leads, who hangs at a boundary. Answers what comes when the work has been done by another one. */
export async function strike(
  world: WatchWorld,
  fault: WatchFault,
  leader: Replica,
  hold: WatchHold,
): Promise<Aftermath> {
  const { command, door, machine } = leader;
  switch (fault) {
    case "tree":
      await command.killTree();
      hold.release("drop");
      return nothing;
    case "cli":
      await killFront(command);
      hold.release("drop");
      return nothing;
    case "late":
      await command.killTree();
      return async () => hold.release("evenSo");
    case "frozen":
      // Another controller of this machine needs what its state folder holds as well.
      await stopOutsideOf(
        [
          world.sandbox.cloudFile,
          ...["locks.db", "clusters.db"].map((name) => join(machine.sandbox.state, name)),
        ],
        [command.pid],
      );
      return async () => {
        process.kill(command.pid, "SIGCONT");
        hold.release("evenSo");
      };
    case "api":
      door.isCut = true;
      hold.release("drop");
      return async () => door.mend();
    case "isolated":
      machine.relay?.cut();
      door.isCut = true;
      hold.release("drop");
      return async () => {
        machine.relay?.mend();
        door.mend();
      };
    case "cloud":
      await cutCloud(world, hold);
      return nothing;
    case "database":
      machine.relay?.cut();
      hold.release("drop");
      await passTime(shortCutMs);
      machine.relay?.mend();
      return nothing;
  }
}

const nothing: Aftermath = () => Promise.resolve();

/** What it started lives on, and belongs to its tree even so. */
async function killFront(command: Command): Promise<void> {
  command.noteTree();
  command.signal("SIGKILL");
  await command.finished;
}

/** No call is answered for a while. */
async function cutCloud({ sandbox }: WatchWorld, hold: WatchHold): Promise<void> {
  const ms = shortCutMs / 2;
  for (const call of ["create", "get", "list", "update", "terminate"]) {
    setWideFault(sandbox.cloudFile, { call, mode: "hang", name: null, ms });
  }
  hold.release("drop");
  await passTime(shortCutMs);
  clearFaultsOf(sandbox.cloudFile, "hang");
}

function passTime(ms: number): Promise<void> {
  return new Promise((passed) => setTimeout(passed, ms));
}
