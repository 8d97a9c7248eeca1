import assert from "node:assert/strict";
import { Screen } from "../support/tmux.js";
import { outputPattern, type ShownCommand } from "./console.js";

const question = 'Only "yes" goes on:';

/** A shell in a terminal, in the folder of a reader who types what a document shows. */
export class ExampleShell {
  private readonly screen: Screen;

  constructor(folder: string, env: NodeJS.ProcessEnv) {
    this.screen = new Screen({ columns: 200, rows: 200 }, folder, env);
  }

  /** Runs a command and answers its question by "yes"; fails unless exit and output are as the document shows them. */
  async run(shown: ShownCommand, typed = shown.command): Promise<string> {
    await this.screen.clear();
    this.screen.type(typed);
    const asks = await this.screen.until(`${typed} ends, or asks`, (text) =>
      /(\n\$|goes on:)$/.test(text),
    );
    if (asks.endsWith(question)) this.screen.type("yes");
    const text = await this.screen.untilIdle(typed);
    const output = text.split("\n").slice(1).join("\n");
    const code = (await this.screen.run('echo "exit $?"')).split("\n").at(-1);
    assert.equal(code, `exit ${shown.exit}`, `${typed}\n${output}`);
    const { length } = shown.output;
    if (length > 0) assert.match(`${output}\n`, outputPattern(shown.output), typed);
    return output;
  }

  /** Runs commands one after the other. `after` looks at what a command has done, by the beginning of the command. */
  async follow(
    commands: readonly ShownCommand[],
    after: Readonly<Record<string, (output: string) => unknown>> = {},
    typed = (command: string) => command,
  ): Promise<void> {
    const seen = new Set<string>();
    for (const shown of commands) {
      const output = await this.run(shown, typed(shown.command));
      const start = Object.keys(after).find((one) => shown.command.startsWith(one));
      if (start === undefined) continue;
      seen.add(start);
      await after[start]?.(output);
    }
    assert.deepEqual([...seen].sort(), Object.keys(after).sort());
  }

  close(): void {
    this.screen.close();
  }
}
