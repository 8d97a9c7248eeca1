import assert from "node:assert/strict";
import type { MachineStatus } from "../../src/api/status.js";
import type { ObservedResource } from "../../src/plan/observation.js";
import type { NodeKey } from "../../src/graph/graph.js";
import { machinesOf, type MachineView } from "../../src/kube/machine-views.js";
import {
  clusterStatusOf,
  machineDeploymentStatusOf,
  machineSetStatusOf,
  rolloutSetOf,
} from "../../src/kube/statuses.js";
import { machineStatusOf } from "../../src/kube/machine-status.js";
import { timeText } from "../../src/api/time-text.js";
import { noCertificates } from "../../src/source/certificate-report.js";
import type { ClusterView, Progress } from "../../src/source/cluster-view.js";
import { viewOf } from "../support/cluster-views.js";
import { live } from "../support/live-objects.js";
import {
  cluster,
  desiredOf,
  localProvider,
  machine,
  machineDeployment,
  machineSet,
} from "../support/manifests.js";
import { FakeEngine } from "../support/fake-engine.js";

const provider = localProvider();
const member = machine("cp-0", { controlPlane: "1.34.2" });
const progress: Progress = {
  phase: "Changing",
  transaction: 3,
  direction: "forward",
  wave: 1,
  waves: 2,
  keys: [],
  reason: "hosts are made",
  startedAtMs: 0,
  deadlineAtMs: 60_000,
};

function input(view: ClusterView) {
  const machines = machinesOf(view);
  return {
    view,
    provider,
    machines,
    certificates: noCertificates,
    generationOf: () => 4,
    machineObjectOf: () => undefined,
  };
}

/** For what does not depend on a cluster. */
const nothing = {
  view: { nowMs: 0 } as ClusterView,
  provider,
  machines: [],
  certificates: noCertificates,
  generationOf: () => 2,
  machineObjectOf: () => undefined,
};

function named(view: ClusterView, name: string): MachineView {
  const found = machinesOf(view).find(({ machine: one }) => one.name === name);
  assert.ok(found !== undefined, `no machine ${name}`);
  return found;
}

function statusOf(view: ClusterView, before?: MachineStatus): MachineStatus {
  const shown = live(member, before === undefined ? {} : { status: before });
  return machineStatusOf(shown, named(view, "cp-0"), input(view));
}

