import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Command } from "../../scenario/command.js";
import { clearFaults } from "../../scenario/cloud-faults.js";
import { type CloudRow, type Deployment, mutationsIn } from "../../scenario/ledger-judge.js";
import { clearServer } from "../../scenario/clear-server.js";
import { Sandbox, type SandboxOptions, sharedBackend } from "../../scenario/sandbox.js";
import { until } from "../../scenario/until.js";
import { watchArguments } from "../../scenario/watch-rig.js";
import { ApiServer } from "../../support/api-server.js";
import { Postgres } from "../../support/postgres.js";
import { type ManifestObject, stackOf } from "../targets.js";
import { ApiGate, type Door, type GateRow } from "./api-gate.js";
import { type Machine, postgresEnv, twoMachines } from "./machine.js";
import { finalizerProblems, type JudgedObject } from "./watch-judge.js";
import { removeFolder } from "../../support/folders.js";

/** One controller that contends for the lease. */
export interface Replica {
  readonly command: Command;
  readonly door: Door;
  readonly machine: Machine;
}

/** Where stacks are kept. */
export type WatchBackend = "file" | "postgres";

/** What lasts over the lives of many clusters: an API server. */
export class WatchStage {
  private constructor(
    readonly server: ApiServer,
    private readonly backend: WatchBackend,
    private readonly folder: string,
    private readonly program: string | undefined,
  ) {}

  /** `program`: the command line that is run; the repository's without. */
  static async start(backend: WatchBackend, program?: string): Promise<WatchStage> {
    const folder = mkdtempSync(join(tmpdir(), "capstan-watch-chaos-"));
    const server = await ApiServer.start();
    return new WatchStage(server, backend, folder, program);
  }

  /** A world without a cluster in it. Whoever gets it closes it. */
  async world(objects: readonly ManifestObject[]): Promise<WatchWorld> {
    const { server } = this;
    await clearServer(server);
    if (this.backend === "file") {
      const sandbox = await Sandbox.make({ machines: {} }, this.options);
      await sandbox.cloud.clearFaults();
      return new WatchWorld(
        server,
        sandbox,
        [{ name: "here", sandbox, relay: undefined }],
        objects,
      );
    }
    const postgres = await Postgres.start();
    const backend = sharedBackend(postgres.url, postgresEnv(postgres, this.folder));
    const sandbox = await Sandbox.make({ machines: {} }, { ...this.options, backend });
    await sandbox.cloud.clearFaults();
    const machines = await twoMachines(sandbox, postgres, {
      ...this.options,
      parent: this.folder,
    });
    return new WatchWorld(server, sandbox, machines, objects, postgres);
  }

  async close(): Promise<void> {
    await this.server.stop();
    removeFolder(this.folder);
  }

  private get options(): SandboxOptions {
    const { program, server } = this;
    const env = { KUBECONFIG: server.kubeconfig };
    return { env, ...(program !== undefined && { program }) };
  }
}

const apiPath = "/apis/cluster.k8s.io/v1alpha1";
const resources = ["clusters", "machinedeployments", "machinesets", "machines"];
/** How long nothing has happened where a world has come to rest. */
export const settledMs = 2_500;

/** The world of one cluster: objects on an API server, a cloud, controllers that come and go. */
export class WatchWorld {
  readonly gate: ApiGate;
  readonly stack: string;
  /** Namespace and name of the cluster. */
  readonly cluster: string;
  readonly replicas: Replica[] = [];
  /** Every controller that ever ran, by its pid. */
  readonly pids = new Map<number, string>();
  /** What was wrong at the very moment of a write. */
  readonly trespasses: string[] = [];
  private opened = 0;

  constructor(
    readonly server: ApiServer,
    /** Whose folder has the cloud, and whose Pulumi reads the state. */
    readonly sandbox: Sandbox,
    readonly machines: readonly Machine[],
    objects: readonly ManifestObject[],
    private readonly postgres?: Postgres,
  ) {
    this.gate = new ApiGate(server);
    this.stack = stackOf(objects);
    this.cluster = this.stack.replace(".", "/");
    this.gate.witness = (row) => {
      this.trespasses.push(...finalizerProblems(row, this.own()));
    };
  }

