import { createCipheriv, createDecipheriv, createHmac, pbkdf2, randomBytes } from "node:crypto";
import { promisify } from "node:util";

// How Pulumi's passphrase secrets provider encrypts. Source: https://github.com/pulumi/pulumi/blob/v3.259.0/sdk/go/common/resource/config/crypt.go
// and https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/secrets/passphrase/manager.go: AES-256-GCM as "v1:<nonce>:<ciphertext and tag>", the key
// from PBKDF2 with SHA-256; a stack's salt reads "v1:<salt>:<the word pulumi, encrypted>".

const rounds = 1_000_000;
const keyBytes = 32;
const saltBytes = 8;
const nonceBytes = 12;
const tagBytes = 16;
const verifierWord = "pulumi";

const derive = promisify(pbkdf2);

/** The key that a passphrase gives with a stack's salt; takes 0.13 s, in a thread of its own. */
function deriveKey(passphrase: string, salt: string): Promise<Buffer> {
  const raw = Buffer.from(salt.split(":")[1] ?? "", "base64");
  return derive(passphrase, raw, rounds, keyBytes, "sha256");
}

/** A salt for a new stack, with the key that goes with it. */
export async function makeSalt(passphrase: string): Promise<{ salt: string; key: Buffer }> {
  const head = `v1:${randomBytes(saltBytes).toString("base64")}`;
  const key = await deriveKey(passphrase, head);
  return { salt: `${head}:${encrypt(key, verifierWord)}`, key };
}

/** The same; undefined for another passphrase than the salt was made with. */
export async function fittingKey(passphrase: string, salt: string): Promise<Buffer | undefined> {
  const key = await deriveKey(passphrase, salt);
  return fitsSalt(key, salt) ? key : undefined;
}

/** Whether a key is the one that a salt was made with. */
export function fitsSalt(key: Buffer, salt: string): boolean {
  const [version, , ...verifier] = salt.split(":");
  if (version !== "v1") return false;
  try {
    return decrypt(key, verifier.join(":")) === verifierWord;
  } catch {
    return false; // Not of this passphrase, or not of this form.
  }
}

/** Throws when the text was not encrypted with this key or was changed since. */
export function decrypt(key: Buffer, text: string): string {
  const [version, nonce, sealed, ...more] = text.split(":");
  if (version !== "v1" || nonce === undefined || sealed === undefined || more.length > 0) {
    throw new Error("not a value that version 1 encrypted");
  }
  const bytes = Buffer.from(sealed, "base64");
  const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(nonce, "base64"), {
    authTagLength: tagBytes,
  });
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  const clear = [decipher.update(bytes.subarray(0, -tagBytes)), decipher.final()];
  return Buffer.concat(clear).toString("utf8");
}

function encrypt(key: Buffer, text: string): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes });
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return `v1:${nonce.toString("base64")}:${sealed.toString("base64")}`;
}

/** Binds a kept key to what it was derived from, without telling the passphrase. */
export function originOf(passphrase: string, salt: string): string {
  return createHmac("sha256", passphrase).update(salt).digest("base64");
}
