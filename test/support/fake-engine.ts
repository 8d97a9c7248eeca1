import type { OpenWorkload } from "../../src/engine/run/workload-cluster.js";
import { NodeReports } from "../../src/engine/run/node-reports.js";
import type { KeyStage } from "../../src/api/key-stage.js";
import { planRotation, rotationOf } from "../../src/engine/operations/rotate-keys.js";
import assert from "node:assert/strict";
import { CapstanError, isCapstanError } from "../../src/api/error.js";
import { type Removal, removals } from "../../src/api/protection.js";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import { type Desired, stackNamed, objectsOf } from "../../src/api/types.js";
import { annotationsToldBy } from "../../src/records/host-machine.js";
import type { ApplyResult } from "../../src/engine/operations/apply-result.js";
import {
  applyPlan,
  type RequestInfo,
  planRecorded,
  planBack,
  takeBack,
} from "../../src/engine/operations/apply.js";
import { destroyCluster, planDestroy } from "../../src/engine/operations/destroy.js";
import { planForget } from "../../src/engine/operations/forget.js";
import { handOver } from "../../src/engine/operations/hand-over.js";
import { encodePayload } from "../../src/engine/backend/record-payload.js";
import type { StackEngine } from "../../src/engine/pulumi/engine.js";
import { settleLastCalls } from "../../src/engine/run/recover.js";
import type { RunOptions } from "../../src/engine/run/run-options.js";
import type { RunEvent } from "../../src/engine/run/run-event.js";
import type { ObservationResult } from "../../src/drift/classify.js";
import type { DriftFilter } from "../../src/drift/drift-filter.js";
import { type PlanDriftRules, rulesOfRequest } from "../../src/drift/plan-with-drift.js";
import { observe } from "../../src/engine/run/observe.js";
import { callContext, stepwiseSession } from "../../src/engine/run/handler-session.js";
import type { StackState } from "../../src/engine/backend/state.js";
import { planImport } from "../../src/engine/operations/import.js";
import { comesFirst, survey } from "../../src/engine/operations/survey.js";
import { targetOfRevision } from "../../src/records/history.js";
import type { Plan } from "../../src/plan/plan.js";
import type { NotedCluster } from "../../src/sweep/clusters.js";
import { rollbackOf } from "../../src/plan/goal/rollback.js";
import type {
  PendingOperation,
  PriorState,
  RecordedResource,
} from "../../src/records/prior-state.js";
import type { Target } from "../../src/records/target.js";
import type { InfrastructureProvider, Observed } from "../../src/provider/port.js";
import type { Payloads } from "../../src/transaction/pass.js";
import { revisionPayload, transactionPayload } from "../../src/transaction/payloads.js";
import type { OwnerMove } from "../../src/sets/moves.js";
import { keyOf } from "../../src/graph/graph.js";
import { FakeClock } from "./fake-clock.js";
import { fakeKeys } from "./fake-keys.js";
import { localProvider, testCluster } from "./manifests.js";
import { CommandProcess, type CommandFault } from "./faults.js";
import { FakeCloud, plainWorld, type WorldTraits } from "./fake-cloud.js";
import { type FakeCheckpoint, FakePulumi, stateOf } from "./fake-pulumi.js";

/** What became of a command. */
export type CommandOutcome =
  | ApplyResult
  | { readonly kind: "killed" }
  /** It ended with an error of its own: interrupted, refused, or the cloud could not say. */
  | { readonly kind: "broke"; readonly error: CapstanError };

/** What one command works with; tests of the laws put defects into it. */
export interface CommandTools {
  readonly provider: InfrastructureProvider;
  readonly engine: StackEngine;
}

