import { existsSync } from "node:fs";
import { emptyCheckpoint } from "../backend/new-stack.js";
import { storedStacks } from "../backend/stored-stacks.js";
import type { PulumiResult } from "./pulumi.js";
import type { StackKeys } from "../backend/stack-keys.js";
import type { StackState } from "../backend/state.js";
import type { Workspace } from "../backend/workspace.js";

/** Which stacks a backend holds, and how one gets there: without Pulumi wherever its files are at hand. */
export class BackendStacks {
  constructor(
    private readonly workspace: Workspace,
    private readonly keys: StackKeys,
    /** Asks Pulumi; throws ENGINE_FAILED saying `what` when that fails, and BAD_STATE when no answer comes in time. */
    private readonly pulumi: (args: readonly string[], what: string) => Promise<PulumiResult>,
  ) {}

  /** The stacks that commands work on when none is named: the chosen one, or all of the project. */
  async list(): Promise<string[]> {
    const chosen = this.workspace.stackName("");
    if (chosen === "") return this.all();
    return (await this.has(chosen)) ? [chosen] : [];
  }

  /** Whether the backend has a stack of that name. */
  async has(stack: string): Promise<boolean> {
    const file = this.workspace.checkpointFile(stack);
    if (file !== undefined) return existsSync(file);
    return (await this.all()).includes(this.workspace.stackName(stack));
  }

  /** Begins what `add` needs for a stack that is missing, for whoever will call it. */
  async expect(stack: string): Promise<void> {
    if (!(await this.has(stack))) this.keys.prepareNewSalt();
  }

  /**
   * What `stack init` does, without a process of 0.35 s, where nothing but our own is concerned. False
   * where that is not so: then Pulumi has to do it.
   */
  async add(stack: string): Promise<boolean> {
    const { workspace } = this;
    const settings = workspace.stackSettings(stack);
    // Encrypted in a way that somebody chose: Pulumi has to know how to go on with it.
    if (Object.keys(settings).some((key) => key !== "config")) return false;
    const salt = await this.keys.newSalt(stack);
    if (salt === undefined) return false;
    if (!workspace.addCheckpoint(stack, emptyCheckpoint(stack, salt))) return false;
    workspace.writeStackSettings(workspace.stackFile(stack), { ...settings, encryptionsalt: salt });
    return true;
  }

  /** Writes the settings file of a stack that there is, if it is missing. */
  ensureSettings(stack: string, { salt }: StackState): void {
    const { workspace } = this;
    const file = workspace.stackFile(stack);
    if (salt === undefined || existsSync(file)) return;
    workspace.writeStackSettings(file, { encryptionsalt: salt });
  }

  /**
   * The stacks of the project, in name order. Pulumi reads every state to list them and names none that it cannot read, and
   * on PostgreSQL it sometimes never ends: wherever names can be read past Pulumi, they are.
   */
  private async all(): Promise<string[]> {
    const { objects, projectName } = this.workspace;
    const names =
      this.workspace.stackNames() ?? (objects && (await storedStacks(objects, projectName)));
    if (names !== undefined) return names;
    const listed = await this.pulumi(
      ["stack", "ls", "--json", "--project", projectName],
      "cannot list stacks",
    );
    const stacks = JSON.parse(listed.stdout) as { name: string }[];
    return stacks.map(({ name }) => name.split("/").at(-1) ?? name).sort();
  }
}
