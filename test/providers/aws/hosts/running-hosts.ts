import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import { createServer as createDoor, type AddressInfo, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext, TLSSocket } from "node:tls";
import { issueCertificate } from "../../../../src/bootstrap/certificates/certificate.js";
import type { HostSource } from "./account-hosts.js";
import { answerApi } from "./api-answers.js";
import { hasMajority, nothingBegun, type HostClusterState, caughtUp } from "./host-cluster.js";
import type { KeyPair } from "./first-start.js";
import { acceptPortForward } from "./portforward.js";

const etcdPort = 2379;
const dayMs = 86_400_000;
const pollMs = 200;

/**
 * What runs on the instances of a simulated account, which runs nothing: they begin a cluster and join it by the user data that they were
 * launched with, and one address stands for the API servers of its members. It takes client certificates of the cluster's authority,
 * keeps tokens, shows Nodes, and forwards to an etcd that counts its members. Without a majority of them nothing answers. Of one cluster
 * at a time.
 */
export class RunningHosts {
  private state: HostClusterState = nothingBegun;
  /** Whose certificates the servers show: of the present authorities. */
  private shown: string | undefined;
  private etcdContext = createSecureContext();
  private readonly sockets = new Set<Socket>();
  /** One look at the account at a time. */
  private looking: Promise<boolean> = Promise.resolve(false);
  private running: ReadonlySet<string> = new Set();
  private next: NodeJS.Timeout | undefined;
  private isOver = false;

  private constructor(
    private readonly account: HostSource,
    private readonly door: Server,
    private readonly https: HttpsServer,
  ) {}