export interface EngineSetup {
  /** "<namespace>/<name>"; default/prod without. */
  readonly cluster?: string;
  readonly provider?: InfrastructureProvider;
  readonly traits?: WorldTraits;
  /** Told how runs go. */
  readonly tell?: (event: RunEvent) => void;
  /** Take over what a lost state has left. */
  readonly adopt?: boolean;
  /** What drift `plan` and `up` leave as it is; none without. */
  readonly driftRules?: (desired: Desired) => PlanDriftRules;
  /** What `plan` and `up` are told that may be lost: everything unless said, as with every flag given. */
  readonly allow?: readonly Removal[];
  /** Makes a command's means worse than they are. */
  readonly sabotage?: (means: CommandTools) => CommandTools;
}

/** What `restoreState` brings back. */
export type SavedState = Readonly<Pick<FakeCheckpoint, "resources" | "pending">>;

const theCluster = `default/${testCluster}`;
const startMs = 1_000;
const timeoutMs = 4_000;
const askedFor = new CapstanError({
  code: "CANCELLED",
  source: "user",
  message: "a user asked for it",
});
const refused = new CapstanError({
  code: "NOT_REVERSIBLE",
  source: "user",
  message: "there is nothing to take back, or no way",
});
const request = { by: "user@host", deadlineMs: 3_600_000 };

/**
 * Capstan without Pulumi and without a cloud: the product's own commands, from survey to rollback, on
 * a state and a cloud in memory, with anything going wrong where a test says so. Time passes only while
 * somebody waits. What the laws forbid is written down in `cloud.watch` as it happens.
 */
export class FakeEngine {
  readonly clock = new FakeClock(startMs);
  readonly cloud: FakeCloud;
  provider: InfrastructureProvider;
  private readonly checkpoint: FakeCheckpoint = {
    resources: [],
    pending: [],
    lives: new Map(),
    modifiedMs: new Map(),
  };
  /** The process of the last command: how far it got. */
  lastProcess = new CommandProcess();
  private unsettled = false;
  /** Ids of members whose API servers had served when some plan was made. */
  readonly servedAtPlan = new Set<string>();
  /** Through which each plan was made, for whoever applies it. */
  private readonly driftFilters = new WeakMap<Plan, DriftFilter>();
  /** How many calls there had been when the last command began to take something back; undefined: it did not. */
  callsAtRollback: number | undefined;
  /** Ids of the members that were marked as leaving by then: whoever takes back cannot keep them. */
  leftAtRollback: ReadonlySet<string> = new Set();
  private keysMade = 0;
  /** "<namespace>/<name>". */
  private readonly cluster: string;
  private readonly stack: string;
  /** Whether the last command failed on its way and took that back itself. */
  hasFailedForward = false;

  constructor(private readonly setup: EngineSetup = {}) {
    const { provider = localProvider(), traits = plainWorld, cluster = theCluster } = setup;
    this.cluster = cluster;
    this.stack = stackNamed(cluster);
    this.cloud = new FakeCloud(provider, this.clock, traits);
    this.provider = this.cloud.providerFor(new CommandProcess());
    this.cloud.hosts.isCommitted = () =>
      this.prior.revision?.target.machines.some(({ controlPlane }) => controlPlane) === true;
  }

  /** One that has brought the objects about. */
  static async running(desired: Desired, setup: EngineSetup = {}): Promise<FakeEngine> {
    const engine = new FakeEngine(setup);
    await engine.settle(desired);
    return engine;
  }

  /** What a state export would give. */
  get prior(): PriorState {
    return stateOf(this.checkpoint, this.cloud.parts);
  }

  get calls() {
    return this.cloud.calls;
  }

  /** The notes on the clusters that the stack has held, oldest first. */
  get noted(): NotedCluster[] {
    return [...this.checkpoint.lives.values()];
  }

  /** What `capstan plan` makes of the present state and cloud. Changes nothing. */
  plan(desired: Desired, moves?: readonly OwnerMove[]): Promise<Plan> {
    const state = { ...this.prior, foreign: [] };
    return this.surveyed(desired, state, new CommandProcess(), this.provider, moves);
  }

