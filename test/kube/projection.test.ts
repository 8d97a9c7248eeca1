import assert from "node:assert/strict";
import { emptyState } from "../../src/records/prior-state.js";
import { noCertificates } from "../../src/source/certificate-report.js";
import type { ClusterView } from "../../src/source/cluster-view.js";
import { isForeign, type LiveCluster, type LiveObject } from "../../src/kube/live-object.js";
import { type ApiWrite, clusterFinalizer, machineFinalizer } from "../../src/kube/api-write.js";
import { claimOf } from "../../src/kube/claim.js";
import { projectionOf } from "../../src/kube/projection.js";
import { viewOf } from "../support/cluster-views.js";
import { controlledBy, deleted, live, liveCluster, written } from "../support/live-objects.js";
import { cluster, desiredOf, localProvider, machine, machineSet } from "../support/manifests.js";
import { changed } from "./refusals.js";
import { FakeEngine } from "../support/fake-engine.js";

const provider = localProvider();
const unseen: ClusterView = {
  phase: "Failed",
  records: emptyState,
  isSettled: false,
  nowMs: 5_000,
  terminalError: { reason: "InvalidConfiguration", message: "nonsense" },
};

function writesFor(given: LiveCluster, view: ClusterView): ApiWrite[] {
  return projectionOf(given, {
    view,
    provider,
    certificates: noCertificates,
    generationOf: () => 1,
    redact: (text) => text,
  });
}

function said(writes: readonly ApiWrite[]): string[] {
  return writes.map((write) => {
    const { kind, metadata } = write.kind === "create" ? write.object : write.on;
    return `${write.kind} ${kind} ${metadata.name}`;
  });
}

