import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isCapstanError } from "../../src/api/error.js";
import type { Kind } from "../../src/api/schema.js";
import type { Condition } from "../../src/api/status.js";
import { KubeApi } from "../../src/kube/api.js";
import { writeStages } from "../../src/kube/api-write.js";
import { clusterKeyOf, liveClusterOf, type LiveObject } from "../../src/kube/live-object.js";
import { projectionOf } from "../../src/kube/projection.js";
import { noCertificates } from "../../src/source/certificate-report.js";
import type { ClusterView } from "../../src/source/cluster-view.js";
import { until } from "../scenario/until.js";
import { ApiServer } from "../support/api-server.js";
import { viewOf } from "../support/cluster-views.js";
import { FakeEngine } from "../support/fake-engine.js";
import { removeFolder } from "../support/folders.js";
import {
  cluster,
  desiredOf,
  localProvider,
  machine,
  machineDeployment,
  type Manifest,
} from "../support/manifests.js";
import { changed } from "./refusals.js";

const shown: readonly Kind[] = ["Cluster", "Machine", "MachineSet", "MachineDeployment"];
/** Whose user leaves its versions out. */
const unversioned = changed(machine("db"), ["spec", "versions"], undefined);
const objects = [
  cluster(),
  machine("cp-0", { controlPlane: "1.34.2" }),
  unversioned,
  machineDeployment("web", 1),
];
const foreign = {
  type: "Backup",
  status: "True",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  reason: "Done",
  message: "by another controller",
};

describe("objects that Capstan shares with users and other controllers", function () {
  this.timeout(10 * 60_000);
  let server: ApiServer;
  let api: KubeApi;
  let engine: FakeEngine;
  let folder: string;
  before(async () => {
    server = await ApiServer.start();
    api = new KubeApi(server.config);
    engine = await FakeEngine.running(desiredOf(objects));
    folder = mkdtempSync(join(tmpdir(), "capstan-owners-"));
    assert.equal((await applied(...objects)).code, 0);
    await show({});
  });
  after(async () => {
    await server.stop();
    removeFolder(folder);
  });

  /** What `kubectl apply --server-side` of a user says. */
  const applied = (...manifests: readonly Manifest[]) => {
    const file = join(folder, "objects.json");
    const items = manifests;
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    return server.kubectl("apply", "--server-side", "-n", "default", "-f", file);
  };

  /** A server that has only just learnt of a kind asks to come back. */
  const all = (): Promise<LiveObject[]> =>
    until("our kinds are listed", async () => {
      try {
        const lists = await Promise.all(shown.map((kind) => api.list(kind)));
        return lists.flatMap(({ items }) => items);
      } catch (error) {
        if (isCapstanError(error) && error.retryable) return undefined;
        throw error;
      }
    });

  /** Shows the cluster as `about` says, until nothing is left to write. */
  const show = async (about: Partial<ClusterView>): Promise<void> => {
    const view = await viewOf(engine, about);
    for (let round = 0; round < 8; round += 1) {
      const own = (await all()).filter((one) => clusterKeyOf(one) === "default/prod");
      const writes = projectionOf(liveClusterOf("default/prod", own, []), {
        view,
        provider: localProvider(),
        certificates: noCertificates,
        generationOf: ({ metadata }) => metadata.generation,
        redact: (text) => text,
      });
      const [stage] = writeStages(writes);
      if (stage === undefined) return;
      for (const write of stage) await api.write(write);
    }
    assert.fail("there is no end to what is written");
  };

  const conditionsOf = async (kind: Kind, name: string): Promise<readonly Condition[]> => {
    const found = await api.read({ kind, metadata: { namespace: "default", name } });
    return (found?.status?.["conditions"] ?? []) as readonly Condition[];
  };

  it("lets a user apply other versions than those that were written back", async () => {
    const at = { kind: "Machine" as const, metadata: { namespace: "default", name: "db" } };
    const { versions } = (await api.read(at))?.spec ?? {};
    assert.deepEqual(versions, { kubelet: "1.34.2" });
    const { code, stderr } = await applied(machine("db", { kubelet: "1.34.1" }));
    assert.equal(code, 0, stderr);
    assert.deepEqual((await api.read(at))?.spec?.["versions"], { kubelet: "1.34.1" });
  });

  for (const [kind, name] of [
    ["Cluster", "prod"],
    ["Machine", "db"],
    ["MachineDeployment", "web"],
  ] as const) {
    it(`keeps the condition of another controller on a ${kind}, and drops its own that are over`, async () => {
      const before = await conditionsOf(kind, name);
      const patch = JSON.stringify({ status: { conditions: [...before, foreign] } });
      const args = ["--subresource=status", "--type=merge", "-n", "default", "-p", patch];
      const { code, stderr } = await server.kubectl("patch", kind, name, ...args);
      assert.equal(code, 0, stderr);
      await show({ phase: "Deleting", isSettled: false });
      const during = await conditionsOf(kind, name);
      const typesOf = (conditions: readonly Condition[]) =>
        conditions.map(({ type }) => type).sort();
      const ready = during.find(({ type }) => type === "Ready");
      assert.equal(kind === "Cluster" ? ready?.status : "", kind === "Cluster" ? "False" : "");
      assert.deepEqual(
        during.find(({ type }) => type === "Backup"),
        foreign,
      );
      assert.equal(typesOf(during).includes("Deleting"), kind === "Machine");
      await show({});
      const after = await conditionsOf(kind, name);
      assert.deepEqual(typesOf(after), typesOf([...before, foreign]));
      assert.deepEqual(
        after.find(({ type }) => type === "Backup"),
        foreign,
      );
    });
  }
});
