import { asVerbatim } from "../../api/leaving-text.js";
import { stackNameOf } from "../../api/types.js";
import { join, relative } from "node:path";
import { CapstanError } from "../../api/error.js";
import { readDesired } from "../../manifest/desired.js";
import { readSources } from "../../manifest/files.js";
import { projectRoot } from "../../engine/backend/project.js";
import { pathWithTools } from "../../engine/backend/workspace.js";
import {
  type CommandContext,
  findTools,
  type GlobalOptions,
  openEngine,
  withLockedEngine,
} from "../context.js";
import type { Engine } from "../../engine/pulumi/engine.js";
import { stacksOf } from "./stacks.js";
import { sourcesOf } from "../manifest-options.js";
import { exitCodes } from "../exit.js";
import { plainSettings, rememberedManifests, rememberManifests } from "../stack-settings.js";
import { quotedWord } from "../../report/shell-word.js";

export interface EnvOptions extends GlobalOptions {
  readonly file: readonly string[];
}

/**
 * capstan env: prints the exports that a plain `pulumi` needs. Without a stack that is a PATH, for Pulumi projects
 * of a user's own. With one it is all that leads to the stack, whose settings file is written beside the
 * Pulumi.yaml that governs the current folder.
 */
export async function envCommand(
  name: string | undefined,
  options: EnvOptions,
  context: CommandContext,
): Promise<number> {
  if (name !== undefined) return stackEnv(name, options, context);
  const { binDir } = await findTools(context);
  return printExports({}, { PATH: pathWithTools(binDir, context.env) }, context);
}

async function stackEnv(
  name: string,
  options: EnvOptions,
  context: CommandContext,
): Promise<number> {
  const root = projectRoot(process.cwd());
  if (root === undefined) {
    throw new CapstanError({
      code: "NOT_FOUND",
      source: "user",
      message: "there is no Pulumi.yaml here or above",
      hint: "change into a Pulumi project, e.g. the root of this repository",
    });
  }
  const { engine, workspace } = await openEngine(options, context);
  const [stack = name] = await stacksOf([name], { file: [] }, engine, context);
  if (options.file.length > 0) refuseOthers(stack, options, context);
  await withStackThere(stack, engine, options, context);
  if (options.file.length > 0) rememberManifests(workspace, stack, sourcesOf(options, context.env));
  const manifests = rememberedManifests(workspace, stack).map((file) => relative(root, file));
  const file = join(root, `Pulumi.${stack}.yaml`);
  workspace.writeStackSettings(file, plainSettings(workspace, stack, manifests));
  return printExports({ stack, file }, workspace.exports(), context);
}

/**
 * Throws NOT_FOUND for manifests that do not hold the stack's cluster: whoever prunes by them would take it for gone. What takes
 * values may hold it, under whatever name: the program that gives them says so.
 */
function refuseOthers(stack: string, options: EnvOptions, context: CommandContext): void {
  const { clusters, diagnostics } = readDesired(readSources(options.file), context.providers.all);
  const isOpen = diagnostics.some(({ severity }) => severity === "error");
  if (isOpen || clusters.some(({ cluster }) => stackNameOf(cluster) === stack)) return;
  throw new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: stack,
    message: `${options.file.join(", ")} holds no Cluster of stack ${stack}`,
    hint: `it holds ${clusters.map(({ cluster }) => stackNameOf(cluster)).join(", ")}; nothing was noted`,
  });
}

function printExports(
  about: { readonly stack?: string; readonly file?: string },
  exports: Readonly<Record<string, string>>,
  context: CommandContext,
): number {
  if (context.json) context.emitVerbatim({ type: "env", ...about, exports });
  else {
    for (const [key, value] of Object.entries(exports)) {
      context.terminal.document(asVerbatim(`export ${key}=${quotedWord(value)}\n`));
    }
  }
  return exitCodes.done;
}

/** Takes the stack's lock only to make a stack: whoever works on one that is there is not in the way. */
async function withStackThere(
  stack: string,
  engine: Engine,
  options: EnvOptions,
  context: CommandContext,
): Promise<void> {
  const state = await engine.readState(stack);
  if (await engine.stacks.has(stack)) {
    engine.stacks.ensureSettings(stack, state);
    return;
  }
  const about = { stack, command: `capstan env ${stack}` };
  await withLockedEngine(options, context, about, async (locked) =>
    locked.ensureStack(stack, await locked.readState(stack)),
  );
}
