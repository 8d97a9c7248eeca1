import { readFileSync } from "node:fs";
import type { JsonObject } from "../../api/json.js";
import { parseCheckpoint, showSecrets } from "./checkpoint.js";
import { decrypt } from "./stack-cipher.js";
import type { StackKeys } from "./stack-keys.js";
import type { Workspace } from "./workspace.js";

/**
 * Reads states of a file backend without starting Pulumi, which takes 0.3 s to do it. Where anything
 * is not as expected, it leaves the answer, and the words for what is wrong, to Pulumi (ADR 0009).
 */
export class CheckpointReader {
  constructor(
    private readonly workspace: Workspace,
    private readonly keys: StackKeys,
  ) {}

  /** What `pulumi stack export --show-secrets` would print as deployment, or undefined: ask it. */
  async read(stack: string): Promise<JsonObject | undefined> {
    const file = this.workspace.checkpointFile(stack);
    return file?.endsWith(".json") === true ? this.readFile(stack, file) : undefined;
  }

  /** The same of a file that holds a copy of the stack's state, whatever its name. */
  async readFile(stack: string, file: string): Promise<JsonObject | undefined> {
    const text = textOf(file);
    const checkpoint = text === undefined ? undefined : parseCheckpoint(text);
    if (checkpoint === undefined) return undefined;
    const { deployment, salt } = checkpoint;
    const key = salt === undefined ? undefined : await this.keys.keyFor(stack, salt);
    return showSecrets(deployment, (ciphertext) => {
      if (key === undefined) throw new Error("no key for a secret");
      return decrypt(key, ciphertext);
    });
  }
}

/** Pulumi replaces the file by renaming, so that it is read whole or not at all. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
