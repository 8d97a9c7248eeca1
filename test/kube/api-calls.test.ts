import assert from "node:assert/strict";
import { callOf } from "../../src/kube/api-calls.js";

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
