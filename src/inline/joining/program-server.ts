import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Identity, UserData } from "../../provider/port.js";
import type { ProgramAddress } from "./program-address.js";
import { errorJson, userDataJson } from "./program-wire.js";

/**
 * Answers what a host is given at its first start: in a Pulumi program, which alone knows the plan and the cluster's keys, for as long as
 * it runs. Whoever asks has to know the key of the address.
 */
export async function serveUserData(
  userDataFor: (who: Identity) => Promise<UserData>,
): Promise<ProgramAddress> {
  const key = randomBytes(32).toString("hex");
  const server = createServer((request, response) => {
    void answer(request, response, { key, userDataFor });
  });
  const port = await portOf(server);
  // The program ends when Pulumi has answered it, whoever may still ask.
  server.unref();
  return { port, key };
}

interface Service {
  readonly key: string;
  readonly userDataFor: (who: Identity) => Promise<UserData>;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { key, userDataFor }: Service,
): Promise<void> {
  const end = (status: number, body: object) => {
    response.writeHead(status, { "content-type": "application/json", connection: "close" });
    response.end(JSON.stringify(body));
  };
  try {
    if (!isKey(request.headers.authorization, key)) return end(403, { message: "not allowed" });
    const who = JSON.parse(await bodyOf(request)) as Identity;
    return end(200, userDataJson(await userDataFor(who)));
  } catch (error) {
    return end(500, errorJson(error));
  }
}

function isKey(given: string | undefined, key: string): boolean {
  const [one, other] = [Buffer.from(given ?? ""), Buffer.from(`Bearer ${key}`)];
  return one.length === other.length && timingSafeEqual(one, other);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function portOf(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}