  static async start(account: HostSource): Promise<RunningHosts> {
    const https = createHttpsServer({ requestCert: true, rejectUnauthorized: true });
    // Whoever connects waits until it is known what there is.
    const door = createDoor({ pauseOnConnect: true }, (socket) => void hosts.let(socket));
    const hosts = new RunningHosts(account, door, https);
    https.on("request", (request, response) => void hosts.answer(request, response));
    https.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
      hosts.forward(request, socket);
    });
    await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve));
    return hosts;
  }

  /** From now on hosts start by themselves, and serve behind their load balancer once they have. */
  async begin(): Promise<void> {
    await this.account.begin();
    this.keepUp();
  }

  /** What commands need in their environment to reach it by the name of whatever load balancer. */
  get env(): Readonly<Record<string, string>> {
    const relay = new URL("./api-relay.js", import.meta.url).href;
    return { NODE_OPTIONS: `--import=${relay}`, STAND_IN_API_PORT: String(this.port) };
  }

  /** Where the API is reached on loopback. */
  get port(): number {
    return (this.door.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    clearTimeout(this.next);
    this.isOver = true;
    const closed = new Promise((resolve) => this.door.close(resolve));
    this.dropAll();
    await closed;
  }

  /** As it is now. */
  async now(): Promise<HostClusterState> {
    await this.catchUp();
    return this.state;
  }

  /** All is as it was when somebody asked; of an account that is put back as it was then. */
  async restore(state: HostClusterState): Promise<void> {
    this.dropAll();
    // What a look that has begun before finds is of another account.
    this.looking = this.looking.then(() => {
      this.state = state;
      return false;
    });
    await this.looking;
  }

  private dropAll(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** Hosts start although nobody connects: what they fetch is kept for them until they answer. */
  private keepUp(): void {
    this.next = setTimeout(() => {
      void this.catchUp()
        .catch(() => false)
        .then(() => this.isOver || this.keepUp());
    }, pollMs);
  }

  /** Whether the API answers now. */
  private catchUp(): Promise<boolean> {
    const next = this.looking.then(async () => {
      const { instances, accountMs } = await this.account.look();
      const before = new Set(this.state.started);
      this.state = caughtUp(this.state, instances, { accountMs, nowMs: Date.now() });
      const started = this.state.started.filter((id) => !before.has(id));
      for (const id of started) await this.account.tellHealth(id, "healthy");
      this.running = new Set(
        instances.filter(({ isRunning }) => isRunning).map(({ hostname }) => hostname),
      );
      await this.show();
      return hasMajority(this.state, instances);
    });
    this.looking = next.catch(() => false);
    return next;
  }

  /** Shows certificates of the authorities that there are. */
  private async show(): Promise<void> {
    const { authorities } = this.state;
    if (authorities === undefined || this.shown === authorities.ca.certificatePem) return;
    const { ca, etcd } = authorities;
    const api = await servingCertificate(ca);
    this.https.setSecureContext({ ...api, ca: ca.certificatePem });
    const member = await servingCertificate(etcd);
    this.etcdContext = createSecureContext({ ...member, ca: etcd.certificatePem });
    this.shown = ca.certificatePem;
  }

  private async let(socket: Socket): Promise<void> {
    this.sockets.add(socket);
    socket.on("close", () => this.sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    const answers = await this.catchUp().catch(() => false);
    if (!answers) {
      socket.destroy();
      return;
    }
    this.https.emit("connection", socket);
    socket.resume();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await bodyOf(request);
      if (!(await this.catchUp())) {
        request.socket.destroy();
        return;
      }
      const { method = "GET", url = "/" } = request;
      const { status, document, state } = answerApi(
        { method, url, body },
        this.state,
        this.running,
      );
      this.state = state;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(document));
    } catch {
      request.socket.destroy();
    }
  }

  /** Etcd answers in the pod of a member, behind TLS of its own. */
  private forward({ headers, url = "" }: IncomingMessage, socket: Duplex): void {
    const [, name = ""] = /\/pods\/etcd-([^/]+)\/portforward/.exec(url) ?? [];
    const forwarded = acceptPortForward(socket, headers["sec-websocket-key"] ?? "", etcdPort);
    const options = { isServer: true, requestCert: true, rejectUnauthorized: true } as const;
    const secure = new TLSSocket(forwarded, {
      ...options,
      secureContext: this.etcdContext,
    });
    secure.on("error", () => forwarded.destroy());
    const etcd = createHttpServer((request, response) => {
      this.answerEtcd(name, request, response).catch(() => forwarded.destroy());
    });
    etcd.emit("connection", secure);
  }

  /** `name`: of the member that is asked, which answers as long as its host runs. */
  private async answerEtcd(
    name: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const body = await bodyOf(request);
    if (!(await this.catchUp())) throw new Error("etcd has no majority");
    const answer = (status: number, document: object) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(document));
    };
    const { members } = this.state;
    if (request.url === "/v3/maintenance/status") {
      const own = members.find((one) => one.name === name);
      if (own === undefined || !this.running.has(name)) throw new Error(`${name} does not run`);
      const leader = members.find((one) => this.running.has(one.name))?.id;
      answer(200, { header: { member_id: own.id }, leader });
      return;
    }
    if (request.url === "/v3/maintenance/alarm") {
      answer(200, {});
      return;
    }
    if (request.url === "/v3/cluster/member/list") {
      answer(200, {
        members: members.map(({ id, name, address }) => ({
          ID: id,
          name,
          peerURLs: [`https://${address}:2380`],
        })),
      });
      return;
    }
    const { ID } = JSON.parse(body) as { readonly ID?: string };
    const leaving = members.find(({ id }) => id === ID);
    if (leaving === undefined) {
      answer(404, { error: "etcdserver: member not found" });
      return;
    }
    const { instances } = await this.account.look();
    const left = { ...this.state, members: members.filter((one) => one !== leaving) };
    if (!hasMajority(left, instances)) {
      answer(412, {
        error: "etcdserver: re-configuration failed due to not enough started members",
      });
      return;
    }
    this.state = left;
    // Its API server has no etcd any more.
    await this.account.tellHealth(leaving.instance, "unhealthy");
    answer(200, { members: [] });
  }
}

function servingCertificate(authority: KeyPair): Promise<{ cert: string; key: string }> {
  const nowMs = Date.now();
  return issueCertificate(authority, {
    commonName: "kube-apiserver",
    algorithm: "ECDSA-P256",
    usages: ["server"],
    dnsNames: ["localhost", "*.elb.eu-north-1.amazonaws.com"],
    ipAddresses: ["127.0.0.1"],
    validity: { fromMs: nowMs - dayMs, untilMs: nowMs + dayMs },
  }).then(({ certificatePem, privateKeyPem }) => ({ cert: certificatePem, key: privateKeyPem }));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
