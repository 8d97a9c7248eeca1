import { hostname } from "node:os";
import { CapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { typeTokenOf } from "../../dynamic/protocol.js";
import { RecordResource } from "../../dynamic/record-resource.js";
import { systemClock } from "../../provider/clock.js";
import type { Clock } from "../../provider/port.js";
import type { NotedCluster } from "../../sweep/clusters.js";
import type { PassProgram } from "../../transaction/registration.js";
import { isOpen } from "../../records/prior-state.js";
import { answerInTime } from "./answer-limit.js";
import { BackendStacks } from "./backend-stacks.js";
import { dropKeptState, keepState } from "../backend/checkpoint-repair.js";
import { notedClusters, withRegistry } from "../backend/cluster-registry.js";
import {
  engineFailed,
  lockedByPulumi,
  unlockHint,
  writtenMeanwhile,
  metPassingLock,
  refusingLocks,
} from "./engine-refusals.js";
import { prunePulumiHistory } from "../backend/pulumi-history.js";
import { type PulumiResult, runPulumi } from "./pulumi.js";
import { holderLiveness, ownEngine, sightIn } from "../locks/engine-roster.js";
import { stackWorker, type StackWorker } from "../locks/stack-worker.js";
import { enginesNoted, forgetEnded, noteBeside, writersOf } from "../locks/noted-engines.js";
import {
  identify,
  type Liveness,
  livenessOf,
  type ProcessIdentity,
} from "../locks/process-identity.js";
import {
  type HeldLock,
  heldLocks,
  holderText,
  type PulumiLock,
  readPulumiLocks,
  removeUnfinishedLocks,
} from "../locks/pulumi-locks.js";
import { placeTaken, type WorkPermit } from "../locks/work-permit.js";
import { Room, type RoomDemand } from "./disk-room.js";
import type { ClusterLife, EngineOptions, HandlerSession, PassOptions } from "./engine-options.js";
import { CheckpointReader } from "../backend/checkpoint-reader.js";
import {
  beginPatienceMs,
  lockPatienceMs,
  type LockObservation,
  pollMs,
  untilUnlocked,
} from "../locks/lock-wait.js";
import { noticing } from "./noticed-lookup.js";
import { RecordedStacks } from "./recorded-stacks.js";
import { settledFirst, settleState } from "./settled-state.js";
import { StackKeys } from "../backend/stack-keys.js";
import type { Workspace } from "../backend/workspace.js";
import { refuseNonOwner, type StackState } from "../backend/state.js";

/** What a run needs of an engine. */
export type StackEngine = Pick<
  Engine,
  | "assertAlive"
  | "assertHeld"
  | "beginWork"
  | "destroy"
  | "noteEnd"
  | "noteLife"
  | "pass"
  | "readState"
  | "refresh"
  | "removeEmptyStack"
  | "unsettled"
>;

/** Runs Pulumi's engine on one stack after another. Every run starts and ends a process. */
export class Engine {
  readonly stacks: BackendStacks;

  /** The engine that runs; what it is cannot be told of one that has ended already. */
  private running: { readonly pid: number; readonly is: ProcessIdentity | undefined } | undefined;
  /** The stack was taken over from somebody dead whose last calls may still take effect. */
  unsettled = false;
  private hasBegun = false;
  private permit: WorkPermit | undefined;

  private readonly recorded: RecordedStacks;
  private readonly rooms = new Map<string, Room>();

  constructor(private readonly options: EngineOptions) {
    const { workspace, providers, changes = false, notice } = options;
    const keys = new StackKeys(workspace);
    this.stacks = new BackendStacks(workspace, keys, (args, what) =>
      answerInTime({ args, what, clock: this.clock }, (late) => this.run(args, { late })),
    );
    this.recorded = new RecordedStacks({
      workspace,
      providers,
      checkpoints: new CheckpointReader(workspace, keys),
      changes,
      notice,
      has: (stack) => this.stacks.has(stack),
      exported: (stack) => this.run(["stack", "export", "--show-secrets", ...this.named(stack)]),
      isEngineRunning: () => this.running !== undefined,
      unsettled: () => {
        this.unsettled = true;
      },
    });
  }

  /**
   * To be called before calls that change the cloud without an engine, too: from then on others can see that somebody is at it. Does
   * nothing the second time. Throws BAD_STATE when the backend takes no notes.
   */
  async beginWork(): Promise<void> {
    if (this.hasBegun) return;
    this.permit = await this.options.beforeWork?.();
    this.hasBegun = true;
  }

  /** See Workspace.place. */
  get place(): string {
    return this.options.workspace.place;
  }

  /** Throws LOCKED once another command, or a person, has taken this one's place: asked before each change, with an engine or without. */
  async assertHeld(): Promise<void> {
    await this.permit?.assertHeld();
  }

  /** See Workspace.stateName. */
  stateName(how: "reads" | "makes"): string {
    return this.options.workspace.stateName(how);
  }

  /**
   * Throws ENGINE_DEAD unless an engine run is under way, and LOCKED as `assertHeld` does: asked before each call of a run that
   * changes a cloud.
   */
  async assertAlive(): Promise<void> {
    // Its end may not have been heard of yet, by a process that was frozen above all.
    if (this.running?.is !== undefined && livenessOf(this.running.is) !== "dead") {
      return this.assertHeld();
    }
    throw new CapstanError({
      code: "ENGINE_DEAD",
      source: "engine",
      message: "the engine that asked for this change has ended",
      hint: "run the same command again",
      retryable: false,
    });
  }

  /**
   * What is recorded about a stack; an empty state when there is no such stack. A state that was cut off
   * in writing is read from its last good copy, and restored from it by an engine that changes stacks.
   * Throws BAD_STATE naming the file when it cannot be read, SCHEMA_NEWER, and BAD_USAGE when the chosen
   * stack of a user's project holds another cluster than the one that `stack` names.
   */
  readState(stack: string): Promise<StackState> {
    return this.recorded.read(stack);
  }

  /**
   * The same with the worker of the stack, for verbs that show what is under way. A state with nothing
   * open has no worker, whoever holds its lock.
   */
  async readWithWorker(stack: string): Promise<{ state: StackState; worker: StackWorker }> {
    const state = await this.readState(stack);
    if (!isOpen(state) && state.pending.length === 0) return { state, worker: { kind: "none" } };
    const { workspace } = this.options;
    const worker = await stackWorker({ workspace, stack, nowMs: this.clock.now() });
    // A worker may have ended between two reads: with its lock read first, its state is never shown as broken off.
    return { state: await this.readState(stack), worker };
  }

  /**
   * Makes the stack if it is missing, and its settings file if that is. Throws LOCKED when another command has made the stack
   * since `state` was read.
   */
  async ensureStack(stack: string, state: StackState): Promise<void> {
    if (await this.stacks.has(stack)) {
      if (state.writtenAt === undefined) throw writtenMeanwhile(stack);
      return this.stacks.ensureSettings(stack, state);
    }
    await this.beginWork();
    if (await this.stacks.add(stack)) return;
    const name = this.options.workspace.stackName(stack);
    const made = await this.run(["stack", "init", name]);
    if (made.code !== 0) {
      // Pulumi refuses to make a stack twice.
      if (await this.stacks.has(stack)) throw writtenMeanwhile(stack);
      throw engineFailed(`cannot make stack ${stack}`, made);
    }
    await settleState(this.options.workspace, stack, "new");
  }

  /** Notes that a cluster lives, in the state folder. To be called before the first call to its cloud. Idempotent. */
  noteLife(life: ClusterLife): void {
    const { stateDir, backendKey } = this.options.workspace;
    const note = { ...life, backend: backendKey, notedAtMs: this.clock.now() };
    withRegistry(stateDir, (registry) => registry.note(note));
  }

  /** Clusters that were made from the state folder in this backend, those that have ended included, oldest first. */
  noted(): NotedCluster[] {
    const { stateDir, backendKey } = this.options.workspace;
    return notedClusters(stateDir).filter(({ backend }) => backend === backendKey);
  }

  /** Records the end of a cluster of which two listings have shown nothing, before its records go. */
  noteEnd(clusterUid: string): void {
    const { stateDir } = this.options.workspace;
    withRegistry(stateDir, (registry) => registry.noteEnd(clusterUid, this.clock.now()));
  }

  /**
   * Removes a stack that records nothing any more. Pulumi refuses one that holds resources, and the stack of a user's
   * project is the user's. A stack that cannot be removed stays listed, and a notice says so.
   */
  async removeEmptyStack(stack: string): Promise<void> {
    const { workspace, notice } = this.options;
    if (!workspace.isOurs || !(await this.stacks.has(stack))) return;
    const args = ["stack", "rm", "--yes", ...this.named(stack)];
    const result = await this.run(args, { stack });
    if (result.code === 0) return dropKeptState(workspace, stack);
    notice?.(
      `stack ${stack} is empty and stays listed: ${engineFailed("cannot remove it", result).message}`,
    );
  }

  /** One pass: registers the program's resources. Resolves with the result, whatever it is. */
  async pass(
    stack: string,
    program: PassProgram,
    session: HandlerSession,
    { checkpoints, room, continues = false }: PassOptions = { checkpoints: "each" },
  ): Promise<PulumiResult> {
    // Loaded when it is needed: a plan needs no gRPC.
    const { serveProgram } = await import("./language-server.js");
    const served = await serveProgram(program);
    const args = ["up", "--yes", "--skip-preview", "--suppress-progress", "--suppress-outputs"];
    if (continues) args.push("--continue-on-error");
    const env = checkpointEnv(checkpoints);
    try {
      const run: AttachedRun = omitUndefined({
        args: [...args, "--client", served.address],
        env,
        room,
      });
      return await this.attached(run, stack, session);
    } finally {
      served.close();
    }
  }

  /** Reads resources again from the cloud into the state; `forget` drops pending creates as well. */
  async refresh(
    stack: string,
    urns: readonly string[],
    session: HandlerSession,
    forget: "keepPending" | "clearPendingCreates" = "keepPending",
  ): Promise<PulumiResult> {
    const args = refreshArgs(urns);
    if (forget === "clearPendingCreates") args.push("--clear-pending-creates");
    return this.attached({ args }, stack, session);
  }

  /** Deletes everything that the stack records, dependents first. */
  async destroy(
    stack: string,
    session: HandlerSession,
    { checkpoints }: PassOptions = { checkpoints: "each" },
  ): Promise<PulumiResult> {
    const args = ["destroy", "--yes", "--skip-preview", "--suppress-progress"];
    return this.attached({ args, env: checkpointEnv(checkpoints) }, stack, session);
  }

  /**
   * Removes Pulumi's lock when whoever took it is provably dead. A holder that lives is given a moment to
   * end. Throws LOCKED naming one that still lives then, or of whom nothing is known, and NOT_OWNER for a stack of another owner,
   * whose locks stay.
   */
  async releaseDeadLock(stack: string): Promise<void> {
    const giveUpAtMs = this.clock.now() + beginPatienceMs;
    for (;;) {
      const locks = await this.locksOn(stack);
      if (locks.length === 0) return;
      const found = await this.holdersOf(
        stack,
        locks.map(({ lock }) => lock),
      );
      const living = found.find(({ liveness }) => liveness !== "dead");
      if (living === undefined) {
        const { owner } = this.options;
        if (owner !== undefined) refuseNonOwner(await this.readState(stack), owner, "change");
        return this.removeDead(stack, locks);
      }
      const isOver = living.liveness !== "alive" || this.clock.now() > giveUpAtMs;
      const lives = living.liveness === "alive";
      const how = { unlock: unlockHint(stack, this.options.workspace), lives };
      if (isOver) throw lockedByPulumi(`cannot change ${stack}`, living.lock, how);
      await untilUnlocked(this.sightOf(stack), giveUpAtMs);
    }
  }

  /**
   * These and no others: somebody else may have found them dead, too, and hold the stack by now. "pulumi cancel" removes whatever lock
   * there is, and is left for backends that only Pulumi can read.
   */
  private async removeDead(stack: string, locks: readonly HeldLock[]): Promise<void> {
    const { workspace, term } = this.options;
    workspace.dropDamagedMetadata(stack);
    this.recorded.mend(stack);
    this.unsettled = true;
    // Without the lock nothing else tells whoever comes next.
    await this.beginWork();
    for (const { remove } of locks) await remove?.();
    if (locks.some(({ remove }) => remove === undefined)) {
      await this.mustRun(["cancel", "--yes", ...this.named(stack)], `cannot unlock ${stack}`);
    }
    await forgetEnded(workspace, stack, sightIn(term, writersOf(workspace)).liveness);
  }

  private get clock(): Clock {
    return this.options.clock ?? systemClock;
  }

  private sightOf(stack: string): LockObservation {
    const { workspace, interruption } = this.options;
    return {
      clock: this.clock,
      stop: interruption?.stop,
      read: () => readPulumiLocks(workspace, stack),
      haveEnded: async (locks) => {
        const found = await this.holdersOf(stack, locks);
        return found.every(({ liveness }) => liveness === "dead");
      },
    };
  }

  private holdersOf(stack: string, locks: readonly PulumiLock[]): Promise<SeenLock[]> {
    const { workspace, term } = this.options;
    const seen = locks.map(async (lock) => {
      const engines = await enginesNoted(workspace, stack, lock);
      return { lock, liveness: holderLiveness(lock, engines, sightIn(term, writersOf(workspace))) };
    });
    return Promise.all(seen);
  }

  /** Locks that only Pulumi can read are found by running into them: an engine reads Transaction again. */
  private async locksOn(stack: string): Promise<HeldLock[]> {
    const { workspace } = this.options;
    const read = await heldLocks(workspace, stack);
    if (read !== undefined) return read;
    const session = { lookup: () => new RecordResource("Transaction"), cancelled: () => {} };
    const args = refreshArgs([transactionUrn(workspace, stack)]);
    const told = refusingLocks(await this.attached({ args, patienceMs: 0 }, stack, session));
    return told.map((lock) => ({ lock }));
  }

  private async attached(run: AttachedRun, stack: string, session: HandlerSession) {
    const { serveAttached } = await import("../../dynamic/attached-server.js");
    await this.beginWork();
    const { inTurn = atOnce, workspace } = this.options;
    const { lookup: noticed, hasAsked } = noticing(session.lookup);
    const lookup = settledFirst(noticed, workspace, stack);
    const server = await serveAttached(lookup, () => session.cancelled());
    try {
      const disk = this.roomOf(stack);
      const attempt = { ...run, hasAsked };
      const result = await this.whenUnlocked(attempt, stack, session, () =>
        inTurn(async () => {
          await disk.demand(run.room ?? wayBack);
          keepState(workspace, stack);
          const env: NodeJS.ProcessEnv = omitUndefined({
            ...run.env,
            PULUMI_DEBUG_PROVIDERS: server.debugProviders,
            PULUMI_BACKEND_URL: this.permit?.backendUrl,
          });
          const args = [...run.args, ...this.named(stack)];
          const ended = await disk.during(() => this.run(args, { stack, env }));
          await settleState(workspace, stack);
          if ((await this.permit?.isHeld()) === false) throw placeTaken(stack);
          return ended;
        }),
      );
      if (result.code === null) await this.afterDeath(stack, session);
      if (workspace.isOurs) await prunePulumiHistory(workspace, stack);
      const shortage = result.code === 0 ? undefined : disk.shortage();
      if (shortage !== undefined) throw shortage;
      return result;
    } finally {
      server.close();
    }
  }

  /**
   * A run that somebody else's lock refused has done nothing: it waits until they have ended, and begins
   * again if the records are still those that it was decided from. Our own lock keeps other commands of
   * this machine out, but a plain pulumi does not know it, and on a shared backend Pulumi's lock is
   * nobody's between two runs: there the records are always looked at again. Resolves with the refusal once the
   * time is over.
   */
  private async whenUnlocked(
    { patienceMs = lockPatienceMs, hasAsked }: AttachedRun & { readonly hasAsked: () => boolean },
    stack: string,
    session: HandlerSession,
    begin: () => Promise<PulumiResult>,
  ): Promise<PulumiResult> {
    const read = this.recorded.takeLastRead(stack);
    if (read !== undefined && this.options.workspace.isShared) {
      await this.recorded.expectUnwritten(stack, read);
    }
    const giveUpAtMs = this.clock.now() + patienceMs;
    for (;;) {
      const result = await begin();
      const hasDoneNothing = metPassingLock(result) && !hasAsked();
      if (hasDoneNothing && this.clock.now() < giveUpAtMs) {
        await this.afterPassingLock(stack, read);
        continue;
      }
      const [lock] = refusingLocks(result);
      if (lock === undefined || read === undefined || patienceMs === 0) return result;
      session.waiting?.(`another Pulumi engine works on the stack: ${holderText(lock)}`);
      const outcome = await untilUnlocked(this.sightOf(stack), giveUpAtMs);
      if (outcome === "held" || this.clock.now() > giveUpAtMs) return result;
      if (outcome === "dead") await this.releaseDeadLock(stack);
      await this.recorded.expectUnwritten(stack, read);
    }
  }

  /** A lock that is half written is whole in a moment, or nobody's. */
  private async afterPassingLock(stack: string, read: StackState | undefined): Promise<void> {
    const { workspace, interruption } = this.options;
    await this.clock.sleep(pollMs, interruption?.stop);
    removeUnfinishedLocks(workspace, stack, this.clock.now());
    if (read !== undefined) await this.recorded.expectUnwritten(stack, read);
  }

  private roomOf(stack: string): Room {
    const room = this.rooms.get(stack) ?? new Room(this.options.workspace, stack);
    this.rooms.set(stack, room);
    return room;
  }

  /** Frees the room that was kept for ways back. To be called when its work is over. */
  end(): void {
    for (const room of this.rooms.values()) room.giveUp();
  }

  /** An engine that a signal ended leaves its lock, and calls that nobody waits for any more. */
  private async afterDeath(stack: string, session: HandlerSession): Promise<void> {
    session.cancelled();
    if (this.options.interruption?.kill.aborted === true) return;
    this.unsettled = true;
    await this.releaseDeadLock(stack);
  }

  private named(stack: string): string[] {
    return ["--stack", this.options.workspace.stackName(stack)];
  }

  private async mustRun(args: readonly string[], what: string): Promise<PulumiResult> {
    const result = await this.run(args);
    if (result.code !== 0) throw engineFailed(what, result);
    return result;
  }

  private run(
    args: readonly string[],
    { stack, env = {}, late }: PlainRun = {},
  ): Promise<PulumiResult> {
    const { pulumi, workspace, interruption, guard } = this.options;
    const kills = [interruption?.kill, late].filter((signal) => signal !== undefined);
    let forget = () => Promise.resolve();
    return runPulumi(
      pulumi,
      workspace,
      omitUndefined({
        args,
        env,
        stop: interruption?.stop,
        kill: kills.length > 0 ? AbortSignal.any(kills) : undefined,
        onBegin: async (pid) => {
          this.running = { pid, is: identify(pid) };
          this.options.onEngine?.(pid);
          const engine = stack === undefined ? undefined : ownEngine(pid, this.options.term);
          if (stack !== undefined && engine !== undefined) {
            forget = await noteBeside(workspace, stack, engine);
          }
          await guard?.begins(pid);
          if (stack !== undefined) await this.assertHeld();
        },
        onEnd: async (code) => {
          const { pid } = this.running ?? {};
          if (pid !== undefined) guard?.ended(pid);
          this.running = undefined;
          this.options.onEngine?.(undefined);
          if (stack !== undefined && pid !== undefined) await this.giveLockBack(stack, pid);
          // Of one that has left its lock nothing else tells whoever finds that.
          const mayHoldLock = stack !== undefined && code !== undefined && code !== 0;
          if (!mayHoldLock || !(await this.holdsLock(stack, pid))) await forget();
        },
      }),
    );
  }

  /** An engine whose permit was withdrawn cannot do so itself where it writes nothing any more. */
  private async giveLockBack(stack: string, pid: number): Promise<void> {
    if ((await this.permit?.isHeld()) !== false) return;
    const locks = (await heldLocks(this.options.workspace, stack)) ?? [];
    const own = locks.filter(({ lock }) => lock.pid === pid && lock.host === hostname());
    for (const { remove } of own) await remove?.();
  }

  /** Whether an engine that has ended has left its lock on a shared backend, or nobody can tell. Throws BAD_STATE. */
  private async holdsLock(stack: string, pid: number | undefined): Promise<boolean> {
    const { workspace } = this.options;
    if (!workspace.isShared) return false;
    const locks = await readPulumiLocks(workspace, stack);
    return locks === undefined || locks.some((lock) => lock.pid === pid);
  }
}

interface SeenLock {
  readonly lock: PulumiLock;
  readonly liveness: Liveness;
}

interface PlainRun {
  /** Of a run that locks it. */
  readonly stack?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Kills it, as an interruption does. */
  readonly late?: AbortSignal;
}

interface AttachedRun {
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** How long it may wait for somebody else's lock, milliseconds. */
  readonly patienceMs?: number;
  /** What it takes to record its work; that of a way back without. */
  readonly room?: RoomDemand;
}

/** Of everything but a pass toward what somebody asked for. */
const wayBack: RoomDemand = { creations: 0, reserve: "spend" };

function refreshArgs(urns: readonly string[]): string[] {
  const targets = urns.flatMap((urn) => ["--target", urn]);
  return ["refresh", "--yes", "--skip-preview", "--suppress-progress", ...targets];
}

function atOnce<T>(run: () => Promise<T>): Promise<T> {
  return run();
}

function checkpointEnv(checkpoints: PassOptions["checkpoints"]): NodeJS.ProcessEnv {
  return checkpoints === "end" ? { PULUMI_SKIP_CHECKPOINTS: "true" } : {};
}

function transactionUrn(workspace: Workspace, stack: string): string {
  const [name, project] = [workspace.stackName(stack), workspace.projectName];
  return `urn:pulumi:${name}::${project}::${typeTokenOf("Transaction")}::transaction`;
}
