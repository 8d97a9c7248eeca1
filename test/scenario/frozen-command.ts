import assert from "node:assert/strict";
import type { BackendObjects } from "../../src/engine/backend/backend-objects.js";
import { isWritable } from "./cloud-faults.js";
import type { Command, Outcome } from "./command.js";
import { demoStack } from "./manifests.js";
import { signalAll, stopTrees } from "./process-tree.js";
import type { Sandbox } from "./sandbox.js";
import { until } from "./until.js";

/** Two machines on one shared backend, and the objects of that. */
export interface TwoMachines {
  readonly here: Sandbox;
  readonly there: Sandbox;
  readonly objects: BackendObjects;
}

/**
 * What notes say of the machine of a command becomes another one that was copied with this one's machine id, as virtual machines
 * are: no command here sees its processes any more.
 */
export async function makeCopyOfMachine(objects: BackendObjects): Promise<void> {
  for (const kind of ["engines", "work"]) {
    for (const key of await objects.list(`.capstan/${kind}/capstan/${demoStack}`)) {
      const text = (await objects.read(key)) ?? "";
      await objects.write(key, text.replaceAll(/"boot":"[^"]*"/g, '"boot":"elsewhere"'));
    }
  }
}

/**
 * Freezes a command of one machine with all under it, lets a person unlock the stack on the other machine and change it there, and
 * wakes the frozen one. Answers how that ended.
 */
export async function takeOverFrom(
  frozen: Command,
  { there, objects }: Omit<TwoMachines, "here">,
): Promise<Outcome> {
  const tree = frozen.hasEnded ? [] : await frozenOutside(there.cloudFile, frozen.pid);
  try {
    await makeCopyOfMachine(objects);
    await there.capstan(0, "unlock", demoStack, "--yes");
    // What the frozen command waits for is answered once it wakes.
    await there.cloud.clearFaults();
    await there.up();
  } finally {
    signalAll(tree, "SIGCONT");
  }
  return frozen.finished;
}

/** The processes of a command that stand still. None of them stands in a transaction on the cloud's file: a cloud answers others all the time. */
function frozenOutside(cloudFile: string, pid: number): Promise<readonly number[]> {
  return until("the command stands still and the cloud is free", async () => {
    const tree = await stopTrees([pid]);
    if (isWritable(cloudFile)) return tree;
    signalAll(tree, "SIGCONT");
    return false;
  });
}

/** A command that was woken has either been done before it froze, or says that its place is taken; all that it has left is recorded. */
export async function assertFenced(
  { code, stdout, stderr }: Outcome,
  { there }: Pick<TwoMachines, "there">,
): Promise<void> {
  const said = `${stdout}\n${stderr}`;
  assert.ok(code === 0 || code === 5, `it ended with ${code}: ${said}`);
  if (code === 5)
    assert.match(said, /another command took this one's place|changed it since|locked by/);
  await there.plan(0);
  await there.assertSound(demoStack);
}
