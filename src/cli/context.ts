import { randomUUID } from "node:crypto";
import { hostname, userInfo } from "node:os";
import { resolve } from "node:path";
import {
  ensurePulumi,
  type EnsureOptions,
  type PulumiToolchain,
  type ToolchainError,
} from "#toolchain";
import { makeProviders, type Providers } from "../../providers/index.js";
import { CapstanError } from "../api/error.js";
import { asVerbatim, type LeavingText } from "../api/leaving-text.js";
import { visible } from "../api/visible.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { stackNameOf } from "../api/types.js";
import { Engine } from "../engine/pulumi/engine.js";
import type { Interruption } from "../engine/pulumi/engine-options.js";
import { withLockedStack } from "../engine/pulumi/locked-stack.js";
import { defaultStateDir, withoutPasswords } from "../engine/backend/project.js";
import { stateDirOf, type UserProject, userProjectOf } from "../engine/backend/user-project.js";
import { Workspace } from "../engine/backend/workspace.js";
import { BadInput } from "../manifest/bad-input.js";
import { type Manifests, readDesired } from "../manifest/desired.js";
import { diagnosticText } from "../manifest/diagnostic.js";
import { timeoutWarnings } from "../manifest/timeouts.js";
import { readSources } from "../manifest/files.js";
import { systemClock } from "../provider/clock.js";
import type { Clock } from "../provider/port.js";
import { SecretValues } from "../provider/secret-values.js";
import { markedLines } from "./marked-lines.js";
import { type ManifestOptions, overridesOf } from "./manifest-options.js";
import { Stopwatch } from "./stopwatch.js";
import { withWhereabouts } from "./suggest.js";
import { processTerminal, type Terminal } from "./terminal.js";

/** Options that every command knows. */
export interface GlobalOptions {
  readonly state?: string;
  readonly backend?: string;
  /** Folder of a Pulumi project of the user's. */
  readonly project?: string;
  /** A stack of it. */
  readonly stack?: string;
  readonly json?: boolean;
  /** Say what the command uses. */
  readonly verbose?: boolean;
  /** Fail where nothing is recorded. */
  readonly requireState?: boolean;
}

/** How a command speaks. */
export interface Voice {
  readonly json: boolean;
  readonly terminal: Terminal;
  /** A text for people, with the commands that it names as they have to be typed to go on from here. */
  readonly suggest: (text: string) => string;
  /** One JSON object on a line of its own. */
  readonly emit: (value: unknown) => void;
  /** The same with the secrets that somebody has asked for. */
  readonly emitVerbatim: (value: unknown) => void;
  /** A JSON document, indented. */
  readonly emitDocument: (value: unknown) => void;
  /** Beside the output, with --verbose alone: what the command uses. */
  readonly tell: (text: string) => void;
  /** What no text may leave with. */
  readonly secrets: SecretValues;
}

/** Everything a command works with. */
export interface CommandContext extends Voice {
  readonly stateDir: string;
  readonly use: StateUse;
  /** Somebody said where the state is, by an option or a variable. */
  readonly isStateNamed: boolean;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  readonly env: NodeJS.ProcessEnv;
  readonly providers: Providers;
  readonly interruption: Interruption;
  /** The Pulumi project to work in; absent: our own. */
  readonly project?: UserProject;
  /** Who asks: "<user>@<host>". */
  readonly by: string;
  newClusterUid(): string;
}

export function makeVoice(options: GlobalOptions): Voice {
  const secrets = new SecretValues(process.env);
  const terminal = processTerminal(process.env, secrets);
  return {
    json: options.json === true,
    terminal,
    suggest: (text) => withWhereabouts(text, options),
    emit: (value) => emitJson(terminal, secrets.json(value)),
    emitVerbatim: (value) => emitJson(terminal, asVerbatim(JSON.stringify(value))),
    emitDocument: (value) => emitJson(terminal, secrets.json(value, 2)),
    tell: (text) => {
      if (options.verbose === true) terminal.error(markedLines("verbose: ", text));
    },
    secrets,
  };
}

/** Scrubbed text by text, so that it stays the same JSON: not once more as a whole. */
function emitJson(terminal: Pick<Terminal, "document">, json: LeavingText): void {
  terminal.document(asVerbatim(visible(`${json}\n`)));
}

/** What a verb does with a state: one that `makes` it is the only one that makes a state folder. */
export type StateUse = "reads" | "changes" | "makes";

interface ContextMeans {
  readonly use: StateUse;
  readonly interruption: Interruption;
  readonly voice: Voice;
}

/** Throws what `userProjectOf` throws. */
export function makeContext(
  options: GlobalOptions,
  { use, interruption, voice }: ContextMeans,
): CommandContext {
  const { env } = process;
  const project = userProjectOf(options, env);
  const ambient = env["CAPSTAN_STATE"] ?? defaultStateDir;
  const stateDir = resolve(
    options.state ?? (project === undefined ? ambient : stateDirOf(project, env)),
  );
  return omitUndefined({
    ...voice,
    stateDir,
    use,
    isStateNamed: (options.state ?? options.backend ?? env["CAPSTAN_STATE"]) !== undefined,
    clock: systemClock,
    stopwatch: new Stopwatch(systemClock),
    env,
    providers: makeProviders(
      stateDir,
      systemClock,
      {
        folder: project?.root ?? process.cwd(),
        env,
        loads: (modules, base) =>
          voice.tell(`runs code of the project: ${modules.join(", ")}, seen from ${base}`),
      },
      use === "reads" ? "reads" : "changes",
      voice.secrets,
    ),
    interruption,
    project,
    by: `${userInfo().username}@${hostname()}`,
    newClusterUid: randomUUID,
  });
}