  /** What a look at the cloud shows now, or why it shows nothing. */
  async sight(faults: readonly CommandFault[] = []): Promise<ObservationResult> {
    const process = new CommandProcess(faults);
    const context = callContext(process.clock(this.clock), process.stop.signal);
    const clusterUid = this.prior.transaction?.clusterUid ?? "";
    const scope = { cluster: this.cluster, clusterUid };
    try {
      return await observe(this.cloud.providerFor(process), context, scope, this.prior);
    } catch (error) {
      if (!isCapstanError(error)) throw error;
      return { failed: error.message };
    }
  }

  /** Whose API servers serve now counts for every plan from now on. */
  noteServing(): void {
    const { cloud } = this;
    for (const host of cloud.alive()) {
      if (cloud.hosts.hasServed(host)) this.servedAtPlan.add(host.id);
    }
  }

  /** What whoever looks at it sees to: an `up` that finds nothing to do, or the watch loop. */
  async look(by: "up" | "loop"): Promise<void> {
    const { cluster, openWorkload, prior: records } = this;
    const process = new CommandProcess();
    const context = callContext(process.clock(this.clock), process.stop.signal);
    const looked = { provider: this.cloud.providerFor(process), records, context };
    const nodeReports = new NodeReports(openWorkload, by === "loop");
    const clusterUid = records.transaction?.clusterUid ?? "";
    const observation = await nodeReports.observe({ cluster, clusterUid }, looked);
    if (by === "up") await nodeReports.keepMarks(observation, looked, () => undefined);
  }

  /** `capstan up`: plans and applies in one process. */
  up(
    desired: Desired,
    faults: readonly CommandFault[] = [],
    onFailure: RunOptions["onFailure"] = "rollBack",
    moves?: readonly OwnerMove[],
  ): Promise<CommandOutcome> {
    return this.command(faults, async (process, means) => {
      await this.settleLastCalls(process, means);
      const options = { ...this.runOptions(process, means), onFailure };
      const survey = async (moving?: readonly OwnerMove[]) => {
        const state = await means.engine.readState(this.stack);
        return this.surveyed(desired, state, process, means.provider, moving);
      };
      const plan = await survey(moves);
      const outcome = await this.applied(plan, options);
      if (!comesFirst(plan) || outcome.kind !== "done") return outcome;
      return this.applied(await survey(), options);
    });
  }

  /** `capstan state move`. */
  move(
    desired: Desired,
    moves: readonly OwnerMove[],
    faults: readonly CommandFault[] = [],
  ): Promise<CommandOutcome> {
    return this.up(desired, faults, "rollBack", moves);
  }

  /** Carries out a plan that was made before. */
  apply(plan: Plan, faults: readonly CommandFault[] = []): Promise<CommandOutcome> {
    return this.command(faults, (process, means) =>
      this.applied(plan, this.runOptions(process, means)),
    );
  }

  /** `capstan rollback [--to N]`, as the command itself decides what that means. */
  rollback(
    faults: readonly CommandFault[] = [],
    to?: number,
    told?: Desired,
  ): Promise<CommandOutcome> {
    return this.command(faults, async (process, means) => {
      await this.settleLastCalls(process, means);
      const state = await means.engine.readState(this.stack);
      const liveAnnotations = told && annotationsToldBy(objectsOf(told), state);
      const options = { ...this.runOptions(process, means), told, liveAnnotations };
      const way = rollbackOf(state, to);
      switch (way.kind) {
        case "takeBack":
          return takeBack(state, askedFor, options);
        case "finish":
          this.show((await planBack(state, askedFor.message, options)).plan);
          return takeBack(state, askedFor, options);
        case "none":
          throw refused;
        case "reached":
          return this.goTo(way.revision.target, way.to, false, state, options);
        case "to": {
          const target = targetOfRevision(state.revision, way.number);
          if (target === undefined) throw refused;
          return this.goTo(target, way.number, way.named, state, options);
        }
      }
    });
  }

