import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stackNamed, type Desired, objectsOf } from "../../../src/api/types.js";
import { MoveToApiServer } from "../../../src/cli/commands/move-to-api-server.js";
import { MoveToFiles } from "../../../src/cli/commands/move-to-files.js";
import type { Move } from "../../../src/cli/commands/moving.js";
import type { StackEngine } from "../../../src/engine/pulumi/engine.js";
import type { KubeApi } from "../../../src/kube/api.js";
import { ClusterObjects } from "../../../src/kube/cluster-objects.js";
import { clusterKeyOf, type LiveObject } from "../../../src/kube/live-object.js";
import { pauseOf } from "../../../src/kube/move-objects.js";
import { cloudResources } from "../../../src/records/prior-state.js";
import { FakeApiServer } from "../../support/fake-api-server.js";
import { type CommandOutcome, FakeEngine, outcomeText } from "../../support/fake-engine.js";
import { CommandProcess, type CommandFault } from "../../support/faults.js";
import { onlyLocal } from "../../support/manifests.js";
import { notReached, textOf } from "../../support/reached.js";
import type { InstallerCourse } from "./installer-course.js";
import { CommandFailed, isFree } from "./outcome.js";
import { removeFolder } from "../../support/folders.js";

/** One cluster of a case, with the stack and the cloud that it has of its own. */
export interface InstalledCluster {
  readonly desired: Desired;
  /** "<namespace>/<name>". */
  readonly key: string;
  readonly engine: FakeEngine;
  /** Kinds of objects whose resource the last destroy has said that it could not delete. */
  readonly notDeleted: Set<string>;
}

const endpointKind = "LocalLoadBalancer";
const neverStopped = new AbortController().signal;

/**
 * The product's own `up`, `move` and `destroy` for the clusters of one case, each on a state and a cloud in memory, beside
 * one API server in memory; manifests are real files. Every step is told to the course, which may let it fail.
 */
export class InstallerWorld {
  readonly server = new FakeApiServer();
  readonly clusters: readonly InstalledCluster[];
  /** Something was made in a cloud for a cluster that no case gives. */
  hasMadeOthers = false;
  private readonly folder = mkdtempSync(join(tmpdir(), "capstan-installer-"));
  /** Where manifests go. */
  private readonly manifests = join(this.folder, "manifests");

  constructor(
    desired: readonly Desired[],
    private readonly course: InstallerCourse,
  ) {
    this.clusters = desired.map((one) => this.installed(one));
  }

  /** Nothing goes wrong any more. */
  mend(): void {
    this.course.mend();
    removeFolder(this.manifests);
  }

  close(): void {
    removeFolder(this.folder);
  }

  /** `capstan up`. Throws what it failed with. */
  async up({ desired, engine }: InstalledCluster): Promise<void> {
    this.course.command = "up";
    const faults = this.course.isTo("isNotRecorded") ? [await unwritableFrom(desired)] : [];
    mustBeDone(await engine.up(desired, faults));
  }

  /** `capstan move --to kubernetes`. Throws what it failed with. */
  async moveToServer(cluster: InstalledCluster): Promise<void> {
    this.course.command = "move to server";
    const move = this.moveOf(cluster);
    await move.readState();
    await new MoveToApiServer(move).run();
  }

  /** `capstan move --to files`. Throws what it failed with. */
  async moveToFiles(cluster: InstalledCluster): Promise<void> {
    this.course.command = "move to files";
    const move = this.moveOf(cluster);
    await new MoveToFiles(move).run(await move.readState());
  }

  /** `capstan destroy`. Throws what it failed with. */
  async destroy({ engine }: InstalledCluster): Promise<void> {
    this.course.command = "destroy";
    mustBeDone(await engine.destroy());
  }

  /** Something in a cloud is of a cluster that no case gives. */
  get hasOthers(): boolean {
    return this.clusters.some(({ engine, key }) =>
      engine.cloud.alive().some(({ who }) => who.cluster !== key),
    );
  }

  /** Names of namespaces that somebody of ours has made in the API server. */
  namespacesMade(): string[] {
    return this.server.effects.flatMap((write) => {
      if (write.kind !== "create") return [];
      const { kind, metadata }: { kind: string; metadata: { name: string } } = write.object;
      return kind === "Namespace" ? [metadata.name] : [];
    });
  }

