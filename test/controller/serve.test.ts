import assert from "node:assert/strict";
import { connect } from "node:net";
import {
  type Operations,
  type OperationsServer,
  parseAddress,
  serveOperations,
} from "../../src/controller/serve.js";
import { failsWith } from "../support/errors.js";

describe("parseAddress", () => {
  const cases: readonly (readonly [string, object])[] = [
    [":8080", { port: 8080 }],
    ["127.0.0.1:0", { host: "127.0.0.1", port: 0 }],
    ["localhost:9", { host: "localhost", port: 9 }],
    ["[::1]:8080", { host: "::1", port: 8080 }],
  ];
  for (const [address, want] of cases) {
    it(`takes ${address}`, () => assert.deepEqual(parseAddress(address), want));
  }
  for (const address of [
    "8080",
    "",
    ":",
    ":x",
    ":70000",
    "::1:80",
    "http://a:80",
    "a:80/metrics",
  ]) {
    it(`refuses ${JSON.stringify(address)}`, () => {
      assert.throws(() => parseAddress(address), failsWith("BAD_USAGE", /cannot serve metrics on/));
    });
  }
});

describe("serveOperations", () => {
  let server: OperationsServer;
  let problems: { dead: string[]; unready: string[] };
  let metrics: Operations["metrics"];

  beforeEach(async () => {
    problems = { dead: [], unready: [] };
    metrics = async () => ({
      contentType: "text/plain; version=0.0.4",
      body: "capstan_leader 1\n",
    });
    server = await serveOperations("127.0.0.1:0", {
      metrics: () => metrics(),
      whyNotAlive: () => problems.dead,
      whyNotReady: () => problems.unready,
    });
  });
  afterEach(() => server.close());

  async function get(path: string, init: RequestInit = {}) {
    const response = await fetch(`http://${server.address}${path}`, init);
    return { status: response.status, body: await response.text(), headers: response.headers };
  }

  it("says that all is well", async () => {
    for (const path of ["/healthz", "/readyz", "/readyz?verbose=1"]) {
      const { status, body } = await get(path);
      assert.deepEqual({ status, body }, { status: 200, body: "ok\n" }, path);
    }
  });

  it("says what is not, and tells dead from not ready", async () => {
    problems.unready = ["Clusters not in sync", "Machines not in sync"];
    assert.equal((await get("/healthz")).status, 200);
    const ready = await get("/readyz");
    assert.equal(ready.status, 503);
    assert.equal(ready.body, "Clusters not in sync\nMachines not in sync\n");
    problems.dead = ["the queue has not moved"];
    assert.equal((await get("/healthz")).status, 503);
  });

  it("shows the metrics as what they are", async () => {
    const { status, body, headers } = await get("/metrics");
    assert.deepEqual({ status, body }, { status: 200, body: "capstan_leader 1\n" });
    assert.equal(headers.get("content-type"), "text/plain; version=0.0.4");
  });

  it("does not tell why metrics cannot be read", async () => {
    metrics = () => Promise.reject(new Error("password hunter2"));
    const { status, body } = await get("/metrics");
    assert.equal(status, 500);
    assert.ok(!body.includes("hunter2"));
  });

  it("has nothing else, and changes nothing", async () => {
    assert.equal((await get("/")).status, 404);
    assert.equal((await get("/metrics/../etc/passwd")).status, 404);
    assert.equal((await get("/metrics", { method: "POST", body: "x" })).status, 405);
    const head = await get("/healthz", { method: "HEAD" });
    assert.deepEqual([head.status, head.body], [200, ""]);
  });

  it("refuses headers that no probe sends", async () => {
    const { status } = await get("/healthz", { headers: { "x-long": "a".repeat(20_000) } });
    assert.equal(status, 431);
  });

  it("says so when the address is taken", async () => {
    const second = serveOperations(server.address, {
      metrics: () => metrics(),
      whyNotAlive: () => [],
      whyNotReady: () => [],
    });
    await assert.rejects(second, failsWith("BAD_USAGE", /EADDRINUSE/));
  });

  it("closes although somebody holds a connection open", async () => {
    const [host, port] = server.address.split(":");
    const idle = connect(Number(port), host);
    await new Promise((resolve) => idle.once("connect", resolve));
    idle.write("GET /healthz HTTP/1.1\r\n");
    const ended = new Promise((resolve) => idle.once("close", resolve));
    idle.on("error", () => undefined);
    await server.close();
    await ended;
    await assert.rejects(get("/healthz"));
  });
});
