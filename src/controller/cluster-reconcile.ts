import { asNodesTell, shownIn } from "../plan/observation.js";
import { type CapstanError, isCapstanError, messageOf } from "../api/error.js";
import { sameJson } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { type Desired, objectsOf } from "../api/types.js";
import { type MachineHealth, healthOf, type HealthRules } from "../drift/health.js";
import { nextRenewalMs } from "../drift/renewal.js";
import type { JudgedDrift } from "../drift/judge.js";
import { applyPlan } from "../engine/operations/apply.js";
import { keySource } from "../engine/operations/key-source.js";
import type { ApplyResult } from "../engine/operations/apply-result.js";
import type { Observation } from "../engine/run/observe.js";
import { callContext } from "../engine/run/handler-session.js";
import type { StackState } from "../engine/backend/state.js";
import { comesFirst, type Survey, survey } from "../engine/operations/survey.js";
import type { KeySource } from "../engine/run/run-keys.js";
import type { RunEvent } from "../engine/run/run-event.js";
import type { ClusterView, Progress, Unmet } from "../source/cluster-view.js";
import type { Plan } from "../plan/plan.js";
import type { InfrastructureProvider } from "../provider/port.js";
import { StatusWriter } from "./status-writer.js";
import { driftStatusOf } from "./drift-status.js";
import type { FailedAttempt, ClusterState } from "./cluster-state.js";
import { type FailurePlaces, objectFailuresOf, transientFailureOf } from "./object-failures.js";
import { progressAfter, firstProgress, phaseDuring } from "./progress-view.js";
import type { WorkOutcome } from "./queue.js";
import type { ReconcilerOptions, Want, WorkEngine, WrongWant } from "./reconciler-options.js";
import { nodesDigestOf } from "./poll-nodes.js";
import { heldText, isTakenBack } from "./failed-result.js";
import type { Goal } from "./goal.js";
import { Refusals } from "./refusals.js";
import { observedDigestOf } from "./shared-listing.js";

/** What one work on a cluster is done with. */
interface ReconcileRequest {
  readonly key: string;
  readonly intent: Want | WrongWant;
  readonly goal: Goal;
  readonly cluster: ClusterState;
  readonly provider: InfrastructureProvider;
  readonly engine: WorkEngine;
  /** Stops it between two waves. */
  readonly signal: AbortSignal;
}

/** One look, one plan, one transaction at most: toward what is wanted, under the stack's lock. */
export class ClusterReconcile {
  private readonly statusWriter: StatusWriter;
  private progress: Progress | undefined;
  /** What failed a moment ago, and is not tried again yet. */
  private readonly failedAttempt: FailedAttempt | undefined;
  private readonly refusals: Refusals;
  /** What is taken back, or was. */
  private unmet: Unmet | undefined;

  constructor(
    private readonly options: ReconcilerOptions,
    private readonly request: ReconcileRequest,
    private readonly state: StackState,
  ) {
    const { key, provider, cluster, goal } = request;
    const nowMs = options.clock.now();
    this.refusals = new Refusals({ key, records: state, nowMs }, goal.wrong);
    this.failedAttempt = cluster.heldAttempt(nowMs);
    this.statusWriter = new StatusWriter(
      (view) => options.source.show(key, view, provider),
      options.clock,
    );
  }

  async go(): Promise<WorkOutcome> {
    const { sink } = this.options;
    const { key, cluster, goal } = this.request;
    const { state } = this;
    const found = await this.refusals.surveyAllowed({
      desired: goal.desired,
      state,
      // What failed a moment ago is not tried again yet, but what runs is kept running.
      keepsRevision: this.failedAttempt !== undefined,
      survey: ({ desired, keepsRevision }) => this.survey(state, desired, keepsRevision),
    });
    this.tellRefusals();
    const { judged } = found;
    if (judged !== undefined && cluster.driftSeen(judged))
      sink(key, { kind: "drift", drift: judged });
    if (found.plan.empty) return this.settle(state, found.observation, judged);
    return this.apply(state, found);
  }

