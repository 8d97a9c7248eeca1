import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { KubeConfig } from "@kubernetes/client-node";
import { findKubernetes } from "#kubernetes";
import { until } from "../scenario/until.js";
import { type ServerCertificate, writeKey, writeServerCertificate } from "./certificates.js";
import { freePorts } from "./free-ports.js";
import { Servers } from "./servers.js";

export interface ApiServerOptions {
  /** Notes every request; left out, `auditEvents` has nothing to tell. */
  readonly auditLog?: boolean;
  /** Runs the controllers that delete namespaces' content and dependents and count for disruption budgets. */
  readonly controllers?: boolean;
  /** Users besides `admin`, by name, and their groups. What a user may do is up to RBAC. */
  readonly users?: Readonly<Record<string, readonly string[]>>;
}

/** What kubectl said and how it ended. */
export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Some fields of an event of the group audit.k8s.io/v1: one stage of one request. */
export interface AuditEvent {
  readonly auditID: string;
  /** ResponseStarted is told of watches only, which may never complete. */
  readonly stage: "ResponseStarted" | "ResponseComplete" | "Panic";
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string; readonly groups: readonly string[] };
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code: number };
  readonly requestReceivedTimestamp: string;
}

const writeVerbs = ["create", "update", "patch", "delete", "deletecollection"];

