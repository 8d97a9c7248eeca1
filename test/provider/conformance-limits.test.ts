import assert from "node:assert/strict";
import { CallWatch } from "../../src/provider-conformance/call-watch.js";
import { inTime, within } from "../../src/provider-conformance/limit.js";
import { conformanceCases } from "../../src/provider-conformance/index.js";
import type { InfrastructureProvider } from "../../src/provider/port.js";
import { withCalls } from "./defects.js";
import { folderSubject } from "./worlds.js";

/** As a machine is that gives this process no turn: it waits, and takes no processor time. */
function isKeptWaiting(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A provider whose identity does what is given. */
function asking(identity: () => Promise<void>): InfrastructureProvider {
  const provider = { handlers: new Map(), identity: async () => identity().then(() => ({})) };
  return provider as unknown as InfrastructureProvider;
}

const ctx = undefined as never;

describe("limits of the conformance suite", () => {
  it("do not count what a busy machine takes from it", async () => {
    const watch = new CallWatch();
    const provider = watch.watched(
      asking(async () => {
        for (let turns = 0; turns < 3; turns += 1) {
          isKeptWaiting(400);
          await turn();
        }
      }),
    );
    const answer = await within(1_000, watch, async () => provider.identity?.(ctx));
    assert.deepEqual(answer, {});
    const work = (async () => {
      isKeptWaiting(600);
      await turn();
      return "in time";
    })();
    assert.equal(await inTime(500, work), "in time");
  });

  it("begin anew with each call that ends", async () => {
    const watch = new CallWatch();
    const provider = watch.watched(asking(async () => isKeptWaiting(40)));
    const work = async () => {
      for (let calls = 0; calls < 10; calls += 1) {
        await provider.identity?.(ctx);
        await new Promise((resolve) => setTimeout(resolve));
      }
      return "done";
    };
    assert.equal(await within(200, watch, work), "done");
  });

  it("count processor time", async () => {
    const watch = new CallWatch();
    const provider = watch.watched(asking(async () => {}));
    const endless = async (signal: AbortSignal) => {
      while (!signal.aborted) {
        for (const endMs = performance.now() + 10; performance.now() < endMs;);
        await provider.identity?.(ctx);
        await turn();
      }
    };
    await assert.rejects(within(100, watch, endless), /after 0\.1 s of processor time it has not/);
  });

  it("name the call that has no answer", async () => {
    const hanging = folderSubject({
      provider: (good) => withCalls(good, () => ({ create: () => new Promise(() => {}) })),
    });
    const [first] = conformanceCases(hanging, { timeoutMs: 100 });
    await assert.rejects(
      first?.run() ?? Promise.resolve(),
      /answer each call at last: after 0\.1 s it has not \(create of FolderHost\)/,
    );
  });
});
