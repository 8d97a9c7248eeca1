import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { addFile, makeFolder } from "./durable-files.js";

/** Databases that a command may write to a state folder before anything else. */
const ownDatabase = /^(clusters|local-cloud|locks)\.db(-\w+)?$/;

/**
 * Makes a state folder where there is none. It holds a passphrase and keys: a folder that holds nothing but Capstan's
 * own files is kept out of the user's repository.
 */
export function makeStateFolder(stateDir: string): void {
  const isNew = !existsSync(stateDir);
  makeFolder(stateDir);
  const isOurs = isNew || readdirSync(stateDir).every((name) => ownDatabase.test(name));
  if (isOurs) addFile(join(stateDir, ".gitignore"), "*\n");
}
