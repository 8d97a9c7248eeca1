import assert from "node:assert/strict";
import type {
  ClusterStatus,
  MachineDeploymentStatus,
  MachineStatus,
} from "../../src/api/status.js";
import { cluster, machine, machineDeployment } from "../support/manifests.js";
import { FakeController } from "../support/fake-controller.js";

const member = machine("cp-0", { controlPlane: "1.34.2" });
const rolling = { maxSurge: 1, maxUnavailable: 0 };

/** What people see at one moment of a rolling update. */
interface Moment {
  readonly available: number;
  readonly ready: number;
  readonly clusterReady: number;
  readonly phases: readonly string[];
}

function momentOf({ server }: FakeController): Moment {
  const web = server.find("MachineDeployment web")?.status as MachineDeploymentStatus;
  const { machines } = server.find("Cluster prod")?.status as ClusterStatus;
  const phases = server
    .all()
    .filter(({ kind }) => kind === "Machine")
    .map(({ status = {} }) => (status as MachineStatus).phase ?? "none");
  return {
    available: web.availableReplicas ?? 0,
    ready: web.readyReplicas ?? 0,
    clusterReady: machines?.ready ?? 0,
    phases,
  };
}

/** Every moment of a rolling update of three machines, after each status of the Cluster. */
async function rollingUpdate(): Promise<readonly Moment[]> {
  const controller = new FakeController();
  controller.server.apply(cluster(), member, machineDeployment("web", 3, {}, rolling));
  assert.deepEqual(await controller.settle(), { kind: "done" });
  const moments: Moment[] = [];
  controller.server.beforeWrite = (write) => {
    if (write.kind !== "create" && write.on.kind === "Cluster") moments.push(momentOf(controller));
  };
  controller.server.apply(machineDeployment("web", 3, { size: "large" }, rolling));
  assert.deepEqual(await controller.settle(), { kind: "done" });
  moments.push(momentOf(controller));
  return moments;
}

describe("what is shown during a rolling update", () => {
  let moments: readonly Moment[];
  before(async () => {
    moments = await rollingUpdate();
    assert.ok(moments.length > 6, `${moments.length} moments`);
  });

  it("counts old machines for as long as their hosts serve", () => {
    for (const { available, ready, clusterReady } of moments) {
      const counts = [available, ready, clusterReady - 1];
      assert.ok(
        counts.every((count) => count === 3 || count === 4),
        counts.join(),
      );
    }
    assert.ok(moments.some(({ available }) => available === 4));
  });

  it("shows a machine as Terminating while its host is deleted, and no other", () => {
    const terminating = moments.map(
      ({ phases }) => phases.filter((phase) => phase === "Terminating").length,
    );
    assert.equal(Math.max(...terminating), 1);
    assert.equal(terminating.at(-1), 0);
  });

  it("lists no machine for long whose host is gone", () => {
    const listed = moments.map(({ phases }) => phases.length);
    // The member, three machines, and one more; a machine that was deleted is listed until the next status.
    assert.ok(Math.max(...listed) <= 7, listed.join());
    assert.ok(listed.indexOf(Math.max(...listed)) < listed.lastIndexOf(5), listed.join());
    assert.equal(listed.at(-1), 4);
  });
});
