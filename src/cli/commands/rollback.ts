import { CapstanError, isCapstanError } from "../../api/error.js";
import type { Removal } from "../../api/protection.js";
import { clearLens } from "../../drift/lens.js";
import { ignoringByPolicy } from "../../drift/tolerance.js";
import {
  type ApplyResult,
  lensToward,
  planBack,
  planRecorded,
  takeBack,
  targetBack,
} from "../../engine/apply.js";
import type { Engine } from "../../engine/engine.js";
import { settleLastCalls } from "../../engine/recover.js";
import { callContext } from "../../engine/session.js";
import { refuseNonOwner, type StackState } from "../../engine/state.js";
import { minorText } from "../../plan/crossing.js";
import { fileOwner } from "../../plan/hand-over.js";
import { previousRevision, targetOfRevision } from "../../plan/history.js";
import { isOpen, type Plan } from "../../plan/plan.js";
import type { RemovalConsent } from "../../plan/protection.js";
import type { Target } from "../../plan/target.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { confirm } from "../confirm.js";
import {
  type CommandContext,
  type GlobalOptions,
  openEngine,
  withLockedEngine,
} from "../context.js";
import { exitCodes } from "../exit.js";
import { failureOf, followRun, type FollowUp, inventoryText } from "../outcome.js";
import { planText } from "../terminal.js";
import { planLine } from "./plan.js";
import { recordedProvider, refuseNothingNamed, stacksOf } from "./stacks.js";
import { carryOut } from "./up.js";

export interface RollbackOptions extends GlobalOptions {
  readonly file: readonly string[];
  readonly yes?: boolean;
  readonly timeout: number;
  readonly deadline: number;
  /** The revision to go to; the one before without. */
  readonly to?: number;
  /** What may be lost that a cluster cannot lose by accident. */
  readonly allowRemoval?: readonly Removal[];
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
  refuseNothingNamed(named, options.file);
  const { engine } = await openEngine(options, context);
  for (const stack of await stacksOf(named, options.file, engine, context)) {
    const command = `capstan rollback ${stack}`;
    await withLockedEngine(options, context, { stack, command }, async (locked) => {
      const state = await locked.readState(stack);
      await new Rollback(stack, state, locked, { options, context }).run();
    });
  }
  return exitCodes.done;
}

/** One stack's rollback, under its lock. */
class Rollback {
  private readonly options: RollbackOptions;
  private readonly context: CommandContext;
  private readonly next: FollowUp;
  private lens = clearLens;
  private readonly removal: RemovalConsent;

  constructor(
    private readonly stack: string,
    private readonly state: StackState,
    private readonly engine: Engine,
    { options, context }: { options: RollbackOptions; context: CommandContext },
  ) {
    this.options = options;
    this.context = context;
    this.removal = { allow: options.allowRemoval ?? [] };
    this.next = {
      look: `capstan status ${stack}`,
      again: "capstan up with its manifests",
      takeBack: `capstan rollback ${stack}`,
      takeDown: `capstan destroy ${stack}`,
    };
  }

  async run(): Promise<void> {
    const { stack, state, context } = this;
    const provider = recordedProvider(stack, state, context);
    if (provider === undefined) throw this.refusal(`nothing is recorded`);
    refuseNonOwner(state, fileOwner, "roll back");
    const calls = callContext(context.clock, context.interruption.stop);
    await settleLastCalls(this.engine, provider, calls);
    const { revision } = state;
    if (this.options.to !== undefined) return this.goTo(this.options.to, provider);
    if (isOpen(state)) return this.takeOpenBack(provider);
    // What was rolled back last is finished and verified; who wants to go further back says how far.
    if (revision !== undefined && state.transaction?.direction === "back") {
      return this.finish(await this.planTo(revision.target, provider, "back"), provider);
    }
    const previous = previousRevision(revision);
    if (previous === undefined) throw this.refusal("there is no earlier revision");
    return this.goTo(previous, provider);
  }

  private async takeOpenBack(provider: InfrastructureProvider): Promise<void> {
    await this.refuseCrossed(provider);
    await this.focus(targetBack(this.state), provider, "back");
    const plan = await planBack(this.state, "a user asked for it", this.planning(provider));
    await this.finish(plan, provider);
  }