  /** What a file holds that was written; null for none. */
  saved(): string | null {
    const [file] = readdirSync(this.folder, { recursive: true, encoding: "utf8" });
    return file === undefined ? null : readFileSync(join(this.folder, file), "utf8");
  }

  /** The objects of a cluster in the API server. */
  shown({ key }: InstalledCluster): readonly LiveObject[] {
    return this.server.all().filter((one) => clusterKeyOf(one) === key);
  }

  /** What somebody would have to clean up by hand, now or later: there must be nothing. */
  orphans(): string[] {
    const ofServer = this.server.trespasses().map(({ kind }) => `a ${kind} of what others keep`);
    return [...ofServer, ...this.clusters.flatMap(({ key, engine }) => unfound(engine, key))];
  }

  /** Whether the folder for manifests could not be made, and that is why something failed. */
  isInTheWay(cause: unknown): boolean {
    return cause instanceof Error && "path" in cause && String(cause.path).startsWith(this.folder);
  }

  /** What is wrong with clusters that were brought about and given to the API server. */
  notInstalled(): string[] {
    return this.clusters.flatMap((cluster) => {
      const { desired, engine } = cluster;
      const objects = textOf(objectsOf(desired));
      const paused = this.shown(cluster).filter((one) => pauseOf(one) !== undefined);
      return [
        ...notReached(engine, { objects, isUp: true }),
        ...paused.map(({ kind }) => `the ${kind} is left paused`),
      ];
    });
  }

  /** Clusters that their controller may not act on, although they are its own. */
  held(): string[] {
    return this.clusters
      .filter((cluster) => !isFree(cluster))
      .filter((cluster) => this.shown(cluster).some((one) => pauseOf(one) !== undefined))
      .map(({ key }) => `${key} is left paused`);
  }

  /** Workers that a destroy has left although nothing kept it from deleting them: it tries all of them before it fails. */
  passedOver(): string[] {
    if (this.course.command !== "destroy") return [];
    return this.clusters.flatMap(({ engine, notDeleted }) => {
      const kinds = new Map(engine.hosts().map(({ id, who }) => [id, objectKindOf(engine, who)]));
      const isWorker = (kind: string) => kind === "MachineSet" || kind === "MachineDeployment";
      return [...kinds].flatMap(([id, kind]) =>
        isWorker(kind) && !notDeleted.has(kind) ? [`${id} was passed over`] : [],
      );
    });
  }

  /** What is left of clusters that were taken away. */
  left(): string[] {
    return this.clusters.flatMap((cluster) => [
      ...cluster.engine.alive().map(({ id }) => `${id} is left in the cloud`),
      ...cluster.engine.prior.resources.map(({ key }) => `${key} is left in the records`),
      ...this.shown(cluster).map(({ kind }) => `a ${kind} is left in the API server`),
    ]);
  }

  private installed(desired: Desired): InstalledCluster {
    const { namespace, name } = desired.cluster.metadata;
    const key = `${namespace}/${name}`;
    const notDeleted = new Set<string>();
    const engine: FakeEngine = new FakeEngine({
      cluster: key,
      sabotage: (means) => ({ ...means, engine: this.watched(means.engine) }),
      tell: (event) => {
        if (event.kind !== "resource" || event.event.operation !== "delete") return;
        const about = objectKindOf(engine, event.event);
        if (event.event.state === "failed") notDeleted.add(about);
        else notDeleted.delete(about);
      },
    });
    engine.cloud.refusal = ({ call, who }) => {
      if (call === "create" && who.cluster !== key) this.hasMadeOthers = true;
      // Whatever else deletes is on its way back from a step that has failed.
      if (call === "delete" && this.course.command !== "destroy") return undefined;
      const of = call === "delete" ? `delete of ${objectKindOf(engine, who)}` : undefined;
      return this.course.errorAt(of ?? `${call} ${who.kind}`);
    };
    return { desired, key, engine, notDeleted };
  }

