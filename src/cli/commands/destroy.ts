import { isCapstanError } from "../../api/error.js";
import { destroyCluster } from "../../engine/destroy.js";
import { refuseNonOwner } from "../../engine/state.js";
import { fileOwner } from "../../plan/hand-over.js";
import { refuseDestruction } from "../../plan/protection.js";
import { cloudResources } from "../../plan/target.js";
import { confirm } from "../confirm.js";
import {
  type CommandContext,
  type GlobalOptions,
  openEngine,
  withLockedEngine,
} from "../context.js";
import { CommandFailure, exitCodes } from "../exit.js";
import { inventoryText } from "../outcome.js";
import { recordedProvider, refuseNothingNamed, stacksOf } from "./stacks.js";

export interface DestroyOptions extends GlobalOptions {
  readonly file: readonly string[];
  readonly yes?: boolean;
  readonly timeout: number;
}

/** capstan destroy: deletes clusters. Forward only. Exit 3: something is left. */
export async function destroyCommand(
  named: readonly string[],
  options: DestroyOptions,
  context: CommandContext,
): Promise<number> {
  refuseNothingNamed(named, options.file);
  const { engine } = await openEngine(options, context);
  let code: number = exitCodes.done;
  for (const stack of await stacksOf(named, options.file, engine, context)) {
    code = Math.max(code, await destroyStack(stack, options, context));
  }
  return code;
}

/** Destroys one stack under its lock, after asking. Exit 0 or 3. */
export async function destroyStack(
  stack: string,
  options: DestroyOptions,
  context: CommandContext,
): Promise<number> {
  const { terminal, clock, json } = context;
  const command = `capstan destroy ${stack}`;
  return withLockedEngine(options, context, { stack, command }, async (engine) => {
    const state = await engine.readState(stack);
    refuseNonOwner(state, fileOwner, "destroy");
    // Before anybody is asked; the destruction itself holds to it as well.
    refuseDestruction([state]);
    const provider = recordedProvider(stack, state, context);
    if (provider === undefined) {
      if (json) context.emit({ type: "result", stack, deleted: 0, left: [] });
      else terminal.write(`Cluster ${stack}: nothing is recorded, nothing to destroy\n`);
      return exitCodes.done;
    }
    const doomed = cloudResources(state);
    if (!json) {
      const lines = doomed.map(({ kind, name, id }) => `  - ${kind} ${name} (${id ?? "no id"})\n`);
      terminal.write(`Cluster ${stack}\n\n${terminal.colors.red(lines.join(""))}\n`);
      terminal.write(`Plan: ${doomed.length} to delete. This cannot be taken back.\n`);
    }
    await confirm(`Destroy ${stack}?`, options.yes === true, context);
    const work = destroyCluster(stack, state, {
      engine,
      provider,
      clock,
      timeoutMs: options.timeout * 1000,
      stop: context.interruption.stop,
      report: (event) => {
        if (json) context.emit({ type: "event", event: "resource", ...event });
        else if (event.state === "done" && event.operation === "delete") {
          terminal.write(`  ${event.kind} ${event.name}: deleted\n`);
        }
      },
    });
    const { deleted, inventory } = await work.catch((error: unknown) => {
      throw incomplete(error);
    });
    const left = inventory.differences;
    if (json) context.emit({ type: "result", stack, deleted, left });
    else {
      const seen = left.length === 0 ? `; ${inventoryText(inventory)}` : "";
      terminal.write(
        `\nDestroyed ${stack}: ${deleted} resources deleted, ${left.length} left${seen}\n`,
      );
      for (const what of left) terminal.write(`  ${what}\n`);
    }
    return left.length === 0 ? exitCodes.done : exitCodes.incomplete;
  });
}

/** A destroy that failed half way is incomplete: the same command goes on. */
function incomplete(error: unknown): unknown {
  const halfWay =
    isCapstanError(error) && (error.code === "CLOUD_FAILED" || error.code === "ENGINE_FAILED");
  return halfWay ? new CommandFailure(exitCodes.incomplete, error) : error;
}