  private async goTo(
    target: Target,
    to: number,
    named: boolean,
    state: StackState,
    options: RunOptions & RequestInfo,
  ): Promise<CommandOutcome> {
    const goal = { kind: "rollback", to, named } as const;
    const removal = { allow: this.setup.allow ?? removals };
    const { plan } = await planRecorded(target, state, { ...options, goal, removal });
    return this.applied(plan, options);
  }

  /** `capstan state forget`. */
  forget(machine: string, faults: readonly CommandFault[] = []): Promise<CommandOutcome> {
    return this.command(faults, async (process, means) => {
      await this.settleLastCalls(process, means);
      const state = await means.engine.readState(this.stack);
      const options = this.runOptions(process, means);
      const { plan, driftFilter } = await planForget(machine, state, {
        ...options,
        removal: { allow: this.setup.allow ?? removals },
      });
      this.driftFilters.set(plan, driftFilter);
      return this.applied(plan, options);
    });
  }

  /** `capstan move`, of the records alone: the objects are nowhere. */
  handOver(to: string, faults: readonly CommandFault[] = []): Promise<CommandOutcome> {
    return this.command(faults, async (process, means) => {
      await this.settleLastCalls(process, means);
      const state = await means.engine.readState(this.stack);
      const from = state.transaction?.owner ?? "files";
      const { report: _report, ...options } = this.runOptions(process, means);
      const whileOpen = () => Promise.resolve();
      await handOver(this.stack, state, { to, from }, { ...options, whileOpen });
      return { kind: "done", passes: 0 };
    });
  }

  /** `capstan certificates rotate`. */
  rotate(faults: readonly CommandFault[] = [], to?: KeyStage): Promise<CommandOutcome> {
    return this.command(faults, async (process, means) => {
      await this.settleLastCalls(process, means);
      const state = await means.engine.readState(this.stack);
      const options = this.runOptions(process, means);
      const rotation = rotationOf(state, to);
      if (rotation.kind === "reached") return { kind: "done", passes: 0 };
      const { plan, driftFilter } = await planRotation(rotation, state, {
        ...options,
        openWorkload: this.openWorkload,
      });
      this.driftFilters.set(plan, driftFilter);
      return this.applied(plan, options);
    });
  }

  /** `capstan import`. */
  import(
    machine: string,
    id: string,
    desired: Desired,
    faults: readonly CommandFault[] = [],
  ): Promise<CommandOutcome> {
    return this.command(faults, async (process, means) => {
      await this.settleLastCalls(process, means);
      const state = await means.engine.readState(this.stack);
      const options = this.runOptions(process, means);
      const about = { machine, id, desired, positionOf: () => undefined };
      const { plan, driftFilter } = await planImport(about, state, options);
      this.driftFilters.set(plan, driftFilter);
      return this.applied(plan, options);
    });
  }

  /** `capstan destroy`; with manifests that are named with it. */
  destroy(faults: readonly CommandFault[] = [], told?: Desired): Promise<CommandOutcome> {
    return this.command(faults, async (process, means) => {
      await this.settleLastCalls(process, means);
      const state = await means.engine.readState(this.stack);
      if (state.transaction === undefined) return { kind: "done", passes: 0 };
      // A destroy has no deadline, and neither has what it does first: this one must not count.
      const options = { ...this.runOptions(process, means), deadlineMs: -1, told };
      const destruction = await planDestroy(this.stack, state, options);
      const { plan, first } = destruction;
      for (const one of first === undefined ? [plan] : [first, plan]) this.show(one);
      const liveAnnotations = told && annotationsToldBy(objectsOf(told), state);
      return destroyCluster(destruction, state, { ...options, liveAnnotations });
    });
  }

  /** The state is lost: nobody knows any more what there is. */
  loseState(): void {
    this.checkpoint.resources = [];
    this.checkpoint.pending = [];
  }

  /** A plain `pulumi refresh`: every record is read again, and what an engine was killed in is no longer told. */
  async refresh(): Promise<void> {
    const { engine, provider } = this.meansOf(new CommandProcess());
    const { clock, cloud } = this;
    const session = stepwiseSession({
      provider,
      clock,
      timeoutMs,
      assertEngineAlive: () => {},
      report: () => {},
    });
    await engine.refresh(this.stack, [], session);
    cloud.activity = "recovery";
  }

