import { CapstanError, isCapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { Removal } from "../../api/protection.js";
import type { Desired } from "../../api/types.js";
import { holdOf, refuseHeld, withHold } from "../../drift/hold.js";
import { rulesOfRequest } from "../../drift/plan-with-drift.js";
import { type ApplyResult, newHostsText } from "../../engine/operations/apply-result.js";
import {
  planBack,
  planRecorded,
  type RecordedPlan,
  takeBack,
  targetBack,
} from "../../engine/operations/apply.js";
import { isAdopting } from "../../engine/operations/adopt.js";
import { withFindings } from "../../engine/operations/findings.js";
import type { Engine } from "../../engine/pulumi/engine.js";
import type { Workspace } from "../../engine/backend/workspace.js";
import { NodeReports } from "../../engine/run/node-reports.js";
import { observe } from "../../engine/run/observe.js";
import { settleLastCalls } from "../../engine/run/recover.js";
import { callContext } from "../../engine/run/handler-session.js";
import { refuseForeign, refuseNonOwner, type StackState } from "../../engine/backend/state.js";
import { fileOwner } from "../../records/hand-over.js";
import type { MachineAnnotations } from "../../records/host-machine.js";
import { targetOfRevision } from "../../records/history.js";
import { foreseenFailure } from "../../plan/foreseen.js";
import type { Hold, Plan } from "../../plan/plan.js";
import type { RemovalConsent } from "../../plan/plan-input.js";
import { type Rollback, rollbackOf } from "../../plan/goal/rollback.js";
import type { TransactionGoal } from "../../records/transaction.js";
import type { Target } from "../../records/target.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { standingOf } from "../../transaction/lifecycle.js";
import { confirm } from "../confirm.js";
import {
  type CommandContext,
  type GlobalOptions,
  openEngine,
  withLockedEngine,
} from "../context.js";
import type { ManifestOptions } from "../manifest-options.js";
import { exitCodes } from "../exit.js";
import { failureOf, followRun, type FollowUp, forgottenText, inventoryText } from "../outcome.js";
import { planText } from "../terminal.js";
import { forgetManifests } from "../stack-settings.js";
import { planLine } from "../survey-cluster.js";
import {
  clustersNamed,
  desiredFor,
  endText,
  recordedProvider,
  refuseNothingNamed,
  stacksAmong,
  toldAnnotations,
} from "./stacks.js";
import { carryOut } from "./up.js";
import { openWorkload } from "../../kube/open-workload.js";

/** What history says of a transaction that a user takes back: why it did not get to its end itself, no record tells. */
const askedBack = "capstan rollback took it back";

export interface RollbackOptions extends GlobalOptions, ManifestOptions {
  readonly yes?: boolean;
  readonly timeout: number;
  readonly deadline: number;
  /** The revision to go to; the one before without. */
  readonly to?: number;
  /** The fingerprint of an implausible answer of the cloud that is true. */
  readonly thaw?: string;
  /** What may be lost that a cluster cannot lose by accident. */
  readonly allowRemoval?: readonly Removal[];
}

interface StackRollbackOptions extends RollbackOptions {
  /** What the manifests say that were named with it; absent: none speak of it. */
  readonly desired?: Desired | undefined;
}

/**
 * capstan rollback: takes an open transaction back; without one, goes to an earlier revision. Exit 3:
 * taken back in part only.
 */
export async function rollbackCommand(
  named: readonly string[],
  options: RollbackOptions,
  context: CommandContext,
): Promise<number> {
  refuseNothingNamed(named, options);
  const { engine } = await openEngine(options, context);
  const clusters = clustersNamed(options, context);
  for (const stack of await stacksAmong(named, clusters, engine)) {
    const command = `capstan rollback ${stack}`;
    const desired = desiredFor(stack, clusters);
    await withLockedEngine(
      options,
      context,
      { stack, command, owner: fileOwner },
      async (locked, workspace) => {
        const state = await locked.readState(stack);
        const how = { options: { ...options, desired }, context, workspace };
        await new RollbackCommand(stack, state, locked, how).run();
      },
    );
  }
  return exitCodes.done;
}

interface HowToRollBack {
  readonly options: StackRollbackOptions;
  readonly context: CommandContext;
  readonly workspace: Workspace;
}

/** One stack's rollback, under its lock. */
class RollbackCommand {
  private readonly options: StackRollbackOptions;
  private readonly context: CommandContext;
  private readonly workspace: Workspace;
  private readonly next: FollowUp;
  private held: Hold | undefined;
  private readonly removal: RemovalConsent;
  /** What the manifests say of Machines that were named with it; absent: none speak of its cluster. */
  private readonly liveAnnotations: MachineAnnotations | undefined;

  constructor(
    private readonly stack: string,
    private readonly state: StackState,
    private readonly engine: Engine,
    { options, context, workspace }: HowToRollBack,
  ) {
    this.options = options;
    this.context = context;
    this.workspace = workspace;
    const named = options.to === undefined ? "" : ` --to ${options.to}`;
    const revision = state.revision?.number;
    this.removal = { allow: options.allowRemoval ?? [] };
    this.liveAnnotations = toldAnnotations(options.desired, state);
    this.next = omitUndefined({
      look: `capstan status ${stack}`,
      again: `capstan rollback ${stack}${named}`,
      takeBack: revision === undefined ? undefined : `capstan rollback ${stack} --to ${revision}`,
      takeDown: `capstan destroy ${stack}`,
    });
  }

  async run(): Promise<void> {
    const { stack, state, context } = this;
    const provider = recordedProvider(stack, state, context);
    if (provider === undefined)
      throw this.refusal(
        endText(stack, this.engine) ?? "nothing is recorded",
        "capstan status lists the stacks; with a lost state capstan up --adopt comes first",
      );
    refuseForeign(state, stack);
    refuseNonOwner(state, fileOwner, "roll back");
    const calls = callContext(context.clock, context.interruption.stop);
    await settleLastCalls(this.engine, provider, calls);
    await this.mayHold(provider);
    const way = rollbackOf(state, this.options.to);
    switch (way.kind) {
      case "to":
        return this.goTo(way, provider);
      case "takeBack":
        return this.takeOpenBack(provider);
      case "finish":
        return this.carryBack(
          provider,
          await this.planTo(way.target, provider, { kind: "takeBack" }),
        );
      case "reached":
        return this.stay(way, provider);
      case "none":
        throw this.refusal(
          "there is no earlier revision",
          standingOf(state) === "owing"
            ? "capstan up finishes what the present one still owes"
            : `capstan history ${stack} lists them`,
        );
    }
  }

  private async takeOpenBack(provider: InfrastructureProvider): Promise<void> {
    const { state, context, options } = this;
    if (isAdopting(state)) {
      const cluster = state.transaction?.target.cluster ?? this.stack;
      const what = `Its records are forgotten; nothing of ${cluster} is changed in the cloud.`;
      if (!context.json) context.terminal.write(`Cluster ${cluster}: ${what}\n`);
      await confirm(`Roll ${cluster} back?`, options.yes === true, context);
      return this.carryBack(provider);
    }
    const drift = rulesOfRequest(targetBack(state).objects);
    const how = { ...this.planning(provider), drift };
    const back = await planBack(state, askedBack, how);
    await this.carryBack(provider, await this.checked(back, provider));
  }

  /** Toward what the last rollback led to: its deletions are finished, and nothing else is done. */
  private async stay(
    { revision, to }: Extract<Rollback, { kind: "reached" }>,
    provider: InfrastructureProvider,
  ): Promise<void> {
    const goal = { kind: "rollback", to, named: false } as const;
    const planned = await this.planTo(revision.target, provider, goal);
    const { plan } = planned;
    if (!plan.empty) return this.apply(planned, provider);
    const { context, stack } = this;
    if (context.json) {
      context.emit({
        type: "result",
        cluster: plan.cluster,
        changed: false,
        revision: revision.number,
      });
      return;
    }
    context.terminal.write(
      context.suggest(
        `${plan.cluster} is at revision ${revision.number}, where the last rollback went (to revision ${to}). capstan rollback ${stack} --to N goes elsewhere.\n`,
      ),
    );
  }

  private async carryBack(provider: InfrastructureProvider, planned?: RecordedPlan): Promise<void> {
    const { context, engine, state, stack, next } = this;
    const plan = planned?.plan;
    if (plan !== undefined) await this.show(plan);
    const timeoutMs = this.options.timeout * 1_000;
    const progress = plan && followRun(plan, context, timeoutMs);
    const failure = new CapstanError({
      code: "CANCELLED",
      source: "user",
      message: askedBack,
    });
    let result: ApplyResult;
    try {
      result = await takeBack(
        state,
        failure,
        omitUndefined({
          ...this.planning(provider),
          driftFilter: planned?.driftFilter,
          engine,
          onFailure: "keep",
          openWorkload,
          liveAnnotations: this.liveAnnotations,
          timeoutMs,
          report: (event) => progress?.on(event),
          onObservation: (_, observation) => progress?.observed(observation),
        }),
      );
    } catch (error) {
      if (!isCapstanError(error) || plan === undefined) throw error;
      throw failureOf({ kind: "open", failure: error }, plan, next);
    } finally {
      progress?.end();
    }
    if (result.kind === "stopped" && plan !== undefined) throw failureOf(result, plan, next);
    if (result.kind !== "rolledBack") throw new Error(`${stack} was rolled on`);
    if (result.to !== "revision") forgetManifests(this.workspace, stack);
    this.tell(result);
  }

  private tell(result: Extract<ApplyResult, { kind: "rolledBack" }>): void {
    const { inventory, to } = result;
    const { context, state, stack } = this;
    const cluster = state.transaction?.target.cluster ?? stack;
    if (context.json) {
      context.emit({ type: "result", cluster, rolledBack: true, inventory });
      return;
    }
    const where = {
      revision: `${cluster} is as revision ${state.revision?.number ?? 0} left it${newHostsText(result)}; ${inventoryText(inventory)}`,
      nothing: `nothing of ${cluster} is left; ${inventoryText(inventory)}`,
      unrecorded: forgottenText(cluster, inventory),
    }[to];
    context.terminal.write(`\n${context.terminal.colors.green("Rolled back")}: ${where}\n`);
  }

  /** To an earlier revision: a transaction like any other, whose target was recorded. */
  private async goTo(
    { number, named }: Extract<Rollback, { kind: "to" }>,
    provider: InfrastructureProvider,
  ): Promise<void> {
    const target = targetOfRevision(this.state.revision, number);
    if (target === undefined) {
      throw this.refusal(
        `no revision ${number} is kept`,
        `capstan history ${this.stack} lists them`,
      );
    }
    await this.apply(
      await this.planTo(target, provider, { kind: "rollback", to: number, named }),
      provider,
    );
  }

  private async apply(
    { plan, driftFilter }: RecordedPlan,
    provider: InfrastructureProvider,
  ): Promise<void> {
    await this.show(plan);
    if (plan.empty) return;
    const { engine, options, state, next } = this;
    const how = { ...options, rollback: true };
    const apply = omitUndefined<Parameters<typeof carryOut>[2]>({
      engine,
      provider,
      driftFilter,
      options: how,
      next,
      liveAnnotations: this.liveAnnotations,
    });
    await carryOut(plan, state, apply, this.context);
  }

  private async planTo(
    target: Target,
    provider: InfrastructureProvider,
    goal: TransactionGoal,
  ): Promise<RecordedPlan> {
    const how = { ...this.planning(provider), drift: rulesOfRequest(target.objects), goal };
    return this.checked(await planRecorded(target, this.state, how), provider);
  }

  private async checked(
    planned: RecordedPlan,
    provider: InfrastructureProvider,
  ): Promise<RecordedPlan> {
    const { clock, interruption } = this.context;
    const plan = await withFindings(planned.plan, {
      provider,
      records: this.state,
      context: callContext(clock, interruption.stop),
      observation: planned.observation,
      reports: new NodeReports(openWorkload),
    });
    return { ...planned, plan };
  }

  private planning(provider: InfrastructureProvider) {
    const { clock, by, interruption } = this.context;
    const deadlineMs = this.options.deadline * 1_000;
    const { removal } = this;
    const { stop } = interruption;
    const told = this.options.desired;
    return { provider, clock, by, deadlineMs, stop, removal, told, openWorkload };
  }

  /** Law 12: looks whether the cloud's answer is to be believed, before anything is planned from it. */
  private async mayHold(provider: InfrastructureProvider): Promise<void> {
    const { state, context, options } = this;
    const { transaction } = state;
    if (transaction === undefined) return;
    const { target, clusterUid } = transaction;
    const calls = callContext(context.clock, context.interruption.stop);
    const observation = await observe(
      provider,
      calls,
      { cluster: target.cluster, clusterUid },
      state,
    );
    this.held = holdOf(state, observation, {
      provider,
      objects: target.objects,
      thaw: options.thaw,
    });
  }

  private async show(made: Plan): Promise<void> {
    const { context, options } = this;
    const plan = withHold(made, this.held);
    if (context.json) context.emit(planLine(plan));
    else context.terminal.write(`${planText(plan, context.terminal)}\n`);
    refuseHeld(plan.cluster, plan.held);
    const foreseen = foreseenFailure(plan);
    if (foreseen !== undefined) throw foreseen;
    if (!plan.empty) await confirm(`Roll ${plan.cluster} back?`, options.yes === true, context);
  }

  private refusal(cause: string, hint: string): CapstanError {
    return new CapstanError({
      code: "NOT_FOUND",
      source: "user",
      subject: this.stack,
      message: `cannot roll back ${this.stack}: ${cause}`,
      hint,
    });
  }
}
