#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { CapstanError, isCapstanError } from "../api/error.js";
import { BadInput } from "../manifest/bad-input.js";
import type { DestroyOptions } from "./commands/destroy.js";
import type { EnvOptions } from "./commands/env.js";
import type { FaultOptions } from "./commands/local.js";
import type { PlanOptions } from "./commands/plan.js";
import type { StatusOptions } from "./commands/status.js";
import type { UpOptions } from "./commands/up.js";
import { type CommandContext, type GlobalOptions, makeContext } from "./context.js";
import { exitCodeOf, exitCodes } from "./exit.js";

const { version } = JSON.parse(
  readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
) as { version: string };

/**
 * Runs one command to its exit code; whatever ends it is reported here, once. Actions load the code
 * of their command when it is called, so that no command waits for what others need.
 */
async function execute<O extends GlobalOptions>(
  command: Command,
  work: (options: O, context: CommandContext) => Promise<number>,
): Promise<void> {
  const options = command.optsWithGlobals<O>();
  const interruption = listenForInterrupts();
  const context = makeContext(options, interruption);
  try {
    process.exitCode = await work(options, context);
  } catch (error) {
    report(error, context);
    process.exitCode = exitCodeOf(error);
  } finally {
    interruption.end();
    context.providers.close();
  }
}

