import type { Clock } from "../../provider/port.js";
import { Engine, type EngineOptions } from "./engine.js";
import { StackLock } from "../locks/lock.js";
import { forgetNotes, givenUpNotes, noteWork, openWork } from "../locks/noted-engines.js";
import { refuseFullDisk } from "./disk-room.js";

interface LockedStackOptions extends Omit<EngineOptions, "changes" | "onEngine" | "beforeWork"> {
  readonly stack: string;
  /** Shown to whoever finds the stack locked. */
  readonly command: string;
  readonly clock: Clock;
}

/**
 * Runs `work` with an engine that may change the stack, under the stack's lock; what a dead holder left
 * behind is taken over. Throws LOCKED naming a holder that may live, NO_SPACE, and what `work` throws.
 */
export async function withLockedStack<T>(
  { stack, command, clock, ...options }: LockedStackOptions,
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  const { workspace, term, interruption } = options;
  const { stateDir } = workspace;
  const name = workspace.lockName(stack);
  refuseFullDisk(workspace, stack);
  const lock = await StackLock.acquire({ stateDir, clock, stack: name, command, term });
  let hasEnded = () => Promise.resolve();
  const engine = new Engine({
    ...options,
    clock,
    changes: true,
    onEngine: (pid) => lock.setEngine(pid),
    beforeWork: async () => {
      hasEnded = await noteWork(workspace, stack, term);
    },
  });
  try {
    const others = await openWork(workspace, stack, term);
    const notes = [...(await givenUpNotes(workspace, stack)), ...others.map(({ key }) => key)];
    engine.unsettled = lock.wasTakenOver || notes.length > 0;
    await engine.releaseDeadLock(stack);
    await engine.stacks.expect(stack);
    const result = await work(engine);
    if (!engine.unsettled) {
      const living = new Set(others.flatMap(({ key, isLiving }) => (isLiving ? [key] : [])));
      await forgetNotes(
        workspace,
        notes.filter((key) => !living.has(key)),
      );
    }
    return result;
  } finally {
    engine.end();
    // What a killed engine asked for may still happen: whoever comes next is told, wherever they are.
    if (!engine.unsettled && interruption?.kill.aborted !== true) await hasEnded();
    lock.release(engine.unsettled);
  }
}
