import { CapstanError } from "../../api/error.js";
import type { JsonObject } from "../../api/json.js";
import { emptyState } from "../../records/prior-state.js";
import { inStorageVersions, type KnownProviders } from "../../records/storage-versions.js";
import type { CheckpointReader } from "../backend/checkpoint-reader.js";
import { copyInsteadOf, damageText, isStillCopy, restore } from "../backend/checkpoint-repair.js";
import { withoutPasswords } from "../backend/project.js";
import { parseExport, type StackState, stateOf } from "../backend/state.js";
import type { Workspace } from "../backend/workspace.js";
import { sameRecords } from "../locks/lock-wait.js";
import { lastWords, refuseOtherCluster, writtenMeanwhile } from "./engine-refusals.js";
import type { PulumiResult } from "./pulumi.js";

interface RecordedStacksOptions {
  readonly workspace: Workspace;
  readonly providers: KnownProviders;
  readonly checkpoints: CheckpointReader;
  /** Whether whoever reads changes stacks, under their locks. */
  readonly changes: boolean;
  readonly notice: ((text: string) => void) | undefined;
  /** Whether the backend has the stack. */
  has(stack: string): Promise<boolean>;
  /** As Pulumi tells it, for a state that only Pulumi can read. */
  exported(stack: string): Promise<PulumiResult>;
  /** Whether an engine is at work: what it writes is not touched. */
  isEngineRunning(): boolean;
  /** Told of a state in which what was done last may be missing: it may still happen. */
  unsettled(): void;
}

/** What is recorded about stacks, and what was last read of it. A state that was cut off in writing is read from its last good copy. */
export class RecordedStacks {
  /** The state that was last read of a stack, until somebody takes it. */
  private readonly lastRead = new Map<string, StackState>();
  /** Stacks whose state is a copy for which late calls have been waited for. */
  private readonly doubted = new Set<string>();

  constructor(private readonly options: RecordedStacksOptions) {}

  /** As `Engine.readState` says. */
  async read(stack: string): Promise<StackState> {
    const { workspace, checkpoints } = this.options;
    if (!(await this.options.has(stack))) return { ...emptyState, foreign: [] };
    // Also where Pulumi is not needed to read the state: the next pass would stumble over it.
    workspace.dropDamagedMetadata(stack);
    const deployment = await checkpoints.read(stack);
    if (deployment !== undefined) return this.remember(this.judged(deployment, stack), stack);
    const copied = await this.readCopy(stack);
    if (copied !== undefined) return this.remember(copied, stack);
    const result = await this.options.exported(stack);
    if (result.code === 0) return this.remember(parseExport(result.stdout, stack), stack);
    const where = workspace.checkpointFile(stack) ?? withoutPasswords(workspace.backendUrl);
    throw new CapstanError({
      code: "BAD_STATE",
      source: "engine",
      subject: stack,
      message: `cannot read the state of ${stack} in ${where}: ${lastWords(result)}`,
      hint: "it was left as it is; restore it from a backup, or check backend and passphrase",
    });
  }

  /** What was last read of a stack, which nobody may go by any more once an engine runs on it. */
  takeLastRead(stack: string): StackState | undefined {
    const read = this.lastRead.get(stack);
    this.lastRead.delete(stack);
    return read;
  }

  /**
   * Throws LOCKED when somebody else has changed what is recorded since it was last read here: what was
   * decided from that reading is void.
   */
  async expectUnwritten(stack: string, read: StackState): Promise<void> {
    const now = await this.read(stack);
    this.lastRead.delete(stack);
    if (!sameRecords(read, now)) throw writtenMeanwhile(stack);
  }

  /** Restores a state that was cut off, if whoever reads may. Returns the copy's file, if there is one. */
  mend(stack: string): string | undefined {
    const { workspace, changes, notice } = this.options;
    const copy = copyInsteadOf(workspace, stack);
    if (copy === undefined) return undefined;
    const mayRestore = changes && !this.options.isEngineRunning();
    const aside = mayRestore ? restore(workspace, stack, copy) : undefined;
    if (mayRestore) this.doubted.delete(stack);
    notice?.(damageText(stack, copy, aside));
    return copy.file;
  }

  /** From the last good copy, for a state that was cut off; undefined for any other, or without a copy. */
  private async readCopy(stack: string): Promise<StackState | undefined> {
    const file = this.mend(stack);
    const deployment =
      file === undefined ? undefined : await this.options.checkpoints.readFile(stack, file);
    return deployment === undefined ? undefined : this.fromCopy(stateOf(deployment, stack), stack);
  }

  private judged(deployment: JsonObject, stack: string): StackState {
    const state = stateOf(deployment, stack);
    const isOld = isStillCopy(this.options.workspace, stack, state.writtenAt ?? "");
    return isOld ? this.fromCopy(state, stack) : state;
  }

  /** What was last done may be in no record, and may still happen: it is waited for once. */
  private fromCopy(state: StackState, stack: string): StackState {
    if (this.options.changes && !this.doubted.has(stack)) this.options.unsettled();
    this.doubted.add(stack);
    return { ...state, fromCopy: true };
  }

  private remember(recorded: StackState, stack: string): StackState {
    const { workspace, providers } = this.options;
    refuseOtherCluster(recorded, stack, workspace);
    const state = inStorageVersions(recorded, providers);
    if (state.writtenAt !== undefined) this.lastRead.set(stack, state);
    return state;
  }
}
