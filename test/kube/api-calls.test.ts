import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { CustomObjectsApi, KubeConfig } from "@kubernetes/client-node";
import { callOf, observeApiCalls } from "../../src/kube/api-calls.js";

describe("callOf", () => {
  const machines = "/apis/cluster.k8s.io/v1alpha1/namespaces/default/machines";
  const cases: readonly (readonly [string, string, string])[] = [
    [`GET ${machines}`, "list", "machines.cluster.k8s.io"],
    [`GET ${machines}/m-1`, "get", "machines.cluster.k8s.io"],
    [`GET ${machines}?watch=true&resourceVersion=1`, "watch", "machines.cluster.k8s.io"],
    ["GET /apis/cluster.k8s.io/v1alpha1/machines?watch=1", "watch", "machines.cluster.k8s.io"],
    [`POST ${machines}?dryRun=All`, "create", "machines.cluster.k8s.io"],
    [`PUT ${machines}/m-1/status`, "update", "machines.cluster.k8s.io/status"],
    [`PATCH ${machines}/m-1`, "patch", "machines.cluster.k8s.io"],
    [`DELETE ${machines}/m-1`, "delete", "machines.cluster.k8s.io"],
    [`DELETE ${machines}`, "deletecollection", "machines.cluster.k8s.io"],
    ["GET /api/v1/namespaces/kube-system", "get", "namespaces"],
    ["GET /api/v1/namespaces", "list", "namespaces"],
    ["GET /api/v1/namespaces/default/secrets/s", "get", "secrets"],
    ["GET /readyz", "get", "other"],
    ["GET /apis/cluster.k8s.io/v1alpha1", "get", "other"],
  ];
  for (const [request, verb, resource] of cases) {
    it(`${request} is ${verb} ${resource}`, () => {
      const [method = "", path = ""] = request.split(" ");
      assert.deepEqual(callOf(method, path), { verb, resource });
    });
  }
});

describe("observeApiCalls", () => {
  const statuses = [200, 403, 404, 409, 410, 422, 429, 500];
  let server: Server;
  let url: string;
  let told: string[];
  let end: () => void;

  beforeEach(async () => {
    server = createServer((request, response) => {
      const name = new URL(request.url ?? "", "http://server").pathname.split("/").at(-1);
      response.writeHead(Number(name), { "content-type": "application/json" });
      response.end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    told = [];
    end = observeApiCalls(url, ({ verb, resource, outcome }) => {
      told.push(`${verb} ${resource} ${outcome}`);
    });
  });
  afterEach(() => {
    end();
    server.close();
    server.closeAllConnections();
  });

  async function get(base: string, name: string): Promise<void> {
    const config = new KubeConfig();
    config.loadFromOptions({
      clusters: [{ name: "c", server: base, skipTLSVerify: true }],
      users: [{ name: "u" }],
      contexts: [{ name: "x", cluster: "c", user: "u" }],
      currentContext: "x",
    });
    const api = config.makeApiClient(CustomObjectsApi);
    const place = { group: "cluster.k8s.io", version: "v1alpha1", plural: "machines" };
    await api.getNamespacedCustomObject({ ...place, namespace: "default", name }).catch(() => {});
  }

  it("tells of each request of the client library how it was answered", async () => {
    for (const status of statuses) await get(url, String(status));
    const outcomes = ["ok", "denied", "absent", "conflict", "expired", "refused", "throttled"];
    assert.deepEqual(
      told,
      [...outcomes, "failed"].map((outcome) => `get machines.cluster.k8s.io ${outcome}`),
    );
  });

  it("tells of one that nobody answered, once", async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await get(url, "200");
    assert.deepEqual(told, ["get machines.cluster.k8s.io unreachable"]);
  });

  it("tells nothing of other servers, and nothing once it was ended", async () => {
    await get(url.replace("127.0.0.1", "localhost"), "200");
    end();
    await get(url, "200");
    assert.deepEqual(told, []);
  });
});
