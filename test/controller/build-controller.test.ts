import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { buildController } from "../../src/controller/build-controller.js";
import type { KeyedQueue } from "../../src/controller/queue.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { noCertificates } from "../../src/source/certificate-report.js";
import type { ClusterSource } from "../../src/source/cluster-source.js";
import { FakeClock } from "../support/fake-clock.js";
import { localProvider } from "../support/manifests.js";
import { scratchFolder } from "../support/scratch.js";

const hourMs = 3_600_000;
const nothing = () => Promise.resolve();

/** A source of one cluster at which nothing is to be done. */
function pausedSource(onShow: () => void): ClusterSource {
  return {
    owner: "test",
    keys: () => ["default/prod"],
    intentOf: () => ({ kind: "paused", reason: "hands off", digest: "paused" }),
    claim: nothing,
    show: () => Promise.resolve(onShow()),
    isShown: () => true,
    givenKeys: () => Promise.resolve(undefined),
    certificatesOf: () => noCertificates,
    release: nothing,
    forget: nothing,
  };
}

describe("buildController", () => {
  const scratch = scratchFolder();

  it("lets what happens to a cluster count as progress of the work on it", async () => {
    const stop = new AbortController();
    const clock = new FakeClock(0, "manual");
    const told: string[] = [];
    const quietSinceMs: (number | undefined)[] = [];
    const queueOf = (): KeyedQueue => built.queue;
    const built = buildController(
      {
        clock,
        stateDir: scratch.path,
        interruption: { stop: stop.signal, kill: stop.signal },
        engines: 1,
        notice: () => {},
        by: "ann@laptop",
        concurrency: 1,
        periodMs: hourMs,
        timeoutMs: hourMs,
        deadlineMs: hourMs,
        onListingFailure: () => {},
        newUuid: randomUUID,
      },
      {
        source: pausedSource(() => {
          quietSinceMs.push(queueOf().state().quietestWorkAtMs);
          stop.abort();
        }),
        sink: (_key, { kind }) => {
          told.push(kind);
        },
        providers: [localProvider()],
        opened: {
          pulumi: "/nowhere",
          workspace: new Workspace({
            stateDir: join(scratch.path, "state"),
            pulumiBinDir: scratch.path,
            env: {},
          }),
        },
        queueObserver: { taken: () => clock.advance(hourMs) },
      },
    );
    await built.controller.run(stop.signal);
    assert.deepEqual(told, ["paused"]);
    // Taken at 0, an hour before anything was told of it.
    assert.deepEqual(quietSinceMs, [hourMs]);
  });
});
