import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { CapstanError } from "../../src/api/error.js";
import { buildController } from "../../src/controller/build-controller.js";
import type { KeyedQueue } from "../../src/controller/queue.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import type { Term } from "../../src/kube/lease.js";
import { defineProvider } from "../../src/provider/define.js";
import type { CreateContext, Identity, Observed } from "../../src/provider/port.js";
import { noCertificates } from "../../src/source/certificate-report.js";
import type { ClusterSource } from "../../src/source/cluster-source.js";
import { failsWith } from "../support/errors.js";
import { FakeClock } from "../support/fake-clock.js";
import { localProvider } from "../support/manifests.js";
import { scratchFolder } from "../support/scratch.js";

const hourMs = 3_600_000;
const nothing = () => Promise.resolve();
const never = new AbortController().signal;

/** Of no cluster. */
const emptySource: ClusterSource = {
  owner: "test",
  keys: () => [],
  intentOf: () => ({ kind: "absent", digest: "" }),
  claim: nothing,
  show: nothing,
  noteKept: () => {},
  isShown: () => true,
  givenKeys: () => Promise.resolve(undefined),
  certificatesOf: () => noCertificates,
  release: nothing,
  forget: nothing,
};

/** Of one cluster at which nothing is to be done. */
function pausedSource(onShow: () => void): ClusterSource {
  return {
    ...emptySource,
    keys: () => ["default/prod"],
    intentOf: () => ({ kind: "paused", reason: "hands off", digest: "paused" }),
    show: () => Promise.resolve(onShow()),
  };
}

describe("buildController", () => {
  const scratch = scratchFolder();

  const settingsWith = (clock: FakeClock, stop: AbortSignal) => ({
    clock,
    interruption: { stop, kill: stop },
    engines: 1,
    notice: () => {},
    by: "ann@laptop",
    concurrency: 1,
    periodMs: hourMs,
    timeoutMs: hourMs,
    deadlineMs: hourMs,
    onListingFailure: () => {},
    newUuid: randomUUID,
  });
  const opened = () => ({
    pulumi: "/nowhere",
    workspace: new Workspace({
      stateDir: join(scratch.path, "state"),
      pulumiBinDir: scratch.path,
      env: {},
    }),
  });

  it("lets what happens to a cluster count as progress of the work on it", async () => {
    const stop = new AbortController();
    const clock = new FakeClock(0, "manual");
    const told: string[] = [];
    const quietSinceMs: (number | undefined)[] = [];
    const queueOf = (): KeyedQueue => built.queue;
    const built = buildController(settingsWith(clock, stop.signal), {
      source: pausedSource(() => {
        quietSinceMs.push(queueOf().state().quietestWorkAtMs);
        stop.abort();
      }),
      sink: (_key, { kind }) => {
        told.push(kind);
      },
      providers: [localProvider()],
      opened: opened(),
      queueObserver: { taken: () => clock.advance(hourMs) },
    });
    await built.controller.run(stop.signal);
    assert.deepEqual(told, ["paused"]);
    // Taken at 0, an hour before anything was told of it.
    assert.deepEqual(quietSinceMs, [hourMs]);
  });

  describe("with providers of its own", () => {
    const clock = new FakeClock();
    const who: Identity = {
      cluster: "default/a",
      clusterUid: "u",
      kind: "CrateHost",
      name: "m-1",
      token: "0".repeat(32),
    };
    const host: Observed = { id: "1", who, phase: "ready", spec: {}, status: {} };
    const ctx: CreateContext = {
      clock,
      signal: never,
      assertEngineAlive: () => undefined,
      userData: () => Promise.reject(new Error("none")),
    };
    let created: number;
    let leads: boolean;
    beforeEach(() => ([created, leads] = [0, true]));

    const provider = () =>
      defineProvider({
        name: "crate",
        apiVersion: "crate.example.dev/v1alpha1",
        machineSpec: { kind: "CrateMachineProviderSpec", schema: { type: "object" } },
        machine: {
          locate: () => Promise.resolve({ found: "none" }),
          create: () => {
            created += 1;
            return Promise.resolve(host);
          },
          remove: nothing,
          list: () => Promise.resolve([]),
        },
      });

    const term: Term = {
      place: { lease: "uid", transition: 1 },
      lost: never,
      leftMs: () => 1_000,
      assertLeader: () => {
        if (leads) return;
        throw new CapstanError({ code: "NOT_LEADER", source: "engine", message: "no more" });
      },
    };

    /** A creation by the one provider that a controller is built with. */
    const createBy = (of: { readonly term?: Term }) => {
      const { providers } = buildController(settingsWith(clock, never), {
        source: emptySource,
        opened: opened(),
        sink: () => {},
        providers: [provider()],
        ...of,
      });
      const [own] = providers;
      assert.ok(own !== undefined);
      return own.handlers.get(own.hostKind)?.create(ctx, who, {});
    };

    it("lets whoever leads change the cloud, and whoever led once change nothing", async () => {
      await createBy({ term });
      leads = false;
      await assert.rejects(async () => createBy({ term }), failsWith("NOT_LEADER"));
      assert.equal(created, 1);
    });

    it("lets whoever needs no lease change the cloud", async () => {
      leads = false;
      await createBy({});
      assert.equal(created, 1);
    });
  });
});
