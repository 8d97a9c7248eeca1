import { readFileSync } from "node:fs";
import type { JsonObject } from "../api/json.js";
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

  /**
   * What `pulumi stack export --show-secrets` would print as deployment, or undefined: ask it. From the
   * stack's own state unless another file is named.
   */
  async read(
    stack: string,
    file = this.workspace.checkpointFile(stack),
  ): Promise<JsonObject | undefined> {
    const text = file?.endsWith(".json") === true ? textOf(file) : undefined;
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
