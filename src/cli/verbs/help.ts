import type { Command } from "commander";
import { withExamples } from "./options.js";

/**
 * `capstan help [verb...]`, and a check in front of every help text: whoever asks for the help of a verb that is not
 * there gets "unknown command", as without --help.
 */
export function addHelp(program: Command): void {
  program.helpCommand(false);
  const help = program
    .command("help [verb...]")
    .description("tell about a verb, as its --help does")
    .helpOption(false)
    .action((words: string[]) => verbNamed(program, words).outputHelp());
  withExamples(help, [["capstan help local kill", "about one verb"]]);
  // Each command announces its help to all above it, before a word of it is printed.
  program.addHelpText("beforeAll", ({ command }) => {
    refuseUnknownVerb(command);
    return "";
  });
}

function verbNamed(program: Command, words: readonly string[]): Command {
  let command = program;
  for (const word of words) {
    const verb = verbIn(command, word);
    if (verb === undefined) return unknownVerb(command, word);
    command = verb;
  }
  return command;
}

/** Throws for an operand of a command that takes none, and has no verb of that name. */
function refuseUnknownVerb(command: Command): void {
  if (command.commands.length === 0 || command.registeredArguments.length > 0) return;
  const [word] = command.args.filter((arg) => !arg.startsWith("-"));
  if (word !== undefined && verbIn(command, word) === undefined) unknownVerb(command, word);
}

function verbIn(command: Command, word: string): Command | undefined {
  return command.commands.find((verb) => verb.name() === word);
}

/** In commander's words, so that what people are used to from other programs is answered alike. */
function unknownVerb(command: Command, word: string): never {
  return command.error(`error: unknown command '${word}'`, { code: "commander.unknownCommand" });
}
