import { Agent, request } from "node:https";
import { omitUndefined } from "../../../src/api/omit-undefined.js";

/** By what a server is known, and what it knows the client by. PEM texts. */
export interface HttpsCredentials {
  /** Absent: any server is taken for what it says it is. */
  readonly ca?: string;
  readonly cert?: string;
  /** A secret. */
  readonly key?: string;
  /** A secret. */
  readonly bearer?: string;
}

/** A refused request. */
export class HttpsError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const answerTimeoutMs = 10_000;

/** JSON over HTTPS to one server. It is loaded into each host: the generated client would take the memory of the host itself again. */
export class HttpsClient {
  private readonly agent: Agent;

  /** @param server "127.0.0.1:6443" */
  constructor(
    private readonly server: string,
    private readonly credentials: HttpsCredentials,
  ) {
    const { ca, cert, key } = credentials;
    this.agent = new Agent(
      omitUndefined({
        keepAlive: true,
        maxSockets: 4,
        rejectUnauthorized: ca !== undefined,
        ca,
        cert,
        key,
      }),
    );
  }

  get<T>(path: string): Promise<T> {
    return this.send<T>("GET", path);
  }

  post<T>(path: string, body: object): Promise<T> {
    return this.send<T>("POST", path, body);
  }

  put<T>(path: string, body: object): Promise<T> {
    return this.send<T>("PUT", path, body);
  }

  patch<T>(path: string, body: object): Promise<T> {
    return this.send<T>("PATCH", path, body, "application/merge-patch+json");
  }

  delete<T>(path: string, body: object = {}): Promise<T> {
    return this.send<T>("DELETE", path, body);
  }

  /** Makes an object, or finds that it is there. */
  async ensure(path: string, body: object): Promise<void> {
    try {
      await this.post(path, body);
    } catch (error) {
      if (!(error instanceof HttpsError) || error.status !== 409) throw error;
    }
  }

  close(): void {
    this.agent.destroy();
  }

  /** Throws HttpsError for a refusal, and an Error where no answer comes. */
  private send<T>(
    method: string,
    path: string,
    body?: object,
    contentType = "application/json",
  ): Promise<T> {
    const { bearer } = this.credentials;
    const [host, port] = addressOf(this.server);
    const text = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sending = request({
        host,
        port,
        method,
        path,
        agent: this.agent,
        signal: AbortSignal.timeout(answerTimeoutMs),
        headers: omitUndefined({
          accept: "application/json",
          "content-type": text === undefined ? undefined : contentType,
          // Node.js does not tell that of a DELETE: its body would be taken for the next request on the connection.
          "content-length": text === undefined ? undefined : Buffer.byteLength(text),
          authorization: bearer === undefined ? undefined : `Bearer ${bearer}`,
        }),
      });
      sending.on("error", reject);
      sending.on("response", (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const answer = Buffer.concat(chunks).toString();
          const status = response.statusCode ?? 0;
          if (status >= 200 && status < 300) resolve(asJson(answer) as T);
          else
            reject(new HttpsError(status, `${method} ${path}: ${status} ${answer.slice(0, 300)}`));
        });
      });
      sending.end(text);
    });
  }
}

/** "[::1]:6443" as its address and port. Pure. */
function addressOf(server: string): [string, number] {
  const { hostname, port } = new URL(`https://${server}`);
  return [hostname.replace(/^\[|\]$/g, ""), Number(port || 443)];
}

/** /readyz answers with a plain word. */
function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
