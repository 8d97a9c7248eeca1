import { randomUUID } from "node:crypto";
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { KubeConfig } from "@kubernetes/client-node";
import { ControllerManager } from "../../src/controller/controller-manager.js";
import { createLog } from "../../src/controller/log.js";
import { systemClock } from "../../src/provider/clock.js";
import { until } from "../scenario/until.js";
import { failsWith } from "../support/errors.js";
import { localProvider } from "../support/manifests.js";

describe("ControllerManager", () => {
  let server: Server;
  /** What the API server answers to everything, unless it has another answer for a path. */
  let status: number;
  let answers: Map<string, object>;
  let asked: string[];
  let lines: string[];
  let stop: AbortController;

  beforeEach(async () => {
    [status, lines, stop] = [503, [], new AbortController()];
    answers = new Map();
    asked = [];
    server = createServer(({ url = "" }, response) => {
      asked.push(url);
      const answer = answers.get(url);
      response.writeHead(answer === undefined ? status : 200, {
        "content-type": "application/json",
      });
      const refusal = { kind: "Status", message: "so says the test", code: status };
      response.end(JSON.stringify(answer ?? refusal));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(() => {
    stop.abort();
    server.close();
    server.closeAllConnections();
  });

  function manager(): ControllerManager {
    const config = new KubeConfig();
    const { port } = server.address() as AddressInfo;
    config.loadFromOptions({
      clusters: [{ name: "c", server: `http://127.0.0.1:${port}`, skipTLSVerify: true }],
      users: [{ name: "u" }],
      contexts: [{ name: "x", cluster: "c", user: "u" }],
      currentContext: "x",
    });
    const never = new AbortController().signal;
    return new ControllerManager({
      settings: {
        clock: systemClock,
        by: "test",
        interruption: { stop: stop.signal, kill: never },
        engines: 1,
        concurrency: 1,
        periodMs: 1_000,
        timeoutMs: 1_000,
        deadlineMs: 1_000,
        notice: () => {},
        onListingFailure: () => {},
        newUuid: randomUUID,
      },
      config,
      providers: [localProvider()],
      openWorkspace: () => Promise.reject(new Error("nobody was elected")),
      leaseNamespace: "default",
      metricsAddress: "127.0.0.1:0",
      clusterMetrics: false,
      version: "0.0.0",
      log: createLog({ level: "debug", redact: (text) => text, write: (line) => lines.push(line) }),
      redact: (text) => text,
      overrun: () => assert.fail("no lease was held"),
    });
  }

  function served(): Promise<string> {
    const address = () => /metrics and probes on ([\d.:]+)/.exec(lines.join(""))?.[1];
    return until("the address of its metrics", address);
  }

  async function get(address: string, path: string): Promise<[number, string]> {
    const response = await fetch(`http://${address}${path}`);
    return [response.status, await response.text()];
  }

  it("is alive and not ready until its cache is in sync, and ends when it is told to", async () => {
    const work = manager().start();
    const address = await served();
    await until("a second try", () => lines.join("").includes("asks the API server again"));
    assert.deepEqual(await get(address, "/healthz"), [200, "ok\n"]);
    assert.deepEqual(await get(address, "/readyz"), [503, "objects not in sync\n"]);
    const [, metrics] = await get(address, "/metrics");
    assert.match(metrics, /^capstan_leader 0$/m);
    assert.match(metrics, /^capstan_api_calls_total{resource="namespaces".*} [1-9]/m);
    stop.abort(new Error("over"));
    await work;
    await assert.rejects(get(address, "/healthz"));
  });

  it("says once that our kinds are not there, and waits for capstan install", async () => {
    status = 404;
    answers.set("/api/v1/namespaces/kube-system", { metadata: { uid: "1" } });
    const ours = "/apis/cluster.k8s.io/v1alpha1";
    const work = manager().start();
    const first = `${ours}/clusters?limit=1`;
    const times = () => asked.filter((path) => path === first).length;
    await until("it has asked three times", () => times() >= 3);
    const told = lines.filter((line) => line.includes("waits for capstan install"));
    assert.equal(told.length, 1, lines.join("\n"));
    const isWatched = () => asked.some((path) => /clusters(\?watch.*)?$/.test(path));
    assert.equal(isWatched(), false);
    const plurals = ["clusters", "machines", "machinesets", "machinedeployments", "machineclasses"];
    for (const plural of plurals.concat("machinedrainrules", "machinehealthchecks")) {
      answers.set(`${ours}/${plural}?limit=1`, { items: [], metadata: {} });
    }
    // As of a server that has just learnt of them: it is no reason to warn anybody.
    status = 429;
    await until("it lists them", isWatched);
    const again = () => lines.filter((line) => line.includes("objects begins anew"));
    await until("it says that it asks again", () => again().length > 0);
    assert.deepEqual(
      again().filter((line) => line.includes('"warn"')),
      [],
    );
    stop.abort(new Error("over"));
    await work;
  });

  it("ends with what trying again cannot help, and serves nothing any more", async () => {
    status = 403;
    const work = manager().start();
    const [address] = await Promise.all([
      served(),
      assert.rejects(work, failsWith("API_SERVER", /cannot get Namespace/)),
    ]);
    await assert.rejects(get(address, "/healthz"));
  });
});
