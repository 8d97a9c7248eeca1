import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { exitCodes } from "../../src/cli/exit.js";
import { makeProgram } from "../../src/cli/verbs/program.js";
import { repository } from "../scenario/sandbox.js";

const text = readFileSync(join(repository, "docs", "cli.md"), "utf8");

/** Every verb by its full name, e.g. "local fault". Hidden ones are for scripts, not for people. */
function verbsOf(command: Command, above = ""): Map<string, Command> {
  const verbs = new Map<string, Command>();
  for (const verb of command.createHelp().visibleCommands(command)) {
    // Below a group it is commander's own.
    if (verb.name() === "help" && above !== "") continue;
    const name = `${above}${verb.name()}`;
    verbs.set(name, verb);
    for (const [inner, one] of verbsOf(verb, `${name} `)) verbs.set(inner, one);
  }
  return verbs;
}

const program = makeProgram();
const verbs = verbsOf(program);

/** The part of the document under a verb's headline. */
function sectionOf(verb: string): string {
  const [, rest] = text.split(`\n### capstan ${verb}\n`);
  assert.ok(rest !== undefined, `docs/cli.md has no section on capstan ${verb}`);
  return rest.split(/\n##+ /)[0] ?? "";
}

describe("docs/cli.md", () => {
  it("has a section for every verb, and no others", () => {
    const documented = [...text.matchAll(/^### capstan (.+)$/gm)].map((match) => match[1]);
    assert.deepEqual(documented.sort(), [...verbs.keys()].sort());
  });

  for (const [name, verb] of verbs) {
    it(`${name}: operands and options, and no others`, () => {
      const section = sectionOf(name);
      const flags = verb.options.map(({ long }) => long ?? "");
      const documented = [...section.matchAll(/^\| `(?:-\w, )?(--[a-z-]+)/gm)].map((m) => m[1]);
      assert.deepEqual(documented.sort(), flags.sort());
      for (const argument of verb.registeredArguments) {
        assert.ok(section.includes(argument.name().toUpperCase()), argument.name());
      }
    });
  }

  it("tells the global options", () => {
    const [, section = ""] = text.split("\n## For every verb\n");
    for (const { long } of program.options) assert.ok(section.includes(`\`${long}`), long ?? "");
  });

  it("lists the exit codes, as the program's help does", () => {
    const help: string[] = [];
    program.configureOutput({ writeOut: (line) => void help.push(line) }).outputHelp();
    const codes = Object.values(exitCodes).map(String);
    const inHelp = [...help.join("").matchAll(/^ {2}(\d+) {2,}\S/gm)].map((match) => match[1]);
    const inDocs = [...text.matchAll(/^\| (\d+) +\|/gm)].map((match) => match[1]);
    assert.deepEqual(inHelp, codes);
    assert.deepEqual(inDocs, codes);
  });
});

describe("help", () => {
  for (const [name, verb] of verbs) {
    it(`${name}: tells what it does, with examples`, () => {
      const lines: string[] = [];
      verb.configureOutput({ writeOut: (line) => void lines.push(line) }).outputHelp();
      const help = lines.join("");
      assert.ok(verb.description().length >= 10);
      for (const { long, description } of verb.options) {
        assert.ok(description.length > 5, `${long} says what it is`);
      }
      if (name !== "version") assert.match(help, /\nExamples:\n {2}\S/);
    });
  }

  it("knows every verb of its examples", () => {
    for (const [name, verb] of [["", program] as const, ...verbs]) {
      const lines: string[] = [];
      verb.configureOutput({ writeOut: (line) => void lines.push(line) }).outputHelp();
      const [, examples = ""] = lines.join("").split("Examples:\n");
      for (const [, called = ""] of examples.matchAll(/capstan ([a-z]+)/g)) {
        assert.ok(verbs.has(called), `${name}: capstan ${called}`);
      }
    }
  });
});
