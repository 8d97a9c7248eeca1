import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { KubeConfig } from "@kubernetes/client-node";
import { findKubernetes } from "#kubernetes";
import { installDefinitions } from "../../src/kube/install.js";
import { until } from "../scenario/until.js";
import { ApiUser, type KubectlResult } from "./api-user.js";
import { type ServerCertificate, writeKey, writeServerCertificate } from "./certificates.js";
import { freePorts } from "./free-ports.js";
import { copyEtcd, installedDefinitions, savedEtcd } from "./saved-etcd.js";
import { Servers } from "./servers.js";

export interface ApiServerOptions {
  /** Notes every request; left out, `auditEvents` has nothing to tell. */
  readonly auditLog?: boolean;
  /** Runs the controllers that delete namespaces' content and dependents and count for disruption budgets. */
  readonly controllers?: boolean;
  /**
   * Begins with an empty etcd: without our kinds, and with UIDs that no other API server has. Left out,
   * the API server knows our kinds, and shares the UIDs of its first namespaces with all such ones.
   */
  readonly isEmpty?: boolean;
  /** Users besides `admin`, by name, and their groups. What a user may do is up to RBAC. */
  readonly users?: Readonly<Record<string, readonly string[]>>;
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
/** Each question is a TLS handshake, and a start takes seconds. */
const readyPollMs = 100;

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
    const { binDir } = toolchain;
    const saved = options.isEmpty
      ? undefined
      : await savedEtcd(binDir, async (dataDir) => {
          const first = await ApiServer.start({ isEmpty: true });
          await first.saveWithKinds(dataDir).finally(() => first.stop());
        });
    const [api = 0, etcd = 0, peer = 0] = await freePorts(3);
    const servers = new Servers("kube");
    try {
      const server = new ApiServer(servers, binDir, { api, etcd, peer }, options);
      if (saved !== undefined) copyEtcd(saved, server.dataDir);
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

  /** Installs our kinds, ends, and leaves its data at a path. */
  private async saveWithKinds(dataDir: string): Promise<void> {
    await installDefinitions(this.config, {
      definitions: installedDefinitions,
      dryRun: false,
      force: false,
      signal: new AbortController().signal,
      onInstalled: () => {},
    });
    for (const name of ["kube-apiserver", "etcd"]) await this.servers.end(name, "SIGTERM");
    cpSync(this.dataDir, dataDir, { recursive: true });
  }

  private async startAll(): Promise<void> {
    this.startEtcd();
    this.startApiServer();
    await this.untilReady();
    if (!this.options.isEmpty) await this.untilKindsServed();
    if (this.options.controllers) this.startControllers();
  }

  private startEtcd(): void {
    const [client, peer] = [this.ports.etcd, this.ports.peer].map((at) => `http://127.0.0.1:${at}`);
    this.servers.start("etcd", join(this.binDir, "etcd"), [
      `--data-dir=${this.dataDir}`,
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
    const audit = [
      `--audit-policy-file=${this.file("audit-policy.yaml")}`,
      `--audit-log-path=${this.file("audit.log")}`,
    ];
    const args = [
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
      ...(this.options.auditLog ? audit : []),
    ];
    // The server lives for minutes and has little garbage: a seventh of its start was for collecting that.
    const env = { ...process.env, GOGC: "400" };
    this.servers.start("kube-apiserver", join(this.binDir, "kube-apiserver"), args, { env });
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
      readyPollMs,
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

  /** A server opens the storage of a kind when it is first asked for one, and asks for patience meanwhile. */
  private async untilKindsServed(): Promise<void> {
    const paths = installedDefinitions.flatMap(({ spec: { group, names, versions } }) =>
      versions.map(({ name }) => `/apis/${group}/${name}/${names.plural}`),
    );
    const lists = () => Promise.all(paths.map((path) => this.admin.read(path)));
    await until("our kinds are served", () => lists().catch(() => false as const));
  }

  private get dataDir(): string {
    return this.file("etcd");
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
