import type { Argument, Command, Option } from "commander";

/** Where words come from that the program itself does not hold. */
export interface WordSources {
  stacks(): readonly string[];
  /** Continuations of "KIND.FIELD.fi". */
  explainWords(begun: string): readonly string[];
}

/** What may stand in the place of the last word. */
export interface Completions {
  readonly words: readonly string[];
  /** Files fit as well. */
  readonly files: boolean;
}

const nothing: Completions = { words: [], files: false };
const files: Completions = { words: [], files: true };

/**
 * What may follow: `typed` are the words after the program's name, the last one not yet complete.
 * Pure but for the sources.
 */
export function completionsOf(
  program: Command,
  typed: readonly string[],
  sources: WordSources,
): Completions {
  const begun = typed.at(-1) ?? "";
  const { command, operands, awaiting } = readWords(program, typed.slice(0, -1));
  const all =
    awaiting !== undefined
      ? optionValues(awaiting)
      : begun.startsWith("-")
        ? { words: optionWords(command), files: false }
        : operandWords(command, operands, begun, sources);
  return { ...all, words: all.words.filter((word) => word.startsWith(begun)) };
}

/** Follows complete words: into which verb, how many operands, and which option wants a value. */
function readWords(
  program: Command,
  words: readonly string[],
): { command: Command; operands: number; awaiting: Option | undefined } {
  let command = program;
  let operands = 0;
  let awaiting: Option | undefined;
  for (const word of words) {
    if (awaiting !== undefined) awaiting = undefined;
    else if (word.startsWith("-")) awaiting = valueOption(command, word);
    else {
      const verb = command.commands.find((one) => one.name() === word);
      if (verb === undefined) operands += 1;
      else command = verb;
    }
  }
  return { command, operands, awaiting };
}

function valueOption(command: Command, word: string): Option | undefined {
  return optionsOf(command).find(
    ({ long, short, required, optional }) =>
      (long === word || short === word) && (required || optional),
  );
}

/** A verb's own options, then those of the verbs above it. */
function optionsOf(command: Command): Option[] {
  const inherited = command.parent === null ? [] : optionsOf(command.parent);
  const passedOn = inherited.filter(({ long }) => long !== "--version");
  return [...command.options, ...passedOn].filter(({ hidden }) => !hidden);
}

function optionWords(command: Command): string[] {
  return [...optionsOf(command).flatMap(({ long }) => long ?? []), "--help"];
}

function optionValues({ argChoices, long }: Option): Completions {
  if (argChoices !== undefined) return { words: argChoices, files: false };
  return long === "--file" || long === "--state" ? files : nothing;
}

function operandWords(
  command: Command,
  operands: number,
  begun: string,
  sources: WordSources,
): Completions {
  const verbs = command.commands.map((verb) => verb.name()).filter((name) => !name.startsWith("_"));
  const declared = command.registeredArguments;
  const last = declared.at(-1);
  const argument = declared[operands] ?? (last?.variadic === true ? last : undefined);
  const own = argument === undefined ? nothing : argumentWords(argument, begun, sources);
  // A verb with verbs below it may do something itself: history [stack...], history show.
  return { ...own, words: [...(operands === 0 ? verbs : []), ...own.words] };
}

function argumentWords(argument: Argument, begun: string, sources: WordSources): Completions {
  const name = argument.name();
  if (argument.argChoices !== undefined) return { words: argument.argChoices, files: false };
  if (name.startsWith("stack")) return { words: sources.stacks(), files: false };
  if (name === "kind.field") return { words: sources.explainWords(begun), files: false };
  return name === "dir" ? files : nothing;
}
