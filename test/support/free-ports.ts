import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Below what systems hand out to outgoing connections, so that a restarted server finds its port free. */
const usualRange = [15_000, 30_000] as const;

/**
 * Even ports of loopback that nobody listens on. They are ours until this process ends, whether something listens there or
 * not: it listens on the odd port above each, so that no other process that asks gets the same one.
 */
export async function freePorts(
  count: number,
  [first, end]: readonly [first: number, end: number] = usualRange,
): Promise<readonly number[]> {
  const free: number[] = [];
  while (free.length < count) {
    const port = 2 * randomInt(Math.ceil(first / 2), Math.floor(end / 2));
    if (await reserve(port)) free.push(port);
  }
  return free;
}

async function reserve(port: number): Promise<boolean> {
  const guard = await listenerAt(port + 1);
  if (guard === undefined) return false;
  const found = await listenerAt(port);
  if (found === undefined) await closed(guard);
  else await closed(found);
  return found !== undefined;
}

/** Keeps no process alive; undefined where somebody else listens. */
async function listenerAt(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
    return server.unref();
  } catch {
    return undefined;
  }
}

async function closed(server: Server): Promise<void> {
  server.close();
  await once(server, "close");
}
