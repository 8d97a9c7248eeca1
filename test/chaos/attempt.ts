import { clearFaults } from "../scenario/cloud-faults.js";
import { type Boundary, startUpTo } from "./boundary.js";
import type { Operation } from "./operation.js";
import { type Recovered, recover, type Recovery } from "./recovery.js";
import { stuckWith } from "./verdict.js";
import type { Sandbox } from "../scenario/sandbox.js";

export const kills = ["tree", "cli"] as const;
/** Whom SIGKILL meets: everything, or the command alone, so that what it started lives on. */
export type Kill = (typeof kills)[number];

/** One operation, killed at one boundary. */
export interface Aim {
  readonly operation: Operation;
  readonly boundary: Boundary;
  readonly kill: Kill;
}

/** What became of one recovery after one kill. */
export interface Result extends Recovered {
  readonly aim: Aim;
  readonly recovery: Recovery;
  readonly hit: boolean;
  readonly seconds: number;
}

/** Kills one run at its boundary and recovers in each of the given ways, each from where the kill left it. */
export async function attempt(
  baseline: Sandbox,
  stack: string,
  aim: Aim,
  ways: readonly Recovery[],
): Promise<Result[]> {
  const begin = Date.now();
  const killed = baseline.copy();
  try {
    const failure = await killAt(killed, aim).then(
      () => undefined,
      (error: unknown) => stuckWith(error instanceof Error ? error.message : String(error)),
    );
    const seconds = (Date.now() - begin) / 1000 / ways.length;
    if (failure !== undefined) {
      return ways.map((recovery) => ({
        ...{ aim, recovery, hit: false, seconds, reached: "neither", verdict: failure },
      }));
    }
    const results: Result[] = [];
    for (const [index, recovery] of ways.entries()) {
      // The last one may use up what the kill left.
      const sandbox = index === ways.length - 1 ? killed : killed.copy();
      const from = Date.now();
      try {
        const recovered = await recover(sandbox, stack, aim.operation, recovery);
        const took = seconds + (Date.now() - from) / 1000;
        results.push({ ...recovered, aim, recovery, hit: true, seconds: took });
      } finally {
        if (sandbox !== killed) await sandbox.close();
      }
    }
    return results;
  } finally {
    await killed.close();
  }
}

async function killAt(sandbox: Sandbox, { operation, boundary, kill }: Aim): Promise<void> {
  const { breaks } = operation;
  if (breaks !== undefined) await sandbox.fault(breaks.call, "fail", "--name", breaks.name);
  const command = await startUpTo(sandbox, boundary, () => operation.start(sandbox));
  if (kill === "tree") await command.killTree();
  else await command.killAlone();
  clearFaults(sandbox.cloudFile);
}