  /** The engine, which tells the course how far its command is. */
  private watched(engine: StackEngine): StackEngine {
    const { course } = this;
    let passes = 0;
    return {
      get unsettled() {
        return engine.unsettled;
      },
      set unsettled(is) {
        engine.unsettled = is;
      },
      readState: async (stack) => {
        course.reach("read records");
        return engine.readState(stack);
      },
      beginWork: async () => {
        course.reach("get ready");
        return engine.beginWork();
      },
      pass: async (...about) => {
        passes += 1;
        course.reach(passes === 1 ? "begin" : "pass");
        return engine.pass(...about);
      },
      refresh: (...about) => engine.refresh(...about),
      destroy: (...about) => engine.destroy(...about),
      noteLife: (life) => engine.noteLife(life),
      noteEnd: (clusterUid) => engine.noteEnd(clusterUid),
      removeEmptyStack: (stack) => engine.removeEmptyStack(stack),
      assertAlive: () => engine.assertAlive(),
      assertHeld: () => engine.assertHeld(),
    };
  }

  private moveOf({ key, engine }: InstalledCluster): Move {
    const { course } = this;
    const { clock, provider } = engine;
    const stack = stackNamed(key);
    const watched = this.watched(engine.meansOf(new CommandProcess()).engine);
    const about = { key, clock, stop: neverStopped, attempt: "of a case" };
    return {
      stack,
      cluster: key,
      provider,
      objects: new ClusterObjects({ ...about, api: this.api() }),
      server: "uid-of-the-server",
      serverUrl: "https://server",
      options: { out: this.manifests, timeout: 60 },
      context: {
        clock,
        by: "user@host",
        interruption: { stop: neverStopped },
        providers: onlyLocal,
      },
      readState: () => watched.readState(stack),
      isLed: () => Promise.resolve(false),
      locked: async (work) => {
        if (course.isHit("lock", "hasNoFolder")) this.obstruct();
        course.reach("lock");
        return work(watched);
      },
      noteManifests: () => {},
      tell: () => {},
    };
  }

  private obstruct(): void {
    removeFolder(this.manifests);
    writeFileSync(this.manifests, "a file where a folder is to be");
  }

  private api(): Pick<KubeApi, "list" | "write"> {
    const { course, server } = this;
    return {
      list: async (kind) => {
        course.reach(`list ${kind}`);
        return server.list(kind);
      },
      write: async (write) => {
        const { kind } = write.kind === "create" ? write.object : write.on;
        const step = `${write.kind} ${kind}`;
        if (course.isHit(step, "hasNoNamespace")) return { kind: "gone" };
        course.reach(step);
        return server.write(write);
      },
    };
  }
}

function mustBeDone(outcome: CommandOutcome): void {
  switch (outcome.kind) {
    case "done":
      return;
    case "broke":
      throw outcome.error;
    case "killed":
      throw new Error("a command was killed, which no case asks for");
    default:
      throw new CommandFailed(outcomeText(outcome), { cause: outcome.failure });
  }
}

/** The state takes nothing any more from the record of the endpoint on. */
async function unwritableFrom(desired: Desired): Promise<CommandFault> {
  const undisturbed = new FakeEngine();
  let number = 0;
  undisturbed.cloud.refusal = ({ call, who }) => {
    if (call === "create" && who.kind === endpointKind) {
      number = undisturbed.lastProcess.reached.write;
    }
    return undefined;
  };
  mustBeDone(await undisturbed.up(desired));
  return { at: "write", number, what: "failForGood" };
}

/** The kind of the object that a resource is there for. */
function objectKindOf(
  { provider, prior }: FakeEngine,
  { kind, name }: { readonly kind: string; readonly name: string },
): string {
  if (kind !== provider.hostKind) return "Cluster";
  const machines = [
    ...(prior.revision?.target.machines ?? []),
    ...(prior.transaction?.target.machines ?? []),
  ];
  const owner = machines.find(({ host }) => host === `${kind}/${name}`)?.owner;
  if (owner === undefined) return "Machine";
  return owner.machineDeployment === undefined ? "MachineSet" : "MachineDeployment";
}

/** What is alive and in no record by which the next command finds it, and what broke a law on the way. */
function unfound({ cloud, prior }: FakeEngine, key: string): string[] {
  const recorded = new Set(cloudResources(prior).map(({ id }) => id));
  const pending = new Set<string>(prior.pending.map((one) => one.key));
  const lost = cloud
    .alive()
    .filter(({ id, who }) => !recorded.has(id) && !pending.has(`${who.kind}/${who.name}`));
  return [
    ...lost.map(({ id }) => `${id} of ${key} is in no record`),
    ...cloud.watch.violations.map((violation) => `${key}: ${violation}`),
  ];
}
