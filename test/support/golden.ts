import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const fileOf = (name: string) =>
  fileURLToPath(new URL(`../../../test/golden/${name}.txt`, import.meta.url));

/** Compares a text with test/golden/<name>.txt; UPDATE_GOLDEN=1 writes the file instead. */
export function assertGolden(name: string, text: string): void {
  const file = fileOf(name);
  if (process.env["UPDATE_GOLDEN"] === "1") {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  assert.equal(
    text,
    readFileSync(file, "utf8"),
    `differs from ${name}.txt; UPDATE_GOLDEN=1 rewrites`,
  );
}

/**
 * A test of each case, whose text has to be what test/golden/<file>.txt holds under "# <name of the case>". The file
 * holds no other texts. UPDATE_GOLDEN=1 writes what the cases say.
 */
export function testGolden<Case extends { readonly name: string }>(
  file: string,
  cases: readonly Case[],
  textOf: (one: Case) => string,
): void {
  const sectionOf = (one: Case) =>
    [`# ${one.name}`, textOf(one)].filter((part) => part !== "").join("\n");
  const held = (): readonly string[] => {
    const path = fileOf(file);
    if (process.env["UPDATE_GOLDEN"] === "1") {
      writeFileSync(path, `${cases.map(sectionOf).join("\n\n")}\n`);
    }
    return readFileSync(path, "utf8").trimEnd().split("\n\n");
  };
  for (const one of cases) {
    it(one.name, () => {
      const known = held().find((section) => section.split("\n", 1)[0] === `# ${one.name}`);
      assert.equal(sectionOf(one), known, `differs from ${file}.txt; UPDATE_GOLDEN=1 rewrites`);
    });
  }
  it(`${file}.txt holds these texts and no others`, () => {
    assert.equal(held().length, cases.length);
  });
}
