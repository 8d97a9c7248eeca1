import { once } from "node:events";
import { createServer, type Server } from "node:https";
import { connect } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { type HostFolder, type HostPorts, loopback } from "./host-folder.js";

const protocol = "v4.channel.k8s.io";
const channels = { data: 0, error: 1 };
/** Where etcd listens on hosts of other clouds, and so where it is asked for. */
const etcdPort = 2379;

/**
 * Forwards the port of etcd's pod, which is how members are taken out of an etcd that is reached through its API server; whoever
 * asks has to be that API server. Of what a kubelet serves it is all that is wanted here.
 * Source: https://kubernetes.io/docs/tasks/access-application-cluster/port-forward-access-application-cluster/
 */
export async function serveKubelet(folder: HostFolder, ports: HostPorts): Promise<Server> {
  const server = createServer({
    cert: folder.read("pki/kubelet-server.crt"),
    key: folder.read("pki/kubelet-server.key"),
    ca: folder.read("pki/ca.crt"),
    requestCert: true,
    rejectUnauthorized: true,
  });
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (asked) => (asked.has(protocol) ? protocol : false),
  });
  server.on("request", (_request, response) => response.writeHead(404).end());
  server.on("upgrade", (request, socket, head) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "https://kubelet");
    const isEtcd =
      pathname.startsWith("/portForward/kube-system/etcd-") &&
      ["ports", "port"].some((name) => searchParams.get(name) === String(etcdPort));
    if (!isEtcd) return socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
    sockets.handleUpgrade(request, socket, head, (client) => forward(client, ports.etcd));
  });
  await once(server.listen(ports.kubelet, loopback), "listening");
  return server;
}

/** Each message begins with the number of its channel, and each channel with the port that it is for. */
function forward(client: WebSocket, port: number): void {
  const number = Buffer.alloc(2);
  number.writeUInt16LE(etcdPort);
  for (const channel of Object.values(channels)) {
    client.send(Buffer.concat([Buffer.from([channel]), number]));
  }
  const etcd = connect(port, loopback);
  client.on("message", (message: Buffer) => {
    if (message[0] === channels.data && message.length > 1) etcd.write(message.subarray(1));
  });
  etcd.on("data", (chunk: Buffer) =>
    client.send(Buffer.concat([Buffer.from([channels.data]), chunk])),
  );
  etcd.on("error", () => client.close());
  etcd.on("close", () => client.close());
  client.on("error", () => etcd.destroy());
  client.on("close", () => etcd.destroy());
}