  /** A copy of the state as it is now. */
  savedState(): SavedState {
    return { ...this.checkpoint };
  }

  /** An older state is brought back: it knows nothing of what has happened since. */
  restoreState({ resources, pending }: SavedState): void {
    this.checkpoint.resources = resources;
    this.checkpoint.pending = pending;
  }

  /** Applies what is wanted, which has to succeed at once. Returns the plan. */
  async settle(desired: Desired): Promise<Plan> {
    const plan = await this.plan(desired);
    const outcome = await this.apply(plan);
    assert.equal(outcome.kind, "done", outcomeText(outcome));
    return plan;
  }

  /** Hosts that are alive, oldest first. */
  hosts(): Observed[] {
    return this.alive().filter(({ who }) => who.kind === this.provider.hostKind);
  }

  /** Everything of this cluster that is alive, oldest first. */
  alive(): Observed[] {
    return this.cloud.alive().filter(({ who }) => this.cloud.watch.uids.has(who.clusterUid));
  }

  /** Replaces what is recorded: for states that no run of this engine leads to. */
  tamper(change: (resources: readonly RecordedResource[]) => readonly RecordedResource[]): void {
    this.checkpoint.resources = change(this.checkpoint.resources);
  }

  /** From now on another release of the provider runs. */
  upgrade(provider: InfrastructureProvider): void {
    this.cloud.parts = provider;
    this.provider = this.cloud.providerFor(new CommandProcess());
  }

  /** Entries of operations that a killed engine of another command has left. */
  leavePending(...operations: readonly PendingOperation[]): void {
    this.checkpoint.pending = [...this.checkpoint.pending, ...operations];
  }

  private async applied(plan: Plan, options: RunOptions & RequestInfo): Promise<CommandOutcome> {
    this.show(plan);
    if (plan.empty) return { kind: "done", passes: 0 };
    const state = await options.engine.readState(plan.stack);
    const driftFilter = this.driftFilters.get(plan);
    return applyPlan(plan, state, {
      ...options,
      ...(driftFilter !== undefined && { driftFilter }),
    });
  }

  /** What the process of a command works with. `isUnsettled`: it takes over from one that was killed. */
  meansOf(process: CommandProcess, isUnsettled = this.unsettled): CommandTools {
    const { checkpoint, cloud } = this;
    return {
      provider: cloud.providerFor(process),
      engine: new FakePulumi(checkpoint, cloud, process, isUnsettled),
    };
  }

  /** Whoever asked has seen this plan: what is done from now on is held against it. */
  show(plan: Plan): void {
    this.noteServing();
    const goesOn = plan.target.machines.some(({ controlPlane }) => controlPlane);
    this.cloud.hosts.goesOn = () => goesOn;
    for (const host of halfChangedReplacedBy(plan, this.cloud)) {
      this.cloud.watch.blame("law 22: half-changed", `${host} is to be replaced for being stopped`);
    }
    this.cloud.watch.show(plan);
    this.cloud.rollouts.begin(plan, this.alive());
  }

  /** Runs a command in a process of its own, until it ends or is killed. */
  private async command(
    faults: readonly CommandFault[],
    work: (process: CommandProcess, means: CommandTools) => Promise<CommandOutcome>,
  ): Promise<CommandOutcome> {
    const process = new CommandProcess(faults);
    this.lastProcess = process;
    this.callsAtRollback = undefined;
    this.hasFailedForward = false;
    const { cloud, setup } = this;
    cloud.watch.beginCommand(this.prior);
    const means = this.meansOf(process);
    const ended = work(process, setup.sabotage?.(means) ?? means).catch(
      (error: unknown): CommandOutcome => {
        if (!isCapstanError(error)) throw error;
        return { kind: "broke", error };
      },
    );
    const outcome = await Promise.race([ended, process.killed]);
    cloud.activity = "recovery";
    this.unsettled = outcome === "killed";
    return outcome === "killed" ? { kind: "killed" } : outcome;
  }