  private async finish(plan: Plan, provider: InfrastructureProvider): Promise<void> {
    await this.show(plan);
    const { context, engine, state } = this;
    const progress = followRun(plan, context);
    const failure = new CapstanError({
      code: "CANCELLED",
      source: "user",
      message: "a user asked for it",
    });
    let result: ApplyResult;
    try {
      result = await takeBack(state, failure, {
        ...this.planning(provider),
        ...{ engine, onFailure: "keep", timeoutMs: this.options.timeout * 1_000 },
        report: (event) => progress.on(event),
      });
    } catch (error) {
      throw isCapstanError(error)
        ? failureOf({ kind: "open", failure: error }, plan, this.next)
        : error;
    } finally {
      progress.end();
    }
    if (result.kind !== "rolledBack") {
      throw result.kind === "stopped" ? failureOf(result, plan, this.next) : new Error("rolled on");
    }
    const { inventory, toNothing } = result;
    if (context.json) {
      context.emit({ type: "result", cluster: plan.cluster, rolledBack: true, inventory });
      return;
    }
    const where = toNothing
      ? `nothing of ${plan.cluster} is left`
      : `${plan.cluster} is as revision ${plan.fromRevision} left it`;
    context.terminal.write(
      `\n${context.terminal.colors.green("Rolled back")}: ${where}; ${inventoryText(inventory)}\n`,
    );
  }

  /** To an earlier revision: a transaction like any other, whose target was recorded. */
  private async goTo(number: number, provider: InfrastructureProvider): Promise<void> {
    const target = targetOfRevision(this.state.revision, number);
    if (target === undefined) {
      throw this.refusal(
        `no revision ${number} is kept`,
        `capstan history ${this.stack} lists them`,
      );
    }
    const plan = await this.planTo(target, provider, "forward");
    await this.show(plan);
    if (plan.empty) return;
    const { engine, options, state, next } = this;
    const how = { ...options, rollback: true };
    const { lens } = this;
    await carryOut(plan, state, { engine, provider, lens, options: how, next }, this.context);
  }

  private async planTo(
    target: Target,
    provider: InfrastructureProvider,
    direction: Plan["transaction"]["direction"],
  ): Promise<Plan> {
    await this.focus(target, provider, direction);
    return planRecorded(target, this.state, { ...this.planning(provider), direction });
  }

  private async focus(
    target: Target,
    provider: InfrastructureProvider,
    direction: Plan["transaction"]["direction"],
  ): Promise<void> {
    const how = { ...this.planning(provider), direction };
    const tolerance = ignoringByPolicy(provider, target.objects);
    this.lens = await lensToward(target, this.state, how, tolerance);
  }

  private planning(provider: InfrastructureProvider) {
    const { clock, by, interruption } = this.context;
    const deadlineMs = this.options.deadline * 1_000;
    const { lens, removal } = this;
    return { provider, clock, by, deadlineMs, stop: interruption.stop, lens, removal };
  }

  /** Throws NOT_REVERSIBLE when the open transaction has gone beyond its point of no return. */
  private async refuseCrossed(provider: InfrastructureProvider): Promise<void> {
    const { transaction } = this.state;
    if (transaction === undefined || transaction.direction === "back") return;
    const how = { ...this.planning(provider), direction: "forward", removal: "accepted" } as const;
    const [host] = (await planRecorded(transaction.target, this.state, how)).crossed;
    if (host === undefined) return;
    throw new CapstanError({
      code: "NOT_REVERSIBLE",
      source: "user",
      subject: this.stack,
      message: `cannot roll back ${this.stack}: ${host.host} is past the point of no return of transaction ${transaction.number}`,
      hint: `go on with capstan up: the manifests of that transaction, or others with a control plane of ${minorText(host.version)} or newer`,
    });
  }

  private async show(plan: Plan): Promise<void> {
    const { context, options } = this;
    if (context.json) context.emit(planLine(plan));
    else context.terminal.write(`${planText(plan, context.terminal)}\n`);
    if (!plan.empty) await confirm(`Roll ${plan.cluster} back?`, options.yes === true, context);
  }

  private refusal(cause: string, hint = "capstan status lists the stacks"): CapstanError {
    return new CapstanError({
      code: "NOT_FOUND",
      source: "user",
      subject: this.stack,
      message: `cannot roll back ${this.stack}: ${cause}`,
      hint,
    });
  }
}
