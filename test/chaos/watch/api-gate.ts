import { readFileSync, writeFileSync } from "node:fs";
import { Agent, createServer, request as send, type Server } from "node:https";
import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { KubeConfig } from "@kubernetes/client-node";
import type { ApiServer } from "../../support/api-server.js";
import { type ApiWriteRow, type WatchWriteKind, writeIn } from "./api-write.js";

/** A write as it went through a gate. */
export interface GateRow extends ApiWriteRow {
  /** Which door it came through. */
  readonly door: string;
  /** When the API server had answered, milliseconds since the epoch; undefined of one that it was never asked for. */
  readonly doneMs: number | undefined;
  /** What the API server answered; 0 of one that it was never asked for. */
  readonly status: number;
  readonly body: string;
}

/** Which write is held back, and whether before the API server is asked or before its answer is passed on. */
export interface GateHoldRequest {
  readonly side: "before" | "after";
  readonly what: WatchWriteKind;
  /** Any of the kind without. */
  readonly name: string | undefined;
  /** Counted from 1 among the writes alike, from the moment at which it is asked for. */
  readonly nth: number;
  /** Only of what comes through this door; through any without. */
  readonly door?: string | undefined;
}

/** A write that is held back as soon as it comes. */
export interface GateHold {
  readonly isReached: boolean;
  /** The door through which it came. */
  readonly door: string | undefined;
  /**
   * Lets it go on. What nobody waits for any more is dropped, or with `evenSo` carried out, as one that was under way
   * when its sender died.
   */
  release(dead: "drop" | "evenSo"): void;
}

interface Holding {
  readonly request: GateHoldRequest;
  seen: number;
  isReached: boolean;
  door: string | undefined;
  readonly released: Promise<"drop" | "evenSo">;
  /** Without a hold it would never be passed by a judge that looks once. */
  isOver: boolean;
}

/** Told of each write before the API server is asked for it. */
type Witness = (row: ApiWriteRow, door: string) => void;

/**
 * A way to an API server with a door for each controller. It writes down what goes through, holds back one write that is
 * asked for, and can cut a door off: then nothing comes through any more, and nobody is told.
 */
export class ApiGate {
  readonly log: GateRow[] = [];
  /** Looks at the world at the moment of each write. */
  witness: Witness = () => {};
  private readonly doors = new Map<string, Door>();
  private readonly holdings: Holding[] = [];
  private readonly agent: Agent;
  private readonly tls: { readonly cert: Buffer; readonly key: Buffer; readonly ca: Buffer };

  constructor(private readonly server: ApiServer) {
    const read = (name: string) => readFileSync(join(server.folder, name));
    this.tls = { cert: read("server.crt"), key: read("server.key"), ca: read("authority.crt") };
    this.agent = new Agent({ keepAlive: true, ca: this.tls.ca });
  }

  /** A new door, and the file with which a controller comes through it. */
  async open(name: string): Promise<Door> {
    const door = await Door.open(name, {
      tls: this.tls,
      config: this.server.config,
      folder: this.server.folder,
      serve: (request, response, at) => this.serve(request, response, at),
    });
    this.doors.set(name, door);
    return door;
  }

  hold(request: GateHoldRequest): GateHold {
    let release: GateHold["release"] = () => {};
    const released = new Promise<"drop" | "evenSo">((resolve) => (release = resolve));
    const holding: Holding = {
      request,
      seen: 0,
      isReached: false,
      door: undefined,
      released,
      isOver: false,
    };
    this.holdings.push(holding);
    return {
      get isReached() {
        return holding.isReached;
      },
      get door() {
        return holding.door;
      },
      release: (dead) => {
        holding.isOver = true;
        release(dead);
      },
    };
  }

  close(): void {
    for (const door of this.doors.values()) door.close();
    this.agent.destroy();
  }

  private async serve(
    request: IncomingMessage,
    response: ServerResponse,
    door: Door,
  ): Promise<void> {
    const { method = "GET", url = "/" } = request;
    const body = await buffer(request);
    const write = writeIn(method, url, body.toString());
    if (door.isCut) return;
    if (write === undefined) return this.pass({ request, response, body, door });
    await this.passWrite(write, { request, response, body, door });
  }

