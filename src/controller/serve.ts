import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, ListenOptions } from "node:net";
import { CapstanError, messageOf } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";

/** What is served. Answers are made anew for each request. */
export interface Operations {
  metrics(): Promise<{ readonly contentType: string; readonly body: string }>;
  /** Empty when alive, otherwise what is wrong. */
  whyNotAlive(): readonly string[];
  /** Empty when ready. */
  whyNotReady(): readonly string[];
}

export interface OperationsServer {
  /** Where it listens, as others can reach it: "0.0.0.0:8080". */
  readonly address: string;
  /** Answers what is asked already, and no more. */
  close(): Promise<void>;
}

/** All in milliseconds. Scrapers and probes are quick; whoever is slow is not one of them. */
const limits = { headersMs: 5_000, requestMs: 10_000, idleMs: 5_000, closeMs: 1_000 };
const mostHeaderBytes = 8 * 1024;
const mostConnections = 64;

/**
 * Serves /metrics, /healthz and /readyz by HTTP on one address, ":8080" for all interfaces. Throws
 * BAD_USAGE when it cannot listen there.
 */
export async function serveOperations(
  address: string,
  operations: Operations,
): Promise<OperationsServer> {
  const { host, port } = parseAddress(address);
  const server = createServer(
    {
      maxHeaderSize: mostHeaderBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
    },
    (request, response) => void answer(request, response, operations),
  );
  server.maxConnections = mostConnections;
  await listen(server, { host, port, address });
  const bound = server.address() as AddressInfo;
  const shown = bound.family === "IPv6" ? `[${bound.address}]` : bound.address;
  return { address: `${shown}:${bound.port}`, close: () => close(server) };
}

/** Host and port of "host:port", ":port" and "[v6]:port". Throws BAD_USAGE. Pure. */
export function parseAddress(address: string): { readonly host?: string; readonly port: number } {
  const [, bracketed, plain, digits] =
    /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(address) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) {
    throw cannotListen(address, "it is no address", "give it as :8080 or 127.0.0.1:8080");
  }
  const host = bracketed ?? plain ?? "";
  return host === "" ? { port } : { host, port };
}

function listen(
  server: Server,
  { host, port, address }: { host?: string | undefined; port: number; address: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      reject(cannotListen(address, messageOf(error), "choose another with --metrics-address"));
    });
    const where: ListenOptions = omitUndefined({ port, host });
    server.listen(where, resolve);
  });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  operations: Operations,
): Promise<void> {
  const path = (request.url ?? "/").split("?")[0];
  if (request.method !== "GET" && request.method !== "HEAD") {
    return send(response, 405, "GET only\n");
  }
  switch (path) {
    case "/healthz":
      return sendFinding(response, operations.whyNotAlive());
    case "/readyz":
      return sendFinding(response, operations.whyNotReady());
    case "/metrics":
      try {
        const { contentType, body } = await operations.metrics();
        return send(response, 200, body, contentType);
      } catch {
        // Whatever it was, whoever may read metrics need not read it.
        return send(response, 500, "cannot read the metrics\n");
      }
    default:
      return send(response, 404, "/metrics, /healthz, /readyz\n");
  }
}

function sendFinding(response: ServerResponse, problems: readonly string[]): void {
  if (problems.length === 0) return send(response, 200, "ok\n");
  send(response, 503, problems.map((problem) => `${problem}\n`).join(""));
}

function send(
  response: ServerResponse,
  status: number,
  body: string,
  contentType = "text/plain; charset=utf-8",
): void {
  response.writeHead(status, {
    "content-type": contentType,
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(body);
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), limits.closeMs);
  await closed;
  clearTimeout(timer);
}

function cannotListen(address: string, cause: string, hint: string): CapstanError {
  return new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    hint,
    message: `cannot serve metrics on ${address}: ${cause}`,
  });
}
