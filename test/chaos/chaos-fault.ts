import assert from "node:assert/strict";
import { clearFaults } from "../scenario/cloud-faults.js";
import type { Command } from "../scenario/command.js";
import { isAlive, killAll, signalAll } from "../scenario/process-tree.js";
import { PowerSupply } from "../scenario/power-supply.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import {
  aimFault,
  type Boundary,
  BoundaryMissed,
  boundaryText,
  isMutating,
  startUpTo,
} from "./boundary.js";
import { type Operation, startUp } from "./operation.js";
import { chance } from "./random.js";
import { exitCodeOf } from "./scene.js";

/**
 * What happens to a run at a boundary.
 * tree: SIGKILL to everything. cli: to the command alone, so that what it started lives on.
 * provider: to the process that called the cloud. frozen: to the command alone, while its engine stands
 * still and goes on after the recovery. engine: to the engine alone, so that the command has to see
 * to it. rival: another command comes while the first one
 * lives, then everything is killed. late: the command alone is killed, and the call that it was in is
 * carried out after the recovery. unsynced, names, some: everything is killed, and its disk loses what was not synced (as
 * PowerSupply says: all of it, all data, or what is drawn). The others leave all alive and spoil the call.
 */
export type ChaosFault =
  | "tree"
  | "cli"
  | "provider"
  | "frozen"
  | "engine"
  | "rival"
  | "late"
  | PowerLoss
  | "fail"
  | "throttle"
  | "quota"
  | "lose"
  | "lag";

export const powerLosses = ["unsynced", "names", "some"] as const;
type PowerLoss = (typeof powerLosses)[number];

function isPowerLoss(fault: ChaosFault): fault is PowerLoss {
  return powerLosses.some((one) => one === fault);
}

const spoiling = ["engine", "fail", "throttle", "quota", "lose", "lag"] as const;

/** Whether the command lives on and ends by itself. */
export function isSpoiling(fault: ChaosFault): boolean {
  return spoiling.some((mode) => mode === fault);
}

/** Whether nothing lives on after a fault. */
export function isCopyable(fault: ChaosFault): boolean {
  return fault === "tree" || fault === "rival" || isPowerLoss(fault) || isSpoiling(fault);
}

/** Whether a fault has a meaning at a boundary. */
export function isMeant(fault: ChaosFault, { kind, side, what }: Boundary): boolean {
  switch (fault) {
    case "tree":
    case "cli":
    case "frozen":
    case "unsynced":
    case "names":
    case "some":
      return true;
    case "engine":
      return kind === "call" && isMutating({ what });
    case "provider":
      return kind === "call";
    case "rival":
      return kind === "call" && side === "after";
    case "late":
      return kind === "call" && side === "before" && isMutating({ what });
    case "fail":
    case "throttle":
      return kind === "call" && side === "before";
    case "quota":
      return kind === "call" && side === "before" && isCreating(what);
    case "lose":
      return kind === "call" && side === "after";
    case "lag":
      return kind === "call" && side === "after" && what === "create";
  }
}

/** Whether a call makes what a cloud may be asked for too much of. */
function isCreating(what: string): boolean {
  return /^create$|:(Create(?!Tags|Route$)|Allocate|Authorize|Run|Register)/.test(what);
}

/** Sets what makes the operation itself fail, if anything does. */
export function prepare(sandbox: Sandbox, { breaks }: Operation): Promise<void> {
  return breaks === undefined
    ? Promise.resolve()
    : sandbox.cloud.fault(breaks.call, "fail", { name: breaks.name });
}

/**
 * Runs an operation into a kill. Afterwards nothing of what it met is still set, but a late call.
 * Answers the command that was killed.
 */
export async function killAt(
  sandbox: Sandbox,
  operation: Operation,
  boundary: Boundary,
  fault: ChaosFault,
): Promise<Command> {
  await prepare(sandbox, operation);
  if (isPowerLoss(fault)) return losePower(sandbox, operation, boundary, fault);
  const begin = sandbox.ledgerEnd();
  const start = () => operation.start(sandbox);
  const command = await startUpTo(sandbox, boundary, start, {
    how: fault === "late" ? "late" : "hang",
  });
  switch (fault) {
    case "cli":
    case "late":
      await killFront(command, "livesOn");
      break;
    case "frozen":
      await killFront(command, "standsStill");
      break;
    case "provider":
      await killCaller(sandbox, command, begin);
      break;
    case "rival":
      await meetRival(sandbox, operation, command);
      await command.killTree();
      break;
    default:
      await command.killTree();
  }
  if (fault !== "late") clearFaults(sandbox.cloudFile);
  return command;
}

