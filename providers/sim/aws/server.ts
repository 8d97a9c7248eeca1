// The simulated AWS over HTTP: one address for all services and regions, and the simulator's own routes below /_sim/.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerAdmin } from "./admin.js";
import { callOf } from "./request.js";
import type { SimulatedAws } from "./simulated-aws.js";

interface SimServerOptions {
  /** 0 or absent: any that is free. */
  readonly port?: number;
  /** Loopback unless somebody wants otherwise. */
  readonly host?: string;
  /** Region of calls that are not signed. */
  readonly region: string;
}

/** A simulated AWS that listens. */
export class SimServer {
  private constructor(
    private readonly server: Server,
    readonly aws: SimulatedAws,
    /** "http://127.0.0.1:4510". */
    readonly endpoint: string,
  ) {}

  /** Throws what listening throws, e.g. EADDRINUSE. */
  static async start(aws: SimulatedAws, options: SimServerOptions): Promise<SimServer> {
    const { port = 0, host = "127.0.0.1", region } = options;
    const server = createServer((request, response) => {
      answer(aws, region, request, response).catch(() => request.socket.destroy());
    });
    // Whoever keeps a connection must not find it closed in the middle of a call.
    server.keepAliveTimeout = 0;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, resolve);
    });
    const address = server.address() as AddressInfo;
    return new SimServer(server, aws, `http://${host}:${address.port}`);
  }

  /** Calls that are held are cut, and so are connections. */
  async stop(): Promise<void> {
    this.aws.held.release("cut");
    this.aws.keep();
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }
}

async function answer(
  aws: SimulatedAws,
  region: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = "GET", url: path = "/", headers } = incoming;
  const body = await bodyOf(incoming);
  const request = { method, path, headers, body };
  if (path.startsWith("/_sim/")) {
    const { status, document } = await answerAdmin(aws, request);
    send(response, status, { "content-type": "application/json" }, `${JSON.stringify(document)}\n`);
    return;
  }
  const call = callOf(request, region);
  if (call === undefined) {
    const error =
      "<Response><Errors><Error><Code>MissingAuthenticationToken</Code><Message>Request is missing Authentication Token</Message></Error></Errors></Response>";
    send(response, 403, { "content-type": "text/xml" }, error);
    return;
  }
  const outcome = await aws.call(call);
  if (outcome === undefined) incoming.socket.destroy();
  else
    send(
      response,
      outcome.status,
      { ...outcome.headers, "content-type": outcome.contentType },
      outcome.body,
    );
}

function send(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: string,
): void {
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, { ...headers, "content-length": length });
  response.end(body);
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
