import { CapstanError } from "../../api/error.js";
import { isKeyStage, type KeyStage, numbersIn } from "../../api/key-stage.js";
import { refuseHeld } from "../../drift/hold.js";
import { refuseForeign, refuseNonOwner, type StackState } from "../../engine/backend/state.js";
import { keySource } from "../../engine/operations/key-source.js";
import { planRotation, type Rotation, rotationOf } from "../../engine/operations/rotate-keys.js";
import type { Engine } from "../../engine/pulumi/engine.js";
import { callContext } from "../../engine/run/handler-session.js";
import { settleLastCalls } from "../../engine/run/recover.js";
import { openWorkload } from "../../kube/open-workload.js";
import { foreseenFailure } from "../../plan/foreseen.js";
import { fileOwner } from "../../records/hand-over.js";
import { confirm } from "../confirm.js";
import {
  type CommandContext,
  type GlobalOptions,
  openEngine,
  withLockedEngine,
} from "../context.js";
import { exitCodes } from "../exit.js";
import { readCertificates } from "../given-certificates.js";
import { planLine } from "../survey-cluster.js";
import { planText } from "../terminal.js";
import { nothingRecorded, recordedProvider, stacksOf } from "./stacks.js";
import { carryOut } from "./up.js";

export interface RotateOptions extends GlobalOptions {
  readonly yes?: boolean;
  /** The stage to go to: "1+2"; the next one without. */
  readonly to?: string;
  /** A folder with keys of the user's own, for those that come in with the step. */
  readonly certificates?: string;
  /** The fingerprint of an implausible answer of the cloud that is true. */
  readonly thaw?: string;
  /** Seconds that hosts may take to become ready. */
  readonly timeout: number;
  /** Seconds from begin to commit. */
  readonly deadline: number;
}

/** capstan certificates rotate: one of the three steps from one set of keys to the next; each replaces every host. */
export async function certificatesRotateCommand(
  named: string,
  options: RotateOptions,
  context: CommandContext,
): Promise<number> {
  const asked = askedIn(options);
  const { engine } = await openEngine(options, context);
  const [stack = named] = await stacksOf([named], { file: [] }, engine, context);
  const command = `capstan certificates rotate ${stack}`;
  await withLockedEngine(options, context, { stack, command, owner: fileOwner }, (locked) =>
    rotate(stack, asked, options, { engine: locked, context }),
  );
  return exitCodes.done;
}

/** Without anybody who reads what comes next, it has to be said: repeated blindly, the words would go on and on. */
function askedIn({ to, yes }: RotateOptions): KeyStage | undefined {
  if (to === undefined && yes !== true) return undefined;
  if (to !== undefined && isKeyStage(to)) return to;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: to === undefined ? "where to? --yes needs --to" : `--to ${to} names no stage of keys`,
    hint: 'say which keys hosts are to have: "1+2", then "2+1", then "2"; capstan certificates show tells where it is',
  });
}

async function rotate(
  stack: string,
  asked: KeyStage | undefined,
  options: RotateOptions,
  { engine, context }: { readonly engine: Engine; readonly context: CommandContext },
): Promise<void> {
  const { clock, interruption, by, terminal, json, emit } = context;
  const { stop } = interruption;
  const provider = recordedProvider(stack, await engine.readState(stack), context);
  if (provider === undefined) throw await nothingRecorded("rotate the keys of", stack, engine);
  await settleLastCalls(engine, provider, callContext(clock, stop));
  const state = await engine.readState(stack);
  refuseForeign(state, stack);
  refuseNonOwner(state, fileOwner, "rotate the keys of");
  const given = readCertificates(options.certificates, clock.now());
  const rotation = rotationOf(state, asked);
  if (rotation.kind === "reached") return tellReached(stack, rotation, context);
  const { from, to } = rotation;
  if (given !== undefined) refuseIdleKeys(given.folder, to, state);
  const deadlineMs = options.deadline * 1_000;
  const { plan, driftFilter } = await planRotation(rotation, state, {
    provider,
    clock,
    stop,
    by,
    deadlineMs,
    thaw: options.thaw,
    openWorkload,
  });
  if (json) emit(planLine(plan));
  else terminal.write(`Keys ${from} -> ${to}: ${stepText(to)}\n\n${planText(plan, terminal)}\n`);
  refuseHeld(plan.cluster, plan.held);
  const foreseen = foreseenFailure(plan);
  if (foreseen !== undefined) throw foreseen;
  await confirm(`Rotate the keys of ${plan.cluster}?`, options.yes === true, context);
  const next = {
    look: `capstan certificates show ${stack}`,
    again: `capstan certificates rotate ${stack} --to ${to}`,
    takeBack: `capstan rollback ${stack}`,
    takeDown: `capstan destroy ${stack}`,
  };
  const keys = keySource(provider, plan.target, clock, given?.keys);
  const how = { timeout: options.timeout, deadline: options.deadline, rollback: true };
  const apply = { engine, provider, driftFilter, options: how, next };
  await carryOut(plan, state, keys === undefined ? apply : { ...apply, keys }, context);
}

/** Throws INVALID_INPUT for keys that come too late, or were made already: the step brings no others in. */
function refuseIdleKeys(folder: string, to: KeyStage, { transaction }: StackState): void {
  const kept = Object.keys(transaction?.keys ?? {}).map(Number);
  if (numbersIn(to).some((number) => !kept.includes(number))) return;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `--certificates ${folder} has no effect: the keys of stage ${to} are made already`,
    hint: "they come in with the first step; nothing was changed",
  });
}

/** What a step is for, and what people have to do before the next one. Pure. */
function stepText(to: KeyStage): string {
  const [signs = 1, trusts] = numbersIn(to);
  if (trusts === undefined) return `keys ${signs - 1} are trusted no more`;
  return trusts > signs
    ? `hosts trust keys ${trusts} beside keys ${signs}; give people a new kubeconfig before the next step`
    : `keys ${signs} sign, keys ${trusts} are still trusted; give people a new kubeconfig before the next step`;
}

function tellReached(
  stack: string,
  { at }: Extract<Rotation, { kind: "reached" }>,
  { json, emit, terminal }: CommandContext,
): void {
  if (json) emit({ type: "result", cluster: stack, changed: false, keys: at });
  else terminal.write(`All hosts of ${stack} are made with keys ${at}: nothing to do.\n`);
}