  /** Once, until something else is refused. */
  private tellRefusals(): void {
    const { key, cluster } = this.request;
    const { all, failures, terminalError } = this.refusals;
    if (cluster.view?.terminalError?.message === terminalError?.message) return;
    for (const error of all) this.options.sink(key, { kind: "refused", error });
    for (const failure of failures) this.options.sink(key, { kind: "object failed", failure });
  }

  private survey(state: StackState, desired: Desired, keepsRevision: boolean): Promise<Survey> {
    const { clock, by, deadlineMs, source } = this.options;
    const { intent, provider, signal, cluster } = this.request;
    const revision = state.revision?.target;
    return survey(
      omitUndefined({
        desired,
        positionOf: intent.positionOf,
        provider,
        state,
        context: callContext(clock, signal),
        discarded: intent.discarded,
        deleteMarks: intent.deleteMarks,
        removal: { released: intent.released ?? [] },
        instead: keepsRevision ? revision : undefined,
        adopt: intent.clusterUid ?? false,
        driftRules: {
          leaves: "byPolicy",
          objects: objectsOf(desired),
          memory: cluster.drift,
          nowMs: clock.now(),
          heals: { liveAnnotations: intent.liveAnnotations },
        },
        newClusterUid: () => this.options.newClusterUid(),
        newDigestKey: () => this.options.newDigestKey(),
        nodeReports: this.options.nodeReports,
        asksEtcd: true,
        ownerMark: () => this.options.ownerMark,
        owner: source.owner,
        by,
        deadlineMs,
      }),
    );
  }

  /** Nothing is to do: that is remembered, and shown. `observation`: of a survey whose plan is empty, since polls compare with it. */
  private async settle(
    state: StackState,
    observation: Observation,
    judged: JudgedDrift | undefined,
  ): Promise<WorkOutcome> {
    const { cluster, intent } = this.request;
    const { failedAttempt } = this;
    const frozen = judged?.freeze;
    const view = this.view(
      state,
      observation,
      omitUndefined({
        phase: this.isRefused ? "Failed" : frozen === undefined ? "Running" : "Frozen",
        isSettled: true,
        message: failedAttempt?.message,
        judged,
      }),
    );
    if (failedAttempt === undefined) cluster.succeeded();
    if (failedAttempt === undefined && !this.isRefused)
      this.options.source.noteKept(this.request.key);
    await this.show(view);
    const { nextMs } = this.health(state, observation);
    const renewalMs = nextRenewalMs(state, observation, this.healthRules());
    const all = [failedAttempt?.untilMs, frozen?.thawsAtMs, nextMs, renewalMs];
    const ends = all.filter((ms) => ms !== undefined);
    const untilMs = ends.length === 0 ? undefined : Math.min(...ends);
    cluster.settled(
      view,
      omitUndefined({
        digest: intent.digest,
        observedDigest: observedDigestOf(shownIn(observation), this.request.provider),
        nodesDigest: observation.nodes && nodesDigestOf(observation.nodes, observation.etcd),
        untilMs,
      }),
    );
    if (untilMs === undefined) return { kind: "done" };
    return { kind: "retryAfter", ms: untilMs - this.options.clock.now() };
  }

