import assert from "node:assert/strict";
import { clusterFinalizer, machineFinalizer } from "../../src/kube/api-write.js";
import { releaseOf } from "../../src/kube/release.js";
import { controlledBy, deleted, live, liveCluster, written } from "../support/live-objects.js";

const holding = { finalizers: ["someone.else/keeps", machineFinalizer] };
const doomed = { metadata: { ...deleted, finalizers: [clusterFinalizer] } };

/** "delete Machine a", "free Machine a": what is written, in order. */
function said(...[cluster]: Parameters<typeof releaseOf>): string[] {
  return releaseOf(cluster).map((write) => {
    assert.ok(write.kind === "delete" || write.kind === "patch");
    const { kind, metadata } = write.on;
    return `${write.kind === "delete" ? "delete" : "free"} ${kind} ${metadata.name}`;
  });
}

describe("releaseOf", () => {
  const set = live(written("MachineSet", "set"));
  const deployment = live(written("MachineDeployment", "web"));
  const machine = live(written("Machine", "a"), { metadata: holding });

  for (const { name, given, want } of [
    {
      name: "touches nothing of a Cluster that nobody deletes: it may be another one of that name",
      given: liveCluster([machine], { metadata: { finalizers: [clusterFinalizer] } }),
      want: [],
    },
    {
      name: "touches nothing without a Cluster",
      given: { ...liveCluster(), cluster: undefined },
      want: [],
    },
    {
      name: "deletes members first, what makes others before what is made",
      given: liveCluster([machine, set, deployment], doomed),
      want: ["delete MachineDeployment web", "delete Machine a", "delete MachineSet set"],
    },
    {
      name: "frees what is being deleted",
      given: liveCluster([live(machine as never, { metadata: deleted })], doomed),
      want: ["free Machine a"],
    },
    {
      name: "frees the Cluster last",
      given: liveCluster(
        [live(set as never, { metadata: { ...deleted, finalizers: ["other"] } })],
        doomed,
      ),
      want: ["free Cluster prod"],
    },
    {
      name: "leaves alone what another controller keeps",
      given: liveCluster(
        [
          live(machine as never, {
            metadata: { ownerReferences: controlledBy("Pool", "p", "x/v1") },
          }),
        ],
        doomed,
      ),
      want: ["free Cluster prod"],
    },
    {
      name: "has nothing to do when all are free",
      given: liveCluster([], { metadata: deleted }),
      want: [],
    },
  ]) {
    it(name, () => {
      const { cluster, ...rest } = given;
      assert.deepEqual(said(cluster === undefined ? rest : { ...rest, cluster }), want);
    });
  }

  it("takes away its own finalizer alone, from the object that was read", () => {
    const [write] = releaseOf(liveCluster([live(machine as never, { metadata: deleted })], doomed));
    assert.deepEqual(write?.kind === "patch" && write.patch, {
      metadata: { finalizers: ["someone.else/keeps"], resourceVersion: "7" },
    });
  });
});
