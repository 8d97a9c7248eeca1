import { type CapstanError, isCapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { filtered, noFilter } from "../../drift/drift-filter.js";
import type { ResourceEvent } from "../../dynamic/resource-event.js";
import { type GraphNode, keyOf, type NodeKey } from "../../graph/graph.js";
import type { OrphanedResource, Plan, RemainingPlan } from "../../plan/plan.js";
import { leftoverScopeOf } from "../../records/leftover-scope.js";
import { cloudResources } from "../../records/prior-state.js";
import { changesRecordsOnly } from "../../records/transaction.js";
import type { CallContext } from "../../provider/port.js";
import { timingOf } from "../../provider/timing.js";
import {
  type Action,
  deadlineOf,
  type Situation,
  standingOf,
  step,
} from "../../transaction/lifecycle.js";
import {
  type AllowedChanges,
  deletionsIn,
  programOf,
  recordedTwice,
  updatesIn,
} from "../../transaction/pass.js";
import { engineFailed } from "../pulumi/engine-refusals.js";
import { isOfStorage, passFailed, unreadableAfter } from "./failures.js";
import { finishNodes } from "./cluster-nodes.js";
import { foundNodes, recordedFirst } from "./found-nodes.js";
import { MemberCare } from "./member-care.js";
import { RunBootstrap } from "./run-bootstrap.js";
import { payloadsOf } from "./pass-payloads.js";
import { type Inventory, verifyInventory } from "./inventory.js";
import { AvailabilityTracker } from "./availability.js";
import { Drains, type OrphanRemoval } from "./drains.js";
import { lostMeanwhile, passSurroundings } from "./late-refusals.js";
import { observe, type Observation } from "./observe.js";
import { type RunOptions, type RunResult, stoppedBy } from "./run-options.js";
import { remainingPlan } from "./remaining-plan.js";
import { withPending } from "./joining-hosts.js";
import {
  beginWork,
  importsOf,
  isBegun,
  isCommitted,
  isRecording,
  shownBy,
  waitsWhereHeld,
} from "./run-goal.js";
import type { PulumiResult } from "../pulumi/pulumi.js";
import { passOptionsFor } from "./pass-options.js";
import { isPassRecorded, livingAs } from "./pass-record.js";
import { recover, type RecoveryTools } from "./recover.js";
import { removeLeftovers } from "./remove-leftovers.js";
import { type Recovery, RecoveryProgress, recoveryEvent } from "./recovery-progress.js";
import { callContext, type SessionOptions, stepwiseSession } from "./handler-session.js";
import { withUnjoinedMembers } from "./unjoined-members.js";
import { Terminations } from "./terminations.js";
import { waitUntilAvailable, waitUntilGone, type Waits } from "./waits.js";
import { refuseForeign, type StackState } from "../backend/state.js";

/**
 * Drives a plan to its end: looks, lets `step` decide, does it, looks again. All that decides is in
 * src/transaction; here it is carried out. Throws CANCELLED when interrupted, LOCKED when
 * somebody else works on the stack, and UNKNOWN_PRESENCE or what else a look failed with; everything that
 * exists by then is recorded.
 */
export class Run {
  private readonly events: ResourceEvent[] = [];
  private readonly done = new Set<NodeKey>();
  private readonly tried = new Set<NodeKey>();
  /** What the plan has shown, and what it has shown without a record and has got one since. */
  private readonly shown: Set<string>;
  private failure: CapstanError | undefined;
  private openAtLastFailure = Number.POSITIVE_INFINITY;
  private closed = false;
  private readonly availability: AvailabilityTracker;
  /** Of providers whose hosts take user data. */
  private readonly bootstrap: RunBootstrap | undefined;
  /** Where hosts are members of an etcd. */
  private readonly care: MemberCare | undefined;
  private readonly context: CallContext;
  private readonly removedLeftovers = new Set<string>();
  private readonly terminations: Terminations;
  private readonly drains: Drains;
  /** What the present pass has deleted, as its calls say, in the words of `livingAs`. */
  private readonly deleted = new Set<string>();
  /** Deletions that this run has told of: one that is asked for again is no new wave. */
  private readonly announced = new Set<NodeKey>();
  private hasToldCommit = false;
  private readonly recoveries = new RecoveryProgress();
  private inventory: Inventory | undefined;
  private passes = 0;

  /** As the cloud was seen last. */
  private observed: Observation | undefined;

  /** `state` is what the plan was made from. */
  constructor(
    private readonly goal: Plan,
    private state: StackState,
    private readonly options: RunOptions,
  ) {
    this.context = callContext(options.clock, options.stop, () => options.engine.assertHeld());
    this.shown = new Set(shownBy(goal));
    this.availability = new AvailabilityTracker(goal.target);
    this.bootstrap = RunBootstrap.of(goal.target, options);
    this.care = MemberCare.of(goal, this.bootstrap, options);
    this.terminations = new Terminations(options.timeoutMs);
    this.drains = new Drains({ follow: standingOf(state) !== "idle" });
  }

  async toTheEnd(): Promise<RunResult> {
    refuseForeign(this.state, this.goal.stack);
    await beginWork(this.goal, this.options);
    for (;;) {
      // A turn for the signals of the process: nothing else here may wait for anything.
      await this.options.clock.sleep(0, this.options.stop);
      await this.options.engine.assertHeld();
      const situation = await this.situation();
      const action = step(situation);
      if (action.kind === "end") return this.ended();
      if (action.kind === "stop" || action.kind === "rollBack") {
        const failure = this.failure ?? lostMeanwhile(this.goal, this.observed);
        return stoppedBy(action, this.state, failure);
      }
      if (action.kind === "retry") {
        this.openAtLastFailure = situation.plan.steps.length;
        this.failure = undefined;
        this.recoveries.forget();
        continue;
      }
      await this.carryOut(action, situation.plan).catch((error: unknown) => this.fail(error));
    }
  }

  private async ended(): Promise<RunResult> {
    const { bootstrap, goal, observed: observation, state: records, passes, inventory } = this;
    if (bootstrap !== undefined && observation !== undefined) {
      const seen = { bootstrap, observation, records, context: this.context };
      await finishNodes(seen, goal.target, this.options);
    }
    return omitUndefined({ kind: "done", passes, inventory });
  }

  /** What failed is read from the records before anything is decided about it. */
  private async fail(error: unknown): Promise<void> {
    this.options.stop.throwIfAborted();
    // Somebody else is at it: their work is not ours to take back.
    if (!isCapstanError(error) || error.code === "LOCKED") throw error;
    this.failure = error;
    try {
      this.state = await this.options.engine.readState(this.goal.stack);
    } catch (unreadable) {
      throw unreadableAfter(error, unreadable);
    }
    // No failure of the change: it waits, open, until there is room again, or nobody holds it.
    const waits =
      error.code === "HELD" && waitsWhereHeld(this.goal) && !isCommitted(this.goal, this.state);
    if ((isOfStorage(error) || waits) && isBegun(this.goal, this.state)) throw error;
  }

  /** Pods may take longer to move than the change may take: nothing is begun then that is to be taken back at once. */
  private isOverdue(): boolean {
    return this.options.clock.now() > deadlineOf(this.goal, this.state);
  }

  private async situation(): Promise<Situation> {
    const { options, state } = this;
    const observation = await withUnjoinedMembers(await this.observe(), {
      ...options,
      records: state,
      context: this.context,
    });
    await this.bootstrap?.settleNew(this.context, observation, state);
    const plan = this.planAgain(observation);
    // What a dead command last asked for may still disturb a host.
    if (!options.engine.unsettled) await this.drains.lift(() => plan, observation, this.waits());
    return omitUndefined({
      plan,
      etcd: await this.care?.look(
        { plan, observation, shown: this.observed ?? observation, records: state },
        this.context,
      ),
      prior: state,
      shown: this.shown,
      done: this.done,
      tried: this.tried,
      available: this.availability.among(
        withPending(observation, this.drains.unready()),
        options.clock.now(),
      ),
      nowMs: options.clock.now(),
      unsettled: options.engine.unsettled,
      failure: this.failure?.message,
      openAtLastFailure: this.openAtLastFailure,
      onFailure: options.onFailure,
      closed: this.closed,
      differences: this.inventory?.differences,
    });
  }

  private planAgain(observation: Observation): RemainingPlan {
    const { goal, state, options, removedLeftovers } = this;
    return remainingPlan(goal, {
      provider: options.provider,
      state,
      observation,
      removedLeftovers,
    });
  }

  private async observe(): Promise<Observation> {
    const { provider, driftFilter = noFilter } = this.options;
    const { cluster, transaction } = this.goal;
    const scope = { cluster, clusterUid: transaction.clusterUid };
    // Before the begin no record says which cloud the plan is about.
    const cloud = this.state.transaction?.cloud ?? transaction.cloud;
    const context = this.context;
    const observation = await observe(provider, context, scope, this.state, cloud);
    this.options.onObservation?.(this.state, observation);
    this.observed = observation;
    const seen = filtered(driftFilter, observation, this.state);
    // What is only given records was made by others, whose hosts may be nodes of nobody we know.
    if (this.bootstrap === undefined || isRecording(this.goal)) return seen;
    return this.bootstrap.asJoined(context, seen, this.state);
  }

  /** A look while something is waited for: hosts that are done with take pods again meanwhile, also if others are not. */
  private async observeInBetween(): Promise<Observation> {
    const observation = await this.observe();
    if (!this.options.engine.unsettled) {
      await this.drains.lift(() => this.planAgain(observation), observation, this.waits());
    }
    return observation;
  }

  private async carryOut(
    action: Exclude<Action, { kind: "end" | "stop" | "rollBack" | "retry" }>,
    plan: RemainingPlan,
  ): Promise<void> {
    const { report } = this.options;
    switch (action.kind) {
      case "settle":
      case "refresh":
      case "forget":
      case "remove":
      case "resolve":
        return this.recover(action, plan);
      case "restore":
        return this.pass(plan, { kind: "restore" });
      case "begin":
        return this.begin(plan);
      case "change":
        return this.change(plan, action);
      case "removeLeftovers":
        return this.removeLeftovers(action);
      case "wait":
        report({ ...action, kind: "waiting" });
        return waitUntilAvailable(action.keys, this.waits());
      case "waitForEtcd":
        return this.care?.wait(action, this.context, deadlineOf(this.goal, this.state));
      case "commit":
        return this.commit(plan, action);
      case "clear":
        return this.clear(plan);
      case "verify":
        this.inventory = await verifyInventory(this.goal, this.state, this.options);
        return;
    }
  }

  private async recover(recovery: Recovery, plan: RemainingPlan): Promise<void> {
    const { clock, provider, stop, report } = this.options;
    if (this.recoveries.next(recovery, this.state, plan) === "wait") {
      return clock.sleep(timingOf(provider).listingLagMs, stop);
    }
    if (recovery.kind === "remove") return this.remove(recovery, plan);
    report(recoveryEvent(recovery));
    this.state = await recover(recovery, plan.stack, this.state, this.tools());
  }

  /**
   * What a hook holds of it gets a record, as if it had had one all the time: nothing that any verb does may forget it. So do a resource
   * that the last revision made, whose record was deleted, and one that is released after its recorded host.
   */
  private async remove(removal: OrphanRemoval, plan: RemainingPlan): Promise<void> {
    this.inventory = undefined;
    const { state: prior, observed, options, goal } = this;
    const about = { goal: goal.transaction.goal, prior, provider: options.provider, ...observed };
    const early = this.nodesOf(recordedFirst(removal.resources, about), plan);
    if (early.length > 0) return this.record(early, plan);
    const { going, staying, held } = await this.drains.removal(removal, this.waits());
    // It is told of one by one.
    const now = { ...removal, resources: going };
    this.state = await recover(now, plan.stack, this.state, this.tools());
    if (held === undefined) return;
    const found = this.nodesOf(staying, plan);
    if (found.length < staying.length) throw held;
    await this.record(found, plan);
  }

  private nodesOf(resources: readonly OrphanedResource[], plan: RemainingPlan) {
    const { state, observed, options } = this;
    const shown = observed?.unrecorded ?? [];
    return foundNodes(resources, plan, { state, shown, provider: options.provider });
  }

  private record(found: readonly GraphNode[], plan: RemainingPlan): Promise<void> {
    for (const node of found) this.shown.add(`delete ${keyOf(node)}`);
    return this.pass(plan, { kind: "record", found });
  }

  /** What was kept for hosts that are no longer to be made goes while a record still names them. */
  private async begin(plan: RemainingPlan): Promise<void> {
    await this.bootstrap?.forgetUnmade(this.context, this.state);
    await this.pass(plan, { kind: "begin" });
  }

  private async change(
    plan: RemainingPlan,
    { keys, deletions, reason }: Extract<Action, { kind: "change" }>,
  ): Promise<void> {
    this.announce(keys, deletions, reason);
    const { going, held } = await this.drains.departures({ plan, keys, deletions }, this.waits());
    if (held !== undefined && keys.length + going.length === 0) throw held;
    if (this.isOverdue()) return;
    for (const key of keys) this.tried.add(key);
    const allowed = { allowed: new Set(keys), deletions: new Set(going) };
    await this.pass(plan, { kind: "change", ...allowed });
    for (const key of keys) this.done.add(key);
  }

  /** Every pass that changes something in the cloud for the first time is a wave, as the plan counts them. */
  private announce(keys: readonly NodeKey[], deletions: readonly NodeKey[], reason: string): void {
    const fresh = deletions.filter((key) => !this.announced.has(key));
    if (keys.length + fresh.length === 0 && deletions.length > 0) return;
    for (const key of fresh) this.announced.add(key);
    this.passes += 1;
    this.options.report({
      kind: "pass",
      number: this.passes,
      keys: [...keys, ...deletions],
      reason,
    });
  }

  /** Only what the plan has shown: what has come since is told of by what it stands in the way of. */
  private async removeLeftovers({
    leftovers,
    reason,
  }: Extract<Action, { kind: "removeLeftovers" }>): Promise<void> {
    const { provider, timeoutMs, report } = this.options;
    this.announce([], [], reason);
    await removeLeftovers(leftovers, {
      provider,
      scope: leftoverScopeOf(this.state),
      context: this.context,
      timeoutMs,
      waiting: (why) => report({ kind: "waiting", keys: [], reason: why }),
      removed: (leftover) => {
        this.removedLeftovers.add(leftover.id);
        report({ kind: "leftover", leftover });
      },
    });
  }

  private async commit(
    plan: RemainingPlan,
    { deletions, later, reason }: Extract<Action, { kind: "commit" }>,
  ): Promise<void> {
    if (deletions.length > 0) this.announce([], deletions, reason);
    const { going, held } = await this.drains.departures({ plan, deletions }, this.waits());
    // The change itself is done: what somebody holds is owed from then on.
    if (held !== undefined && going.length === 0 && isCommitted(this.goal, this.state)) throw held;
    if (this.isOverdue()) return;
    if (!isCommitted(this.goal, this.state)) await this.options.beforeCommit?.();
    const allowed = { allowed: new Set<NodeKey>(), deletions: new Set(going) };
    await this.pass(plan, { kind: "commit", ...allowed });
    if (!this.hasToldCommit) {
      this.hasToldCommit = true;
      this.options.report({ kind: "committed", revision: this.goal.transaction.number });
    }
    if (this.terminations.keys.length > 0) return;
    this.closed = held === undefined && later.length === 0;
    // What is owed now, or left by a way back, is decided by what is recorded.
    if (this.closed && this.goal.transaction.direction === "forward") return;
    this.state = await this.options.engine.readState(this.goal.stack);
  }

  /**
   * Nothing that lives in a cloud may be recorded any more: what the engine deletes now is not looked for again. Two listings have
   * shown nothing: that the cluster has ended is on record before its records go.
   */
  private async clear(plan: RemainingPlan): Promise<void> {
    const { engine } = this.options;
    const [left] = cloudResources(this.state);
    if (left !== undefined) throw new Error(`${left.key} is recorded, and the records are to go`);
    engine.noteEnd(this.goal.transaction.clusterUid);
    this.check(await engine.destroy(plan.stack, this.session()), "cannot clear");
    this.state = await engine.readState(plan.stack);
    await engine.removeEmptyStack(plan.stack);
    this.closed = true;
  }

  private async pass(plan: RemainingPlan, allowed: AllowedChanges): Promise<void> {
    const { engine, stop } = this.options;
    const { terminations } = this;
    const program = programOf(
      plan,
      this.state,
      allowed,
      await payloadsOf(allowed.kind, { ...this.options, goal: this.goal, state: this.state }),
    );
    const deletions = deletionsIn(allowed);
    const session = this.session(
      omitUndefined({
        ...passSurroundings(program, plan.target, this.state, this.observed, this.options),
        recordsOnly: allowed.kind === "record" ? true : undefined,
        recordedTwice: recordedTwice(this.state, deletions),
        changing: { by: plan.transaction.number, keys: updatesIn(plan, allowed) },
        assertEngineAlive: () => engine.assertAlive(),
        postponed: (event: ResourceEvent) => terminations.putOff(event, this.options.clock.now()),
      }),
    );
    const how = passOptionsFor(plan, this.state, allowed);
    terminations.beginPass();
    const result = await engine.pass(plan.stack, program, session, how);
    terminations.endPass(this.deleted.size > 0);
    if (terminations.keys.length === 0) {
      this.check(result, "cannot apply");
      if (allowed.kind !== "commit") this.state = await engine.readState(plan.stack);
      return;
    }
    stop.throwIfAborted();
    this.state = await engine.readState(plan.stack);
    this.mustBeRecorded(allowed, result);
    // What this pass has not come to is asked for before anything is waited for.
    if (how.continues) await waitUntilGone(terminations, this.events, this.waits());
    if (this.events.length > 0)
      throw passFailed(this.goal.cluster, this.events, this.options.provider);
  }

  /** Pulumi says that a pass failed in which something was put off, and would say so of one that it could not write. */
  private mustBeRecorded(allowed: AllowedChanges, result: PulumiResult): void {
    const { goal, state, events, deleted } = this;
    if (events.length > 0 || isPassRecorded(goal, state, { allowed, deleted })) return;
    throw engineFailed(`cannot apply ${goal.stack}`, result);
  }

  /** What is waited for without an engine, so that others have their turn. */
  private waits(): Waits {
    const { goal, options, availability, bootstrap } = this;
    return omitUndefined({
      ...options,
      goal,
      availability,
      bootstrap,
      context: this.context,
      unready: () => this.drains.unready(),
      recorded: () => this.state,
      observe: () => this.observeInBetween(),
    });
  }

  private tools(): RecoveryTools {
    const { engine, provider, stop } = this.options;
    // Recovery also acts between engine runs, under our own lock alone.
    return {
      engine,
      provider,
      context: this.context,
      session: () => this.session({ stop, assertEngineAlive: () => engine.assertHeld() }),
    };
  }

  private session(
    how: SessionOptions = { assertEngineAlive: () => this.options.engine.assertAlive() },
  ) {
    const { provider, clock, timeoutMs } = this.options;
    this.events.length = 0;
    this.deleted.clear();
    const { report } = this.options;
    const session = stepwiseSession({
      provider,
      clock,
      timeoutMs,
      recordsOnly: changesRecordsOnly(this.goal.transaction.goal),
      letGo: new Set(this.goal.transaction.letGo),
      imports: importsOf(this.goal),
      bootstrap: this.bootstrap?.over(() => this.state),
      served: new Set(),
      removals: this.terminations.removals,
      cloud: this.goal.transaction.cloud,
      ...how,
      report: (event) => {
        if (event.state === "failed") this.events.push(event);
        if (event.operation === "delete" && event.state === "done") {
          this.deleted.add(livingAs(event));
        }
        report({ kind: "resource", event });
      },
    });
    return {
      ...session,
      waiting: (reason: string) => report({ kind: "waiting", keys: [], reason }),
    };
  }

  private check(result: PulumiResult, what: string): void {
    if (result.code === 0) return;
    this.options.stop.throwIfAborted();
    if (this.events.length === 0) throw engineFailed(`${what} ${this.goal.stack}`, result);
    throw passFailed(this.goal.cluster, this.events, this.options.provider);
  }
}
