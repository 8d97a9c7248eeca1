import { randomUUID } from "node:crypto";
import type { Clock } from "../../provider/port.js";
import { Engine } from "./engine.js";
import type { EngineOptions } from "./engine-options.js";
import { StackLock } from "../locks/lock.js";
import {
  forgetNotes,
  givenUpNotes,
  noteWork,
  openWork,
  type WorkNote,
} from "../locks/noted-engines.js";
import { grantWork, permitsOn, withdrawWork } from "../locks/work-permit.js";
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
  let endPermit = () => Promise.resolve();
  let others: readonly WorkNote[] = [];
  const engine = new Engine({
    ...options,
    clock,
    changes: true,
    onEngine: (pid) => lock.setEngine(pid),
    beforeWork: async () => {
      const id = randomUUID();
      hasEnded = await noteWork(workspace, stack, { id, term });
      const permit = await grantWork(workspace, stack, { id, clock });
      endPermit = async () => permit?.end();
      await withdrawWork(workspace, stack, await replacedBy({ workspace, stack, id, others }));
      return permit;
    },
  });
  try {
    others = await openWork(workspace, stack, term);
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
    await endPermit();
    lock.release(engine.unsettled);
  }
}

interface Replacement {
  readonly workspace: EngineOptions["workspace"];
  readonly stack: string;
  /** Of the command that begins to work. */
  readonly id: string;
  /** The commands that worked when it came. */
  readonly others: readonly WorkNote[];
}

/**
 * The permits of the commands whose place a command takes. In a state folder of its own these are all others, since it holds the
 * stack's lock; on a shared backend those that were there when it came, and that it does not see alive. Two that come at once
 * take neither's place.
 */
async function replacedBy({ workspace, stack, id, others }: Replacement): Promise<string[]> {
  if (workspace.isShared) return others.flatMap((note) => (note.isLiving ? [] : [note.id]));
  return (await permitsOn(workspace, stack)).filter((one) => one !== id);
}
