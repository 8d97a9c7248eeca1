import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LabelCounts } from "../../src/controller/label-counts.js";
import { isMajority, quorumOf } from "../../src/sets/quorum.js";
import { repository } from "../scenario/sandbox.js";
import { replaced, replacedMethod, type Replacement, withReplacement } from "./replacement.js";

const read = (file: string) => readFileSync(join(repository, file), "utf8");

/** The module with the replacement, which imports no other module. */
async function loaded<Module extends object>(replacement: Replacement): Promise<Module> {
  const { code } = withReplacement(replacement, read);
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as Module;
}

describe("a replacement", () => {
  it("of a function is what its own module calls, too, and is given the original", async () => {
    const half = replaced(quorumOf, (original) => (members) => original(members) - 1);
    const quorum = await loaded<{ isMajority: typeof isMajority }>(half);
    assert.deepEqual([isMajority(1, 3), quorum.isMajority(1, 3)], [false, true]);
  });

  it("of a method is given the instance and the original", async () => {
    const twice = replacedMethod(
      LabelCounts,
      ({ owners }) => owners,
      (original) =>
        function () {
          return [...original.call(this), String(Object.keys(this.totals()))];
        },
    );
    const { LabelCounts: Mutant } = await loaded<{ LabelCounts: typeof LabelCounts }>(twice);
    const counts = new Mutant();
    counts.set("us", { ready: 1 });
    assert.deepEqual(counts.owners(), ["us", "ready"]);
  });

  it("is in the module whose export is replaced, and nothing else of it changes", () => {
    const { file, code } = withReplacement(
      replaced(quorumOf, () => () => 1),
      read,
    );
    assert.equal(file, "dist/src/sets/quorum.js");
    assert.ok(code.endsWith(read(file)));
  });

  /** Of a name that the product exports, too. */
  const own = { quorumOf: () => 1 };

  const gone: readonly (readonly [what: string, Replacement, want: RegExp])[] = [
    [
      "a function that the product does not export",
      replaced(read, () => () => ""),
      /no module of the product exports read/,
    ],
    [
      "another function of an exported name",
      replaced(own.quorumOf, () => () => 2),
      /no module of the product exports quorumOf/,
    ],
    [
      "a method that its class does not have",
      { exported: LabelCounts, method: "renamed", by: "() => () => {}" },
      /label-counts\.js: LabelCounts has no method renamed/,
    ],
  ];
  for (const [what, replacement, want] of gone) {
    it(`has no place where it names ${what}`, () => {
      assert.throws(() => withReplacement(replacement, read), { message: want });
    });
  }

  it("is refused where it uses something of its surroundings", () => {
    const least = 1;
    const want = { message: /a replacement uses what it is not given: .*least/ };
    assert.throws(() => replaced(quorumOf, () => () => least), want);
    assert.throws(() => {
      replacedMethod(
        LabelCounts,
        ({ owners }) => owners,
        () => () => [String(least)],
      );
    }, want);
  });
});
