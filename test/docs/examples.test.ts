import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../scenario/sandbox.js";
import { fencedBlocks, promptedCommands } from "./console.js";
import {
  blocksOf,
  commandsOf,
  documents,
  exampleIn,
  examplesFolder,
  notRun,
  shownIn,
  type ShownExample,
  withoutCommands,
} from "./shown-commands.js";

/** In the README of the repository, whose blocks readme.int.test.ts follows. */
const examplesInReadme = ["broken", "gpu", "quickstart"];

describe("the commands that documents show on examples", () => {
  it("are known for each folder of examples", () => {
    const known = [...Object.keys(shownIn), ...Object.keys(withoutCommands), ...examplesInReadme];
    assert.deepEqual([...new Set(known)].sort(), readdirSync(examplesFolder).sort());
    for (const test of Object.values(withoutCommands)) {
      assert.ok(existsSync(join(repository, test)), test);
    }
  });

  for (const [example, document] of Object.entries(shownIn)) {
    it(`are found for ${example} in ${document}`, () => {
      assert.notEqual(commandsOf(example as ShownExample).length, 0);
    });
  }

  it("are all run, or are named with a reason", () => {
    const readme = readFileSync(join(repository, "README.md"), "utf8");
    const followed = fencedBlocks(readme, "console").flatMap(promptedCommands);
    const inReadme = new Set(followed.map(({ command }) => `README.md: ${command}`));
    const left = documents().flatMap((document) =>
      blocksOf(document)
        .flat()
        .filter((one) => {
          const example = exampleIn(one);
          return example !== undefined && shownIn[example as ShownExample] !== document;
        })
        .map(({ command }) => `${document}: ${command.replace(/ +#.*/, "")}`),
    );
    assert.deepEqual(left.filter((one) => !inReadme.has(one)).sort(), Object.keys(notRun).sort());
  });

  it("are shown in each README of an example", () => {
    const readmes = documents().filter((document) => document.startsWith("examples/"));
    const shown = new Set<string>(Object.values(shownIn));
    assert.deepEqual(
      readmes.filter((document) => !shown.has(document)),
      [],
    );
  });
});
