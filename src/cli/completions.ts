import type { Argument, Command, Option } from "commander";

/** A transaction that may be named by its number. */
export interface NumberedTransaction {
  readonly number: number;
  /** What it led to is kept, so that it can be compared and gone back to. */
  readonly kept: boolean;
}

/** Where words come from that the program itself does not hold. */
interface WordSources {
  stacks(): readonly string[];
  /** Of the one stack that is meant, newest first; none where it could be several. */
  transactions(named: readonly string[]): Promise<readonly NumberedTransaction[]>;
  /** What is recorded of the one stack that is named. */
  records(stack: string): Promise<readonly string[]>;
  /** Contexts of the kubeconfig that is meant. */
  contexts(): Promise<readonly string[]>;
  /** Continuations of "KIND.FIELD.fi". */
  explainWords(begun: string): readonly string[];
}

/** What may stand in the place of the last word. */
interface Completions {
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
export async function completionsOf(
  program: Command,
  typed: readonly string[],
  sources: WordSources,
): Promise<Completions> {
  const begun = typed.at(-1) ?? "";
  const { command, operands, awaiting } = readWords(program, typed.slice(0, -1));
  const all =
    awaiting !== undefined
      ? await optionValues(awaiting, operands, sources)
      : begun.startsWith("-")
        ? { words: optionWords(command), files: false }
        : await operandWords(command, operands, begun, sources);
  return { ...all, words: all.words.filter((word) => word.startsWith(begun)) };
}

/** Follows complete words: into which verb, with which operands, and which option wants a value. */
function readWords(
  program: Command,
  words: readonly string[],
): { command: Command; operands: readonly string[]; awaiting: Option | undefined } {
  let command = program;
  // The words behind help name a verb as those at the beginning do.
  if (words[0] === "help") return readWords(program, words.slice(1));
  const operands: string[] = [];
  let awaiting: Option | undefined;
  for (const word of words) {
    if (awaiting !== undefined) awaiting = undefined;
    else if (word.startsWith("-")) awaiting = valueOption(command, word);
    else {
      const verb = command.commands.find((one) => one.name() === word);
      if (verb === undefined) operands.push(word);
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

async function optionValues(
  { argChoices, long }: Option,
  operands: readonly string[],
  sources: WordSources,
): Promise<Completions> {
  if (argChoices !== undefined) return { words: argChoices, files: false };
  if (long === "--to") return keptNumbers(operands, sources);
  if (long === "--context") return { words: await sources.contexts(), files: false };
  return ["--file", "--state", "--project", "--kubeconfig"].includes(long ?? "") ? files : nothing;
}

async function operandWords(
  command: Command,
  operands: readonly string[],
  begun: string,
  sources: WordSources,
): Promise<Completions> {
  const verbs = command.commands.map((verb) => verb.name()).filter((name) => !name.startsWith("_"));
  const declared = command.registeredArguments;
  const last = declared.at(-1);
  const argument = declared[operands.length] ?? (last?.variadic === true ? last : undefined);
  const own =
    argument === undefined ? nothing : await argumentWords(argument, operands, begun, sources);
  // A verb with verbs below it may do something itself: history [stack...], history show.
  return { ...own, words: [...(operands.length === 0 ? verbs : []), ...own.words] };
}

async function argumentWords(
  argument: Argument,
  operands: readonly string[],
  begun: string,
  sources: WordSources,
): Promise<Completions> {
  const name = argument.name();
  if (argument.argChoices !== undefined) return { words: argument.argChoices, files: false };
  if (name.startsWith("stack")) return { words: sources.stacks(), files: name.endsWith("path") };
  if (name === "record" || name === "machine") {
    const records = await sources.records(operands[0] ?? "");
    const isFit = (record: string) => name === "record" || record.startsWith("Machine/");
    return { words: records.filter(isFit), files: false };
  }
  if (name === "kind.field") return { words: sources.explainWords(begun), files: false };
  // These stand before the stack.
  if (name === "number") return numbersOf(await sources.transactions([]));
  if (name === "from" || name === "to") return keptNumbers([], sources);
  return name === "dir" ? files : nothing;
}

async function keptNumbers(named: readonly string[], sources: WordSources): Promise<Completions> {
  const transactions = await sources.transactions(named);
  return numbersOf(transactions.filter(({ kept }) => kept));
}

function numbersOf(transactions: readonly NumberedTransaction[]): Completions {
  return { words: transactions.map(({ number }) => String(number)), files: false };
}
