import { existsSync, readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";

/**
 * What a cloud's load balancer does for a control plane: each connection goes to the first member that takes it.
 * A program: `endpoint.js ADDRESS PORT FILE`, where the file has the address of a member on each line and may change.
 * It ends when its standard input does.
 */
const [address = "", port = "", file = ""] = process.argv.slice(2);
const connectTimeoutMs = 1_000;

createServer((client) => {
  client.on("error", () => client.destroy());
  const members = existsSync(file) ? readFileSync(file, "utf8") : "";
  forward(client, members.split("\n").filter(Boolean));
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
