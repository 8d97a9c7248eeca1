import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";

export interface Comment {
  readonly id: number;
  readonly author: string;
  body: string;
}

/** How a forge differs from the other. */
interface Dialect {
  /** Whether the request carries this token. */
  readonly tokenOf: (request: IncomingMessage) => string | undefined;
  readonly list: RegExp;
  readonly one: RegExp;
  readonly updateMethod: string;
  readonly longest: number;
  readonly shown: (comment: Comment) => object;
}

const dialects: Readonly<Record<"github" | "gitlab", Dialect>> = {
  github: {
    tokenOf: ({ headers }) => headers.authorization?.replace(/^Bearer /, ""),
    list: /^\/repos\/octo\/shop\/issues\/7\/comments$/,
    one: /^\/repos\/octo\/shop\/issues\/comments\/(\d+)$/,
    updateMethod: "PATCH",
    longest: 65_536,
    shown: ({ id, author, body }) => ({ id, body, user: { login: author } }),
  },
  gitlab: {
    tokenOf: ({ headers }) => String(headers["private-token"]),
    list: /^\/projects\/42\/merge_requests\/7\/notes$/,
    one: /^\/projects\/42\/merge_requests\/7\/notes\/(\d+)$/,
    updateMethod: "PUT",
    longest: 1_000_000,
    shown: ({ id, author, body }) => ({ id, body, system: false, author: { id: author } }),
  },
};

export const forgeToken = "token-that-nobody-may-see";

/** The few calls of a forge's API that comments take, newest comments first, on this machine. */
export class Forge {
  readonly comments: Comment[] = [];
  readonly calls: string[] = [];
  /** Answers that are given before anything is done, one for each call. */
  readonly faults: number[] = [];
  mayWrite = true;
  private readonly server: Server;

  private constructor(
    private readonly dialect: Dialect,
    readonly self: string,
  ) {
    this.server = createServer((request, response) => void this.answer(request, response));
  }

  static async start(kind: keyof typeof dialects, self: string): Promise<Forge> {
    const forge = new Forge(dialects[kind], self);
    forge.server.listen(0, "127.0.0.1");
    await once(forge.server, "listening");
    return forge;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  add(author: string, body: string): Comment {
    const comment = { id: this.comments.length + 1, author, body };
    this.comments.push(comment);
    return comment;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const { status, body } = this.decide(request, text === "" ? {} : (JSON.parse(text) as object));
    response.writeHead(status, { "content-type": "application/json", "retry-after": "0" });
    response.end(JSON.stringify(body));
  }

  private decide(
    request: IncomingMessage,
    content: { body?: string },
  ): { status: number; body: unknown } {
    const { method = "", url = "" } = request;
    const { pathname, searchParams } = new URL(url, this.url);
    this.calls.push(`${method} ${url}`);
    const fault = this.faults.shift();
    if (fault !== undefined) return { status: fault, body: { message: "not now" } };
    if (this.dialect.tokenOf(request) !== forgeToken) return { status: 401, body: {} };
    if (method === "GET" && pathname === "/user") return { status: 200, body: { id: this.self } };
    if (method === "GET" && this.dialect.list.test(pathname)) {
      const [page, size] = ["page", "per_page"].map((name) => Number(searchParams.get(name)));
      const from = ((page ?? 1) - 1) * (size ?? 30);
      const newestFirst = this.comments.toReversed().slice(from, from + (size ?? 30));
      return { status: 200, body: newestFirst.map(this.dialect.shown) };
    }
    if (!this.mayWrite) return { status: 403, body: { message: "Resource not accessible" } };
    const body = content.body ?? "";
    if (body.length > this.dialect.longest) return { status: 422, body: { message: "too long" } };
    if (method === "POST" && this.dialect.list.test(pathname)) {
      return { status: 201, body: this.dialect.shown(this.add(this.self, body)) };
    }
    const id = Number(this.dialect.one.exec(pathname)?.[1]);
    const comment = this.comments.find((one) => one.id === id);
    if (method !== this.dialect.updateMethod || comment === undefined) {
      return { status: 404, body: { message: "Not Found" } };
    }
    comment.body = body;
    return { status: 200, body: this.dialect.shown(comment) };
  }
}
