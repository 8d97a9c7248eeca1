import { counted } from "../../api/counted.js";
import { isCapstanError } from "../../api/error.js";
import type { LeftoverPolicy } from "../../api/leftover-policy.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { statementsOf } from "../../api/quoted.js";
import type { Desired } from "../../api/types.js";
import {
  type Destroyed,
  destroyCluster,
  type Destruction,
  planDestroy,
} from "../../engine/operations/destroy.js";
import type { Engine } from "../../engine/pulumi/engine.js";
import type { Workspace } from "../../engine/backend/workspace.js";
import { refuseLostState } from "../../engine/operations/lost-state.js";
import { settleLastCalls } from "../../engine/run/recover.js";
import { callContext } from "../../engine/run/handler-session.js";
import { refuseNonOwner, type StackState } from "../../engine/backend/state.js";
import { fileOwner } from "../../records/hand-over.js";
import {
  leftoverAdvice,
  leftoverDocument,
  leftoverLine,
  leftoversThatStay,
} from "../../plan/leftovers.js";
import type { Plan } from "../../plan/plan.js";
import { refuseDestruction } from "../../plan/refusals/protection.js";
import { undoText } from "../../plan/undo/undo-text.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { BadInput } from "../../manifest/bad-input.js";
import { confirm } from "../confirm.js";
import { byNameHint, destroyText, keptBy, notTriedText } from "../destroy-text.js";
import {
  type CommandContext,
  type GlobalOptions,
  openEngine,
  withLockedEngine,
} from "../context.js";
import { findGoneClusters, isAlsoFrom } from "../gone-clusters.js";
import { type ManifestOptions, sourcesOf } from "../manifest-options.js";
import { CommandFailure, exitCodes } from "../exit.js";
import {
  type Failed,
  failureOf,
  followRun,
  type FollowUp,
  inventoryText,
  wayBackNow,
} from "../outcome.js";
import { allNotes, forgetManifests } from "../stack-settings.js";
import { planLine } from "../survey-cluster.js";
import {
  clustersNamed,
  desiredFor,
  endText,
  recordedProvider,
  refuseNothingNamed,
  refuseUnknown,
  stacksAmong,
  toldAnnotations,
} from "./stacks.js";
import { openWorkload } from "../../kube/open-workload.js";

export interface DestroyOptions extends GlobalOptions, ManifestOptions {
  readonly yes?: boolean;
  readonly timeout: number;
  readonly leftovers?: LeftoverPolicy["leftovers"];
  readonly leftoverData?: LeftoverPolicy["data"];
  /** The fingerprint of an implausible answer of the cloud that is true. */
  readonly thaw?: string;
}

interface StackDestroyOptions extends DestroyOptions {
  /** Asked under the lock: why it is left as it is after all. */
  readonly unless?: (workspace: Workspace) => string | undefined;
  /** What the manifests say that were named with it; absent: none speak of it. */
  readonly desired?: Desired | undefined;
}

/** capstan destroy: deletes clusters. Exit 3: something is left. */
export async function destroyCommand(
  named: readonly string[],
  options: DestroyOptions,
  context: CommandContext,
): Promise<number> {
  refuseNothingNamed(named, options);
  const { engine, workspace } = await openEngine(options, context);
  let code: number = exitCodes.done;
  const clusters = await manifestsNamed(options, { engine, workspace }, context);
  const stacks = await stacksAmong(named, clusters, engine);
  await refuseUnknown("destroy", stacks, engine);
  for (const stack of stacks) {
    const desired = desiredFor(stack, clusters);
    code = Math.max(code, await destroyStack(stack, { ...options, desired }, context));
  }
  return code;
}

/** Manifests that are no longer valid name no cluster: the notes of what was applied from them do. */
async function manifestsNamed(
  options: DestroyOptions,
  { engine, workspace }: { readonly engine: Engine; readonly workspace: Workspace },
  context: CommandContext,
): Promise<readonly Desired[]> {
  try {
    return clustersNamed(options, context);
  } catch (error) {
    if (!(error instanceof BadInput)) throw error;
    const sources = sourcesOf(options, context.env);
    const applied = await findGoneClusters([], sources, engine, allNotes(workspace), isAlsoFrom);
    throw new BadInput(error.diagnostics, byNameHint(applied.map(({ cluster }) => cluster)));
  }
}

/**
 * Destroys one stack under its lock, after asking.
 * Throws a CommandFailure that says what is left behind.
 */
export async function destroyStack(
  stack: string,
  options: StackDestroyOptions,
  context: CommandContext,
): Promise<number> {
  const command = `capstan destroy ${stack}`;
  return withLockedEngine(
    options,
    context,
    { stack, command, owner: fileOwner },
    async (engine, workspace) => {
      const kept = options.unless?.(workspace);
      if (kept !== undefined) {
        context.terminal.error(`warning: ${kept}\n`);
        return exitCodes.done;
      }
      const state = await engine.readState(stack);
      refuseNonOwner(state, fileOwner, "destroy");
      // Before anybody is asked; the destruction itself holds to it as well.
      refuseDestruction([state]);
      const provider = recordedProvider(stack, state, context);
      if (provider !== undefined) {
        await new Destroy(stack, provider, engine, { options, context }).run();
        forgetManifests(workspace, stack);
        return exitCodes.done;
      }
      await refuseLostState({
        stack,
        stateDir: context.stateDir,
        providers: context.providers.all,
        context: callContext(context.clock, context.interruption.stop),
      });
      if (isEmpty(state)) await engine.removeEmptyStack(stack);
      if (context.json) context.emit({ type: "result", stack, deleted: 0, left: [] });
      else {
        const why = endText(stack, engine) ?? "nothing is recorded";
        context.terminal.write(`Cluster ${stack}: ${why}, nothing to destroy\n`);
      }
      return exitCodes.done;
    },
  );
}