  private async passWrite(write: ApiWriteRow, passage: Passage): Promise<void> {
    const { body, door, response } = passage;
    const holding = this.holdingOf(write, door);
    if (holding?.request.side === "before") {
      holding.isReached = true;
      const how = await holding.released;
      if (how === "drop" && response.socket?.destroyed !== false) return;
    }
    this.witness(write, door.name);
    const answer = await this.ask(passage);
    const row = { ...write, door: door.name, body: body.toString() };
    this.log.push({ ...row, doneMs: Date.now(), status: answer.status });
    if (holding?.request.side === "after") {
      holding.isReached = true;
      await holding.released;
    }
    if (door.isCut) return;
    response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  private holdingOf({ what, name }: ApiWriteRow, door: Door): Holding | undefined {
    const alike = this.holdings.filter(
      ({ request, isOver }) =>
        !isOver &&
        request.what === what &&
        (request.name === undefined || request.name === name) &&
        (request.door === undefined || request.door === door.name),
    );
    for (const one of alike) one.seen += 1;
    const holding = alike.find(({ seen, request }) => seen === request.nth);
    if (holding !== undefined) holding.door = door.name;
    return holding;
  }

  /** Reads and watches, as they come. */
  private pass(passage: Passage): void {
    const { response, door } = passage;
    const sent = this.send(passage, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      // A watch is open before it has anything to tell.
      response.flushHeaders();
      answer.on("data", (chunk: Buffer) => {
        if (!door.isCut) response.write(chunk);
      });
      answer.on("end", () => {
        if (!door.isCut) response.end();
      });
      answer.on("error", () => response.destroy());
    });
    response.on("close", () => sent.destroy());
    sent.on("error", () => response.destroy());
  }

  private ask(passage: Passage): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = this.send(passage, (answer) => {
        buffer(answer).then(
          (body) => resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body }),
          reject,
        );
      });
      sent.on("error", reject);
    });
  }

  private send({ request, body }: Passage, answered: (answer: IncomingMessage) => void) {
    const { method, url, headers } = request;
    const {
      host: _host,
      connection: _connection,
      "transfer-encoding": _chunked,
      ...rest
    } = headers;
    const sent = send(
      new URL(url ?? "/", this.server.url),
      {
        method: method ?? "GET",
        agent: this.agent,
        headers: { ...rest, ...(body.length > 0 && { "content-length": body.length }) },
      },
      answered,
    );
    sent.end(body);
    return sent;
  }
}

interface Passage {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;
  readonly door: Door;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface DoorOptions {
  readonly tls: { readonly cert: Buffer; readonly key: Buffer };
  readonly config: KubeConfig;
  readonly folder: string;
  readonly serve: (request: IncomingMessage, response: ServerResponse, door: Door) => Promise<void>;
}

/** One controller's way to the API server. */
export class Door {
  /** Nothing comes through, and connections stay open. */
  isCut = false;
  private readonly sockets = new Set<Socket>();

  private constructor(
    readonly name: string,
    /** For the controller. */
    readonly kubeconfig: string,
    private readonly server: Server,
  ) {}

  static async open(name: string, { tls, config, folder, serve }: DoorOptions): Promise<Door> {
    const server = createServer(tls);
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as AddressInfo;
    const kubeconfig = join(folder, `door-${name}.kubeconfig`);
    writeFileSync(kubeconfig, throughPort(config, port), { mode: 0o600 });
    const door = new Door(name, kubeconfig, server);
    server.on("connection", (socket: Socket) => {
      door.sockets.add(socket);
      socket.on("close", () => door.sockets.delete(socket));
      socket.on("error", () => undefined);
    });
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      serve(request, response, door).catch(() => response.destroy());
    });
    return door;
  }

  /** Connections that were cut off break at last; new ones come through. */
  mend(): void {
    this.isCut = false;
    for (const socket of this.sockets) socket.destroy();
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}

/** The same way in, at another port of loopback. */
function throughPort(config: KubeConfig, port: number): string {
  const copy = new KubeConfig();
  copy.loadFromString(config.exportConfig());
  const [cluster] = copy.clusters;
  copy.clusters =
    cluster === undefined ? [] : [{ ...cluster, server: `https://127.0.0.1:${port}` }];
  return copy.exportConfig();
}
