import { CapstanError } from "../api/error.js";
import { deriveKey, fitsSalt, makeSalt } from "../engine/backend/stack-cipher.js";
import type { Workspace } from "../engine/backend/workspace.js";

// Digests of a saved plan are keyed with what the state holds. Of a cluster that is not there yet nothing is held: the
// passphrase that is to encrypt its state gives the key, so that a file beside a pull request lets nobody try what the
// secrets in the manifests may be.

type PassphraseSource = Pick<Workspace, "passphrase" | "prepare">;

/** What keys the digests of clusters that are not there yet, and the salt that brings it back. */
interface PlanKey {
  readonly salt: string;
  readonly key: string;
}

/** A new one. Makes the state folder, where the passphrase is Capstan's own. Throws BAD_STATE where there is none. */
export async function newPlanKey(workspace: PassphraseSource): Promise<PlanKey> {
  workspace.prepare();
  const passphrase = workspace.passphrase();
  if (passphrase === undefined) {
    throw new CapstanError({
      code: "BAD_STATE",
      source: "user",
      message: "cannot save a plan of a cluster that is not there yet: there is no passphrase",
      hint: "set PULUMI_CONFIG_PASSPHRASE, to the same one for capstan plan and capstan up",
    });
  }
  const { salt, key } = await makeSalt(passphrase);
  return { salt, key: textOf(key) };
}

/** The key of a plan that was saved with this salt; undefined with another passphrase than then. */
export async function planKeyOf(
  salt: string,
  workspace: Pick<PassphraseSource, "passphrase">,
): Promise<string | undefined> {
  const passphrase = workspace.passphrase();
  if (passphrase === undefined) return undefined;
  const key = await deriveKey(passphrase, salt);
  return fitsSalt(key, salt) ? textOf(key) : undefined;
}

function textOf(key: Buffer): string {
  return key.toString("base64");
}
