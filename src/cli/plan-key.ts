import { fittingKey, makeSalt } from "../engine/backend/stack-cipher.js";
import type { Workspace } from "../engine/backend/workspace.js";

// Digests of a saved plan are keyed with what the state holds. Of a cluster that is not there yet nothing is held: the
// passphrase that is to encrypt its state gives the key, so that a file beside a pull request lets nobody try what the
// secrets in the manifests may be.

type PassphraseSource = Pick<Workspace, "passphrase">;

/** What keys the digests of clusters that are not there yet, and the salt that brings it back. */
interface PlanKey {
  readonly salt: string;
  readonly key: string;
}

/** A new one; undefined where there is no passphrase yet, since a plan makes no state. */
export async function newPlanKey(workspace: PassphraseSource): Promise<PlanKey | undefined> {
  const passphrase = workspace.passphrase();
  if (passphrase === undefined) return undefined;
  const { salt, key } = await makeSalt(passphrase);
  return { salt, key: textOf(key) };
}

/** The key of a plan that was saved with this salt; undefined with another passphrase than then. */
export async function planKeyOf(
  salt: string,
  workspace: PassphraseSource,
): Promise<string | undefined> {
  const passphrase = workspace.passphrase();
  if (passphrase === undefined) return undefined;
  const key = await fittingKey(passphrase, salt);
  return key && textOf(key);
}

function textOf(key: Buffer): string {
  return key.toString("base64");
}
