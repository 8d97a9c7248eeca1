import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CapstanError, isCapstanError } from "../../src/api/error.js";
import { pausedAnnotation } from "../../src/api/pause.js";
import { type Desired, stackNamed } from "../../src/api/types.js";
import { MoveToApiServer } from "../../src/cli/commands/move-to-api-server.js";
import { MoveToFiles } from "../../src/cli/commands/move-to-files.js";
import type { Move, MoveOptions } from "../../src/cli/commands/moving.js";
import { refuseNonOwner } from "../../src/engine/backend/state.js";
import { ClusterObjects } from "../../src/kube/cluster-objects.js";
import type { LiveObject } from "../../src/kube/live-object.js";
import { isMoving, pauseBefore, pauseOf } from "../../src/kube/move-objects.js";
import { fileOwner } from "../../src/records/hand-over.js";
import { isOpen } from "../../src/records/prior-state.js";
import { plainWorld } from "./fake-cloud.js";
import { FakeController } from "./fake-controller.js";
import { type CommandOutcome, FakeEngine, outcomeText } from "./fake-engine.js";
import { type CommandFault, CommandProcess } from "./faults.js";
import { removeFolder } from "./folders.js";
import { onlyLocal, testCluster } from "./manifests.js";

const key = `default/${testCluster}`;
const stack = stackNamed(key);
/** As `FakeController` owns stacks. */
const server = "kube";

/** Commands and wishes of a cluster's life between its owners. */
export const movingVerbs = [
  "toFiles",
  "toServer",
  "destroy",
  "rollback",
  "up",
  "pause",
  "unpause",
  "deleteCluster",
  "deleteMachine",
  "watch",
] as const;
export type MovingVerb = (typeof movingVerbs)[number];

/** How a command of somebody went: killed, done, or what it was refused with. */
export type VerbOutcome = "killed" | "done" | CapstanError;

/**
 * A cluster that moves between files and an API server, and everybody who may do something to it: the product's own
 * move, commands on files, a controller and kubectl, on a state, a cloud and an API server in memory.
 */
export class MovingCluster {
  /** What was done that must not be. */
  readonly breaches: string[] = [];
  readonly controller: FakeController;
  /** Of the last move: how far it got. */
  lastMove = new CommandProcess();
  private readonly folder = mkdtempSync(join(tmpdir(), "capstan-moving-"));
  private readonly ids: readonly string[];
  /** Whoever owned it has asked for its end, or for that of a Machine: hosts may go. */
  private isGivenUp = false;
  private isUnsettled = false;
  private moves = 0;
  /** Where the manifests are said to be that it is made from. */
  private noted: string | undefined = "the first files";
  private wasTheirs = false;
  /** Somebody has paused it, and nobody has taken that away or brought it anywhere else. */
  private isPausedByHand = false;

  private constructor(
    readonly world: FakeEngine,
    private readonly desired: Desired,
    /** Objects go once the change of owner is committed: a defect. */
    private readonly departsLate: boolean,
  ) {
    this.controller = new FakeController(world);
    this.ids = world.hosts().map(({ id }) => id);
  }

  /** `joins`: its hosts are nodes of a cluster of their own. */
  static async ofFiles(
    desired: Desired,
    { joins = false, departsLate = false }: { joins?: boolean; departsLate?: boolean } = {},
  ): Promise<MovingCluster> {
    const world = await FakeEngine.running(desired, { traits: { ...plainWorld, joins } });
    return new MovingCluster(world, desired, departsLate);
  }

  close(): void {
    removeFolder(this.folder);
  }

  get owner(): string | undefined {
    return this.world.prior.transaction?.owner;
  }

  private get isOnItsWay(): boolean {
    return isOpen(this.world.prior);
  }

  /** Whether hosts run, and nobody has asked for their end. */
  get isAlive(): boolean {
    return !this.isGivenUp;
  }

  async run(verb: MovingVerb, faults: readonly CommandFault[] = []): Promise<VerbOutcome> {
    const wasOnItsWay = this.isOnItsWay;
    const wasEmpty = this.world.prior.transaction === undefined;
    const outcome = await this.carryOut(verb, faults);
    if (wasOnItsWay && isCapstanError(outcome) && outcome.hint?.includes("capstan move") !== true)
      this.breaches.push(`${verb} is refused without a way on: ${outcome.message}`);
    if (wasEmpty && this.world.alive().length > 0)
      this.breaches.push(`${verb} has brought a destroyed cluster back`);
    const left = new Set(this.world.hosts().map(({ id }) => id));
    if (this.isAlive && !this.ids.every((id) => left.has(id)))
      this.breaches.push(`${verb} has ended hosts that nobody gave up`);
    if (this.isAlive) this.breaches.push(...this.world.cloud.watch.violations);
    this.mustBeNoted(verb, outcome);
    this.mustStayPaused(verb);
    return outcome;
  }

  private async carryOut(verb: MovingVerb, faults: readonly CommandFault[]): Promise<VerbOutcome> {
    const { world, controller } = this;
    const { server: api } = controller;
    const isTheirs = this.owner === server && !this.isOnItsWay;
    switch (verb) {
      case "toFiles":
        return this.move("files", faults);
      case "toServer":
        return this.move("kubernetes", faults);
      case "destroy":
        return this.onFiles("destroy", () => {
          this.isGivenUp = true;
          return world.destroy();
        });
      case "rollback":
        return this.onFiles("roll back", () => world.rollback());
      case "up":
        return this.onFiles("change", () => world.up(this.desired));
      case "pause":
        this.pausesByHand();
        return "done";
      case "unpause":
        this.isPausedByHand = false;
        api.edit(`Cluster ${testCluster}`, ({ metadata }) => {
          const { [pausedAnnotation]: _pause, ...annotations } = metadata.annotations ?? {};
          return { metadata: { ...metadata, annotations } };
        });
        return "done";
      case "deleteCluster":
        this.isGivenUp ||= isTheirs;
        api.delete(`Cluster ${testCluster}`);
        return "done";
      case "deleteMachine":
        this.isGivenUp ||= isTheirs;
        api.delete("Machine db");
        return "done";
      case "watch":
        await controller.settle();
        return "done";
    }
  }

