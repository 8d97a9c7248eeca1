// Commands that documents show, and the output that they promise.

/** A command of a document with the output below it. */
export interface ShownCommand {
  readonly command: string;
  /** Lines; "..." stands for any text of a line, or alone for any lines. */
  readonly output: readonly string[];
  readonly exit: number;
}

/** The fenced blocks of a language in a document. Pure. */
export function fencedBlocks(markdown: string, language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm");
  return [...markdown.matchAll(fence)].map(([, block = ""]) => block);
}

/** The blocks of a text without fences that are indented by four spaces, without the indentation. Pure. */
function indentedBlocks(text: string): string[] {
  return [...text.matchAll(/(?<=^|\n\n)(?: {4}\S.*(?:\n|$))+/g)].map(([block]) =>
    block.replaceAll(/^ {4}/gm, ""),
  );
}

/** The commands of all blocks of a document, in its order. Pure. */
export function shownBlocks(markdown: string): ShownCommand[][] {
  return markdown.split(/^(```[\s\S]*?^```)$/m).flatMap((part) => {
    if (!part.startsWith("```")) return indentedBlocks(part).map(plainCommands);
    const plain = ["sh", "bash"].flatMap((language) => fencedBlocks(part, language));
    return [...fencedBlocks(part, "console").map(promptedCommands), ...plain.map(plainCommands)];
  });
}

/** The commands of a block in which each follows a prompt, "$ "; "[exit 2]" is its exit, 0 without. Pure. */
export function promptedCommands(block: string): ShownCommand[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = "", ...lines] = part.trimEnd().split("\n");
      const exit = /^\[exit (\d+)\]$/.exec(lines.at(-1) ?? "")?.[1];
      const output = exit === undefined ? lines : lines.slice(0, -1);
      return { command, output, exit: Number(exit ?? 0) };
    });
}

/** The commands of a block of commands alone; a comment may promise another exit: "# exit 5". Pure. */
export function plainCommands(block: string): ShownCommand[] {
  return block
    .trimEnd()
    .split("\n")
    .map((command) => ({
      command,
      output: [],
      exit: Number(/#.*\bexit (\d+)$/.exec(command)?.[1] ?? 0),
    }));
}

/** A line "..." matches any lines, "..." within a line any text; everything else to the letter. Pure. */
export function outputPattern(output: readonly string[]): RegExp {
  const escape = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const lines = output.map((line) =>
    line === "..." ? "(?:.*\\n)*?" : `${line.split("...").map(escape).join(".*")}\\n`,
  );
  return new RegExp(`^${lines.join("")}$`);
}
