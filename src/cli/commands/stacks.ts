import { existsSync } from "node:fs";
import { CapstanError } from "../../api/error.js";
import { type Desired, dottedName, objectsOf, stackNamed, stackNameOf } from "../../api/types.js";
import { nearest } from "../../api/validate.js";
import type { Engine } from "../../engine/pulumi/engine.js";
import type { StackState } from "../../engine/backend/state.js";
import { boundToRecorded } from "../../provider/for-cluster.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { annotationsToldBy, type MachineAnnotations } from "../../records/host-machine.js";
import { type CommandContext, loadManifests } from "../context.js";
import { type ManifestOptions, refuseIdleOverrides } from "../manifest-options.js";

/** What is asked which stacks there are. */
interface Stacks {
  readonly stacks: Pick<Engine["stacks"], "list">;
}

/** The stacks that a command is about: named ones, those of manifests, or all there are. */
export async function stacksOf(
  named: readonly string[],
  options: ManifestOptions,
  engine: Engine,
  context: CommandContext,
): Promise<string[]> {
  await refusePaths(named, engine);
  const fromFiles = clustersNamed(options, context).map(({ cluster }) => stackNameOf(cluster));
  return chosenAmong([...named.map(stackNamed), ...fromFiles], engine);
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
  await refusePaths(named, engine);
  const fromFiles = clusters.map(({ cluster }) => stackNameOf(cluster));
  return chosenAmong(named.length > 0 ? named.map(stackNamed) : fromFiles, engine);
}

async function chosenAmong(chosen: readonly string[], engine: Stacks): Promise<string[]> {
  return chosen.length > 0 ? [...new Set(chosen)] : engine.stacks.list();
}

/** NOT_FOUND for a stack of which nothing is recorded, with the one that was meant, or all there are. */
export async function nothingRecorded(
  verb: string,
  stack: string,
  engine: Engine,
): Promise<CapstanError> {
  const stacks = await engine.stacks.list();
  const near = meantBy(stack, stacks);
  return new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: stack,
    message: `cannot ${verb} ${stack}: nothing is recorded about it`,
    hint:
      near !== undefined && near !== stack
        ? `did you mean ${near}?`
        : `stacks: ${stacks.length === 0 ? "none yet" : stacks.join(", ")}`,
  });
}

/** The stack that somebody means who writes this: one of that name in any namespace, or nearly of that name. */
function meantBy(word: string, stacks: readonly string[]): string | undefined {
  return stacks.find((stack) => stack.endsWith(`.${word}`)) ?? nearest(word, stacks);
}

/** Throws NOT_FOUND for the first name that is no stack's where another one is likely to be meant. */
export async function refuseMisspelt(named: readonly string[], engine: Engine): Promise<void> {
  const stacks = await engine.stacks.list();
  const asStacks = named.map(stackNamed);
  const wrong = asStacks.find((name) => !stacks.includes(name) && meantBy(name, stacks));
  if (wrong !== undefined) throw await nothingRecorded("destroy", wrong, engine);
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
async function refusePaths(named: readonly string[], engine: Stacks): Promise<void> {
  const paths = named.filter((name) => existsSync(name));
  if (paths.length === 0) return;
  const stacks = await engine.stacks.list();
  const path = paths.find((name) => !stacks.includes(dottedName(name)));
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
