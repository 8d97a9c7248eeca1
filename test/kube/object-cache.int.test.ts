import assert from "node:assert/strict";
import { KubeConfig } from "@kubernetes/client-node";
import { KubeApi } from "../../src/kube/api.js";
import { keepConnections } from "../../src/kube/kept-connections.js";
import { ObjectCache } from "../../src/kube/object-cache.js";
import { until } from "../scenario/until.js";
import { ApiServer } from "../support/api-server.js";
import { cluster, machine, textOf } from "../support/manifests.js";
import { TcpRelay } from "../support/tcp-relay.js";

const prod = "default/prod";

async function answered(api: KubeApi): Promise<boolean> {
  return api.list("Machine").then(
    () => true,
    () => false,
  );
}

describe("ObjectCache on an API server", () => {
  let server: ApiServer;
  let cache: ObjectCache;
  let told: string[];
  let troubles: number;

  before(async () => {
    server = await ApiServer.start();
  });
  after(() => server.stop());
  beforeEach(async () => {
    await server.apply(textOf([cluster(), machine("a")]));
  });
  afterEach(async () => {
    cache.stop();
    await server.kubectl("delete", "machines,clusters", "--all");
  });

  async function follow(config: KubeConfig = server.config, silenceMs = 30_000): Promise<KubeApi> {
    told = [];
    troubles = 0;
    keepConnections(config);
    const api = new KubeApi(config);
    cache = new ObjectCache({
      config,
      api,
      random: Math.random,
      silenceMs,
      onChange: (key) => told.push(key),
      onError: () => (troubles += 1),
    });
    cache.start();
    await until("every kind is listed", () => cache.isSynced);
    return api;
  }

  function names(): string[] {
    return cache
      .clusterOf(prod)
      .members.map(({ metadata }) => metadata.name)
      .sort();
  }

  async function shows(...wanted: readonly string[]): Promise<void> {
    await until(`it shows ${wanted.join()}`, () => names().join() === wanted.join(), 120_000).catch(
      (error: unknown) => {
        throw new Error(`${String(error)}; it shows ${names().join()}`);
      },
    );
  }

  it("takes its own writes for known at once, and watches do not undo them", async () => {
    const api = await follow();
    const on = cache.clusterOf(prod).members[0];
    assert.ok(on !== undefined);
    const seen: string[] = [];
    for (let turn = 0; turn < 20; turn += 1) {
      const status = { status: { phase: turn % 2 === 0 ? "Running" : "Pending" } };
      const result = await api.write({ kind: "status", on, patch: status });
      assert.ok(result.kind === "written");
      cache.accept({ ...result.object, kind: "Machine" });
      const known = cache.clusterOf(prod).members[0]?.metadata.resourceVersion ?? "";
      seen.push(known);
      assert.equal(known, result.object.metadata.resourceVersion);
    }
    assert.deepEqual(
      seen,
      [...seen].sort((left, right) => Number(left) - Number(right)),
    );
  });

  it("tells what became of a write", async () => {
    const api = await follow();
    const on = cache.clusterOf(prod).members[0];
    assert.ok(on !== undefined);
    const { resourceVersion } = on.metadata;
    const patch = { metadata: { resourceVersion, finalizers: ["capstan.dev/test"] } };
    const held = await api.write({ kind: "patch", on, patch });
    assert.ok(held.kind === "written");
    assert.equal((await api.write({ kind: "patch", on, patch })).kind, "conflict");
    const going = await api.write({ kind: "delete", on });
    assert.ok(going.kind === "written" && going.object.metadata.deletionTimestamp !== undefined);
    cache.accept({ ...going.object, kind: "Machine" });
    const free = { metadata: { finalizers: null } };
    const gone = await api.write({ kind: "patch", on, patch: free });
    assert.ok(gone.kind === "written");
    cache.accept({ ...gone.object, kind: "Machine" });
    assert.deepEqual(names(), []);
    assert.equal((await api.write({ kind: "patch", on, patch: free })).kind, "gone");
    assert.equal(await api.read(on), undefined);
    await server.apply(textOf([machine("a")]));
    await shows("a");
    assert.equal(
      (await api.write({ kind: "delete", on })).kind,
      "conflict",
      "another of that name",
    );
    const now = await api.read(on);
    assert.notEqual(now?.metadata.uid, on.metadata.uid);
  });

  it("finds out what happened while its API server was away", async () => {
    await follow();
    await server.kill();
    await until("the loss is told", () => troubles > 0);
    await server.restart();
    // Before it has come back: its next watch begins with what was, or with a list where that is too old.
    await server.kubectl("delete", "machine", "a");
    await server.apply(textOf([machine("c")]));
    await shows("c");
    await server.kill();
    await server.restart();
    await server.apply(textOf([machine("d")]));
    await shows("c", "d");
  });

  it("goes on after its API server has hung", async () => {
    await follow(server.config, 2_000);
    await server.pause(5_000);
    await server.apply(textOf([machine("b")]));
    await shows("a", "b");
  });

  it("notices a connection that was lost without a word", async () => {
    const relay = await TcpRelay.to(Number(new URL(server.url).port));
    try {
      const config = new KubeConfig();
      config.loadFromOptions({
        clusters: [
          { ...server.config.getCurrentCluster(), server: `https://127.0.0.1:${relay.port}` },
        ],
        users: server.config.getUsers(),
        contexts: server.config.getContexts(),
        currentContext: server.config.getCurrentContext(),
      });
      const api = await follow(config, 2_000);
      assert.ok(relay.lose() > 0);
      await server.apply(textOf([machine("b")]));
      await until("a request is answered", () => answered(api));
      await until("it shows what came since", () => names().includes("b"));
    } finally {
      cache.stop();
      relay.stop();
    }
  });

  it("opens nothing any more once it is stopped", async () => {
    await follow(server.config, 500);
    cache.stop();
    const count = told.length;
    await server.apply(textOf([machine("b")]));
    await until(
      "the server has it",
      async () => (await server.kubectl("get", "machine", "b")).code === 0,
    );
    assert.equal(told.length, count);
    assert.deepEqual(names(), ["a"]);
  });
});