describe("what is shown of a cluster", () => {
  let world: FakeEngine;
  let host: NodeKey;
  beforeEach(async () => {
    world = await FakeEngine.running(
      desiredOf([cluster(), member, machineSet("set", 2), machineDeployment("web", 1)]),
    );
    host = named(await viewOf(world), "cp-0").machine.host;
  });

  it("says in which failure domain a Machine is, where any are offered", async () => {
    assert.equal(statusOf(await viewOf(world)).failureDomain, undefined);
    const failureDomains = ["local-b", "local-c"];
    const spread = await FakeEngine.running(
      desiredOf([cluster({ failureDomains }), member, machine("db", { zone: "local-a" })]),
    );
    const view = await viewOf(spread);
    assert.equal(statusOf(view).failureDomain, "local-b");
    const written = machineStatusOf(live(machine("db")), named(view, "db"), input(view));
    assert.equal(written.failureDomain, "local-a");
  });

  describe("phases of a Machine", () => {
    const cases: {
      name: string;
      about: (view: ClusterView) => Partial<ClusterView>;
      want: string;
    }[] = [
      { name: "runs", about: () => ({}), want: "Running" },
      {
        name: "is not known when nobody looked",
        about: () => ({ observedResources: new Map() }),
        want: "Unknown",
      },
      {
        name: "has failed when its host is gone",
        about: ({ observedResources }) => ({
          observedResources: new Map(observedResources).set(host, "gone"),
        }),
        want: "Failed",
      },
      {
        name: "boots",
        about: ({ observedResources }) => seenAs(observedResources, { phase: "pending" }),
        want: "Provisioning",
      },
      {
        name: "has failed when its host has",
        about: ({ observedResources }) => seenAs(observedResources, { phase: "failed" }),
        want: "Failed",
      },
      {
        name: "goes with its cluster",
        about: () => ({ phase: "Deleting" }),
        want: "Terminating",
      },
    ];
    function seenAs(
      observedResources: ClusterView["observedResources"],
      about: object,
    ): Partial<ClusterView> {
      const known = observedResources?.get(host);
      assert.ok(known !== undefined && known !== "gone");
      return { observedResources: new Map(observedResources).set(host, { ...known, ...about }) };
    }
    for (const { name, about, want } of cases) {
      it(name, async () => {
        const view = await viewOf(world);
        assert.equal(named({ ...view, ...about(view) }, "cp-0").phase, want);
      });
    }

    it("is pending before its host is recorded", async () => {
      const empty = new FakeEngine();
      const planned = (await empty.plan(desiredOf([cluster(), member]))).target;
      const view = await viewOf(empty, { planned, isSettled: false });
      assert.equal(named(view, "cp-0").phase, "Pending");
    });
  });

  it("counts machines as the cloud shows them, and only those that are wanted as ready", async () => {
    const status = clusterStatusOf(live(cluster()), input(await viewOf(world)));
    assert.deepEqual(status.machines, {
      desired: 4,
      current: 4,
      ready: 4,
      failed: 0,
      summary: "4/4",
    });
    const blind = await viewOf(world, { observedResources: new Map() });
    assert.equal(clusterStatusOf(live(cluster()), input(blind)).machines?.ready, 0);
  });

  it("tells of the transaction under way, with no more than a few of its keys", async () => {
    const keys = Array.from({ length: 30 }, (_, number) => `LocalHost/h${number}` as NodeKey);
    const view = await viewOf(world, { phase: "Updating", progress: { ...progress, keys } });
    const { transaction } = clusterStatusOf(live(cluster()), input(view));
    assert.equal(transaction?.doing?.length, 13);
    assert.equal(transaction.doing.at(-1), "and 18 more");
    assert.equal(transaction.startedAt, "1970-01-01T00:00:00Z");
  });

  it("says what only a person can mend in the fields for it, and nothing there otherwise", async () => {
    const terminalError = { reason: "UnsupportedChange", message: "no way" } as const;
    const broken = clusterStatusOf(live(cluster()), input(await viewOf(world, { terminalError })));
    assert.deepEqual([broken.errorReason, broken.errorMessage], ["UnsupportedChange", "no way"]);
    const well = clusterStatusOf(live(cluster()), input(await viewOf(world)));
    assert.ok(!("errorReason" in well) && !("errorMessage" in well));
  });

  it("counts a set's machines, and what is not ready as not available", async () => {
    const view = await viewOf(world);
    const of = (seen: ClusterView) =>
      machinesOf(seen).filter(({ machine: one }) => one.owner?.machineSet === "set");
    const set = live(machineSet("set", 2));
    const status = machineSetStatusOf(set, of(view), input(view));
    assert.deepEqual(
      [status.replicas, status.readyReplicas, status.availableReplicas, status.observedGeneration],
      [2, 2, 2, 4],
    );
    assert.equal(status.labelSelector, "set=set");
    const unseen = { ...view, observedResources: new Map() };
    assert.equal(machineSetStatusOf(set, of(unseen), input(unseen)).readyReplicas, 0);
  });

  it("counts no machine as available before minReadySeconds are over", async () => {
    const view = await viewOf(world);
    const [one] = machinesOf(view).filter(({ machine: { owner } }) => owner?.machineSet === "set");
    assert.ok(one !== undefined);
    const since = { ...one, readySinceMs: 10_000 };
    const counted = (nowMs: number) =>
      rolloutSetOf("set", [since], { isNew: true, minReadySeconds: 30, nowMs }).machines[0];
    assert.equal(counted(39_000)?.available, false);
    assert.equal(counted(40_001)?.available, true);
  });

  it("counts a machine as ready for as long as its Node says so", async () => {
    const view = await viewOf(world);
    const saying = (status: "True" | "Unknown") => {
      const condition = { type: "Ready", status, lastTransitionTime: "2026-11-26T00:00:10Z" };
      const told = [...view.observedResources!].map(([key, one]): [NodeKey, ObservedResource] => {
        const isIt =
          one !== "gone" && one.who.kind === "LocalHost" && one.who.name.startsWith("cp-0");
        return [key, isIt ? { ...one, node: { kubelet: "1.34.2", conditions: [condition] } } : one];
      });
      const shown = { ...view, observedResources: new Map(told) };
      const machine = machinesOf(shown).find(({ machine: { name } }) => name === "cp-0");
      return [
        clusterStatusOf(live(cluster()), input(shown)).machines?.ready,
        machine?.readySinceMs,
      ];
    };
    assert.deepEqual(saying("True"), [4, Date.parse("2026-11-26T00:00:10Z")]);
    assert.equal(saying("Unknown")[0], 3);
  });

  it("counts a deployment's machines over all of its sets", () => {
    const none = { name: "web-old", isNew: false, replicas: 0, machines: [] };
    const status = machineDeploymentStatusOf(
      live(machineDeployment("web", 1)),
      { sets: [none, { ...none, isNew: true, replicas: 1 }], members: [], updated: 0 },
      nothing,
    );
    assert.deepEqual(
      [status.replicas, status.unavailableReplicas, status.observedGeneration],
      [0, 1, 2],
    );
  });

  describe("a Machine's last operation", () => {
    const at = (about: Partial<ClusterView>) => viewOf(world, { isSettled: false, ...about });

    it("begins when its host is worked on, and its time stands still while it goes on", async () => {
      const view = await at({ progress: { ...progress, keys: [host] }, nowMs: 5_000 });
      const begun = statusOf(view).lastOperation;
      assert.deepEqual(
        [begun?.state, begun?.description, begun?.lastUpdated],
        ["Processing", "hosts are made", timeText(5_000)],
      );
      const later = statusOf({ ...view, nowMs: 9_000 }, { lastOperation: begun } as MachineStatus);
      assert.deepEqual(later.lastOperation, begun);
    });

    it("ends when nothing is done any more, and stays so", async () => {
      const begun = statusOf(await at({ progress: { ...progress, keys: [host] } }));
      const ended = statusOf(await at({ nowMs: 9_000 }), begun);
      assert.deepEqual(
        [ended.lastOperation?.state, ended.lastOperation?.lastUpdated],
        ["Successful", timeText(9_000)],
      );
      assert.deepEqual(
        statusOf(await at({ nowMs: 20_000 }), ended).lastOperation,
        ended.lastOperation,
      );
    });

    it("is not there for who was never worked on", async () => {
      assert.equal(statusOf(await at({ progress })).lastOperation, undefined);
    });
  });
});

describe("a set's selector as text", () => {
  for (const { name, selector, want } of [
    {
      name: "of labels, in order",
      selector: { matchLabels: { tier: "b", app: "a" } },
      want: "app=a,tier=b",
    },
    {
      name: "of expressions",
      selector: {
        matchLabels: { app: "a" },
        matchExpressions: [
          { key: "tier", operator: "In", values: ["x", "y"] },
          { key: "zone", operator: "NotIn", values: ["z"] },
          { key: "gpu", operator: "Exists" },
          { key: "spot", operator: "DoesNotExist" },
        ],
      },
      want: "app=a,tier in (x,y),zone notin (z),gpu,!spot",
    },
  ]) {
    it(name, () => {
      const set = live(machineSet("set", 1), { spec: { selector } });
      assert.equal(machineSetStatusOf(set, [], nothing).labelSelector, want);
    });
  }
});
