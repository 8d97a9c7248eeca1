import { once } from "node:events";
import { rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../../src/provider/clock.js";
import { type LocalResource, nodesOf } from "../file/resource.js";
import { removeNetwork } from "../kubeadm/network.js";
import { folderOf, HostFolder, loopback, portsIn } from "../nodes/host-folder.js";
import { HttpsClient } from "../nodes/https-client.js";
import { ProcessRecords } from "../nodes/process-records.js";
import { holdAlone } from "../nodes/sole-process.js";

// The load balancer of a cluster whose hosts are processes or namespaces: node balancer-process.js CLOUD-FILE FOLDER. It leads to the API
// servers that are ready, until the cloud's file says that it is terminated. In front of processes it answers on a port of its own, in
// a network of namespaces at the address that the file gives it.

const lookMs = 300;

const [cloudPath = "", path = ""] = process.argv.slice(2);
const folder = new HostFolder(path);
const records = new ProcessRecords(cloudPath, basename(path), systemClock);

/** Where API servers are that are ready, as "127.0.0.1:6443", and who is connected to each. */
const ready = new Map<string, Set<Socket>>();
let turn = 0;

function lead(client: Socket, tried: ReadonlySet<string>): void {
  const left = [...ready.keys()].filter((one) => !tried.has(one));
  const member = left[turn++ % Math.max(left.length, 1)];
  if (member === undefined) return void client.destroy();
  const [host = "", port = ""] = member.split(":");
  const server = connect(Number(port), host);
  server.once("error", () => lead(client, new Set([...tried, member])));
  server.once("connect", () => {
    server.removeAllListeners("error");
    const pair = [client, server];
    ready.get(member)?.add(client);
    for (const [one, other] of [pair, pair.toReversed()] as [Socket, Socket][]) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
      one.pipe(other);
    }
    client.once("close", () => ready.get(member)?.delete(client));
  });
}

/** Whoever does not answer gets nobody more, and those that it had are let go: they ask again. */
async function probe(loadBalancer: LocalResource): Promise<void> {
  const members = (await records.members()).flatMap((one) => serverOf(one, loadBalancer) ?? []);
  for (const member of ready.keys()) if (!members.includes(member)) letGo(member);
  await Promise.all(
    members.map(async (member) => {
      if (await isReady(member)) ready.set(member, ready.get(member) ?? new Set());
      else letGo(member);
    }),
  );
}

/** Where the API server of a member is; undefined of one that has not begun. */
function serverOf(member: LocalResource, { spec }: LocalResource): string | undefined {
  if (nodesOf(spec) === "kubeadm") {
    return `${String(member.status["address"])}:${Number(spec["port"])}`;
  }
  const ports = portsIn(folderOf(cloudPath, member.id));
  return ports && `${loopback}:${ports.api}`;
}

function letGo(member: string): void {
  for (const client of ready.get(member) ?? []) client.destroy();
  ready.delete(member);
}

async function isReady(member: string): Promise<boolean> {
  const api = new HttpsClient(member, {});
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
  const { status = {} } = (await records.living()) ?? {};
  const { address = loopback, port = 0 } = status;
  const server = createServer((client) => {
    client.on("error", () => client.destroy());
    lead(client, new Set());
  });
  server.listen(Number(port), String(address));
  await once(server, "listening");
  await records.answersAt({ address, port: (server.address() as { port: number }).port });
  for (;;) {
    const loadBalancer = await records.living();
    if (loadBalancer === undefined) return;
    await probe(loadBalancer);
    await sleep(lookMs);
  }
}

if (holdAlone(folder.lock)) {
  await balance();
  await removeNetwork(folder.network);
  rmSync(folder.path, { recursive: true, force: true });
}
process.exit(0);