describe("projectionOf", () => {
  let engine: FakeEngine;
  before(async () => {
    engine = await FakeEngine.running(
      desiredOf([cluster(), machine("cp-0", { controlPlane: "1.34.2" }), machineSet("set", 1)]),
    );
  });

  it("says of a cluster at which nobody has looked what is the matter, and leaves all else", () => {
    const status = { revision: 4, machines: { desired: 2, summary: "2/2" }, message: "old" };
    const set = live(written("MachineSet", "set"), { status: { replicas: 3, readyReplicas: 3 } });
    const writes = writesFor(liveCluster([set], { status }), { ...unseen, isBlind: true });
    assert.deepEqual(said(writes), ["status Cluster prod"]);
    const condition = {
      status: "False",
      observedGeneration: 1,
      lastTransitionTime: "1970-01-01T00:00:05Z",
      reason: "InvalidConfiguration",
    };
    assert.deepEqual(writes[0]?.kind === "status" && writes[0].patch, {
      metadata: { resourceVersion: "7" },
      status: {
        phase: "Failed",
        message: "nonsense",
        observedGeneration: 1,
        errorReason: "InvalidConfiguration",
        errorMessage: "nonsense",
        conditions: [
          { ...condition, type: "Ready", message: "nonsense" },
          { ...condition, type: "Progressing", message: "" },
        ],
      },
    });
  });

  it("makes the Machines of a set, but not of a Cluster that is being deleted", async () => {
    const view = await viewOf(engine);
    const objects = [live(machine("cp-0")), live(machineSet("set", 1))];
    const made = (given: LiveCluster) =>
      writesFor(given, view).filter(({ kind }) => kind === "create").length;
    assert.equal(made(liveCluster(objects)), 1);
    assert.equal(made(liveCluster(objects, { metadata: deleted })), 0);
  });

  it("does not make again what a user wrote and took away", async () => {
    const writes = writesFor(liveCluster([live(machineSet("set", 1))]), await viewOf(engine));
    assert.ok(!said(writes).includes("create Machine cp-0"));
  });

  it("shows hosts of a cluster that is being deleted as going", async () => {
    const objects = [live(machine("cp-0", { controlPlane: "1.34.2" }))];
    const writes = writesFor(
      liveCluster(objects, { metadata: deleted }),
      await viewOf(engine, { phase: "Deleting", isSettled: false }),
    );
    const phases = writes.flatMap((write) =>
      write.kind === "status" && write.on.kind === "Machine" ? [write.patch["status"]] : [],
    ) as { phase: string }[];
    assert.deepEqual(
      phases.map(({ phase }) => phase),
      ["Terminating"],
    );
  });

  it("tells of pods that are in the way of a host that is changed where it is, and of no deletion", async () => {
    const objects = [live(machine("cp-0", { controlPlane: "1.34.2" }))];
    const [host] = engine.prior.revision?.target.machines ?? [];
    const blockers = [{ pod: "default/a", why: "its budget allows none" }];
    const stage = { kind: "draining", sinceMs: 0, blockers } as const;
    const progress = {
      phase: "Waiting",
      transaction: 2,
      direction: "forward",
      wave: 1,
      waves: 1,
      keys: [],
      reason: "",
      leaving: [{ key: host!.host, stage }],
      startedAtMs: 0,
      deadlineAtMs: 60_000,
    } as const;
    const writes = writesFor(
      liveCluster(objects),
      await viewOf(engine, { progress, isSettled: false }),
    );
    const [status] = writes.flatMap((write) =>
      write.kind === "status" && write.on.kind === "Machine" ? [write.patch["status"]] : [],
    ) as { conditions?: readonly { type: string; status: string; message?: string }[] }[];
    const told = status?.conditions?.filter(({ type }) => /Deleting|Draining/.test(type)) ?? [];
    assert.deepEqual(
      told.map(({ type, status: is, message }) => `${type} ${is} ${message}`),
      [
        "DrainingSucceeded False 1 pod has to go first since 1970-01-01T00:00:00Z: default/a (its budget allows none)",
      ],
    );
  });

  describe("of versions that a user left out", () => {
    const written = { controlPlane: "v1.34.2", containerRuntime: { name: "containerd" } };
    const asking = (versions: unknown) => changed(machine("cp-0"), ["spec", "versions"], versions);
    for (const { name, versions, want } of [
      {
        name: "writes back what was chosen, and leaves what is written as it is spelled",
        versions: written,
        want: { kubelet: "1.34.2", containerRuntime: { version: "2.1.5" } },
      },
      {
        name: "writes nothing back beside others than those for which it was chosen",
        versions: { ...written, containerRuntime: { name: "cri-o" } },
        want: undefined,
      },
    ]) {
      it(name, async () => {
        const chosen = await FakeEngine.running(desiredOf([cluster(), asking(written)]));
        const given = liveCluster([live(asking(versions))]);
        const [patch] = writesFor(given, await viewOf(chosen)).flatMap((write) =>
          write.kind === "patch" && write.on.kind === "Machine" ? [write.patch] : [],
        );
        const { versions: patched } = (patch?.["spec"] ?? {}) as { versions?: unknown };
        assert.deepEqual(patched, want);
      });
    }
  });

  describe("of derived Machines that nothing stands behind", () => {
    const left = (metadata: Partial<LiveObject["metadata"]>) =>
      live(machine("gone"), {
        metadata: { ownerReferences: controlledBy("MachineSet", "set"), ...metadata },
      });
    for (const { name, given, isSettled, want } of [
      {
        name: "frees one first, as one that is being deleted is one to be replaced",
        given: left({ finalizers: [machineFinalizer] }),
        isSettled: true,
        want: ["patch Machine gone"],
      },
      {
        name: "deletes one that is free",
        given: left({}),
        isSettled: true,
        want: ["delete Machine gone"],
      },
      {
        name: "frees one that is being deleted",
        given: left({ ...deleted, finalizers: [machineFinalizer] }),
        isSettled: true,
        want: ["patch Machine gone"],
      },
      {
        name: "does nothing about one that somebody else holds",
        given: left({ ...deleted, finalizers: ["x/y"] }),
        isSettled: true,
        want: [],
      },
      { name: "leaves them while work goes on", given: left({}), isSettled: false, want: [] },
      {
        name: "leaves those of another controller",
        given: left({ ownerReferences: controlledBy("Pool", "pool", "example.com/v1") }),
        isSettled: true,
        want: [],
      },
      {
        name: "leaves a user's own",
        given: left({ ownerReferences: [] }),
        isSettled: true,
        want: [],
      },
    ]) {
      it(name, async () => {
        const objects = [live(machine("cp-0")), live(machineSet("set", 1)), given];
        const writes = said(writesFor(liveCluster(objects), await viewOf(engine, { isSettled })));
        assert.deepEqual(
          writes.filter((one) => one.endsWith("gone")),
          want,
        );
      });
    }
  });

  it("does not ask for empty annotations, which API servers do not store", () => {
    const given = liveCluster([], { metadata: { finalizers: [clusterFinalizer] } });
    const writes = writesFor(given, unseen);
    assert.deepEqual(said(writes), ["status Cluster prod"]);
  });

  it("writes to no object that another controller keeps", async () => {
    const foreign = controlledBy("Pool", "pool", "example.com/v1");
    const objects = [machine("cp-0"), machineSet("set", 1)].map((one) =>
      live(one, { metadata: { ownerReferences: foreign } }),
    );
    const view = await viewOf(engine);
    const writes = [...writesFor(liveCluster(objects), view), ...claimOf(liveCluster(objects))];
    assert.deepEqual(
      writes.filter((write) => write.kind !== "create" && isForeign(write.on)),
      [],
    );
    assert.ok(writes.length > 0);
  });
});

describe("claimOf", () => {
  it("holds the Cluster and its users' Machines, and nothing that is going", () => {
    const going = live(machine("going"), { metadata: deleted });
    const held = live(machine("held"), { metadata: { finalizers: [machineFinalizer] } });
    const other = live(machine("free"), { metadata: { finalizers: ["x/y"] } });
    const writes = claimOf(liveCluster([going, held, other, live(machineSet("set", 1))]));
    assert.deepEqual(said(writes), ["patch Cluster prod", "patch Machine free"]);
    assert.deepEqual(writes[1]?.kind === "patch" && writes[1].patch, {
      metadata: { finalizers: ["x/y", machineFinalizer], resourceVersion: "7" },
    });
  });
});
