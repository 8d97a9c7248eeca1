import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";

/** A JSON document that is replaced as a whole, so that whoever is killed leaves the old one or the new one. */
export class StateFile<T> {
  constructor(readonly path: string) {}

  /** undefined where there is no such file. Throws what reading and parsing throw. */
  read(): T | undefined {
    try {
      return JSON.parse(readFileSync(this.path, "utf8")) as T;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  write(document: T): void {
    const next = `${this.path}.next`;
    const file = openSync(next, "w", 0o600);
    try {
      writeFileSync(file, JSON.stringify(document));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(next, this.path);
  }
}
