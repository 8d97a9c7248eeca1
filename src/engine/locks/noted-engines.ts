import { randomUUID } from "node:crypto";
import { isJsonObject, parsedJson } from "../../api/json.js";
import type { BackendObjects } from "../backend/backend-objects.js";
import type { Workspace } from "../backend/workspace.js";
import { type NotedEngine, enginesNotedHere, notedIn, noteEngine } from "./engine-roster.js";
import type { Liveness } from "./process-identity.js";
import type { PulumiLock } from "./pulumi-locks.js";

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

async function notesBeside(
  workspace: NotedWorkspace,
  stack: string,
): Promise<{ readonly key: string; readonly engines: NotedEngine[] }[]> {
  const objects = sharedObjects(workspace);
  if (objects === undefined) return [];
  const keys = await objects.list(folderOf(workspace, stack));
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

/** Removes them: what may still have happened was waited for. One that cannot be removed costs the next command that wait, and no more. */
export async function forgetGivenUp(
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

function folderOf(workspace: NotedWorkspace, stack: string): string {
  return `.capstan/engines/${workspace.projectName}/${workspace.stackName(stack)}`;
}
