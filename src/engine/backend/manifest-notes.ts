import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { digestOf } from "../../api/digest.js";
import { sameJson } from "../../api/json.js";
import { toldAsStorage } from "../../api/storage-failure.js";
import { makeFolder, removeFile, replaceFile } from "./durable-files.js";

/** Absolute paths of manifests, and options that can rename a cluster. */
export type ManifestSource = readonly string[];

/** All the manifests that hold a cluster, each for itself; the last ones led to what there is. */
export type ManifestSources = readonly ManifestSource[];

/** What one file says. */
export interface ManifestNote {
  readonly source: ManifestSource;
  /** The highest of a stack is that of the manifests which led to what there is. */
  readonly rank: number;
}

const ending = ".json";

/**
 * Which manifests hold each stack's cluster. A cluster that is brought from one folder to another is in both for a while:
 * each notes and takes back itself alone, so that `--prune` of the one takes nothing down that the other holds. Each of them is a file
 * of its own in the folder of its stack, and no file is ever read to be written again: who lets a cluster go does not hold the lock of its stack, and
 * must not lose what another command notes at that moment.
 */
export class ManifestNotes {
  constructor(private readonly folder: string) {}

  /** By stack name. */
  read(): Readonly<Record<string, ManifestSources>> {
    const notes = foldersIn(this.folder).map((stack) => [stack, this.of(stack)] as const);
    return Object.fromEntries(notes.filter(([, sources]) => sources.length > 0));
  }

  of(stack: string): ManifestSources {
    return this.notesOf(stack).map(({ source }) => source);
  }

  /**
   * As the last ones, beside others. Empty ones, of standard input, stand for what nobody can read again: they count until
   * others take their place. Throws NO_SPACE, NOT_WRITABLE.
   */
  add(stack: string, source: ManifestSource): void {
    const last = this.notesOf(stack).at(-1);
    if (last !== undefined && sameJson(last.source, source)) return;
    this.write(stack, { source, rank: (last?.rank ?? 0) + 1 });
    if (source.length > 0) this.remove(stack, []);
  }

  /**
   * Beside others, and not as the last ones: they hold the cluster, and have not led to what there is. Nothing of standard input, which
   * nobody can read again. Throws NO_SPACE, NOT_WRITABLE.
   */
  addBefore(stack: string, source: ManifestSource): void {
    const notes = this.notesOf(stack);
    const isKnown = notes.some((one) => sameJson(one.source, source));
    if (isKnown || (source.length === 0 && notes.length > 0)) return;
    this.write(stack, { source, rank: (notes[0]?.rank ?? 0) - 1 });
  }

  /** Throws NO_SPACE, NOT_WRITABLE. */
  takeOut(stack: string, isOut: (source: ManifestSource) => boolean): void {
    for (const source of this.of(stack).filter(isOut)) this.remove(stack, source);
  }

  /** Those of one stack, the last ones last. One that another command takes out meanwhile is none. */
  protected notesOf(stack: string): readonly ManifestNote[] {
    const folder = join(this.folder, stack);
    const notes = entriesOf(folder)
      .flatMap((entry) => (entry.isFile() && entry.name.endsWith(ending) ? [entry.name] : []))
      .sort()
      .flatMap((name) => noteIn(join(folder, name)));
    return notes.sort((left, right) => left.rank - right.rank);
  }

  protected write(stack: string, note: ManifestNote): void {
    const file = this.fileOf(stack, note.source);
    try {
      makeFolder(join(this.folder, stack));
      replaceFile(file, `${JSON.stringify(note, null, 2)}\n`);
    } catch (error) {
      throw toldAsStorage(error, file);
    }
  }

  protected remove(stack: string, source: ManifestSource): void {
    const file = this.fileOf(stack, source);
    try {
      removeFile(file);
    } catch (error) {
      throw toldAsStorage(error, file);
    }
  }

  private fileOf(stack: string, source: ManifestSource): string {
    return join(this.folder, stack, `${digestOf(source, 16)}${ending}`);
  }
}

function entriesOf(folder: string) {
  return existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
}

function foldersIn(folder: string): string[] {
  return entriesOf(folder)
    .flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
    .sort();
}

function noteIn(file: string): readonly ManifestNote[] {
  try {
    return [JSON.parse(readFileSync(file, "utf8")) as ManifestNote];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