/** Of a stack that Pulumi records nothing in, neither of a cluster nor of anything else. */
function isEmpty({ resources, pending, foreign }: StackState): boolean {
  return resources.length + pending.length + foreign.length === 0;
}

/** The destruction of one stack, under its lock. */
class Destroy {
  private readonly options: StackDestroyOptions;
  private readonly context: CommandContext;

  constructor(
    private readonly stack: string,
    private readonly provider: InfrastructureProvider,
    private readonly engine: Engine,
    { options, context }: { options: StackDestroyOptions; context: CommandContext },
  ) {
    this.options = options;
    this.context = context;
  }

  async run(): Promise<void> {
    const { stack, provider, engine, options, context } = this;
    const { clock, interruption, by } = context;
    await settleLastCalls(engine, provider, callContext(clock, interruption.stop));
    const state = await engine.readState(stack);
    const planning = { provider, clock, stop: interruption.stop, by, told: options.desired };
    const destruction = await planDestroy(stack, state, {
      ...planning,
      thaw: options.thaw,
      leftovers: omitUndefined({ leftovers: options.leftovers, data: options.leftoverData }),
    });
    const { plan } = destruction;
    this.show(destruction);
    await confirm(`Destroy ${stack}?`, options.yes === true, context);
    const timeoutMs = options.timeout * 1_000;
    const progress = followRun(plan, context, timeoutMs);
    let result: Destroyed;
    try {
      result = await destroyCluster(destruction, state, {
        ...planning,
        engine,
        onFailure: "keep",
        openWorkload,
        liveAnnotations: toldAnnotations(options.desired, state),
        timeoutMs,
        report: (event) => progress.on(event),
        onObservation: (_, observation) => progress.observed(observation),
      });
    } catch (error) {
      if (!isCapstanError(error)) throw error;
      throw await this.failure({ kind: "open", failure: error }, plan);
    } finally {
      progress.end();
    }
    if (result.kind === "done") return this.tell(result, plan);
    if (context.json) {
      const left = statementsOf(result.failure.message);
      context.emit({ type: "result", stack, deleted: result.deleted, left });
    }
    throw await this.failure(result, plan);
  }

  private async failure(failed: Failed, plan: Plan): Promise<CommandFailure> {
    const wayBack = await wayBackNow(this.engine, this.provider, this.stack, this.context.clock);
    const error = failureOf(failed, plan, this.next(plan), wayBack);
    if (failed.kind !== "stopped") return error;
    const rest = notTriedText(failed.failure, await this.engine.readState(this.stack));
    if (rest === "") return error;
    const { exitCode, message, hint } = error;
    return new CommandFailure(
      exitCode,
      failed.failure,
      omitUndefined({ message: `${message}\n${rest}`, hint }),
    );
  }

  private next({ fromRevision }: Plan): FollowUp {
    const { stack, options } = this;
    const choices = [
      ...(options.leftovers === undefined ? [] : [`--leftovers ${options.leftovers}`]),
      ...(options.leftoverData === undefined ? [] : [`--leftover-data ${options.leftoverData}`]),
    ];
    return omitUndefined({
      look: `capstan status ${stack}`,
      again: ["capstan destroy", stack, ...choices].join(" "),
      takeBack: fromRevision > 0 ? `capstan rollback ${stack}` : undefined,
    });
  }

  private show({ plan, records, first }: Destruction): void {
    const { json, emit, terminal } = this.context;
    if (json) {
      for (const one of first === undefined ? [plan] : [first, plan]) emit(planLine(one));
      return;
    }
    terminal.write(destroyText({ plan, records }, terminal));
    if (first !== undefined) terminal.write("An adoption is open: it is finished first\n");
    this.showLeftovers(plan.leftovers);
    terminal.write(`${terminal.colors.yellow(undoText(plan))}\n`);
  }

  /** What stays, who has made it, and what can be done about it. */
  private showLeftovers(planned: Plan["leftovers"] = []): void {
    const { terminal } = this.context;
    const staying = leftoversThatStay(planned);
    if (staying.length === 0) return;
    const advice = leftoverAdvice(staying, `capstan destroy ${this.stack}`);
    const lines = [
      "Made by controllers in the cluster, and not deleted:",
      ...staying.map((one) => `    ${leftoverLine(one)}`),
      ...advice,
    ];
    terminal.write(`${terminal.colors.yellow(lines.join("\n"))}\n`);
  }

  private tell({ deleted, inventory }: Extract<Destroyed, { kind: "done" }>, plan: Plan): void {
    const { json, emit, terminal } = this.context;
    const { stack } = this;
    const kept = keptBy(plan).size;
    const staying = leftoversThatStay(plan.leftovers);
    if (json) {
      const leftovers = staying.length === 0 ? undefined : staying.map(leftoverDocument);
      return emit(omitUndefined({ type: "result", stack, deleted, left: [], leftovers }));
    }
    const seen = inventory === undefined ? "" : `; ${inventoryText(inventory)}`;
    const forgotten = kept === 0 ? "" : `, ${kept} kept in the cloud and nobody's`;
    terminal.write(
      `\nDestroyed ${stack}: ${counted(deleted, "resource")} deleted${forgotten}, 0 left${seen}\n`,
    );
    if (staying.length === 0) return;
    const lines = staying.map((one) => `    ${leftoverLine(one)}\n`);
    terminal.write(`Not deleted, made by its controllers:\n${lines.join("")}`);
  }
}
