import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { StateBackend } from "./sandbox.js";
import { Bucket, type StoredObject, type WriteKind } from "./s3-bucket.js";

/**
 * A server on the loopback interface that speaks as much of the S3 protocol as a Pulumi backend
 * needs: path-style GET, HEAD, PUT, DELETE, CopyObject, and ListObjectsV2. It believes every
 * signature. Its buckets are in memory and can hold a write back.
 */
export class S3Server {
  private readonly buckets = new Map<string, Bucket>();

  private constructor(
    private readonly server: Server,
    private readonly port: number,
  ) {}

  static async start(): Promise<S3Server> {
    const handlers: { serve?: (request: IncomingMessage, response: ServerResponse) => void } = {};
    const server = createServer((request, response) => handlers.serve?.(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const s3 = new S3Server(server, (server.address() as AddressInfo).port);
    handlers.serve = (request, response) => {
      s3.serve(request, response).catch((error: unknown) => response.destroy(error as Error));
    };
    return s3;
  }

  /** An empty bucket as a place for stacks, or one that holds what another one holds. */
  makeBackend(content?: Bucket): S3Backend {
    const name = `bucket-${this.buckets.size + 1}`;
    const bucket = content?.clone() ?? new Bucket();
    this.buckets.set(name, bucket);
    const query = `endpoint=127.0.0.1:${this.port}&disableSSL=true&s3ForcePathStyle=true&region=us-east-1`;
    return new S3Backend(`s3://${name}?${query}`, bucket, () => this.makeBackend(bucket));
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://s3");
    const [, name = "", ...rest] = pathname.split("/");
    const bucket = this.buckets.get(name);
    const key = decodeURIComponent(rest.join("/"));
    const body = decodeChunks(await bodyOf(request), request);
    if (bucket === undefined) return fail(response, 404, "NoSuchBucket");
    switch (request.method) {
      case "GET":
        if (key === "") return answerXml(response, listing(bucket, searchParams));
        return answerObject(response, bucket.objects.get(key), "withBody");
      case "HEAD":
        return answerObject(response, bucket.objects.get(key), "headOnly");
      case "PUT":
        return put(bucket, { request, response, key, body });
      case "DELETE": {
        const change = () => bucket.objects.delete(key);
        if (await isDone(bucket, "delete", { request, key, change })) response.writeHead(204).end();
        return;
      }
      default:
        return fail(response, 501, "NotImplemented");
    }
  }
}

/** Stacks in a bucket. */
export class S3Backend implements StateBackend {
  readonly env = {
    AWS_ACCESS_KEY_ID: "chaos",
    AWS_SECRET_ACCESS_KEY: "chaos",
    AWS_REGION: "us-east-1",
    AWS_EC2_METADATA_DISABLED: "true",
  };

  constructor(
    readonly url: string,
    readonly bucket: Bucket,
    readonly copy: () => S3Backend,
  ) {}
}

interface Put {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly key: string;
  readonly body: Buffer;
}

async function put(bucket: Bucket, { request, response, key, body }: Put): Promise<void> {
  const source = request.headers["x-amz-copy-source"];
  if (source === undefined) {
    const object = { body, modified: new Date() };
    const change = () => bucket.objects.set(key, object);
    if (await isDone(bucket, "put", { request, key, change, body })) {
      response.writeHead(200, { etag: etagOf(object) }).end();
    }
    return;
  }
  const from = decodeURIComponent(String(source)).replace(/^\/?[^/]+\//, "");
  const object = bucket.objects.get(from);
  if (object === undefined) return fail(response, 404, "NoSuchKey");
  const copied = { ...object, modified: new Date() };
  const change = () => bucket.objects.set(key, copied);
  if (!(await isDone(bucket, "copy", { request, key, change }))) return;
  const modified = copied.modified.toISOString();
  answerXml(
    response,
    element("CopyObjectResult", element("LastModified", modified), element("ETag", etagOf(object))),
  );
}

/** Carries a write out, held back if it is to be; false when nobody waits for the answer any more. */
async function isDone(
  bucket: Bucket,
  kind: WriteKind,
  about: {
    readonly request: IncomingMessage;
    readonly key: string;
    readonly change: () => void;
    readonly body?: Buffer;
  },
): Promise<boolean> {
  const { request, key, ...write } = about;
  await bucket.write(kind, key, { ...write, isWaitedFor: () => !request.socket.destroyed });
  return !request.socket.destroyed;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Undoes the aws-chunked encoding: <hex size>[;signature]\r\n<bytes>\r\n ... 0\r\n<trailers>. */
function decodeChunks(body: Buffer, { headers }: IncomingMessage): Buffer {
  if (!String(headers["x-amz-content-sha256"]).startsWith("STREAMING-")) return body;
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = body.indexOf("\r\n", at);
    const size = Number.parseInt(body.toString("latin1", at, lineEnd), 16);
    if (lineEnd < 0 || !(size > 0)) return Buffer.concat(chunks);
    chunks.push(body.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}

function answerObject(
  response: ServerResponse,
  object: StoredObject | undefined,
  part: "withBody" | "headOnly",
): void {
  if (object === undefined) return fail(response, 404, "NoSuchKey");
  response.writeHead(200, {
    "content-length": object.body.length,
    "content-type": "application/octet-stream",
    "last-modified": object.modified.toUTCString(),
    etag: etagOf(object),
  });
  response.end(part === "withBody" ? object.body : undefined);
}

/** All in one page: a state folder is small. */
function listing(bucket: Bucket, query: URLSearchParams): string {
  const prefix = query.get("prefix") ?? "";
  const delimiter = query.get("delimiter") ?? "";
  const folders = new Set<string>();
  const contents: string[] = [];
  for (const [key, object] of [...bucket.objects].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!key.startsWith(prefix)) continue;
    const end = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
    if (end >= 0) folders.add(key.slice(0, end + delimiter.length));
    else contents.push(contentOf(key, object));
  }
  return element(
    "ListBucketResult",
    element("IsTruncated", "false"),
    element("KeyCount", String(contents.length + folders.size)),
    ...contents,
    ...[...folders].map((folder) => element("CommonPrefixes", element("Prefix", escape(folder)))),
  );
}

function contentOf(key: string, object: StoredObject): string {
  return element(
    "Contents",
    element("Key", escape(key)),
    element("LastModified", object.modified.toISOString()),
    element("ETag", etagOf(object)),
    element("Size", String(object.body.length)),
  );
}

function etagOf({ body }: StoredObject): string {
  return `"${createHash("md5").update(body).digest("hex")}"`;
}

function answerXml(response: ServerResponse, xml: string): void {
  response.writeHead(200, { "content-type": "application/xml" });
  response.end(`<?xml version="1.0" encoding="UTF-8"?>${xml}`);
}

function fail(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { "content-type": "application/xml" });
  response.end(element("Error", element("Code", code), element("Message", code)));
}

function element(name: string, ...content: readonly string[]): string {
  return `<${name}>${content.join("")}</${name}>`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