  /** How to ask the cluster's own API server. */
  get openWorkload(): OpenWorkload {
    return this.cloud.hosts.openWorkload(() => this.cloud.alive());
  }

  private settleLastCalls(
    process: CommandProcess,
    { engine, provider }: CommandTools,
  ): Promise<void> {
    const context = callContext(process.clock(this.clock), process.stop.signal);
    return settleLastCalls(engine, provider, context);
  }

  private async surveyed(
    desired: Desired,
    state: StackState,
    process: CommandProcess,
    provider: InfrastructureProvider,
    moves?: readonly OwnerMove[],
  ): Promise<Plan> {
    const { plan, driftFilter } = await survey(
      omitUndefined({
        driftRules: this.setup.driftRules?.(desired) ?? rulesOfRequest([]),
        nodeReports: new NodeReports(this.openWorkload),
        desired,
        provider,
        state,
        owner: "files",
        adopt: this.setup.adopt === true,
        positionOf: () => undefined,
        removal: { allow: this.setup.allow ?? removals },
        newDigestKey: () => "key",
        context: callContext(process.clock(this.clock), process.stop.signal),
        newClusterUid: () => `uid-${this.cloud.watch.uids.size + 1}`,
        ownerMark: () => undefined,
        ...request,
        moves,
      }),
    );
    this.driftFilters.set(plan, driftFilter);
    return plan;
  }

  private runOptions(
    process: CommandProcess,
    { provider, engine }: CommandTools,
  ): RunOptions & RequestInfo {
    return {
      engine,
      provider,
      timeoutMs,
      ...request,
      clock: process.clock(this.clock),
      onFailure: "rollBack",
      openWorkload: this.openWorkload,
      keys: { areGiven: false, make: async () => fakeKeys((this.keysMade += 1)) },
      stop: process.stop.signal,
      report: (event: RunEvent) => {
        this.setup.tell?.(event);
        if (!("plan" in event)) return;
        this.show(event.plan);
        if (event.kind !== "rollingBack") return;
        if (this.callsAtRollback === undefined) {
          this.leftAtRollback = new Set(this.cloud.hosts.marked);
        }
        this.callsAtRollback ??= this.calls.length;
        this.hasFailedForward ||= event.reason !== askedFor.message;
      },
    };
  }
}

/** Hosts that a change has left stopped and that a plan replaces although it asks for nothing that they cannot be. */
function halfChangedReplacedBy({ machines, leaving }: Plan, cloud: FakeCloud): string[] {
  const forNothing = machines.filter(({ kind, changes }) => kind === "replace" && !changes.length);
  const replaced = new Set(forNothing.map(({ machine }) => machine));
  const hosts = leaving.filter(({ machine }) => replaced.has(machine)).map(({ host }) => host);
  const stopped = cloud.alive().filter((one) => cloud.halfChanged.has(one.id) && !one.leavesAtMs);
  return stopped.map(({ who }) => keyOf(who)).filter((key) => hosts.includes(key));
}

/** What a run of the engine is given beside a plan. */
export function payloadsOf(plan: Plan, prior: PriorState): Payloads {
  return {
    transaction: encodePayload(transactionPayload(plan, prior.transaction?.keys)),
    revision: encodePayload(revisionPayload(plan, prior, plan.transaction.startedAtMs)),
  };
}

export function outcomeText(outcome: CommandOutcome): string {
  switch (outcome.kind) {
    case "done":
    case "killed":
      return outcome.kind;
    case "broke":
      return `${outcome.kind}: ${outcome.error.code} ${outcome.error.message}`;
    case "rolledBack":
      return `${outcome.kind}: ${outcome.failure.message}`;
    case "stopped":
      return `${outcome.kind} ${outcome.result}: ${outcome.failure.message}`;
  }
}
