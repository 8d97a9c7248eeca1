import { isCapstanError } from "../../api/error.js";
import { stackNameOf } from "../../api/types.js";
import { type ApplyEvent, applyPlan } from "../../engine/apply.js";
import type { Engine } from "../../engine/engine.js";
import type { Workspace } from "../../engine/workspace.js";
import type { Plan } from "../../plan/plan.js";
import { confirm } from "../confirm.js";
import {
  type CommandContext,
  loadManifests,
  openEngine,
  providerOf,
  withLockedEngine,
} from "../context.js";
import { CommandFailure, exitCodes } from "../exit.js";
import { findGoneClusters, refuseGoneClusters } from "../gone-clusters.js";
import { makeProgress } from "../progress.js";
import { rememberManifests } from "../stack-settings.js";
import { planText } from "../terminal.js";
import { destroyStack } from "./destroy.js";
import { type ClusterOf, planDocument, type PlanOptions, surveyCluster } from "./plan.js";

export interface UpOptions extends PlanOptions {
  readonly yes?: boolean;
  /** Seconds that hosts may take to become ready. */
  readonly timeout: number;
}

/** capstan up: plans, asks, applies. Exit 0: done; 4: failed with what exists kept and recorded. */
export async function upCommand(options: UpOptions, context: CommandContext): Promise<number> {
  const manifests = loadManifests(options.file, context);
  const { engine, workspace } = await openEngine(options, context);
  const gone = await findGoneClusters(manifests.clusters, options.file, engine, workspace);
  if (options.prune !== true) refuseGoneClusters(gone, options.file);
  for (const desired of manifests.clusters) {
    const stack = stackNameOf(desired.cluster);
    const command = `capstan up -f ${options.file.join(" -f ")}`;
    await withLockedEngine(options, context, { stack, command }, (locked, prepared) =>
      upCluster({ desired, manifests }, options, context, { engine: locked, workspace: prepared }),
    );
  }
  let code: number = exitCodes.done;
  for (const { stack } of gone) code = Math.max(code, await destroyStack(stack, options, context));
  return code;
}

async function upCluster(
  cluster: ClusterOf,
  options: UpOptions,
  context: CommandContext,
  { engine, workspace }: { engine: Engine; workspace: Workspace },
): Promise<void> {
  const { terminal, clock, json } = context;
  const { plan, state } = await surveyCluster(cluster, engine, options, context);
  if (json) context.emit({ type: "plan", ...planDocument(plan) });
  else if (!terminal.live || plan.empty || options.yes !== true) {
    terminal.write(`${planText(plan, terminal)}\n`);
  }
  if (plan.empty) {
    if (json) context.emit({ type: "result", cluster: plan.cluster, changed: false });
    return;
  }
  await confirm(`Apply this to ${plan.cluster}?`, options.yes === true, context);
  await engine.ensureStack(plan.stack, state);
  rememberManifests(workspace, plan.stack, options.file);
  const progress = json ? undefined : makeProgress(plan, terminal, clock);
  const begin = clock.now();
  try {
    const { passes } = await applyPlan(plan, state, {
      engine,
      provider: providerOf(cluster.desired, context),
      clock,
      timeoutMs: options.timeout * 1000,
      stop: context.interruption.stop,
      report: (event) => {
        if (json) context.emit(eventDocument(event));
        else progress?.on(event);
      },
    });
    progress?.end();
    done(plan, { passes, tookMs: clock.now() - begin }, options, context);
  } catch (error) {
    progress?.end();
    throw kept(error, plan, options);
  }
}

function eventDocument(event: ApplyEvent) {
  if (event.kind === "resource") return { type: "event", event: "resource", ...event.event };
  const { kind, ...rest } = event;
  return { type: "event", event: kind, ...rest };
}

function done(
  plan: Plan,
  how: { readonly passes: number; readonly tookMs: number },
  options: UpOptions,
  context: CommandContext,
): void {
  const { cluster, transaction, target } = plan;
  if (context.json) {
    context.emit({ type: "result", cluster, changed: true, revision: transaction.number, ...how });
    return;
  }
  const { colors } = context.terminal;
  const files = options.file.map((file) => `-f ${file}`).join(" ");
  context.terminal.write(
    `\n${colors.green("Done")} in ${(how.tookMs / 1000).toFixed(1)} s: revision ${transaction.number} of ${cluster}, ${target.machines.length} machines run\nNext: capstan status ${files}\n`,
  );
}

/** A failed apply keeps what exists, recorded with its ids: it says so, and how to go on. */
function kept(error: unknown, plan: Plan, options: UpOptions): unknown {
  if (!isCapstanError(error)) return error;
  const files = options.file.map((file) => `-f ${file}`).join(" ");
  const next = `go on with capstan up ${files}, or take everything down with capstan destroy ${files}`;
  const interrupted = error.code === "CANCELLED";
  return new CommandFailure(interrupted ? exitCodes.interrupted : exitCodes.piecesKept, error, {
    message: `${error.message}\nTransaction ${plan.transaction.number} of ${plan.cluster} stays open; what exists is recorded`,
    hint: error.hint === undefined ? next : `${error.hint}; ${next}`,
  });
}
