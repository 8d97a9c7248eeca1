import { once } from "node:events";
import { rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../../src/provider/clock.js";
import { folderOf, HostFolder, loopback, portsIn } from "./host-folder.js";
import { HttpsClient } from "./https-client.js";
import { ProcessRecords } from "./process-records.js";
import { holdAlone } from "./sole-process.js";

// The load balancer of a cluster whose hosts are processes: node balancer-process.js CLOUD-FILE FOLDER. It answers on a port of its own
// and leads to the API servers that are ready, until the cloud's file says that it is terminated.

const lookMs = 300;

const [cloudPath = "", path = ""] = process.argv.slice(2);
const folder = new HostFolder(path);
const records = new ProcessRecords(cloudPath, basename(path), systemClock);

/** Ports of API servers that are ready, and who is connected to each. */
const ready = new Map<number, Set<Socket>>();
let turn = 0;

function lead(client: Socket, tried: ReadonlySet<number>): void {
  const left = [...ready.keys()].filter((port) => !tried.has(port));
  const port = left[turn++ % Math.max(left.length, 1)];
  if (port === undefined) return void client.destroy();
  const server = connect(port, loopback);
  server.once("error", () => lead(client, new Set([...tried, port])));
  server.once("connect", () => {
    server.removeAllListeners("error");
    const pair = [client, server];
    ready.get(port)?.add(client);
    for (const [one, other] of [pair, pair.toReversed()] as [Socket, Socket][]) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
      one.pipe(other);
    }
    client.once("close", () => ready.get(port)?.delete(client));
  });
}

/** Whoever does not answer gets nobody more, and those that it had are let go: they ask again. */
async function probe(): Promise<void> {
  const ids = await records.members();
  const ports = ids.flatMap((one) => portsIn(folderOf(cloudPath, one))?.api ?? []);
  for (const port of ready.keys()) if (!ports.includes(port)) letGo(port);
  await Promise.all(
    ports.map(async (port) => {
      if (await isReady(port)) ready.set(port, ready.get(port) ?? new Set());
      else letGo(port);
    }),
  );
}

function letGo(port: number): void {
  for (const client of ready.get(port) ?? []) client.destroy();
  ready.delete(port);
}

async function isReady(port: number): Promise<boolean> {
  const api = new HttpsClient(`${loopback}:${port}`, {});
  try {
    await api.get("/readyz");
    return true;
  } catch {
    return false;
  } finally {
    api.close();
  }
}

async function balance(): Promise<void> {
  const known = (await records.living())?.status["port"];
  const server = createServer((client) => {
    client.on("error", () => client.destroy());
    lead(client, new Set());
  });
  server.listen(typeof known === "number" ? known : 0, loopback);
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await records.answersAt({ address: loopback, port });
  while ((await records.living()) !== undefined) {
    await probe();
    await sleep(lookMs);
  }
}

if (holdAlone(folder.at("lock"))) {
  await balance();
  rmSync(folder.path, { recursive: true, force: true });
}
process.exit(0);
