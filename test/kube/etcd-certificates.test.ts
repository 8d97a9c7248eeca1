import assert from "node:assert/strict";
import { createServer as createHttpServer, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { type WebSocket, WebSocketServer } from "ws";
import { timeText } from "../../src/api/time-text.js";
import { issueCertificate } from "../../src/bootstrap/certificates/certificate.js";
import { type ClusterKeys, newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { reportOfEtcd } from "../../src/kube/etcd-members.js";
import { timeLimit } from "../../src/kube/time-limit.js";

const dayMs = 24 * 3_600_000;
/** To the second, as certificates have it. */
const nowMs = Math.floor(Date.now() / 1_000) * 1_000;
const names = ["cp-0", "cp-1", "cp-2"];

/** A member of etcd by its JSON gateway. `heard`: the paths that it was asked for. */
async function memberCalled(name: string, keys: ClusterKeys, untilMs: number, heard: string[]) {
  const { certificatePem, privateKeyPem } = await issueCertificate(keys.etcd, {
    commonName: name,
    algorithm: "ECDSA-P256",
    usages: ["server"],
    dnsNames: ["localhost"],
    validity: { fromMs: nowMs - 9 * dayMs, untilMs },
  });
  const options = { cert: certificatePem, key: privateKeyPem };
  const server = createHttpsServer(options, (request, response) => {
    heard.push(`${name} ${request.url}`);
    const header = { member_id: name };
    const members = names.map((one) => ({ ID: one, name: one }));
    response.end(JSON.stringify({ header, leader: "cp-0", members }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}

/** An API server that lists a pod of etcd for each member, and lets connections through to them. */
async function apiServerOf(ports: ReadonlyMap<string, number>): Promise<Server> {
  const items = names.map((name) => ({
    metadata: { name: `etcd-${name}` },
    spec: { nodeName: name },
  }));
  const server = createHttpServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ kind: "PodList", apiVersion: "v1", items }));
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    const name = /\/pods\/etcd-([^/]+)\/portforward/.exec(request.url ?? "")?.[1] ?? "";
    sockets.handleUpgrade(request, socket, head, (client) => forward(client, ports.get(name) ?? 0));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}

/** Each message begins with its channel; the first one of a channel tells the port. */
function forward(client: WebSocket, port: number): void {
  const socket = connect(port, "127.0.0.1");
  for (const channel of [0, 1]) client.send(Buffer.from([channel, 0x4b, 0x09]));
  client.on("message", (data: Buffer) => socket.write(data.subarray(1)));
  client.on("close", () => socket.destroy());
  socket.on("data", (data) => client.send(Buffer.concat([Buffer.from([0]), data])));
  socket.on("close", () => client.close());
  socket.on("error", () => client.close());
}

describe("a certificate that a member of etcd shows", () => {
  it("tells until when it counts, also where it counts no more: then nothing else is heard", async () => {
    const keys = await newClusterKeys(nowMs, "ECDSA-P256");
    const until = new Map([
      ["cp-0", nowMs + dayMs],
      ["cp-1", nowMs - dayMs],
      ["cp-2", nowMs - dayMs],
    ]);
    const heard: string[] = [];
    const strange = await newClusterKeys(nowMs, "ECDSA-P256");
    const keysOf = (name: string) => (name === "cp-2" ? strange : keys);
    const members = await Promise.all(
      names.map((name) => memberCalled(name, keysOf(name), until.get(name) ?? 0, heard)),
    );
    const ports = members.map((one, index): [string, number] => [
      names[index] ?? "",
      (one.address() as AddressInfo).port,
    ]);
    const server = await apiServerOf(new Map(ports));
    try {
      const config = new KubeConfig();
      const { port } = server.address() as AddressInfo;
      config.loadFromClusterAndUser(
        { name: "prod", server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
        { name: "capstan" },
      );
      const api = config.makeApiClient(CoreV1Api);
      const limit = timeLimit(10 * 60_000);
      const report = await reportOfEtcd([], { config, api, keys, nowMs, limit });
      const answers = new Map(report?.members.map(({ id, answer }) => [id, answer]));
      assert.deepEqual(answers.get("cp-0"), {
        kind: "answered",
        leader: "cp-0",
        troubles: [],
        certificateUntilMs: until.get("cp-0"),
      });
      assert.deepEqual(answers.get("cp-1"), {
        kind: "silent",
        because: `its certificate has expired on ${timeText(nowMs - dayMs)}`,
        certificateUntilMs: until.get("cp-1"),
      });
      // A stranger's says nothing of a host.
      assert.deepEqual(answers.get("cp-2"), {
        kind: "silent",
        because: "its certificate is refused (CERT_HAS_EXPIRED)",
      });
      assert.deepEqual(
        heard.filter((one) => !one.startsWith("cp-0")),
        [],
      );
    } finally {
      for (const one of [server, ...members]) {
        one.closeAllConnections();
        one.close();
      }
    }
  });
});
