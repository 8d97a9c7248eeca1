import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sameJson } from "../../api/json.js";
import { toldAsStorage } from "../../api/storage-failure.js";
import { makeFolder, removeFile, replaceFile } from "./durable-files.js";

/** Absolute paths of manifests, and options that can rename a cluster. */
export type ManifestSource = readonly string[];

/** All the manifests that hold a cluster, each for itself; the last ones led to what there is. */
export type ManifestSources = readonly ManifestSource[];

const ending = ".json";

/**
 * Which manifests hold each stack's cluster. A cluster that is brought from one folder to another is in both for a while:
 * each notes and takes back itself alone, so that `--prune` of the one takes nothing down that the other holds. A
 * stack's notes are a file of their own: commands for several stacks write at the same time, each under the lock of its
 * own stack alone.
 */
export class ManifestNotes {
  constructor(private readonly folder: string) {}

  /** By stack name. */
  read(): Readonly<Record<string, ManifestSources>> {
    const names = existsSync(this.folder) ? readdirSync(this.folder) : [];
    const stacks = names
      .filter((name) => name.endsWith(ending))
      .map((name) => name.slice(0, -ending.length));
    // One that another command has removed since has none.
    const notes = stacks.map((stack) => [stack, this.of(stack)] as const);
    return Object.fromEntries(notes.filter(([, sources]) => sources.length > 0));
  }

  of(stack: string): ManifestSources {
    try {
      return JSON.parse(readFileSync(this.fileOf(stack), "utf8")) as ManifestSources;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  }

  /**
   * As the last ones, beside others. Empty ones, of standard input, stand for what nobody can read again: they count until
   * others take their place. Throws NO_SPACE, NOT_WRITABLE.
   */
  add(stack: string, source: ManifestSource): void {
    const sources = this.of(stack);
    if (sameJson(sources.at(-1), source)) return;
    this.write(stack, [...without(without(sources, []), source), source]);
  }

  /**
   * Beside others, and not as the last ones: they hold the cluster, and have not led to what there is. Nothing of standard input, which
   * nobody can read again. Throws NO_SPACE, NOT_WRITABLE.
   */
  addBefore(stack: string, source: ManifestSource): void {
    const sources = this.of(stack);
    const isKnown = sources.some((one) => sameJson(one, source));
    if (!isKnown && (source.length > 0 || sources.length === 0)) {
      this.write(stack, [source, ...sources]);
    }
  }

  /** Throws NO_SPACE, NOT_WRITABLE. */
  takeOut(stack: string, isOut: (source: ManifestSource) => boolean): void {
    const sources = this.of(stack);
    const left = sources.filter((one) => !isOut(one));
    if (left.length < sources.length) this.write(stack, left);
  }

  /** Throws NO_SPACE, NOT_WRITABLE. */
  write(stack: string, sources: ManifestSources): void {
    const file = this.fileOf(stack);
    try {
      makeFolder(this.folder);
      if (sources.length === 0) removeFile(file);
      else replaceFile(file, `${JSON.stringify(sources, null, 2)}\n`);
    } catch (error) {
      throw toldAsStorage(error, file);
    }
  }

  private fileOf(stack: string): string {
    return join(this.folder, `${stack}${ending}`);
  }
}

function without(sources: ManifestSources, source: ManifestSource): ManifestSources {
  return sources.filter((one) => !sameJson(one, source));
}
