import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { Command } from "./command.js";
import { identify } from "../../src/engine/locks/process-identity.js";
import { killAll, SeenProcesses } from "./process-tree.js";
import { until } from "./until.js";

/** The processes that have a word among their arguments. */
function processesWith(word: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => existsSync(`/proc/${pid}/cmdline`))
    .filter((pid) => argumentsOf(pid).includes(word))
    .map(Number);
}

function argumentsOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return []; // It ended in between.
  }
}

describe("a tree of processes that is killed", () => {
  it("leaves nothing that was started meanwhile", async () => {
    for (const round of [1, 2]) {
      // How long they sleep tells them from what else sleeps on this machine.
      const seconds = `600.${process.pid}${round}`;
      const started = (count: number) => `for i in $(seq ${count}); do sleep ${seconds} & done`;
      const script = `${started(200)}; wait`;
      const command = new Command("sh", ["-c", script], { cwd: "/", env: process.env });
      const sleeping = () => processesWith(seconds);
      try {
        await until("some are started", () => sleeping().length >= 5, 60_000, 1);
        const killed = command.killTree();
        await until("nothing of it is left", () => sleeping().length === 0, 30_000);
        await killed;
      } finally {
        killAll(sleeping());
      }
    }
  });
});

describe("processes that were seen", () => {
  it("are not taken for those that have their pids later", () => {
    let started = "before";
    const seen = new SeenProcesses((pid) => {
      const own = identify(process.pid);
      return own && { ...own, pid, started };
    });
    seen.note([7]);
    assert.deepEqual(seen.living, [7]);
    started = "later";
    assert.deepEqual(seen.living, []);
  });
});
