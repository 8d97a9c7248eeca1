import { existsSync } from "node:fs";
import { CapstanError } from "../../api/error.js";
import { type Desired, objectsOf, stackNameOf } from "../../api/types.js";
import { nearest } from "../../api/validate.js";
import type { Engine } from "../../engine/pulumi/engine.js";
import type { StackState } from "../../engine/backend/state.js";
import { boundToRecorded } from "../../provider/for-cluster.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { annotationsToldBy, type MachineAnnotations } from "../../records/host-machine.js";
import type { NotedCluster } from "../../sweep/clusters.js";
import { type CommandContext, loadManifests, type Voice } from "../context.js";
import { type KnownStacks, stackMeant } from "../stack-meant.js";
import { type ManifestOptions, refuseIdleOverrides } from "../manifest-options.js";

/** The stacks of a backend, and the clusters that were noted for it. */
interface Stacks extends Pick<Engine, "noted"> {
  readonly stacks: Pick<Engine["stacks"], "list">;
}

/** The stacks that a command is about: named ones, those of manifests, or all there are. */
export async function stacksOf(
  named: readonly string[],
  options: ManifestOptions,
  engine: Stacks,
  context: CommandContext,
): Promise<string[]> {
  const fromFiles = clustersNamed(options, context).map(({ cluster }) => stackNameOf(cluster));
  return chosenAmong([...(await stacksMeant(named, engine)), ...fromFiles], engine);
}

/** The stacks of named clusters. Throws what `stackMeant` throws, and BAD_USAGE for a path in the place of a name. */
async function stacksMeant(named: readonly string[], engine: Stacks): Promise<string[]> {
  if (named.length === 0) return [];
  const known = { stacks: await engine.stacks.list(), noted: engine.noted() };
  refusePaths(named, known);
  return named.map((word) => stackMeant(word, known));
}

/** The clusters of manifests that a command names; none without. */
export function clustersNamed(
  options: ManifestOptions,
  context: CommandContext,
): readonly Desired[] {
  refuseIdleOverrides(options, options.file);
  return options.file.length === 0 ? [] : loadManifests(options, context).clusters;
}

/** What such manifests say of one stack; undefined: none of them holds its cluster. */
export function desiredFor(stack: string, clusters: readonly Desired[]): Desired | undefined {
  return clusters.find(({ cluster }) => stackNameOf(cluster) === stack);
}

/** Whoever names manifests says with them what holds Machines now; undefined: what is recorded of them counts. */
export function toldAnnotations(
  desired: Desired | undefined,
  state: StackState,
): MachineAnnotations | undefined {
  return desired && annotationsToldBy(objectsOf(desired), state);
}

/**
 * The stacks that a command changes, where its manifests are read already. Beside names manifests only tell of these: a folder that holds other
 * clusters, too, brings none of them in. Throws BAD_USAGE for a path in the place of a name.
 */
export async function stacksAmong(
  named: readonly string[],
  clusters: readonly Desired[],
  engine: Stacks,
): Promise<string[]> {
  const meant = await stacksMeant(named, engine);
  const fromFiles = clusters.map(({ cluster }) => stackNameOf(cluster));
  return chosenAmong(named.length > 0 ? meant : fromFiles, engine);
}

async function chosenAmong(chosen: readonly string[], engine: Stacks): Promise<string[]> {
  return chosen.length > 0 ? [...new Set(chosen)] : engine.stacks.list();
}

/** NOT_FOUND for a stack of which nothing is recorded, with the one that was meant, or all there are. */
export async function nothingRecorded(
  verb: string,
  stack: string,
  engine: Stacks & Pick<Engine, "place">,
): Promise<CapstanError> {
  const stacks = await engine.stacks.list();
  const near = nearest(stack, stacks);
  const ended = endText(stack, engine);
  return new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: stack,
    message: `cannot ${verb} ${stack}: nothing is recorded about it in ${engine.place}${ended === undefined ? "" : `; ${ended}`}`,
    hint:
      near !== undefined && near !== stack
        ? `did you mean ${near}?`
        : `stacks: ${stacks.length === 0 ? "none" : stacks.join(", ")}; --state and --backend name others`,
  });
}

/** The text of a verb that finds no cluster at all. */
export function noClustersText({ place }: Pick<Engine, "place">): string {
  return `No clusters in ${place}. Next: capstan up -f DIR\n`;
}

/** The cluster that a stack held last, if it was made from this state folder. */
function lastLife(stack: string, engine: Pick<Engine, "noted">): NotedCluster | undefined {
  return engine.noted().findLast((one) => one.stack === stack);
}

/** "it was destroyed at 2026-11-28T03:00:00.000Z"; undefined of a cluster of whose end nothing is on record. */
export function endText(stack: string, engine: Pick<Engine, "noted">): string | undefined {
  const { endedAtMs } = lastLife(stack, engine) ?? {};
  return endedAtMs === undefined
    ? undefined
    : `it was destroyed at ${new Date(endedAtMs).toISOString()}`;
}

/** Tells when the cluster was destroyed that a stack held last, in the place of a report on its records; whether it was. */
export function tellEnd(
  type: "status" | "history",
  stack: string,
  { transaction }: StackState,
  { engine, context }: { readonly engine: Pick<Engine, "noted">; readonly context: Voice },
): boolean {
  const { cluster, endedAtMs } = lastLife(stack, engine) ?? {};
  if (transaction !== undefined || cluster === undefined || endedAtMs === undefined) return false;
  const destroyedAt = new Date(endedAtMs).toISOString();
  if (context.json) context.emit({ type, stack, cluster, destroyedAt });
  else {
    context.terminal.write(
      `Cluster ${cluster}: destroyed at ${destroyedAt}; its records and its history went with it\n`,
    );
  }
  return true;
}

/** Throws NOT_FOUND for the first stack that neither the backend nor a note knows: the name is a mistake. */
export async function refuseUnknown(
  verb: string,
  stacks: readonly string[],
  engine: Engine,
): Promise<void> {
  for (const stack of stacks) {
    if ((await engine.stacks.has(stack)) || lastLife(stack, engine) !== undefined) continue;
    throw await nothingRecorded(verb, stack, engine);
  }
}

/** What changes clusters changes none that nobody named. Throws BAD_USAGE. */
export function refuseNothingNamed(
  named: readonly string[],
  { file, stack }: { readonly file: readonly string[]; readonly stack?: string },
): void {
  if (named.length > 0 || file.length > 0 || stack !== undefined) return;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: "which cluster? name its stack, or its manifests with -f",
    hint: "capstan status lists the stacks",
  });
}

/** "capstan status clusters/prod" means the folder, not a stack of that name. Throws BAD_USAGE. */
function refusePaths(named: readonly string[], { stacks }: KnownStacks): void {
  const path = named.find((name) => existsSync(name) && !stacks.includes(name.replace("/", ".")));
  if (path === undefined) return;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `${path} is no stack, but there is a file or folder of that name`,
    hint: `name manifests with -f: -f ${path}`,
  });
}

/** The provider that made what a stack records, with the credentials that it made it with. Throws NOT_FOUND when this release lacks it. */
export function recordedProvider(
  stack: string,
  state: StackState,
  context: CommandContext,
): InfrastructureProvider | undefined {
  const { provider: name, objects } = state.transaction?.target ?? {};
  if (name === undefined) return undefined;
  const provider = context.providers.all.find((one) => one.name === name);
  if (provider !== undefined) return boundToRecorded(provider, objects);
  throw new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: stack,
    message: `cannot work on ${stack}: this release has no provider ${name}`,
    hint: "use the release that made it",
  });
}
