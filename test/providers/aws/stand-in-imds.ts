import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** What an instance with a profile may sign with. */
interface ProfileCredentials {
  readonly AccessKeyId: string;
  readonly SecretAccessKey: string;
  readonly Token: string;
}

const token = "token-of-the-session";
const root = "/latest/meta-data/";

/**
 * Stands for the metadata service of an instance in IMDSv2, as AWS describes it: it tells nothing without a token, which
 * only a PUT with a lifetime gets.
 */
export class StandInImds {
  /** What its profile gives; without, the instance has none, or none yet. */
  credentials: ProfileCredentials | undefined;
  /** How often it was asked for what it has not. */
  refused = 0;

  private constructor(
    private readonly server: Server,
    private readonly region: string,
  ) {
    server.on("request", (request: IncomingMessage, response) => {
      const { status, text } = this.answer(request);
      response.writeHead(status).end(text);
    });
  }

  static async start(region: string): Promise<StandInImds> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    return new StandInImds(server, region);
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  private answer({ method, url = "", headers }: IncomingMessage) {
    if (url === "/latest/api/token") {
      const lifetime = Number(headers["x-aws-ec2-metadata-token-ttl-seconds"]);
      const isRight = method === "PUT" && lifetime >= 1 && lifetime <= 21_600;
      return isRight ? { status: 200, text: token } : { status: 400, text: "" };
    }
    if (headers["x-aws-ec2-metadata-token"] !== token) return { status: 401, text: "" };
    const path = url.slice(root.length);
    const text = this.metadata()[path];
    if (url.startsWith(root) && text !== undefined) return { status: 200, text };
    this.refused += 1;
    return { status: 404, text: "" };
  }

  private metadata(): Readonly<Record<string, string>> {
    const always = { "placement/region": this.region, "services/domain": "amazonaws.com" };
    if (this.credentials === undefined) return always;
    const role = "iam/security-credentials/";
    const told = { Code: "Success", Type: "AWS-HMAC", ...this.credentials };
    return { ...always, [role]: "worker", [`${role}worker`]: JSON.stringify(told) };
  }

  async stop(): Promise<void> {
    const closed = once(this.server, "close");
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}
