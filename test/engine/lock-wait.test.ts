import assert from "node:assert/strict";
import { sameRecords, untilUnlocked } from "../../src/engine/locks/lock-wait.js";
import type { PulumiLock } from "../../src/engine/locks/pulumi-locks.js";
import type { StackState } from "../../src/engine/backend/state.js";
import { FakeClock } from "../support/fake-clock.js";

const lock: PulumiLock = { pid: 7, user: "a", host: "b", since: "2026-01-01" };
const dead: PulumiLock = { ...lock, pid: 8 };

/** Locks as they are found, one look after the other; the last one stays. */
async function waited(looks: (readonly PulumiLock[] | undefined)[], patienceMs = 10_000) {
  const clock = new FakeClock(1_000);
  const begin = clock.now();
  const outcome = await untilUnlocked(
    {
      clock,
      stop: undefined,
      read: () => Promise.resolve(looks.length > 1 ? looks.shift() : looks[0]),
      haveEnded: (locks) => Promise.resolve(locks.every(({ pid }) => pid === dead.pid)),
    },
    begin + patienceMs,
  );
  return { outcome, hasWaited: clock.now() > begin };
}

describe("who waits for somebody else's lock", () => {
  const cases = [
    { name: "need not when it is gone", looks: [[]], want: "gone", hasWaited: false },
    { name: "goes on when it goes", looks: [[lock], [lock], []], want: "gone", hasWaited: true },
    { name: "is told of a dead holder", looks: [[lock, dead], [dead]], want: "dead" },
    { name: "gives up", looks: [[lock]], want: "held" },
    { name: "tries again where only an engine can tell", looks: [undefined], want: "gone" },
  ];
  for (const { name, looks, want, hasWaited = true } of cases) {
    it(name, async () => {
      assert.deepEqual(await waited([...looks]), { outcome: want, hasWaited });
    });
  }

  it("ends with the reason of whoever stops it", async () => {
    const stop = AbortSignal.abort(new Error("enough"));
    const [read, haveEnded] = [() => Promise.resolve([lock]), () => Promise.resolve(false)];
    const sight = { clock: new FakeClock(0), stop, read, haveEnded };
    await assert.rejects(untilUnlocked(sight, 1_000), /enough/);
  });
});

describe("two readings of a stack", () => {
  const state = (writtenAt: string, keys: string[]): StackState => ({
    resources: [],
    pending: [],
    writtenAt,
    foreign: keys,
  });
  const cases = [
    { name: "are the same with the same time", now: state("1", ["a"]), want: true },
    { name: "are the same when it was only written again", now: state("2", ["a"]), want: true },
    { name: "differ when anything recorded does", now: state("2", ["b"]), want: false },
  ];
  for (const { name, now, want } of cases) {
    it(name, () => assert.equal(sameRecords(state("1", ["a"]), now), want));
  }
});
