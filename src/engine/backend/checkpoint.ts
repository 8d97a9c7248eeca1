import { isJsonObject, type Json, type JsonObject, parsedJson } from "../../api/json.js";
import { secretMark } from "./state.js";

/** What a file backend keeps of a stack. Source: https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/resource/stack/checkpoint.go */
interface Checkpoint {
  /** As `pulumi stack export` prints it, secrets encrypted. */
  readonly deployment: JsonObject;
  /** Salt and verifier of the passphrase that encrypts it, when one does. */
  readonly salt?: string;
}

/** To the JSON text of a secret's value, from what is recorded of it. Throws when it cannot. */
type Decrypt = (ciphertext: string) => string;

/** The one version that has no optional features, and what this release was tested with. */
const understoodVersion = 3;

/**
 * Reads a checkpoint file. Pure. Undefined for whatever is not certainly understood: another
 * version, other secrets providers, damage. Pulumi itself has to say then what it is.
 */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  const file = parsedJson(text);
  if (!isJsonObject(file) || file["version"] !== understoodVersion) return undefined;
  const { checkpoint } = file;
  if (file["features"] !== undefined || !isJsonObject(checkpoint)) return undefined;
  const deployment = checkpoint["latest"];
  if (!isJsonObject(deployment) || !hasKnownShape(deployment)) return undefined;
  const providers = deployment["secrets_providers"];
  if (providers === undefined) return { deployment };
  const salt = saltOf(providers);
  return salt === undefined ? undefined : { deployment, salt };
}

/**
 * The deployment as `pulumi stack export --show-secrets` prints it. Pure but for `decrypt`.
 * Undefined when a secret cannot be decrypted, or is nested in another one.
 */
export function showSecrets(deployment: JsonObject, decrypt: Decrypt): JsonObject | undefined {
  const shown = (value: Json): Json => {
    if (Array.isArray(value)) return value.map((item: Json) => shown(item));
    if (!isJsonObject(value)) return value;
    if (value[secretMark] !== undefined) return shownSecret(value, decrypt);
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shown(member)]));
  };
  try {
    return shown(deployment) as JsonObject;
  } catch {
    return undefined; // The engine's own reading says what is wrong with it.
  }
}

function shownSecret(secret: JsonObject, decrypt: Decrypt): JsonObject {
  const { ciphertext, ...rest } = secret;
  if (typeof ciphertext !== "string") throw new Error("a mark without a ciphertext");
  const plaintext = decrypt(ciphertext);
  if (plaintext.includes(secretMark)) throw new Error("a secret within a secret");
  return { ...rest, plaintext };
}

/** Pulumi refuses members of wrong types, so nothing here may read on past them. */
function hasKnownShape({ resources = [], pending_operations = [] }: JsonObject): boolean {
  if (!Array.isArray(resources) || !Array.isArray(pending_operations)) return false;
  const pendingFits = (operation: Json) =>
    isJsonObject(operation) && isText(operation["type"]) && isResource(operation["resource"]);
  return resources.every(isResource) && pending_operations.every(pendingFits);
}

function isResource(value: Json | undefined): boolean {
  if (!isJsonObject(value) || !isText(value["urn"]) || !isText(value["type"])) return false;
  const { id, parent, created, modified, custom, delete: deleting } = value;
  return (
    [id, parent, created, modified].every((member) => member === undefined || isText(member)) &&
    [custom, deleting].every((member) => member === undefined || typeof member === "boolean") &&
    [value["inputs"], value["outputs"]].every(
      (member) => member === undefined || isJsonObject(member),
    ) &&
    [value["dependencies"], value["initErrors"]].every(isTextList)
  );
}

function isTextList(value: Json | undefined): boolean {
  return value === undefined || (Array.isArray(value) && value.every(isText));
}

function isText(value: Json | undefined): value is string {
  return typeof value === "string";
}

function saltOf(providers: Json): string | undefined {
  if (!isJsonObject(providers) || providers["type"] !== "passphrase") return undefined;
  const state = providers["state"];
  const salt = isJsonObject(state) ? state["salt"] : undefined;
  return isText(salt) ? salt : undefined;
}