  /** What the cloud ever had of the cluster. */
  own(): CloudRow[] {
    return this.sandbox.rows().filter(({ cluster }) => cluster === this.cluster);
  }

  /** Starts a controller, on another machine than the last one where there are two, and waits until it contends. */
  async add(): Promise<Replica> {
    const machine = this.machines[this.opened % this.machines.length];
    if (machine === undefined) throw new Error("a world has a machine");
    this.opened += 1;
    const door = await this.gate.open(`replica-${this.opened}`);
    const args = [...watchArguments, "--kubeconfig", door.kubeconfig];
    const command = machine.sandbox.start("watch", ...args);
    const replica = { command, door, machine };
    this.replicas.push(replica);
    this.pids.set(command.pid, door.name);
    await until(
      "a controller leads or follows",
      () => {
        if (command.hasEnded) throw new Error(`a controller has ended:\n${command.said}`);
        return /"(leads|follows)"/.test(command.said);
      },
      90_000,
    ).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}:\n${command.said}`);
    });
    return replica;
  }

  /** Whoever holds the lease by what the API server has accepted; undefined before anybody does. */
  leader(): Replica | undefined {
    const last = this.leases().at(-1);
    return this.replicas.find(({ door }) => door.name === last?.door);
  }

  /** The accepted writes of the lease, by the door of its holder. */
  leases(): GateRow[] {
    return this.gate.log.filter(({ what, status }) => what === "lease" && status < 300);
  }

  /** Applies what a user wants the cluster to be. */
  async apply(objects: readonly ManifestObject[]): Promise<void> {
    await this.server.apply(objects.map((one) => stringify(one)).join("---\n"));
  }

  async deleteCluster(): Promise<void> {
    const name = this.stack.slice(this.stack.indexOf(".") + 1);
    await this.server.kubectl("delete", "cluster", name, "--wait=false");
  }

  /** Every object of our kinds. */
  objects(): Promise<JudgedObject[]> {
    return objectsOn(this.server);
  }

  /** What Pulumi has recorded, read on a machine on which an engine has run. */
  async deployment(): Promise<Deployment> {
    const known = this.machines.find(({ sandbox }) => existsSync(join(sandbox.state, "work")));
    return known === undefined ? {} : known.sandbox.deployment(this.stack);
  }

  /** Whether neither objects nor the cloud have been changed for a while. */
  isQuiet(): boolean {
    const sinceMs = Date.now() - settledMs;
    const isLate = ({ what, doneMs = 0 }: GateRow) => what !== "lease" && doneMs > sinceMs;
    if (this.gate.log.some(isLate)) return false;
    return !mutationsIn(this.sandbox.ledger()).some(({ atMs = 0 }) => atMs > sinceMs);
  }

  /** Lets go of controllers that have ended, ends all but the leader and one more, and starts what is missing. */
  async replenish(): Promise<void> {
    for (const replica of this.replicas.filter(({ command }) => command.hasEnded)) {
      await this.end(replica);
    }
    const leader = this.leader();
    const others = this.replicas.filter((one) => one !== leader);
    for (const replica of others.slice(1)) await this.end(replica);
    while (this.replicas.length < 2) await this.add();
  }

  async close(): Promise<void> {
    clearFaults(this.sandbox.cloudFile);
    for (const replica of [...this.replicas]) await this.end(replica);
    this.gate.close();
    for (const { sandbox, relay } of this.machines) {
      relay?.stop();
      await sandbox.close();
    }
    await this.sandbox.close();
    await this.postgres?.stop();
  }

  private async end(replica: Replica): Promise<void> {
    this.replicas.splice(this.replicas.indexOf(replica), 1);
    await replica.command.killTree();
    replica.door.close();
  }
}

async function objectsOn(server: ApiServer): Promise<JudgedObject[]> {
  const lists = await Promise.all(
    resources.map((plural) => server.admin.read(`${apiPath}/${plural}`)),
  );
  return lists.flatMap((list) => (list as { items: JudgedObject[] }).items);
}