/** Whether the request was to change something. */
export function isWrite(event: AuditEvent): boolean {
  return writeVerbs.includes(event.verb);
}

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{ level: Metadata }]
`;

const controllers = [
  "namespace-controller",
  "garbage-collector-controller",
  "disruption-controller",
].join(",");

const readyDeadlineMs = 180_000;
const kubectlTimeoutMs = 200_000;
/** How long a server is asked again that has no time, or has only just learnt of a kind. */
const readPatienceMs = 60_000;

/** Someone who may ask the API server. */
export class ApiUser {
  /** A file for kubectl and for the product. */
  readonly kubeconfig: string;
  readonly config = new KubeConfig();

  constructor(
    private readonly binDir: string,
    private readonly folder: string,
    readonly name: string,
    private readonly access: {
      readonly url: string;
      readonly authority: string;
      readonly token: string;
    },
  ) {
    const { url, authority, token } = access;
    this.config.loadFromOptions({
      clusters: [{ name: "test", server: url, caData: readFileSync(authority, "base64") }],
      users: [{ name, token }],
      contexts: [{ name, cluster: "test", user: name }],
      currentContext: name,
    });
    this.kubeconfig = join(folder, `${name}.kubeconfig`);
    writeFileSync(this.kubeconfig, this.config.exportConfig(), { mode: 0o600 });
  }

  /** Runs kubectl to its end, whatever that is. */
  kubectl(...args: string[]): Promise<KubectlResult> {
    return this.runKubectl(args, "");
  }

  /** `kubectl apply` of manifests as text; fails unless it succeeds. */
  async apply(manifests: string): Promise<void> {
    const { code, stderr } = await this.runKubectl(["apply", "-f", "-"], manifests);
    assert.equal(code, 0, stderr);
  }

  /**
   * What the API server answers to a GET of a path, as JSON. For whoever waits: asking again and again
   * by kubectl takes a processor for itself.
   */
  async read(path: string): Promise<unknown> {
    const giveUpAtMs = Date.now() + readPatienceMs;
    for (;;) {
      const isLast = Date.now() > giveUpAtMs;
      const answer = await this.get(path).catch((error: unknown) => {
        if (isLast) throw error;
        return undefined;
      });
      const isBusy = answer === undefined || answer.status === 429 || answer.status >= 500;
      if (answer !== undefined && (isLast || !isBusy)) {
        assert.equal(answer.status, 200, `GET ${path}: ${answer.body}`);
        return JSON.parse(answer.body);
      }
      await wait(200);
    }
  }

  private async get(path: string): Promise<{ readonly status: number; readonly body: string }> {
    const { url, authority, token } = this.access;
    const headers = { authorization: `Bearer ${token}` };
    const request = get(`${url}${path}`, { ca: readFileSync(authority), headers, timeout: 20_000 });
    request.on("timeout", () => request.destroy(new Error(`no answer to GET ${path}`)));
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return { status: response.statusCode ?? 0, body: await text(response) };
  }

  private runKubectl(args: readonly string[], input: string): Promise<KubectlResult> {
    const env = {
      ...process.env,
      KUBECONFIG: this.kubeconfig,
      KUBECACHEDIR: join(this.folder, "kubectl"),
    };
    return new Promise((resolve) => {
      const child = execFile(
        join(this.binDir, "kubectl"),
        args,
        { env, timeout: kubectlTimeoutMs, maxBuffer: 64 * 1024 * 1024 },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
          resolve({ code, stdout, stderr: stderr === "" && error ? error.message : stderr });
        },
      );
      child.stdin?.on("error", () => undefined).end(input);
    });
  }
}

/**
 * A real API server with its etcd on loopback, in a folder of its own, with certificates and tokens
 * made for it. Ends with the test's process if `stop` is never reached.
 */
export class ApiServer {
  /** Member of system:masters. */
  readonly admin: ApiUser;
  private readonly users = new Map<string, ApiUser>();

  private constructor(
    private readonly servers: Servers,
    private readonly binDir: string,
    private readonly ports: { readonly api: number; readonly etcd: number; readonly peer: number },
    private readonly options: ApiServerOptions,
  ) {
    this.certificate = writeServerCertificate(servers.folder);
    writeKey(this.file("accounts.key"));
    writeFileSync(this.file("audit-policy.yaml"), auditPolicy);
    const groups = Object.entries({ admin: ["system:masters"], ...options.users });
    const tokens = new Map(groups.map(([name]) => [name, randomBytes(16).toString("hex")]));
    writeFileSync(
      this.file("tokens.csv"),
      groups
        .map(([name, its]) => `${tokens.get(name)},${name},${name},"${its.join(",")}"\n`)
        .join(""),
      { mode: 0o600 },
    );
    for (const [name, token] of tokens) this.users.set(name, this.userWith(token, name));
    this.admin = this.as("admin");
  }

  private readonly certificate: ServerCertificate;

  /** A running one that answers; takes about three seconds. */
  static async start(options: ApiServerOptions = {}): Promise<ApiServer> {
    const toolchain = findKubernetes(process.env);
    assert.ok(
      toolchain !== undefined,
      "no control plane to test with: run npm test, which sets it up, or set CAPSTAN_KUBERNETES " +
        "to a folder with etcd, kube-apiserver, kube-controller-manager and kubectl",
    );
    const [api = 0, etcd = 0, peer = 0] = await freePorts(3);
    const servers = new Servers("kube");
    try {
      const server = new ApiServer(servers, toolchain.binDir, { api, etcd, peer }, options);
      await server.startAll();
      return server;
    } catch (error) {
      await servers.endAll();
      throw error;
    }
  }

  get url(): string {
    return `https://127.0.0.1:${this.ports.api}`;
  }

  /** The admin's file. */
  get kubeconfig(): string {
    return this.admin.kubeconfig;
  }

  /** The admin's. */
  get config(): KubeConfig {
    return this.admin.config;
  }

  /** Everything of this server, removed by `stop`; free for files of the test too. */
  get folder(): string {
    return this.servers.folder;
  }

  /** Runs kubectl as admin. */
  kubectl(...args: string[]): Promise<KubectlResult> {
    return this.admin.kubectl(...args);
  }

  /** `kubectl apply` as admin of manifests as text; fails unless it succeeds. */
  apply(manifests: string): Promise<void> {
    return this.admin.apply(manifests);
  }

  /** One of the users that it was started with. */
  as(name: string): ApiUser {
    const user = this.users.get(name);
    assert.ok(user !== undefined, `the API server was started without a user ${name}`);
    return user;
  }

  /** Who holds a token that was got elsewhere, such as a service account's by TokenRequest. */
  userWith(token: string, name: string): ApiUser {
    const { authority } = this.certificate;
    return new ApiUser(this.binDir, this.folder, name, { url: this.url, authority, token });
  }

  /** Ends the API server alone, without a chance to say goodbye. Its data stays. */
  async kill(): Promise<void> {
    await this.servers.end("kube-apiserver");
  }

  /** Kills it if it runs, and starts it at the same address with the same data; until it answers. */
  async restart(): Promise<void> {
    await this.kill();
    this.startApiServer();
    await this.untilReady();
  }

  /** Connections stay open and get no answer from now on. */
  freeze(): void {
    this.servers.signal("kube-apiserver", "SIGSTOP");
  }

  /** It goes on where it was frozen. */
  thaw(): void {
    this.servers.signal("kube-apiserver", "SIGCONT");
  }

  /** Frozen for a time. */
  async pause(ms: number): Promise<void> {
    this.freeze();
    await wait(ms);
    this.thaw();
  }

  /** What was asked of it so far, oldest first, over all restarts. */
  auditEvents(): AuditEvent[] {
    assert.ok(this.options.auditLog, "the API server was started without auditLog");
    const file = this.file("audit.log");
    const log = existsSync(file) ? readFileSync(file, "utf8") : "";
    // The last line may be half written; what follows its last line end is no event yet.
    const lines = log.slice(0, log.lastIndexOf("\n") + 1).split("\n");
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as AuditEvent);
  }

  /** Ends everything and removes its files. */
  stop(): Promise<void> {
    return this.servers.endAll();
  }

  private async startAll(): Promise<void> {
    this.startEtcd();
    this.startApiServer();
    await this.untilReady();
    if (this.options.controllers) this.startControllers();
  }

  private startEtcd(): void {
    const [client, peer] = [this.ports.etcd, this.ports.peer].map((at) => `http://127.0.0.1:${at}`);
    this.servers.start("etcd", join(this.binDir, "etcd"), [
      `--data-dir=${this.file("etcd")}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      "--unsafe-no-fsync",
      "--log-level=warn",
    ]);
  }

  private startApiServer(): void {
    const { authority, certificate, key } = this.certificate;
    const accountsKey = this.file("accounts.key");
    this.servers.start("kube-apiserver", join(this.binDir, "kube-apiserver"), [
      `--etcd-servers=http://127.0.0.1:${this.ports.etcd}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${this.ports.api}`,
      `--tls-cert-file=${certificate}`,
      `--tls-private-key-file=${key}`,
      `--client-ca-file=${authority}`,
      `--token-auth-file=${this.file("tokens.csv")}`,
      `--service-account-issuer=${this.url}`,
      `--service-account-key-file=${accountsKey}`,
      `--service-account-signing-key-file=${accountsKey}`,
      "--authorization-mode=RBAC",
      "--disable-admission-plugins=ServiceAccount",
      "--service-cluster-ip-range=10.96.0.0/24",
      "--endpoint-reconciler-type=none",
      ...(this.options.auditLog
        ? [
            `--audit-policy-file=${this.file("audit-policy.yaml")}`,
            `--audit-log-path=${this.file("audit.log")}`,
          ]
        : []),
    ]);
  }

  private startControllers(): void {
    this.servers.start("kube-controller-manager", join(this.binDir, "kube-controller-manager"), [
      `--kubeconfig=${this.kubeconfig}`,
      `--service-account-private-key-file=${this.file("accounts.key")}`,
      "--leader-elect=false",
      "--use-service-account-credentials=false",
      "--secure-port=0",
      `--controllers=${controllers}`,
    ]);
  }

  private async untilReady(): Promise<void> {
    const authority = readFileSync(this.certificate.authority);
    await until(
      "the API server is ready",
      () => {
        for (const name of ["etcd", "kube-apiserver"]) this.servers.pidOf(name);
        return isReady(`${this.url}/readyz`, authority);
      },
      readyDeadlineMs,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.servers.lastLines("kube-apiserver")}`);
    });
    // It says that it is ready before it has made those that every server has.
    await until("its namespaces are there", async () => {
      const { items } = (await this.admin.read("/api/v1/namespaces")) as {
        readonly items: readonly { readonly metadata: { readonly name: string } }[];
      };
      const names = new Set(items.map(({ metadata }) => metadata.name));
      return ["default", "kube-system"].every((name) => names.has(name));
    });
  }

  private file(name: string): string {
    return join(this.folder, name);
  }
}

/** Whether an address answers 200 to someone without a name. */
export function isReady(url: string, ca: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { ca, timeout: 2_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(false));
  });
}
