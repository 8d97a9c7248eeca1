import type { Clock } from "../../provider/port.js";
import { Engine, type EngineOptions } from "./engine.js";
import { StackLock } from "../locks/lock.js";
import { forgetGivenUp, givenUpNotes } from "../locks/noted-engines.js";
import { refuseFullDisk } from "./disk-room.js";

interface LockedStackOptions extends Omit<EngineOptions, "changes" | "onEngine"> {
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
  const { workspace, term } = options;
  const { stateDir } = workspace;
  const name = workspace.lockName(stack);
  refuseFullDisk(workspace, stack);
  const lock = await StackLock.acquire({ stateDir, clock, stack: name, command, term });
  const engine = new Engine({
    ...options,
    clock,
    changes: true,
    onEngine: (pid) => lock.setEngine(pid),
  });
  try {
    const givenUp = await givenUpNotes(workspace, stack);
    engine.unsettled = lock.wasTakenOver || givenUp.length > 0;
    await engine.releaseDeadLock(stack);
    await engine.stacks.expect(stack);
    const result = await work(engine);
    if (!engine.unsettled) await forgetGivenUp(workspace, givenUp);
    return result;
  } finally {
    engine.end();
    lock.release();
  }
}