  private async apply(state: StackState, found: Survey): Promise<WorkOutcome> {
    const { options, request } = this;
    const { clock, sink, by, deadlineMs, timeoutMs, openWorkload } = options;
    const { key, cluster, provider, engine, signal, intent } = request;
    const { plan, observation, judged, driftFilter } = found;
    const keys = await this.keysFor(plan, state);
    this.progress = firstProgress(plan);
    const isDrift = sameJson(plan.target.objects, state.revision?.target.objects);
    // The same goal may take another plan, where names turn out to be spent.
    let applied = plan;
    // What is derived from the objects is there, and cannot go without us, before anything is made.
    const viewOf = (records: StackState, shown: Observation) =>
      this.view(
        records,
        shown,
        omitUndefined({ isDrift, planned: applied, isSettled: false, judged }),
      );
    await this.show(viewOf(state, observation));
    // Written back to by us, or changed by their users meanwhile: what they say now is planned anew.
    if (options.source.intentOf(key).digest !== request.intent.digest) {
      return { kind: "retryAfter", ms: 0 };
    }
    sink(key, { kind: "planned", plan });
    await engine.ensureStack(plan.stack, state);
    const begunAtMs = clock.now();
    let last = { state, observation };
    const offer = () => {
      const view = viewOf(last.state, last.observation);
      cluster.shown(view);
      this.statusWriter.offer(view);
    };
    let result: ApplyResult;
    try {
      result = await applyPlan(plan, state, {
        engine,
        provider,
        clock,
        by,
        deadlineMs,
        timeoutMs,
        driftFilter,
        keys,
        stop: signal,
        onFailure: "rollBack",
        openWorkload,
        liveAnnotations: intent.liveAnnotations,
        report: (event) => {
          if (this.progress !== undefined) this.progress = progressAfter(event, this.progress);
          if (event.kind === "plannedAnew") applied = event.plan;
          sink(key, { kind: "run", event, plan: applied });
          this.noteFailures(event, applied, last.state);
          if (event.kind !== "resource") offer();
        },
        onObservation: (now, shown) => {
          // Who is in the middle of something asks no Nodes, and tells of etcd where it waits for it: they are as they were.
          const { nodes, etcd } = observation;
          last = { state: now, observation: omitUndefined({ ...shown, nodes, etcd }) };
          offer();
        },
      });
    } catch (error) {
      if (isCapstanError(error) && error.code === "CANCELLED") {
        sink(key, { kind: "broken off", plan: applied, reason: messageOf(error) });
      }
      throw error;
    } finally {
      this.progress = undefined;
      await this.statusWriter.quiet();
    }
    sink(key, { kind: "ended", result, plan: applied, tookMs: clock.now() - begunAtMs });
    return this.after(result, plan, last.observation);
  }

  /** Keys of their own are asked of users before the first life of a cluster alone: later its hosts trust what they have. */
  private async keysFor(plan: Plan, state: StackState): Promise<KeySource | undefined> {
    const { source, clock } = this.options;
    const { key, provider } = this.request;
    const isNew = state.transaction === undefined && !comesFirst(plan);
    const isAsked = isNew && provider.userData !== undefined;
    const given = isAsked ? await source.givenKeys(key) : undefined;
    return keySource(provider, plan.target, clock, given);
  }

  /** What comes after a transaction that ended, one way or the other. `seen`: the last observation of its run. */
  private async after(result: ApplyResult, plan: Plan, seen: Observation): Promise<WorkOutcome> {
    const { clock } = this.options;
    const { cluster, engine, provider, intent, signal } = this.request;
    const state = await engine.readState(plan.stack);
    if (result.kind === "done") {
      if (this.failedAttempt === undefined) cluster.succeeded();
      await this.show(this.view(state, seen, { phase: "Running", isSettled: true }));
      // A host may have died since the commit, and a stage or drift may be left: the next survey finds both.
      return { kind: "retryAfter", ms: 0 };
    }
    const scope = { cluster: plan.cluster, clusterUid: plan.transaction.clusterUid };
    const context = callContext(clock, signal);
    const looked = { provider, records: state, context, asksEtcd: true };
    const observation = await this.options.nodeReports.observe(scope, looked);
    const unmet = this.unmet ?? this.unmetBy(result.failure, plan, state);
    this.unmet = unmet;
    const failedAttempt = cluster.failed(
      {
        digest: intent.digest,
        message: heldText(result),
        isTakenBack: isTakenBack(result),
        unmet,
      },
      clock.now(),
    );
    const view = this.view(
      state,
      observation,
      omitUndefined({
        phase:
          result.kind === "rolledBack"
            ? result.to === "revision"
              ? "Running"
              : "Pending"
            : "Failed",
        isSettled: result.kind === "rolledBack",
        message: failedAttempt.message,
        terminalError:
          result.kind === "stopped"
            ? { reason: "UpdateError" as const, message: failedAttempt.message }
            : undefined,
      }),
    );
    await this.show(view);
    return { kind: "retryAfter", ms: failedAttempt.untilMs - clock.now() };
  }

