import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiServer, type ApiServerOptions } from "../support/api-server.js";
import { asOnMachine } from "./another-machine.js";
import { clearServer } from "./clear-server.js";
import type { Command } from "./command.js";
import { CountedPulumi } from "./counted-pulumi.js";
import { Sandbox, type SandboxSource, type StateBackend } from "./sandbox.js";
import { until } from "./until.js";
import { removeFolder } from "../support/folders.js";

/** An object as kubectl prints it. */
export interface ShownObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

/** Of a controller in a test. */
export const watchArguments = ["--json", "--period", "1", "--providers", "local,aws"] as const;

export interface RigOptions extends ApiServerOptions {
  readonly backend?: StateBackend;
  /** More of the environment of commands. */
  readonly env?: Readonly<Record<string, string>>;
  /** An API server of several tests: the rig clears it as it stops, and says nothing of how it is started. */
  readonly server?: ApiServer;
}

const apiPath = "/apis/cluster.k8s.io/v1alpha1";
/** Resources by the names that kubectl takes. */
const resources = {
  cluster: "clusters",
  ma: "machines",
  machine: "machines",
  md: "machinedeployments",
} as const;

/** A real API server with our kinds, a local cloud, and controllers as processes. */
export class WatchRig {
  private constructor(
    readonly server: ApiServer,
    readonly sandbox: Sandbox,
    readonly pulumi: CountedPulumi,
    private readonly folder: string,
    /** Of the API server, once no command runs any more. */
    private readonly leave: () => Promise<void>,
  ) {}

  /** On an API server of its own, unless it is given one. */
  static async start(source: SandboxSource, options: RigOptions = {}): Promise<WatchRig> {
    const folder = mkdtempSync(join(tmpdir(), "capstan-watch-"));
    const { backend, env: more = {}, server: given, ...ofServer } = options;
    const server = given ?? (await ApiServer.start({ controllers: true, ...ofServer }));
    const leave = () => (given === undefined ? server.stop() : clearServer(given));
    const pulumi = await CountedPulumi.in(folder);
    const env = { KUBECONFIG: server.kubeconfig, CAPSTAN_PULUMI: pulumi.program, ...more };
    const sandbox = await Sandbox.make(source, { env, ...(backend && { backend }) });
    return new WatchRig(server, sandbox, pulumi, folder, leave);
  }

  async stop(): Promise<void> {
    await this.sandbox.close();
    await this.leave();
    removeFolder(this.folder);
  }

  /** A controller that looks for drift every second unless told otherwise, and offers all providers of the release. */
  watch(...args: string[]): Command {
    return this.sandbox.start("watch", ...watchArguments, ...args);
  }

  /**
   * Another machine's: under another host name, with a state folder of its own, and the same cloud, backend and API server. Whoever
   * asks for it closes it.
   */
  async elsewhere(): Promise<Sandbox> {
    const runner = asOnMachine("elsewhere", this.folder);
    const other = await Sandbox.make({ machines: {} }, { ...this.sandbox.options, runner });
    mkdirSync(other.state);
    symlinkSync(this.sandbox.cloudFile, other.cloudFile);
    return other;
  }

  /** One that leads by the time this resolves. */
  async watchLeading(...args: string[]): Promise<Command> {
    const command = this.watch(...args);
    await until("the controller leads", () => {
      assert.equal(command.hasEnded, false, command.said);
      return command.said.includes('"leads"');
    });
    return command;
  }

  /** Runs kubectl; fails unless it succeeds. */
  async kubectl(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.server.kubectl(...args);
    assert.equal(code, 0, `kubectl ${args.join(" ")}\n${stderr}`);
    return stdout;
  }

  /**
   * `kubectl apply` of the sandbox's manifests. Clusters come last: one alone would be made as it is, should the server take its
   * time before what belongs to it.
   */
  async applyManifests(): Promise<void> {
    const { manifests } = this.sandbox;
    const documents = readdirSync(manifests).flatMap((name) =>
      readFileSync(join(manifests, name), "utf8").split(/^---$/m),
    );
    const isCluster = (text: string) => /^kind: Cluster$/m.test(text);
    const workersFirst = documents.toSorted((a, b) => Number(isCluster(a)) - Number(isCluster(b)));
    await this.server.apply(workersFirst.join("\n---\n"));
  }

  /** The objects of some resources, separated by commas, in all namespaces. */
  async all(resources: string): Promise<ShownObject[]> {
    const lists = await Promise.all(
      resources.split(",").map((resource) => this.server.admin.read(`${apiPath}/${resource}`)),
    );
    return lists.flatMap((list) => (list as { items: ShownObject[] }).items);
  }

  async get(kind: keyof typeof resources, name: string): Promise<ShownObject> {
    const path = `${apiPath}/namespaces/default/${resources[kind]}/${name}`;
    return (await this.server.admin.read(path)) as ShownObject;
  }

  /** Until the Cluster says that so many Machines run, and that nothing is under way. */
  async untilRunning(name: string, machines: number, deadlineMs?: number): Promise<ShownObject> {
    return until(
      `${machines} Machines of ${name} run`,
      async () => {
        const cluster = await this.get("cluster", name);
        const { phase, machines: counts, transaction } = cluster.status ?? {};
        const isDone = phase === "Running" && transaction === undefined;
        const { summary } = (counts ?? {}) as { summary?: string };
        return isDone && summary === `${machines}/${machines}` ? cluster : undefined;
      },
      deadlineMs,
    );
  }

  /** Hosts that run in the cloud, by the name of their Machine's provider id. */
  hostsAlive(): string[] {
    return this.sandbox
      .alive()
      .filter(({ kind }) => kind === "LocalHost")
      .map(({ id }) => id)
      .sort();
  }
}
