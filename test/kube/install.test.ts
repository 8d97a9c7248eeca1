import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { KubeConfig } from "@kubernetes/client-node";
import { customResourceDefinitions, definitionsVersionAnnotation } from "../../src/api/crd.js";
import { installDefinitions } from "../../src/kube/install.js";
import { failsWith } from "../support/errors.js";

/** As an API server has a definition that Kubermatic's machine-controller has installed. */
function kubermatics(plural: string) {
  return {
    metadata: {
      name: `${plural}.cluster.k8s.io`,
      annotations: { "api-approved.kubernetes.io": "unapproved, legacy API" },
      managedFields: [{ manager: "kubectl" }, { manager: "kube-apiserver" }],
    },
    spec: {
      group: "cluster.k8s.io",
      versions: [
        {
          name: "v1alpha1",
          additionalPrinterColumns:
            plural === "machines"
              ? [{ name: "Provider", jsonPath: ".spec.providerSpec.value.cloudProvider" }]
              : [],
        },
      ],
    },
  };
}

describe("installDefinitions", () => {
  const definitions = customResourceDefinitions();
  let server: Server;
  let held: Map<string, object>;
  let writes: string[];
  beforeEach(async () => {
    held = new Map();
    writes = [];
    server = createServer((request, response) => {
      request.resume();
      const [, name = ""] = /customresourcedefinitions\/([^/?]+)/.exec(request.url ?? "") ?? [];
      if (request.method !== "GET") writes.push(name);
      const found = held.get(name);
      response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(found ?? { kind: "Status", message: "not found" }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const install = (force: boolean) => {
    const config = new KubeConfig();
    const { port } = server.address() as AddressInfo;
    config.loadFromOptions({
      clusters: [{ name: "c", server: `http://127.0.0.1:${port}`, skipTLSVerify: true }],
      users: [{ name: "u" }],
      contexts: [{ name: "x", cluster: "c", user: "u" }],
      currentContext: "x",
    });
    const { signal } = new AbortController();
    return installDefinitions(config, {
      definitions,
      dryRun: false,
      force,
      signal,
      onInstalled: () => {},
    });
  };

  for (const force of [false, true]) {
    it(`touches no definition of another product, ${force ? "by force either" : "and names it"}`, async () => {
      for (const plural of ["machines", "machinesets"]) {
        held.set(`${plural}.cluster.k8s.io`, kubermatics(plural));
      }
      await assert.rejects(
        install(force),
        failsWith(
          "NOT_OURS",
          /machines\.cluster\.k8s\.io.*machinesets\.cluster\.k8s\.io: .*Kubermatic machine-controller/,
        ),
      );
      assert.deepEqual(writes, []);
    });
  }

  it("recommends nothing that breaks the other product", async () => {
    held.set("machinesets.cluster.k8s.io", kubermatics("machinesets"));
    const error = await install(false).catch((one: unknown) => one);
    assert.ok(failsWith("NOT_OURS", /written by kubectl/)(error));
    assert.match((error as { hint: string }).hint, /another API server.*--force does not/);
  });

  it("still replaces a newer release of its own by force", async () => {
    const [definition] = definitions;
    assert.ok(definition !== undefined);
    const annotations = {
      ...definition.metadata.annotations,
      [definitionsVersionAnnotation]: "99",
    };
    held.set(definition.metadata.name, {
      ...definition,
      metadata: { ...definition.metadata, annotations },
    });
    await assert.rejects(install(false), failsWith("SCHEMA_NEWER"));
    // The server of this test knows no other definition.
    await assert.rejects(install(true), failsWith("API_SERVER"));
    assert.equal(writes[0], definition.metadata.name);
  });
});