function report(error: unknown, context: CommandContext): void {
  const { json, terminal } = context;
  if (!isCapstanError(error)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    terminal.error(`error: this is a defect of capstan: ${text}\n`);
    return;
  }
  if (error instanceof BadInput) {
    if (json) context.emit({ type: "error", code: error.code, diagnostics: error.diagnostics });
    else terminal.error(`${error.message}\n`);
    return;
  }
  const { code, message, source, subject, hint, retryable } = error;
  if (json) context.emit({ type: "error", code, message, source, subject, hint, retryable });
  else {
    terminal.error(`${process.stderr.isTTY === true ? terminal.colors.red("error") : "error"}: ${message}\n`);
    if (hint !== undefined) terminal.error(`hint: ${hint}\n`);
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
    stop.abort(
      new CapstanError({ code: "CANCELLED", source: "user", message: "interrupted" }),
    );
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return {
    stop: stop.signal,
    kill: kill.signal,
    end: () => {
      process.off("SIGINT", onSignal);
      process.off("SIGTERM", onSignal);
    },
  };
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("expected a whole number");
  return Number(text);
}

function share(text: string): number {
  if (!/^(0(\.\d+)?|1(\.0+)?)$/.test(text)) throw new InvalidArgumentError("expected 0 to 1, e.g. 0.1");
  return Number(text);
}

const collect = (value: string, earlier: string[]): string[] => [...earlier, value];

function withFiles(command: Command): Command {
  return command.option(
    "-f, --file <path>",
    "manifests: a file, a folder, or - for standard input; may be repeated",
    collect,
    [],
  );
}

function withTimeout(command: Command): Command {
  return command.option(
    "--timeout <seconds>",
    "how long hosts may take to run, or to go away",
    wholeNumber,
    600,
  );
}

function makeProgram(): Command {
  const program = new Command("capstan")
    .description("Kubernetes clusters as objects: planned, applied as one transaction, kept that way")
    .version(version, "--version")
    .option("--state <dir>", "folder for state, key file and local cloud (default: .capstan)")
    .option("--backend <url>", "any Pulumi backend instead of the state folder")
    .option("--json", "JSON lines instead of text")
    .exitOverride()
    .showHelpAfterError("(capstan --help tells more)");
  withFiles(program.command("plan"))
    .description("show what up would do; exit 0: nothing, 2: changes pending")
    .option("--adopt", "take over what the cloud holds of a cluster without state")
    .option("--prune", "delete clusters that these manifests no longer hold")
    .action((_: object, command: Command) =>
      execute<PlanOptions>(command, async (options, context) => {
        const { planCommand } = await import("./commands/plan.js");
        return planCommand(options, context);
      }),
    );
  withTimeout(withFiles(program.command("up")))
    .description("plan, ask, apply")
    .option("-y, --yes", "do not ask")
    .option("--adopt", "take over what the cloud holds of a cluster without state")
    .option("--prune", "delete clusters that these manifests no longer hold")
    .action((_: object, command: Command) =>
      execute<UpOptions>(command, async (options, context) => {
        const { upCommand } = await import("./commands/up.js");
        return upCommand(options, context);
      }),
    );
  withFiles(program.command("status [stack...]"))
    .description("what is recorded and what the cloud shows")
    .action((named: string[], _: object, command: Command) =>
      execute<StatusOptions>(command, async (options, context) => {
        const { statusCommand } = await import("./commands/status.js");
        return statusCommand(named, options, context);
      }),
    );
  withTimeout(withFiles(program.command("destroy [stack...]")))
    .description("delete clusters and all their resources; cannot be taken back")
    .option("-y, --yes", "do not ask")
    .action((named: string[], _: object, command: Command) =>
      execute<DestroyOptions>(command, async (options, context) => {
        const { destroyCommand } = await import("./commands/destroy.js");
        return destroyCommand(named, options, context);
      }),
    );
  withFiles(program.command("env <stack>"))
    .description("print the exports that a plain pulumi needs, and write the stack's settings file")
    .action((stack: string, _: object, command: Command) =>
      execute<EnvOptions>(command, async (options, context) => {
        const { envCommand } = await import("./commands/env.js");
        return envCommand(stack, options, context);
      }),
    );
  program
    .command("version")
    .description("print the version")
    .action((_: object, command: Command) =>
      execute(command, async (_options, context) => {
        if (context.json) context.emit({ type: "version", version });
        else context.terminal.write(`capstan ${version}\n`);
        return exitCodes.done;
      }),
    );
  addLocalCommands(program.command("local").description("play with the simulated cloud"));
  return program;
}

function addLocalCommands(local: Command): void {
  const verbs = () => import("./commands/local.js");
  local
    .command("machines")
    .description("list hosts")
    .option("--all", "terminated ones too")
    .action((_: object, command: Command) =>
      execute<{ all?: boolean } & GlobalOptions>(command, async (options, context) =>
        (await verbs()).localMachines(options, context),
      ),
    );
  local
    .command("kill <name>")
    .description("terminate a resource behind the provider's back: a machine, a name or an id")
    .action((name: string, _: object, command: Command) =>
      execute(command, async (_options, context) => (await verbs()).localKill(name, context)),
    );
  local
    .command("set <name> <field=value...>")
    .description("change fields of a resource behind the provider's back")
    .action((name: string, fields: string[], _: object, command: Command) =>
      execute(command, async (_options, context) => (await verbs()).localSet(name, fields, context)),
    );
  local
    .command("fault [call] [mode]")
    .description("make coming calls go wrong, e.g. create lose, or random ones; alone: list what is set")
    .option("--name <prefix>", "only for resources whose name begins so")
    .option("--ms <n>", "milliseconds, for the modes that take time", wholeNumber)
    .option("--times <n>", "how many calls; 1 unless given", wholeNumber)
    .option("--probability <p>", "share of the calls that go wrong, 0 to 1", share)
    .option("--seed <n>", "decides which calls go wrong, with --probability or for random", wholeNumber)
    .option("--rate <p>", "random: share of all calls that go wrong, 0 to 1", share)
    .option("--modes <list>", "random: how they go wrong, comma-separated")
    .option("--clear", "forget all faults")
    .action((call: string | undefined, mode: string | undefined, _: object, command: Command) =>
      execute<FaultOptions & GlobalOptions>(command, async (options, context) =>
        (await verbs()).localFault(call, mode, options, context),
      ),
    );
  local
    .command("ledger")
    .description("every call to the cloud and its effect, in order")
    .option("--after <seq>", "only entries after this number", wholeNumber, 0)
    .action((_: object, command: Command) =>
      execute<{ after: number } & GlobalOptions>(command, async (options, context) =>
        (await verbs()).localLedger(options, context),
      ),
    );
}

try {
  await makeProgram().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Commander has said what is wrong; help and version are no errors.
  process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.badUsage;
  if (error.code === "commander.help") process.exitCode = exitCodes.badUsage;
}

