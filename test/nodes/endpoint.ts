import { connect, createServer, type Socket } from "node:net";

/**
 * What a cloud's load balancer does for a control plane: each connection goes to the first member that takes it.
 * A program: `endpoint.js ADDRESS PORT MEMBER...`. It ends when its standard input does.
 */
const [address = "", port = "", ...members] = process.argv.slice(2);
const connectTimeoutMs = 1_000;

createServer((client) => {
  client.on("error", () => client.destroy());
  forward(client, members);
}).listen(Number(port), address);
process.stdin.on("end", () => process.exit()).resume();

function forward(client: Socket, [member, ...others]: readonly string[]): void {
  if (member === undefined) {
    client.destroy();
    return;
  }
  const server = connect({ host: member, port: Number(port), timeout: connectTimeoutMs });
  let isConnected = false;
  server.on("connect", () => {
    isConnected = true;
    server.setTimeout(0);
    client.pipe(server).pipe(client);
  });
  server.on("timeout", () => server.destroy());
  server.on("error", () => undefined); // Its "close" follows.
  server.on("close", () => {
    if (isConnected) client.destroy();
    else forward(client, others);
  });
  client.on("close", () => server.destroy());
}
