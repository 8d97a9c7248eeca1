import { fitsSalt, fittingKey, makeSalt, originOf } from "./stack-cipher.js";
import type { Workspace } from "./workspace.js";

/** A key as it is kept in a file: useless to read with another passphrase or salt. */
interface KeptKey {
  readonly origin: string;
  readonly key: string;
}

/**
 * The keys that encrypt stacks. Deriving one takes 0.13 s, so it happens once per process, and once
 * per stack where the passphrase lies in our own folder anyway.
 */
export class StackKeys {
  private readonly known = new Map<string, Buffer>();

  private made: Promise<{ salt: string; key: Buffer }> | undefined;

  constructor(private readonly workspace: Workspace) {}

  /** Begins to make what `newSalt` will answer, in a thread of its own, while other work goes on. */
  prepareNewSalt(): void {
    const passphrase = this.workspace.passphrase();
    if (passphrase === undefined) return;
    this.made ??= makeSalt(passphrase);
    this.made.catch(() => {}); // Whoever asks for it hears of it.
  }

  /** A salt that encrypts a new stack; undefined when the passphrase cannot be read. */
  async newSalt(stack: string): Promise<string | undefined> {
    this.prepareNewSalt();
    const made = await this.made;
    const passphrase = this.workspace.passphrase();
    if (made === undefined || passphrase === undefined) return undefined;
    this.made = undefined;
    const { salt, key } = made;
    this.known.set(salt, key);
    this.keep(stack, { origin: originOf(passphrase, salt), key: key.toString("base64") });
    return salt;
  }

  /** The key for a stack's salt, or undefined when the passphrase is not the one it was made with. */
  async keyFor(stack: string, salt: string): Promise<Buffer | undefined> {
    const known = this.known.get(salt);
    if (known !== undefined) return known;
    const passphrase = this.workspace.passphrase();
    if (passphrase === undefined) return undefined;
    const origin = originOf(passphrase, salt);
    const kept = keyIn(this.workspace.keptKey(stack), origin);
    const isKept = kept !== undefined && fitsSalt(kept, salt);
    const key = isKept ? kept : await fittingKey(passphrase, salt);
    if (key === undefined) return undefined;
    if (!isKept) this.keep(stack, { origin, key: key.toString("base64") });
    this.known.set(salt, key);
    return key;
  }

  /** A rotated passphrase or salt has another origin: its key takes the place of the old one. */
  private keep(stack: string, kept: KeptKey): void {
    this.workspace.keepKey(stack, `${JSON.stringify(kept)}\n`);
  }
}

function keyIn(text: string | undefined, origin: string): Buffer | undefined {
  if (text === undefined) return undefined;
  try {
    const kept = JSON.parse(text) as Partial<KeptKey>;
    return kept.origin === origin ? Buffer.from(String(kept.key), "base64") : undefined;
  } catch {
    return undefined; // Damaged: it is derived again and replaced.
  }
}