/** What the user named, as clusters. Throws BadInput before anything else happens. */
export function loadManifests(options: ManifestOptions, context: CommandContext): Manifests {
  const { file: paths } = options;
  const overrides = overridesOf(options, context.env);
  const manifests = readDesired(readSources(paths), context.providers.all, overrides);
  const { clusters, diagnostics } = manifests;
  if (diagnostics.some(({ severity }) => severity === "error")) throw new BadInput(diagnostics);
  refuseSeveral(manifests, context);
  for (const warning of diagnostics) context.terminal.error(`${diagnosticText(warning)}\n`);
  if (clusters.length > 0) return manifests;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `no Cluster in ${paths.join(", ")}; nothing was touched`,
    hint: "every folder needs a Cluster object",
  });
}

/** Warns of what sets ask for and a wait of so many seconds for each host leaves no room for. */
export function warnOfTimeout(
  { clusters, positionOf }: Manifests,
  timeoutSeconds: number,
  { terminal }: CommandContext,
): void {
  for (const desired of clusters) {
    for (const warning of timeoutWarnings(desired, timeoutSeconds, positionOf)) {
      terminal.error(`${diagnosticText(warning)}\n`);
    }
  }
}

/** Throws INVALID_INPUT for several clusters that would all go to the one stack that was chosen. */
function refuseSeveral({ clusters }: Manifests, { project }: CommandContext): void {
  if (clusters.length < 2 || project?.stack === undefined) return;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `a stack holds one cluster, and these manifests hold ${clusters.length}: ${clusters.map(({ cluster }) => stackNameOf(cluster)).join(", ")}`,
    hint: "give each Cluster a folder and a stack of its own",
  });
}

/**
 * Finds or sets up programs; an interruption ends that. Throws CANCELLED then, and TOOLCHAIN when the programs cannot be
 * set up.
 */
export async function settingUp<T>(
  { env, terminal, interruption }: CommandContext,
  ensure: (surroundings: EnsureOptions) => Promise<T>,
): Promise<T> {
  const progress = (text: string) => terminal.error(`${text}\n`);
  try {
    return await ensure({ env, progress, signal: interruption.stop });
  } catch (error) {
    if (!isToolchainError(error)) throw error;
    const { code, message, hint } = error;
    throw new CapstanError({ code, source: "user", message, hint, cause: error });
  }
}

function isToolchainError(error: unknown): error is ToolchainError {
  return error instanceof Error && "code" in error && error.code === "TOOLCHAIN";
}

/** The Pulumi that Capstan drives; it is set up where there is none. */
export async function findTools(context: CommandContext): Promise<PulumiToolchain> {
  const found = await settingUp(context, (surroundings) => ensurePulumi(surroundings));
  context.tell(`pulumi is ${found.bin} (${found.origin})`);
  return found;
}

/**
 * The workspace of a command, ready for use, with the Pulumi that goes with it. Throws NOT_FOUND for a command that changes
 * records where there is no state.
 */
export async function openWorkspace(
  options: GlobalOptions,
  context: CommandContext,
): Promise<{ workspace: Workspace; pulumi: string }> {
  const toolchain = await findTools(context);
  const workspace = new Workspace(
    omitUndefined({
      stateDir: context.stateDir,
      backend: options.backend,
      project: context.project,
      pulumiBinDir: toolchain.binDir,
      env: context.env,
    }),
  );
  context.tell(`stacks are in ${withoutPasswords(workspace.backendUrl)}`);
  if (context.use === "changes" && !workspace.exists) throw noState(workspace);
  if (context.use === "makes" || workspace.exists) workspace.prepare();
  return { workspace, pulumi: toolchain.bin };
}

/** An engine that only reads. Throws NOT_FOUND where a state is required and nothing is recorded. */
export async function openEngine(
  options: GlobalOptions,
  context: CommandContext,
): Promise<{ engine: Engine; workspace: Workspace }> {
  const { workspace, pulumi } = await openWorkspace(options, context);
  const { interruption, providers } = context;
  const notice = noticeTo(context);
  const engine = new Engine({ pulumi, workspace, providers, interruption, notice });
  if (options.requireState === true && (await engine.stacks.list()).length === 0) {
    throw noState(workspace);
  }
  return { engine, workspace };
}

/**
 * The same for a verb that tells of what is recorded: it throws NOT_FOUND, too, where a state was named and is
 * not there. Telling of no clusters would be green for nothing.
 */
export async function openRecords(
  options: GlobalOptions,
  context: CommandContext,
): Promise<Engine> {
  const { engine, workspace } = await openEngine(options, context);
  if (context.isStateNamed && !workspace.exists) throw noState(workspace);
  return engine;
}

function noState({ place }: Workspace): CapstanError {
  return new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: place,
    message: `there is no state in ${place}`,
    hint: "name the state that the clusters were made with; nothing was made",
  });
}

/** Runs `work` with an engine that may change the stack, under the stack's lock. */
export async function withLockedEngine<T>(
  options: GlobalOptions,
  context: CommandContext,
  about: {
    readonly stack: string;
    readonly command: string;
    /** Who may do that alone; absent where it is found out under the lock. */
    readonly owner?: string;
  },
  work: (engine: Engine, workspace: Workspace) => Promise<T>,
): Promise<T> {
  const { workspace, pulumi } = await openWorkspace(options, context);
  const { clock, interruption, providers } = context;
  const notice = noticeTo(context);
  const tools = { pulumi, workspace, providers, interruption, clock, notice };
  return withLockedStack({ ...about, ...tools }, (engine) => work(engine, workspace));
}

/** Beside the output of a command, which programs may read. */
export function noticeTo({ terminal }: Pick<CommandContext, "terminal">): (text: string) => void {
  return (text) => terminal.error(markedLines("note: ", text));
}
