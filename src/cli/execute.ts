import { CapstanError, isCapstanError } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { toldAsStorage } from "../api/storage-failure.js";
import { BadInput } from "../manifest/bad-input.js";
import type { Command } from "commander";
import type { CommandContext, GlobalOptions, StateUse, Voice } from "./context.js";
import { exitCodeOf, exitCodes } from "./exit.js";
import { markedLines } from "./marked-lines.js";

/** What a verb is called with. */
interface Call<O extends GlobalOptions> {
  readonly options: O;
  readonly context: CommandContext;
  /** The program as it was wired, for what tells about the program itself. */
  readonly program: Command;
}

/** A verb's work, to its exit code. Operands come in the order of their declaration. */
type Work<O extends GlobalOptions> = (
  call: Call<O>,
  ...operands: never[]
) => Promise<number> | number;

/**
 * Makes `work` what a verb does. Whatever ends it is reported here, once. Work loads the code of its
 * verb when it is called, so that no verb waits for what others need; help needs none of it.
 */
export function does<O extends GlobalOptions>(
  command: Command,
  work: Work<O>,
  use: StateUse = "makes",
): Command {
  // Too many operands are told about in execute, with what was probably meant.
  return command.allowExcessArguments().action(async (...given: unknown[]) => {
    const operands = given.slice(0, command.registeredArguments.length) as never[];
    await execute<O>(command, use, (call) => work(call, ...operands));
  });
}

/** Makes `work` the action of a verb that changes records: it makes no state where there is none. */
export function changes<O extends GlobalOptions>(command: Command, work: Work<O>): Command {
  return does(command, work, "changes");
}

/** Makes `work` what a verb does that only looks: it makes no state where there is none. */
export function looks<O extends GlobalOptions>(command: Command, work: Work<O>): Command {
  return does(command, work, "reads");
}

async function execute<O extends GlobalOptions>(
  command: Command,
  use: StateUse,
  work: (call: Call<O>) => Promise<number> | number,
): Promise<void> {
  const { makeContext, makeVoice } = await import("./context.js");
  const options = command.optsWithGlobals<O>();
  const interruption = listenForInterrupts();
  const voice = makeVoice(options);
  let context: CommandContext | undefined;
  try {
    refuseProject(command, options);
    context = makeContext(options, { use, interruption, voice });
    refuseExcess(command);
    process.exitCode = await work({ options, context, program: rootOf(command) });
  } catch (thrown) {
    // Wherever a disk is full, a file locked or not ours to use: no defect of this program.
    const error = toldAsStorage(thrown);
    report(error, voice);
    process.exitCode = exitCodeOf(error);
  } finally {
    interruption.end();
    context?.providers.close();
  }
}

/** Verbs that work on the stacks of a project of the user's as on our own. */
const projectVerbs: ReadonlySet<string> = new Set([
  "plan",
  "up",
  "rollback",
  "destroy",
  "status",
  "describe",
  "history",
  "drift",
  "__complete",
]);

/** Throws BAD_USAGE for verbs that would not heed --project and --stack. */
function refuseProject(command: Command, { project, stack }: GlobalOptions): void {
  if (project === undefined && stack === undefined) return;
  const [, verb = ""] = pathOf(command).split(" ");
  if (projectVerbs.has(verb)) return;
  const option = project === undefined ? "--stack" : "--project";
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `capstan ${verb} does not work in a Pulumi project of yours: ${option}`,
    hint: `${option} is for ${[...projectVerbs].filter((one) => !one.startsWith("_")).join(", ")}`,
  });
}

/** Mostly a folder named without -f, or a pattern that the shell has expanded. */
function refuseExcess(command: Command): void {
  const declared = command.registeredArguments;
  if (declared.at(-1)?.variadic === true) return;
  const [first, ...more] = command.args.slice(declared.length);
  if (first === undefined) return;
  const verb = pathOf(command);
  const takesFiles = command.options.some(({ long }) => long === "--file");
  const files = [first, ...more].map((file) => `-f ${file}`).join(" ");
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `${verb} does not know what to do with "${first}"`,
    hint: takesFiles
      ? `name manifests with -f: ${verb} ${files}${more.length > 0 ? ", or quote the pattern" : ""}`
      : `${verb} --help tells what it takes`,
  });
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent);
}

function report(error: unknown, { json, terminal, suggest, emit }: Voice): void {
  if (!isCapstanError(error)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    terminal.error(markedLines("error: ", `this is a defect of capstan: ${text}`));
    return;
  }
  const hint = error.hint === undefined ? undefined : suggest(error.hint);
  if (error instanceof BadInput) {
    const { code, message, diagnostics } = error;
    if (json) emit(omitUndefined({ type: "error", code, diagnostics, hint }));
    else {
      terminal.error(`${message}\n`);
      if (hint !== undefined) terminal.error(markedLines("hint: ", hint));
    }
    return;
  }
  const { code, message, source, subject, retryable } = error;
  if (json) emit({ type: "error", code, message, source, subject, hint, retryable });
  else {
    terminal.error(markedLines(`${terminal.errorColors.red("error")}: `, message));
    if (hint !== undefined) terminal.error(markedLines("hint: ", hint));
  }
}

/** Ctrl-C once asks everything to stop where it can go on later, twice stops it now. */
function listenForInterrupts() {
  const stop = new AbortController();
  const kill = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) {
      kill.abort();
      process.exit(exitCodes.interrupted);
    }
    process.stderr.write("\ninterrupted: no new steps; once more stops at once\n");
    stop.abort(new CapstanError({ code: "CANCELLED", source: "user", message: "interrupted" }));
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return {
    stop: stop.signal,
    kill: kill.signal,
    end: () => {
      // Who was interrupted is about to end: a second signal now must not change the exit code.
      if (stop.signal.aborted) return;
      process.off("SIGINT", onSignal);
      process.off("SIGTERM", onSignal);
    },
  };
}