  /** Tells of what fails by the objects that it is about. What is taken back is not met. */
  private noteFailures(event: RunEvent, plan: Plan, records: StackState): void {
    const { options, request } = this;
    if (event.kind === "rollingBack" && this.unmet === undefined) {
      this.unmet = this.unmetBy(event.failure, plan, records);
    }
    if (event.kind !== "resource" || event.event.state !== "waiting") return;
    const failure = transientFailureOf(event.event, this.placesIn(plan, records));
    options.sink(request.key, { kind: "object failed", failure });
  }

  private unmetBy(error: CapstanError, plan: Plan, records: StackState): Unmet {
    const { options, request } = this;
    const failures = objectFailuresOf(error, this.placesIn(plan, records));
    for (const failure of failures) options.sink(request.key, { kind: "object failed", failure });
    const failed = new Set(
      failures.filter(({ kind }) => kind === "Machine").map(({ name }) => name),
    );
    return {
      failures,
      asked: request.goal.desired,
      machines: plan.target.machines.filter(({ name }) => failed.has(name)),
    };
  }

  private placesIn({ target }: Plan, records: StackState): FailurePlaces {
    return { key: this.request.key, target, records, nowMs: this.options.clock.now() };
  }

  private get isRefused(): boolean {
    return this.refusals.all.length > 0;
  }

  /** What is asked for and not there, as far as is known now. */
  private unmetNow(): Unmet | undefined {
    const { cluster, goal } = this.request;
    // An attempt that is repeated has failed before, until it does not.
    const attempt = this.progress === undefined ? this.failedAttempt : cluster.failedAttempt;
    const known = this.unmet ?? attempt?.unmet;
    if (!this.isRefused) return known;
    const { failures = [], machines = [] } = known ?? {};
    return {
      failures: [...this.refusals.failures, ...failures],
      asked: goal.desired,
      machines,
    };
  }

  /** The last status of this work, or of a part of it. Throws what showing it failed with. */
  private async show(view: ClusterView): Promise<void> {
    this.request.cluster.shown(view);
    await this.statusWriter.settle(view);
  }

  private health(state: StackState, observation: Observation): MachineHealth {
    return healthOf(state, observation, this.healthRules());
  }

  private healthRules(): HealthRules {
    const { goal, intent } = this.request;
    const nowMs = this.options.clock.now();
    return { objects: objectsOf(goal.desired), nowMs, liveAnnotations: intent.liveAnnotations };
  }

  private view(
    state: StackState,
    observation: Observation,
    about: Pick<ClusterView, "isSettled"> &
      Partial<Pick<ClusterView, "phase" | "message" | "terminalError">> & {
        readonly planned?: Plan;
        readonly isDrift?: boolean;
        readonly judged?: JudgedDrift;
      },
  ): ClusterView {
    const { clock } = this.options;
    const { progress } = this;
    const { planned, isDrift = false, judged, phase, message, isSettled } = about;
    const terminalError = about.terminalError ?? this.refusals.terminalError;
    const clusterUid = state.transaction?.clusterUid ?? planned?.transaction.clusterUid;
    const driftStatus = driftStatusOf(judged);
    const unmet = this.unmetNow();
    const isRecorded = state.transaction?.number === planned?.transaction.number;
    return omitUndefined({
      records: state,
      observedResources: asNodesTell(observation),
      etcd: observation.etcd,
      isSettled,
      nowMs: clock.now(),
      phase:
        phase ??
        (progress === undefined ? "Running" : phaseDuring(progress, { records: state }, isDrift)),
      planned: isRecorded ? undefined : planned?.target,
      progress,
      drift: driftStatus,
      health: this.health(state, observation).checks,
      clusterUid,
      message,
      terminalError,
      unmet,
    });
  }
}
