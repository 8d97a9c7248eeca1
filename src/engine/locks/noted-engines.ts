import { randomUUID } from "node:crypto";
import { basename } from "node:path";
import { isJsonObject, parsedJson } from "../../api/json.js";
import type { BackendObjects } from "../backend/backend-objects.js";
import type { Workspace } from "../backend/workspace.js";
import {
  engineOf,
  enginesNotedHere,
  type NotedEngine,
  notedIn,
  noteEngine,
} from "./engine-roster.js";
import { isOver, type LeaseTerm } from "./lease-term.js";
import { identify, type Liveness, livenessOf, sameProcess } from "./process-identity.js";
import type { PulumiLock } from "./pulumi-locks.js";
import { type FolderWriters, folderWriters } from "./folder-writers.js";

// Where engines are noted that commands begin: in the state folder, whose machine can see whether they live, and on a
// shared backend beside Pulumi's locks, too, since whoever finds a lock there may have another state folder.

type NotedWorkspace = Pick<
  Workspace,
  "isShared" | "objects" | "projectName" | "stackName" | "stateDir"
>;

/**
 * Notes an engine before it begins. Answers what removes the note that others see once it has ended. Throws what `noteEngine`
 * does, and BAD_STATE when the backend takes no notes.
 */
export async function noteBeside(
  workspace: NotedWorkspace,
  stack: string,
  engine: NotedEngine,
): Promise<() => Promise<void>> {
  noteEngine(workspace.stateDir, engine);
  const objects = sharedObjects(workspace);
  if (objects === undefined) return () => Promise.resolve();
  const key = `${folderOf(workspace, stack)}/${randomUUID()}.json`;
  await objects.write(key, JSON.stringify(engine));
  return () => objects.remove(key);
}

/** The engines that may have taken a lock, as far as anybody has noted them. */
export async function enginesNoted(
  workspace: NotedWorkspace,
  stack: string,
  lock: PulumiLock,
): Promise<NotedEngine[]> {
  const here = enginesNotedHere(workspace.stateDir, lock);
  const beside = await notesBeside(workspace, stack);
  return [...here, ...beside.flatMap(({ engines }) => engines)];
}

/** Which machines can write what is noted of engines and locks: on a shared backend others as well. */
export function writersOf({ isShared, stateDir }: NotedWorkspace): FolderWriters {
  return isShared ? "others" : folderWriters(stateDir);
}

/** Removes the notes beside the locks of a stack whose engines have ended. */
export async function forgetEnded(
  workspace: NotedWorkspace,
  stack: string,
  liveness: (engine: NotedEngine) => Liveness,
): Promise<void> {
  const notes = await notesBeside(workspace, stack);
  const ended = notes.filter(({ engines: [engine] }) => engine && liveness(engine) === "dead");
  for (const { key } of ended) await workspace.objects?.remove(key);
}

function notesBeside(workspace: NotedWorkspace, stack: string): Promise<Note[]> {
  return notesIn(workspace, folderOf(workspace, stack));
}

interface Note {
  readonly key: string;
  /** One, or none where the note tells nothing. */
  readonly engines: NotedEngine[];
}

async function notesIn(workspace: NotedWorkspace, folder: string): Promise<Note[]> {
  const objects = sharedObjects(workspace);
  if (objects === undefined) return [];
  const keys = await objects.list(folder);
  return Promise.all(
    keys.map(async (key) => ({ key, engines: engineIn(await objects.read(key)) })),
  );
}

/** What is cut off or of another release tells nothing. */
function engineIn(text: string | undefined): NotedEngine[] {
  const told = text === undefined ? undefined : parsedJson(text);
  const { identity, sinceMs, term = null, command = null } = isJsonObject(told) ? told : {};
  if (!isJsonObject(identity) || typeof sinceMs !== "number") return [];
  return notedIn({ ...identity, term, command }, sinceMs);
}

/**
 * Says to whoever works on the stack next, from whatever state folder, that somebody was given up whose last calls may still
 * happen. Nothing where the state folder is the only one. Throws BAD_STATE when the backend takes no notes.
 */
export async function noteGivenUp(workspace: NotedWorkspace, stack: string): Promise<void> {
  const key = `${givenUpFolder(workspace, stack)}/${randomUUID()}.json`;
  await sharedObjects(workspace)?.write(key, "{}");
}

/** The notes of that. Throws BAD_STATE when the backend cannot be read. */
export async function givenUpNotes(
  workspace: NotedWorkspace,
  stack: string,
): Promise<readonly string[]> {
  return (await sharedObjects(workspace)?.list(givenUpFolder(workspace, stack))) ?? [];
}

/** Removes notes: what may still have happened was waited for. One that cannot be removed costs the next command that wait, and no more. */
export async function forgetNotes(
  { objects }: NotedWorkspace,
  notes: readonly string[],
): Promise<void> {
  for (const note of notes) await objects?.remove(note).catch(() => undefined);
}

function givenUpFolder(workspace: NotedWorkspace, stack: string): string {
  return `.capstan/given-up/${workspace.projectName}/${workspace.stackName(stack)}`;
}

function sharedObjects({ isShared, objects }: NotedWorkspace): BackendObjects | undefined {
  return isShared ? objects : undefined;
}

/** A note that somebody works on a stack, or did and has not said that all of it has ended. */
export interface WorkNote {
  readonly key: string;
  /** Of the command's permit, too. */
  readonly id: string;
  /** Whoever works is seen to live, and leads if it has led: the note is theirs to remove. */
  readonly isLiving: boolean;
}

/**
 * Says, before anything is changed, that this process works on a stack: calls are also made between engine runs, where no lock of
 * Pulumi's tells of them. Answers what removes the note once all that was asked for has ended; one that cannot be removed costs
 * the next command a wait. Nothing where the state folder is the only one: there the stack's own lock says it.
 * Throws BAD_STATE when the backend takes no notes. `id`: a UUID.
 */
export async function noteWork(
  workspace: NotedWorkspace,
  stack: string,
  { id, term }: { readonly id: string; readonly term: LeaseTerm | undefined },
): Promise<() => Promise<void>> {
  const objects = sharedObjects(workspace);
  const note = engineOf(process.pid, term);
  if (objects === undefined || note === undefined) return () => Promise.resolve();
  const key = `${workFolder(workspace, stack)}/${id}.json`;
  await objects.write(key, JSON.stringify(note));
  return () => objects.remove(key).catch(() => undefined);
}

/** The notes of that, as whoever leads now sees them. Throws BAD_STATE when the backend cannot be read. */
export async function openWork(
  workspace: NotedWorkspace,
  stack: string,
  term: LeaseTerm | undefined,
): Promise<readonly WorkNote[]> {
  const notes = await notesIn(workspace, workFolder(workspace, stack));
  const own = identify(process.pid);
  return notes.map(({ key, engines }) => ({
    key,
    id: basename(key, ".json"),
    isLiving: engines.some(
      (one) =>
        !isOver(one.term, term) &&
        !sameProcess(one.identity, own) &&
        livenessOf(one.identity) === "alive",
    ),
  }));
}

function workFolder(workspace: NotedWorkspace, stack: string): string {
  return `.capstan/work/${workspace.projectName}/${workspace.stackName(stack)}`;
}

function folderOf(workspace: NotedWorkspace, stack: string): string {
  return `.capstan/engines/${workspace.projectName}/${workspace.stackName(stack)}`;
}
