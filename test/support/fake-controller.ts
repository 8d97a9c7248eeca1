import { NodeReports } from "../../src/engine/run/node-reports.js";
import { setImmediate as turn } from "node:timers/promises";
import type { ClusterState } from "../../src/controller/cluster-state.js";
import type { WorkOutcome } from "../../src/controller/queue.js";
import { Reconciler } from "../../src/controller/reconciler.js";
import type { ReconcilerOptions, WorkEngine } from "../../src/controller/reconciler-options.js";
import type { ReconcileEvent } from "../../src/controller/reconcile-event.js";
import { scrubber } from "../../src/api/scrubber.js";
import { KubeSource } from "../../src/kube/kube-source.js";
import type { InfrastructureProvider } from "../../src/provider/port.js";
import { testCluster } from "./manifests.js";
import { CommandProcess, type CommandFault } from "./faults.js";
import { FakeApiServer } from "./fake-api-server.js";
import { FakeEngine } from "./fake-engine.js";

const key = `default/${testCluster}`;

/** In the environment of the controller. */
export const cloudPassword = "correct-horse-battery";

/** A reconciler on an API server, an engine and a cloud in memory, for the one cluster of the tests. */
export class FakeController {
  readonly server = new FakeApiServer((changed) => this.onChange(changed));
  readonly world: FakeEngine;
  /** Of the process that works now. */
  source: KubeSource;
  readonly stop = new AbortController();
  readonly happenings: ReconcileEvent[] = [];
  /** Told of everything that happens, while it happens. */
  onHappening: (event: ReconcileEvent) => void = () => {};
  /** Called when work on the stack has its lock, before anything else. */
  onLock: () => void = () => {};
  hearsAtOnce = false;
  /** How often work was done under the stack's lock. */
  locked = 0;
  /** How often its process was killed in the middle of its work. */
  deaths = 0;
  private clusters = new Map<string, ClusterState>();
  private reconciler: Reconciler;
  private process = new CommandProcess();
  /** Whoever begins now takes over from one that was killed. */
  private isUnsettled = false;

  constructor(world = new FakeEngine()) {
    this.world = world;
    this.source = this.sourceOf(this.process);
    this.reconciler = this.begin();
  }

  get cluster(): ClusterState {
    return this.reconciler.clusterStateOf(key);
  }

  /** Clusters of which anything is remembered. */
  get remembered(): string[] {
    return [...this.clusters.keys()];
  }

  /** Whatever goes wrong from now on does so in this order, counted from now. */
  meet(...faults: readonly CommandFault[]): void {
    this.process = new CommandProcess(faults);
    this.source = this.sourceOf(this.process);
    this.reconciler = this.begin();
  }

  /** Providers that no cluster here is of, from the next process on. */
  others: readonly InfrastructureProvider[] = [];

  /** A new process: nothing is remembered. */
  restart(): void {
    this.process = new CommandProcess();
    this.source = this.sourceOf(this.process);
    this.clusters = new Map();
    this.reconciler = this.begin();
  }

  /** Where its process is killed in the middle, the next one takes over and is asked instead. */
  async reconcile(): Promise<WorkOutcome> {
    const worked = this.reconciler.reconcile(key);
    const outcome = await Promise.race([worked, this.process.killed]);
    if (outcome !== "killed") return outcome;
    this.deaths += 1;
    this.world.cloud.activity = "recovery";
    this.isUnsettled = true;
    this.restart();
    this.isUnsettled = false;
    return this.reconcile();
  }

  /** Reconciles until nothing is to be done at once. */
  async settle(): Promise<WorkOutcome> {
    for (let round = 0; round < 10; round += 1) {
      const outcome = await this.reconcile();
      await turn();
      if (outcome.kind !== "retryAfter" || outcome.ms > 0) return outcome;
    }
    throw new Error("it never comes to rest");
  }

  count(kind: ReconcileEvent["kind"]): number {
    return this.happenings.filter((one) => one.kind === kind).length;
  }

  /** What the controller does once a burst of changes is over: here never, or at once. */
  private onChange(changed: string): void {
    if (!this.hearsAtOnce) return;
    const known = this.clusters.get(changed);
    if (known === undefined) return;
    if (this.source.intentOf(changed).digest !== known.digest) this.reconciler.supersede(changed);
  }

  /** What is dead neither reads nor writes any more. */
  private sourceOf(process: CommandProcess): KubeSource {
    const { world, server } = this;
    const { cache, api } = server;
    const gated: typeof api = {
      read: async (named) => {
        await process.gate();
        return api.read(named);
      },
      write: (write) => process.show(() => api.write(write)),
      readSecret: async (at) => {
        await process.gate();
        return api.readSecret(at);
      },
      writeSecret: (write) => process.show(() => api.writeSecret(write)),
    };
    return new KubeSource({
      api: gated,
      cache,
      secrets: server.secrets.cache,
      clock: world.clock,
      providers: [world.provider],
      owner: "kube",
      redact: scrubber({ CLOUD_PASSWORD: cloudPassword }),
    });
  }

  private begin(): Reconciler {
    const { world, source } = this;
    const { provider, engine } = world.meansOf(this.process, this.isUnsettled);
    const ensureStack = () => Promise.resolve();
    const workEngine = Object.assign(engine, { ensureStack }) as WorkEngine;
    const options: ReconcilerOptions = {
      source,
      providers: [...this.others, provider],
      clock: world.clock,
      by: "controller@host",
      timeoutMs: 4_000,
      deadlineMs: 3_600_000,
      stop: this.stop.signal,
      sink: (_key, event) => this.sink(event),
      withStack: async (_stack, work) => {
        this.locked += 1;
        world.cloud.watch.beginCommand(world.prior);
        this.onLock();
        return work(workEngine);
      },
      openWorkload: world.openWorkload,
      nodeReports: new NodeReports(world.openWorkload, true),
      newClusterUid: () => `uid-${world.cloud.watch.uids.size + 1}`,
      newDigestKey: () => "key",
      ownerMark: undefined,
    };
    return new Reconciler(options, this.clusters);
  }

  private sink(event: ReconcileEvent): void {
    this.happenings.push(event);
    if (event.kind === "planned") this.world.show(event.plan);
    if (event.kind === "run" && "plan" in event.event) this.world.show(event.event.plan);
    this.onHappening(event);
  }
}
