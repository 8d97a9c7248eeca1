import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { AddressInfo } from "node:net";
import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { type WebSocket, WebSocketServer } from "ws";
import { newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { reportOfEtcd } from "../../src/kube/etcd-members.js";
import { type TimeLimit, timeLimit } from "../../src/kube/time-limit.js";

const pod = {
  metadata: { name: "etcd-cp-0" },
  spec: { nodeName: "cp-0" },
};

/** An API server that lists one pod of etcd, and does with a connection to it what the test wants. */
async function apiServer(connected: (client: WebSocket) => void): Promise<Server> {
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ kind: "PodList", apiVersion: "v1", items: [pod] }));
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, connected);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}

function configOf(server: Server): KubeConfig {
  const config = new KubeConfig();
  const { port } = server.address() as AddressInfo;
  config.loadFromClusterAndUser(
    { name: "prod", server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: "capstan" },
  );
  return config;
}

/** What is said of an etcd whose one member cannot be asked. */
async function silenceOf(
  connected: (client: WebSocket) => void,
  limit: TimeLimit = timeLimit(10 * 60_000),
): Promise<string> {
  const server = await apiServer(connected);
  try {
    const config = configOf(server);
    const keys = await newClusterKeys(Date.now(), "ECDSA-P256");
    const api = config.makeApiClient(CoreV1Api);
    const access = { config, api, keys, nowMs: Date.now(), limit };
    const error = await reportOfEtcd([], access).then(
      () => assert.fail("it answered"),
      (reason: unknown) => reason as Error,
    );
    return error.message;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe("a question to a member of etcd", () => {
  for (const [when, connected] of [
    ["at once", (client: WebSocket) => client.close()],
    ["after the first word", (client: WebSocket) => client.on("message", () => client.close())],
    ["without a word", (client: WebSocket) => client.terminate()],
  ] as const) {
    it(`fails when its connection is closed ${when}, and does not wait for its deadline`, async () => {
      const message = await silenceOf(connected);
      assert.equal(message, "no member of etcd answers: its connection was closed");
    });
  }

  it("ends with whoever asks also where a member takes a connection and says nothing", async () => {
    const asker = new AbortController();
    const closings: Promise<unknown>[] = [];
    const connected = (client: WebSocket) => {
      // The first word of a handshake.
      client.on("message", () => asker.abort());
      closings.push(once(client, "close"));
    };
    const message = await silenceOf(connected, timeLimit(10 * 60_000, asker.signal));
    assert.match(message, /^no member of etcd answers: /);
    // Its socket ends then, and nobody waits for it any more.
    await Promise.all(closings);
    await pause(100);
  });

  it("ends with whoever asks", async () => {
    const asker = new AbortController();
    const ended = silenceOf(() => asker.abort(), timeLimit(10 * 60_000, asker.signal));
    assert.match(await ended, /^no member of etcd answers: no (?:answer|connection) within 5 s$/);
  });
});
