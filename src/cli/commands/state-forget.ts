import { CapstanError } from "../../api/error.js";
import type { Removal } from "../../api/protection.js";
import { defaultDeadlineMs } from "../../plan/deadline.js";
import { fileOwner } from "../../records/hand-over.js";
import { machineKey, machineOfKey } from "../../records/target.js";
import { planForget } from "../../engine/operations/forget.js";
import type { Engine } from "../../engine/pulumi/engine.js";
import { refuseNonOwner, type StackState } from "../../engine/backend/state.js";
import { settleLastCalls } from "../../engine/run/recover.js";
import { callContext } from "../../engine/run/handler-session.js";
import { confirm } from "../confirm.js";
import {
  type CommandContext,
  type GlobalOptions,
  openEngine,
  withLockedEngine,
} from "../context.js";
import { exitCodes } from "../exit.js";
import { planLine } from "../survey-cluster.js";
import { stateItems } from "../state-report.js";
import { planText } from "../terminal.js";
import { nothingRecorded, recordedProvider, stacksOf } from "./stacks.js";
import { recordedKey } from "./state.js";
import { carryOut } from "./up.js";

export interface StateForgetOptions extends GlobalOptions {
  readonly yes?: boolean;
  readonly allowRemoval?: readonly Removal[];
  /** Seconds that taking the marks off may take. */
  readonly timeout: number;
}

/** capstan state forget: a machine's host loses our marks and stays; its records go. */
export async function stateForgetCommand(
  stackName: string,
  word: string,
  options: StateForgetOptions,
  context: CommandContext,
): Promise<number> {
  const { engine } = await openEngine(options, context);
  const [stack = stackName] = await stacksOf([stackName], { file: [] }, engine, context);
  const command = `capstan state forget ${stack} ${word}`;
  await withLockedEngine(options, context, { stack, command, owner: fileOwner }, (locked) =>
    forget(stack, word, options, { engine: locked, context }),
  );
  return exitCodes.done;
}

async function forget(
  stack: string,
  word: string,
  options: StateForgetOptions,
  { engine, context }: { readonly engine: Engine; readonly context: CommandContext },
): Promise<void> {
  const { clock, interruption, by, terminal, json, emit } = context;
  const { stop } = interruption;
  const first = await engine.readState(stack);
  const provider = recordedProvider(stack, first, context);
  if (provider === undefined) throw await nothingRecorded("forget anything of", stack, engine);
  await settleLastCalls(engine, provider, callContext(clock, stop));
  const state = await engine.readState(stack);
  refuseNonOwner(state, fileOwner, "change");
  const machine = machineNamed(word, state);
  const { plan, driftFilter } = await planForget(machine, state, {
    provider,
    clock,
    stop,
    by,
    deadlineMs: defaultDeadlineMs,
    removal: { allow: options.allowRemoval ?? [] },
  });
  if (json) emit(planLine(plan));
  else terminal.write(`${planText(plan, terminal)}\n`);
  await confirm(`Forget Machine ${machine} of ${plan.cluster}?`, options.yes === true, context);
  const next = {
    look: `capstan state list ${stack}`,
    again: `capstan state forget ${stack} ${machineKey(machine)}`,
    takeBack: `capstan rollback ${stack}`,
    takeDown: `capstan destroy ${stack}`,
  };
  const how = { timeout: options.timeout, deadline: defaultDeadlineMs / 1_000, rollback: true };
  await carryOut(plan, state, { engine, provider, driftFilter, options: how, next }, context);
}

/** A Machine, by its name or its host's. Throws NOT_FOUND, and BAD_USAGE for what machines share. */
function machineNamed(word: string, state: StackState): string {
  const key = recordedKey(word, state, "forget");
  const item = stateItems(state).find((one) => one.key === key);
  const machine = item?.machine ?? machineOfKey(key);
  if (machine !== undefined) return machine;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    subject: key,
    message: `cannot forget ${key}: the machines of the cluster need it, so only machines can be forgotten`,
    hint: "capstan state list names them; nothing was changed",
  });
}