  /** A command on manifests in files; all of them refuse whoever does not own the stack before anything else. */
  private async onFiles(what: string, work: () => Promise<CommandOutcome>): Promise<VerbOutcome> {
    if (this.world.prior.transaction === undefined) return "done";
    try {
      refuseNonOwner(this.world.prior, fileOwner, what);
    } catch (error) {
      if (isCapstanError(error)) return error;
      throw error;
    }
    const outcome = await work();
    if (outcome.kind === "broke") return outcome.error;
    if (outcome.kind === "stopped") this.breaches.push(`${what}: ${outcomeText(outcome)}`);
    return outcome.kind === "killed" ? "killed" : "done";
  }

  private async move(to: MoveOptions["to"], faults: readonly CommandFault[]): Promise<VerbOutcome> {
    const { world } = this;
    const process = new CommandProcess(faults);
    this.lastMove = process;
    const { engine } = world.meansOf(process, this.isUnsettled);
    const move = this.moveOf(process, to);
    const work = async (): Promise<VerbOutcome> => {
      const state = await engine.readState(stack);
      if (state.transaction === undefined) return "done";
      if (to === "files") this.mustHaveManifests(await new MoveToFiles(move).run(state));
      else await new MoveToApiServer(move).run();
      return "done";
    };
    const ended = work().catch((error: unknown) => {
      if (!isCapstanError(error)) throw error;
      return error;
    });
    const outcome = await Promise.race([ended, process.killed]);
    this.isUnsettled = outcome === "killed";
    return outcome;
  }

  private pausesByHand(): void {
    const { server: api } = this.controller;
    if (this.cluster === undefined || isMoving(this.cluster)) return;
    this.isPausedByHand = true;
    api.edit(`Cluster ${testCluster}`, ({ metadata }) => {
      const annotations = { ...metadata.annotations, [pausedAnnotation]: "maintenance" };
      return { metadata: { ...metadata, annotations } };
    });
  }

  private get cluster(): LiveObject | undefined {
    return this.controller.server.all().find(({ kind }) => kind === "Cluster");
  }

  /** A move holds what somebody has paused the Cluster for as long as it pauses it itself, and no longer. */
  private mustStayPaused(verb: MovingVerb): void {
    const { cluster } = this;
    this.isPausedByHand &&= cluster !== undefined;
    const pause = pauseOf(cluster) ?? "";
    const reason = isMoving(cluster) ? pauseBefore(pause) : pause;
    if (this.isPausedByHand && reason !== "maintenance")
      this.breaches.push(`${verb} takes the pause away that somebody has set: ${pause}`);
  }

  /** Whoever asks which manifests hold the cluster is not told of those that held it before an API server did. */
  private mustBeNoted(verb: MovingVerb, outcome: VerbOutcome): void {
    const { noted, owner } = this;
    if (this.isOnItsWay || owner === undefined) return;
    this.wasTheirs ||= owner === server;
    if (verb === "toServer" && outcome === "done" && noted !== undefined)
      this.breaches.push("manifests are noted of what an API server holds");
    const isHeld = noted !== undefined && existsSync(join(noted, `${stack}.yaml`));
    if (this.wasTheirs && owner === fileOwner && !isHeld)
      this.breaches.push(`${verb} leaves ${noted ?? "nothing"} noted, which does not hold it`);
  }

  /** Each attempt names a folder of its own, and says where the manifests are. */
  private mustHaveManifests({ text }: { readonly text: string }): void {
    const [, folder] = / capstan plan -f (.+)$/.exec(text) ?? [];
    if (folder === undefined || existsSync(join(folder, `${stack}.yaml`))) return;
    this.breaches.push(`no manifests are where a move to files says: ${text}`);
  }

  private moveOf(process: CommandProcess, to: MoveOptions["to"]): Move {
    const { world, controller } = this;
    const { engine, provider } = world.meansOf(process, this.isUnsettled);
    const clock = process.clock(world.clock);
    const stop = process.stop.signal;
    this.moves += 1;
    const out = join(this.folder, String(this.moves));
    const objects = new ClusterObjects({
      api: {
        list: async (kind) => {
          await process.gate();
          return controller.server.list(kind);
        },
        write: (write) => process.show(() => controller.server.api.write(write)),
      },
      key,
      clock,
      stop,
      attempt: String(this.moves),
    });
    const late: (() => Promise<void>)[] = [];
    const depart = objects.depart.bind(objects);
    if (this.departsLate) {
      objects.depart = async () => {
        late.push(depart);
        return Promise.resolve();
      };
    }
    return {
      stack,
      cluster: key,
      provider,
      objects,
      server,
      serverUrl: "https://server",
      options: { timeout: 600, ...(to === "files" && { out, force: true }) },
      context: {
        clock,
        by: "user@host",
        interruption: { stop },
        providers: onlyLocal,
      },
      readState: () => engine.readState(stack),
      isLed: () => Promise.resolve(false),
      locked: async (work) => {
        const done = await work(engine);
        for (const go of late) await go();
        return done;
      },
      noteManifests: (folder) => (this.noted = folder),
      tell: () => {},
    };
  }

  /** Objects that the API server holds of it. */
  get objects(): string[] {
    return this.controller.server
      .all()
      .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
      .sort();
  }
}
