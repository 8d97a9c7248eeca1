import assert from "node:assert/strict";
import { AppsV1Api, PolicyV1Api } from "@kubernetes/client-node";
import { kubernetesVersion } from "#kubernetes";
import { until } from "../../scenario/until.js";
import { ObjectChanges } from "../../support/object-changes.js";
import { type LaptopCluster, stack } from "./laptop-cluster.js";
import { isWorker, serves, stateOf, toldBy } from "./worker-courses.js";

/** Of kubelets, which may be older than the control plane. */
const older = "1.34.2";

/** Tests of laptop.int.test.ts, whose cluster they share. */
export function testWorkersInPlace(made: () => LaptopCluster): void {
  describe("whose workers are changed where they are", () => {
    let cluster: LaptopCluster;
    const labels = { app: "budgeted" };
    const namespace = "default";
    const nodesPath = "/api/v1/nodes";
    const podsPath = `/api/v1/namespaces/${namespace}/pods`;

    /** What the workers run: the tests come in any order. */
    let kubelet = kubernetesVersion;
    const otherKubelet = () => (kubelet === older ? kubernetesVersion : older);
    const workersOf = (theirs: string, deletion: object = {}) =>
      cluster.objects({ ...cluster.workers, kubelet: theirs, deletion, inPlace: true });

    const workers = async () => {
      const { items } = await cluster.core.listNode();
      return items.filter(isWorker);
    };
    const pods = async () => {
      const { items } = await cluster.core.listNamespacedPod({
        namespace,
        labelSelector: "app=budgeted",
      });
      return items;
    };
    const states = async () => (await workers()).map(stateOf);
    const allServe = () =>
      until(
        "both pods run",
        async () => (await pods()).filter(serves).length === 2,
        undefined,
        100,
      );
    let policy: PolicyV1Api;
    const budgetOf = async (minAvailable: number) => {
      const name = "budgeted";
      await policy.deleteNamespacedPodDisruptionBudget({ name, namespace }).catch(() => undefined);
      const spec = { minAvailable, selector: { matchLabels: labels } };
      const body = { metadata: { name }, spec };
      await policy.createNamespacedPodDisruptionBudget({ namespace, body });
      const counted = async () => {
        const budget = await policy.readNamespacedPodDisruptionBudget({ name, namespace });
        return budget.status?.disruptionsAllowed === 2 - minAvailable;
      };
      await until("the budget counts", counted, undefined, 100);
    };

    before(async () => {
      cluster = made();
      cluster.version = kubernetesVersion;
      cluster.write(workersOf(kubelet));
      await cluster.sandbox.up();
      policy = cluster.config.makeApiClient(PolicyV1Api);
      const containers = [{ name: "main", image: "none" }];
      await cluster.config.makeApiClient(AppsV1Api).createNamespacedDeployment({
        namespace,
        body: {
          metadata: { name: "budgeted" },
          spec: {
            replicas: 2,
            selector: { matchLabels: labels },
            template: { metadata: { labels }, spec: { containers } },
          },
        },
      });
      await allServe();
      await budgetOf(1);
    });

    it("are drained first within the budget of their pods, and take pods again", async () => {
      const [before, after] = [kubelet, otherKubelet()];
      await budgetOf(1);
      cluster.write(workersOf(after));
      assert.match(
        (await cluster.sandbox.plan(2)).stdout,
        /\(disruptive: the kubelet restarts\) \(drains first\)/,
      );
      const changes = await ObjectChanges.begin(cluster.config, [
        { path: nodesPath, list: async () => (await cluster.core.listNode()).items },
        {
          path: podsPath,
          list: async () => (await cluster.core.listNamespacedPod({ namespace })).items,
        },
      ]);
      await cluster.sandbox.up();
      kubelet = after;
      const { courses, disturbed, fewest } = toldBy(await changes.end(), {
        podsPath,
        disturbing: `cordoned ${after}`,
      });
      assert.deepEqual(
        [...courses.values()],
        Array.from({ length: 2 }, () => [
          `free ${before}`,
          `cordoned ${before}`,
          `cordoned ${after}`,
          `free ${after}`,
        ]),
      );
      assert.deepEqual(disturbed, [0, 0]);
      assert.ok(fewest >= 1, `${fewest} pods served`);
      await allServe();
      await cluster.sandbox.plan(0);
    });

    it("tell who keeps them, and are changed all the same once their time is over", async () => {
      await budgetOf(2);
      cluster.write(workersOf(otherKubelet(), { nodeDrainTimeoutSeconds: 5 }));
      const { stdout, stderr } = await cluster.sandbox.up();
      kubelet = otherKubelet();
      assert.match(
        stdout + stderr,
        /pods? ha(s|ve) to go first since \S+: default\/budgeted-\S+ \(Cannot evict pod/,
      );
      assert.deepEqual(await states(), [`free ${kubelet}`, `free ${kubelet}`]);
    });

    it("take pods again where the command that drains them is killed and its change taken back", async () => {
      // So that it does not come to its end before it is killed.
      await budgetOf(2);
      cluster.write(workersOf(otherKubelet()));
      const command = cluster.sandbox.startUp();
      const isCordoned = async () => (await states()).some((state) => state.startsWith("cordoned"));
      await until("one of them is drained", isCordoned, undefined, 50);
      await command.killTree();
      assert.ok(await isCordoned());
      await cluster.sandbox.capstan(0, "rollback", stack, "--yes");
      assert.deepEqual(await states(), [`free ${kubelet}`, `free ${kubelet}`]);
      await allServe();
    });
  });
}