async function losePower(
  sandbox: Sandbox,
  operation: Operation,
  boundary: Boundary,
  fault: PowerLoss,
): Promise<Command> {
  const power = new PowerSupply(sandbox, (path) => chance(0, boundaryText(boundary), path));
  sandbox.runner = power.runner;
  const command = await startUpTo(sandbox, boundary, () => operation.start(sandbox));
  sandbox.runner = undefined;
  await power.fail(command, fault === "unsynced" ? "synced" : fault);
  clearFaults(sandbox.cloudFile);
  return command;
}

/** Between two passes there is no engine: then nothing is left to live on. */
async function killFront(command: Command, engine: "livesOn" | "standsStill"): Promise<void> {
  const { descendants } = command;
  if (engine === "standsStill") signalAll(descendants, "SIGSTOP");
  command.signal("SIGKILL");
  await command.finished;
}

/** Under our own command that is the command; beside a plain pulumi it is the host of its provider. */
async function killCaller(sandbox: Sandbox, command: Command, begin: number): Promise<void> {
  const held = sandbox.ledger(begin).find(({ fault }) => fault?.startsWith("hang") === true);
  assert.ok(held, "somebody hangs in a call");
  killAll([held.pid]);
  if (command.pid === held.pid) await command.finished;
  else await exitCodeOf(command);
}

/** Whoever comes while another one lives is refused and changes nothing. */
async function meetRival(sandbox: Sandbox, { third }: Operation, first: Command): Promise<void> {
  const before = sandbox.ledgerEnd();
  const rival = startUp(sandbox, third);
  const code = await exitCodeOf(rival);
  assert.equal(
    code,
    5,
    `a second command while the first one lives exits with ${code}: ${rival.said}`,
  );
  assert.deepEqual(sandbox.mutations(before), [], "it changes nothing");
  assert.equal(first.hasEnded, false, "the first one lives on");
}

/** Lets what was stopped or late go on after the recovery, and waits until it has. */
export async function letGoOn(sandbox: Sandbox, fault: ChaosFault, killed: Command): Promise<void> {
  if (fault === "late") await letLateCallGo(sandbox);
  if (fault !== "frozen") return;
  signalAll(killed.leftovers, "SIGCONT");
  await until("the engine that stood still ends", () => killed.leftovers.length === 0);
}

async function letLateCallGo(sandbox: Sandbox): Promise<void> {
  const delayed = sandbox.ledger().findLast(({ effect }) => effect === "delayed");
  assert.ok(delayed, "a call is late");
  clearFaults(sandbox.cloudFile);
  await until("the late call is carried out or given up", () => {
    const { pid, seq, call } = delayed;
    const isDone = sandbox.ledger(seq).some((row) => row.pid === pid && row.call === call);
    return isDone || !isAlive(pid);
  });
}

/** How a command ended by itself; undefined when it did not end. */
export interface CommandEnding {
  readonly code: number | null | undefined;
  readonly said: string;
}

/** The call that the dead engine asked for hangs for good. */
async function killEngineAt(
  sandbox: Sandbox,
  operation: Operation,
  boundary: Boundary,
): Promise<CommandEnding> {
  const command = await startUpTo(sandbox, boundary, () => operation.start(sandbox));
  killAll(command.descendants);
  const code = await exitCodeOf(command);
  clearFaults(sandbox.cloudFile);
  return { code, said: command.said };
}

/** Runs an operation whose call at a boundary is spoiled, to its end. */
export async function spoilAt(
  sandbox: Sandbox,
  operation: Operation,
  boundary: Boundary,
  mode: ChaosFault,
): Promise<CommandEnding> {
  await prepare(sandbox, operation);
  if (mode === "engine") return killEngineAt(sandbox, operation, boundary);
  const begin = sandbox.ledgerEnd();
  aimFault(sandbox, boundary, mode);
  const command = operation.start(sandbox);
  const code = await exitCodeOf(command);
  const { what, name } = boundary;
  const isHit = sandbox
    .ledger(begin)
    .some((row) => row.call === what && row.name === name && row.fault?.includes(mode) === true);
  if (!isHit) throw new BoundaryMissed(boundary, command.said);
  clearFaults(sandbox.cloudFile);
  return { code, said: command.said };
}
