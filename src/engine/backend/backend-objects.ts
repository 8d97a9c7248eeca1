import { withoutPasswords, fileBackendRoot } from "./project.js";
import { type BackendUrl, keyPrefixOf, parametersOf, parseBackendUrl } from "./backend-url.js";
import type { BackendPermits } from "./backend-permits.js";
import { BoundedObjects } from "./bounded-objects.js";
import { FolderObjects } from "./folder-objects.js";
import { PostgresObjects } from "./postgres-objects.js";
import { postgresSettings } from "./postgres-settings.js";
import { S3Objects } from "./s3-objects.js";
import { s3Settings } from "./s3-settings.js";

/**
 * The objects of a Pulumi backend, read past Pulumi: keys are as Pulumi spells them, e.g.
 * ".pulumi/locks/organization/capstan/default.demo/<id>.json". Each call takes ten seconds at most and throws
 * BAD_STATE, of files also NO_SPACE and NOT_WRITABLE. Nothing is connected before the first call.
 */
export interface BackendObjects {
  /** Keys of the objects directly in a folder, in name order, none when there is no such folder. */
  list(folder: string): Promise<readonly string[]>;
  /** Its text in UTF-8; undefined when there is no such object (any more). */
  read(key: string): Promise<string | undefined>;
  /**
   * Puts the object there whole and durably (a file: written beside, fsynced, renamed, and the folder fsynced),
   * or throws. What was not answered in time may be there all the same.
   */
  write(key: string, text: string): Promise<void>;
  /** Nothing happens when it is gone. */
  remove(key: string): Promise<void>;
  readonly permits: BackendPermits;
  /** Ends connections, within a second and without errors. A later call connects anew. */
  close(): Promise<void>;
}

const limitMs = 10_000;

/**
 * The objects of a backend. Undefined for backends that only Pulumi can read: gs://, azblob://, https://, ""
 * for whatever `pulumi login` chose, and forms of the others that only Pulumi understands or refuses.
 */
export function backendObjects(
  backendUrl: string,
  env: NodeJS.ProcessEnv,
): BackendObjects | undefined {
  const url = parseBackendUrl(backendUrl);
  // With `key`, all keys are that one: no Pulumi backend.
  if (url === undefined || parametersOf(url).has("key")) return undefined;
  const store = storeOf(url, backendUrl, env);
  if (store === undefined) return undefined;
  const name = withoutPasswords(backendUrl);
  return new BoundedObjects(store, { name, url: backendUrl, prefix: keyPrefixOf(url), limitMs });
}

function storeOf(
  url: BackendUrl,
  backendUrl: string,
  env: NodeJS.ProcessEnv,
): ConstructorParameters<typeof BoundedObjects>[0] | undefined {
  switch (url.scheme) {
    case "file": {
      const root = fileBackendRoot(backendUrl);
      return root === undefined ? undefined : new FolderObjects(root, keyPrefixOf(url));
    }
    // Pulumi itself opens postgres:// alone.
    case "postgres":
    case "postgresql": {
      const settings = postgresSettings(url, env);
      return settings === undefined ? undefined : new PostgresObjects(settings, limitMs);
    }
    case "s3": {
      const settings = s3Settings(url, env);
      return settings === undefined ? undefined : new S3Objects(settings);
    }
    default:
      return undefined;
  }
}
