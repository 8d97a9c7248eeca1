import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import { type AddressInfo, type Socket } from "node:net";
import {
  type Cluster,
  KubeConfig,
  type KubernetesObject,
  VersionApi,
  Watch,
} from "@kubernetes/client-node";
import { keepConnections } from "../../src/kube/kept-connections.js";
import { SteadyInformer } from "../../src/kube/steady-informer.js";
import { SteadyWatch } from "../../src/kube/steady-watch.js";
import { until } from "../scenario/until.js";
import { writeServerCertificate } from "../support/certificates.js";
import { scratchFolder } from "../support/scratch.js";

const library = "@kubernetes/client-node";

function configOf(cluster: Omit<Cluster, "name">): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: "server", ...cluster }, { name: "user", token: "t" });
  return config;
}

async function listening(server: Server | Http2SecureServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** What src/kube/kept-connections.ts takes for granted of a class that keeps it private. */
describe(`KubeConfig of ${library}`, () => {
  const scratch = scratchFolder();
  const sockets = new Set<Socket>();
  let server: Http2SecureServer;
  let url: string;
  let caFile: string;
  /** Of each request. */
  let versions: string[];
  /** Opened since the test began. */
  let connections: number;

  beforeEach(async () => {
    const { authority, certificate, key } = writeServerCertificate(scratch.path);
    caFile = authority;
    versions = [];
    connections = 0;
    const pem = { cert: readFileSync(certificate), key: readFileSync(key) };
    server = createSecureServer({ ...pem, allowHTTP1: true }, (request, response) => {
      versions.push(request.httpVersion);
      response.writeHead(200, { "content-type": "application/json" });
      response.end("{}");
    });
    server.on("secureConnection", (socket: Socket) => {
      connections += 1;
      sockets.add(socket);
    });
    url = `https://127.0.0.1:${await listening(server)}`;
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    server.close();
  });

  const requests = 6;
  const ask = async (config: KubeConfig) => {
    const api = config.makeApiClient(VersionApi);
    for (let count = 0; count < requests; count += 1) await api.getCode();
  };

  it("has the members that are replaced", () => {
    const config: object = configOf({ server: url, skipTLSVerify: false });
    for (const name of ["createDispatcher", "createDispatcherOptions"]) {
      const member: unknown = Reflect.get(config, name);
      assert.equal(
        typeof member,
        "function",
        `${library} has no KubeConfig.${name} any more, which src/kube/kept-connections.ts replaces`,
      );
    }
  });

  it("opens a connection for each request; kept ones serve all", async () => {
    await ask(configOf({ server: url, caFile, skipTLSVerify: false }));
    const shipped = connections;
    assert.equal(shipped, requests, `${library} keeps connections: keepConnections is of no use`);
    await ask(keepConnections(configOf({ server: url, caFile, skipTLSVerify: false })));
    const kept = connections - shipped;
    // One is free again only a moment after its answer.
    assert.ok(kept <= 2, `${library} does not take its connections from createDispatcher: ${kept}`);
  });

  it("speaks HTTP/2; over kept connections HTTP/1.1", async () => {
    await ask(configOf({ server: url, caFile, skipTLSVerify: false }));
    assert.deepEqual([...new Set(versions)], ["2.0"], `${library} does not ask for HTTP/2`);
    versions = [];
    await ask(keepConnections(configOf({ server: url, caFile, skipTLSVerify: false })));
    assert.deepEqual([...new Set(versions)], ["1.1"], `${library} ignores allowH2 of its options`);
  });

  it("says how it connects to a proxy, and through it", () => {
    const proxies = ["http://proxy:3128", "socks5://proxy:1080"];
    for (const proxyUrl of proxies) {
      const config = keepConnections(configOf({ server: url, proxyUrl, skipTLSVerify: false }));
      const options: object = config.createDispatcherOptions(config.getCurrentCluster(), {});
      const through: unknown = Reflect.get(options, "requestTls");
      assert.deepEqual(through, { allowH2: false }, `${library} has no requestTls for ${proxyUrl}`);
    }
  });
});

/** What src/kube/steady-watch.ts takes for granted of a class that keeps it private. */
describe(`Watch of ${library}`, () => {
  const shortMs = 1_000;
  /** No machine stands still for so long between two beats. */
  const longMs = 5_000;
  const beatMs = 50;
  let server: Server;
  let config: KubeConfig;
  let isTalkative: boolean;

  beforeEach(async () => {
    server = createServer((_, response) => {
      response.writeHead(200).flushHeaders();
      if (!isTalkative) return;
      const beat = () => response.write(`${JSON.stringify({ type: "BOOKMARK" })}\n`);
      const timer = setInterval(beat, beatMs);
      response.on("close", () => clearInterval(timer));
    });
    const url = `http://127.0.0.1:${await listening(server)}`;
    config = configOf({ server: url, skipTLSVerify: true });
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  async function watching(silenceMs: number) {
    const seen = { events: 0, ends: [] as unknown[] };
    const watch = new SteadyWatch(config, { silenceMs, onOpen: () => {}, onLost: () => {} });
    const controller = await watch.watch(
      "/watch",
      {},
      () => (seen.events += 1),
      (error) => seen.ends.push(error),
    );
    return { seen, controller };
  }

  it("has the time that is set", () => {
    assert.equal(
      typeof Reflect.get(new Watch(config), "requestTimeoutMs"),
      "number",
      `${library} has no Watch.requestTimeoutMs any more, which src/kube/steady-watch.ts sets`,
    );
  });

  it("is over when the API server has been silent for that time", async () => {
    isTalkative = false;
    const { seen } = await watching(shortMs);
    await until("the watch is over", () => seen.ends.length > 0, 30 * shortMs);
    const [end] = seen.ends;
    const why = `${library} ends a silent watch another way: ${String(end)}`;
    assert.ok(end instanceof DOMException && end.name === "TimeoutError", why);
  });

  it("goes on while the API server says anything", async () => {
    isTalkative = true;
    const { seen, controller } = await watching(longMs);
    await until("more is told than fits into that time", () => seen.events > longMs / beatMs + 4);
    assert.deepEqual(seen.ends, [], `${library} counts Watch.requestTimeoutMs from the begin`);
    controller.abort();
  });
});

/** What src/kube/steady-informer.ts takes for granted of a class that keeps it private. */
describe(`ListWatch of ${library}`, () => {
  it("lists anew after a watch that the API server ends, and goes on after one that is silent", async () => {
    const asked: string[] = [];
    let isFirst = true;
    const server = createServer((request, response) => {
      asked.push(
        `watch from ${new URL(request.url ?? "", "http://a").searchParams.get("resourceVersion")}`,
      );
      response.writeHead(200).flushHeaders();
      if (isFirst) response.end();
      isFirst = false;
    });
    const url = `http://127.0.0.1:${await listening(server)}`;
    const versions = ["800", "500"];
    const informer = new SteadyInformer<KubernetesObject>({
      config: configOf({ server: url, skipTLSVerify: true }),
      random: () => 0,
      silenceMs: 500,
      path: "/watch",
      list: () => {
        asked.push("list");
        return Promise.resolve({
          items: [],
          metadata: { resourceVersion: versions.shift() ?? "" },
        });
      },
      onOpen: () => {},
      onPut: () => {},
      onRemove: () => {},
      onError: () => {},
    });
    informer.start();
    await until("it has watched three times", () => asked.length >= 5, 60_000);
    informer.stop();
    server.closeAllConnections();
    server.close();
    assert.deepEqual(asked.slice(0, 5), [
      "list",
      "watch from 800",
      "list",
      "watch from 500",
      "watch from 500",
    ]);
  });
});
