import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type { ClusterView } from "../../src/source/cluster-view.js";
import { KubeSource } from "../../src/kube/kube-source.js";
import type { LiveObject } from "../../src/kube/live-object.js";
import { viewOf } from "../support/cluster-views.js";
import { manifestsOf, type WantedCluster, wantedClusters } from "../support/wanted-cluster.js";
import { localProvider, machine } from "../support/manifests.js";
import { FakeApiServer } from "../support/fake-api-server.js";
import { FakeEngine } from "../support/fake-engine.js";
import { assertAsyncLaw } from "../support/laws.js";

const key = "default/prod";
const provider = localProvider();

/** Objects of a cluster that come, change and go in an API server, with an engine that follows them. */
class World {
  readonly server = new FakeApiServer();
  readonly engine = new FakeEngine();
  readonly source = new KubeSource({
    api: this.server.api,
    cache: this.server.cache,
    secrets: this.server.secrets.cache,
    clock: this.engine.clock,
    providers: [provider],
    owner: "kube-system",
    redact: (text) => text,
  });

  /** Makes the objects those of the wanted cluster; others of their users' go. */
  apply(wanted: WantedCluster): void {
    const objects = manifestsOf(wanted);
    const names = new Set(objects.map((one) => `${String(one["kind"])} ${nameOf(one)}`));
    for (const { kind, metadata } of this.server.all()) {
      const name = `${kind} ${metadata.name}`;
      if (metadata.ownerReferences?.some(({ controller }) => controller) === true) continue;
      if (!names.has(name)) this.server.delete(name);
    }
    this.server.apply(...objects);
  }

  digest(): string {
    return this.source.intentOf(key).digest;
  }

  /** Lets the engine bring about what the objects ask for. */
  async follow(): Promise<ClusterView> {
    const intent = this.source.intentOf(key, true);
    assert.equal(intent.kind, "want", JSON.stringify(intent));
    if (intent.kind === "want") await this.engine.settle(intent.desired);
    return viewOf(this.engine);
  }
}

function nameOf(manifest: Readonly<Record<string, unknown>>): string {
  return (manifest["metadata"] as { name: string }).name;
}

/** Kept by somebody else's controller, although it says that it belongs to the cluster. */
const foreign = {
  ...machine("elsewhere", { size: "small" }),
  metadata: {
    ...(machine("elsewhere")["metadata"] as object),
    ownerReferences: [
      { apiVersion: "example.com/v1", kind: "Pool", name: "pool", uid: "pool-1", controller: true },
    ],
  },
};

function derived(server: FakeApiServer, kind: string): string[] {
  return server
    .all()
    .filter((one: LiveObject) => one.kind === kind && one.metadata.name !== "elsewhere")
    .map(({ metadata }) => metadata.name)
    .sort();
}

const shownCluster = "Cluster prod";

function statusesIn(server: FakeApiServer): Map<string, LiveObject["status"]> {
  const all = server.all().map((one) => [`${one.kind} ${one.metadata.name}`, one.status] as const);
  return new Map(all);
}

describe("the projection onto an API server", () => {
  it("comes to an end, after which nothing is written, not even with time", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(fc.array(wantedClusters, { minLength: 1, maxLength: 3 }), async (steps) => {
        const world = new World();
        const { server, source } = world;
        server.apply(foreign);
        for (const wanted of steps) {
          world.apply(wanted);
          await source.claim(key);
          const asked = world.digest();
          const view = await world.follow();
          await source.show(key, view, provider);
          assert.ok(source.isShown(key, view, provider), "something is left to show");
          assert.equal(world.digest(), asked, "our own writes changed what is asked for");
          const effects = server.effects.length;
          const later = { ...view, nowMs: view.nowMs + 3_600_000 };
          await source.show(key, later, provider);
          assert.deepEqual(server.effects.slice(effects), [], "time alone was written");
          assert.deepEqual(server.trespasses(), []);
          assert.deepEqual(
            derived(server, "Machine"),
            (view.records.transaction?.target.machines ?? []).map(({ name }) => name).sort(),
          );
        }
      }),
      40,
    );
  });

  it("shows no sum before its parts", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(fc.array(wantedClusters, { minLength: 1, maxLength: 3 }), async (steps) => {
        const world = new World();
        const { server, source } = world;
        for (const wanted of steps) {
          world.apply(wanted);
          await source.claim(key);
          const view = await world.follow();
          const moments = [statusesIn(server)];
          server.beforeWrite = () => moments.push(statusesIn(server));
          await source.show(key, view, provider);
          server.beforeWrite = () => {};
          const last = statusesIn(server);
          const isNews = !isDeepStrictEqual(moments[0]?.get(shownCluster), last.get(shownCluster));
          for (const moment of isNews ? moments : []) {
            if (!isDeepStrictEqual(moment.get(shownCluster), last.get(shownCluster))) continue;
            for (const [name, status] of last) {
              assert.deepEqual(moment.get(name), status, `the Cluster was shown before ${name}`);
            }
          }
        }
      }),
      40,
    );
  });

  it("lets everything go in the end, and only once the Cluster is deleted", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(wantedClusters, fc.boolean(), async (wanted, isAllAtOnce) => {
        const world = new World();
        const { server, source } = world;
        server.apply(foreign);
        world.apply(wanted);
        await source.claim(key);
        await source.show(key, await world.follow(), provider);
        const names = server.all().map(({ kind, metadata }) => `${kind} ${metadata.name}`);
        await source.release(key);
        assert.equal(server.all().length, names.length, "something went with a Cluster that stays");
        const going = isAllAtOnce ? names : ["Cluster prod"];
        for (const name of going.filter((one) => one !== "Machine elsewhere")) server.delete(name);
        assert.ok(server.find("Cluster prod") !== undefined, "it went before we let it go");
        await source.show(key, await viewOf(world.engine, { phase: "Deleting" }), provider);
        await source.release(key);
        assert.deepEqual(
          server.all().map(({ metadata }) => metadata.name),
          ["elsewhere"],
        );
        assert.deepEqual(server.trespasses(), []);
      }),
      30,
    );
  });
});
