import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { CapstanError } from "../../src/api/error.js";
import { StatusWriter } from "../../src/controller/status-writer.js";
import { emptyState } from "../../src/records/prior-state.js";
import type { ClusterView } from "../../src/source/cluster-view.js";
import { FakeClock } from "../support/fake-clock.js";

const away = new CapstanError({ code: "API_SERVER", source: "engine", message: "away" });

function view(message: string): ClusterView {
  return { phase: "Updating", records: emptyState, isSettled: false, nowMs: 0, message };
}

describe("Display", () => {
  let clock: FakeClock;
  let shown: string[];
  let answer: () => Promise<void>;
  let statusWriter: StatusWriter;
  beforeEach(() => {
    clock = new FakeClock(0, "manual");
    shown = [];
    answer = () => Promise.resolve();
    statusWriter = new StatusWriter((one) => {
      shown.push(one.message ?? "");
      return answer();
    }, clock);
  });

  async function pass(ms: number): Promise<void> {
    await turn();
    clock.advance(ms);
    await turn();
  }

  it("shows the first picture at once, and of many that follow the newest, after a pause", async () => {
    for (const message of ["a", "b", "c"]) statusWriter.offer(view(message));
    assert.deepEqual(shown, ["a"]);
    await pass(499);
    assert.deepEqual(shown, ["a"]);
    await pass(1);
    assert.deepEqual(shown, ["a", "c"]);
    await pass(500);
    statusWriter.offer(view("d"));
    assert.deepEqual(shown, ["a", "c", "d"]);
  });

  it("holds nobody up while an API server is away", async () => {
    answer = () => Promise.reject(away);
    statusWriter.offer(view("a"));
    await pass(500);
    answer = () => Promise.resolve();
    statusWriter.offer(view("b"));
    await pass(500);
    await statusWriter.quiet();
    assert.deepEqual(shown, ["a", "b"]);
  });

  it("tells who asks for the last picture that it could not be shown", async () => {
    answer = () => Promise.reject(away);
    await assert.rejects(statusWriter.settle(view("last")), away);
  });

  it("shows the last picture after what is being shown, and nothing that was offered before", async () => {
    let finish = () => {};
    answer = () => new Promise((resolve) => (finish = resolve));
    statusWriter.offer(view("slow"));
    statusWriter.offer(view("never"));
    const settled = statusWriter.settle(view("last"));
    await turn();
    assert.deepEqual(shown, ["slow"]);
    answer = () => Promise.resolve();
    finish();
    await pass(500);
    await settled;
    assert.deepEqual(shown, ["slow", "last"]);
  });

  it("gives a defect to who waits for it, not to the process", async () => {
    answer = () => Promise.reject(new TypeError("a defect"));
    statusWriter.offer(view("a"));
    await pass(0);
    await assert.rejects(statusWriter.quiet(), TypeError);
  });
});
