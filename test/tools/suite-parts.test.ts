import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Mocha from "mocha";
import { drawnParts, waitedTooLong, type Known, type PastRun } from "#suite/draw";
import { compiledOf, readFloor } from "#suite/files";
import { keepParts, partsFrom } from "#suite/parts";
import { cutOf, dueIn, notRun, partsOf, rotating, tierTable } from "#suite/tiers";

const repository = fileURLToPath(new URL("../../..", import.meta.url));
const page = join(repository, "docs", "development.md");
const killed = "test/engine/killed.int.test.ts";
const allParts = [0, 1, 2, 3];

describe("the tests that take turns", () => {
  it("are dealt to the parts one after another", () => {
    const titles = ["a", "b", "c", "d", "e", "f"];
    assert.deepEqual(partsOf({ file: "x" }, titles), [0, 1, 2, 3, 0, 1]);
    assert.deepEqual(partsOf({ file: "x", first: 3 }, titles), [3, 0, 1, 2, 3, 0]);
  });

  it("are those that a file names, and others of it are in no part", () => {
    const cut = { file: "x", tests: /finds/, first: 1 };
    assert.deepEqual(partsOf(cut, ["holds", "finds a", "is", "finds b"]), [
      undefined,
      1,
      undefined,
      2,
    ]);
  });

  it("stay together where they share a fixture", () => {
    const cut = { file: "x", group: /\w+(?=:)/ };
    const titles = ["scale: a", "create: b", "scale: c", "alone", "create: d", "last"];
    assert.deepEqual(partsOf(cut, titles), [0, 1, 0, 2, 1, 3]);
  });

  it("are counted without their titles where these do not matter", () => {
    const cut = { file: "x", first: 3 };
    for (const count of [0, 1, 2, 5, 18]) {
      const parts = partsOf(
        cut,
        Array.from({ length: count }, (_, at) => String(at)),
      );
      for (const part of allParts) {
        assert.equal(dueIn(cut, count, [part]), parts.filter((one) => one === part).length);
      }
      assert.equal(dueIn(cut, count, allParts), count);
    }
    assert.equal(dueIn({ ...cut, tests: /a/ }, 5, [0]), undefined);
  });

  it("are of files that there are, each in one class", () => {
    const files = rotating.flatMap(({ cuts }) => cuts.map(({ file }) => file));
    assert.equal(new Set(files).size, files.length);
    const floor = readFloor();
    for (const file of files) {
      assert.ok(
        existsSync(join(repository, compiledOf(file))),
        `${file} is gone: tools/dev/suite/tiers.mjs`,
      );
      assert.ok(floor[file] !== undefined, `${file} is not in test/floor.json`);
    }
  });

  it("are said in docs/development.md, with the tier that has them", () => {
    const table = tierTable();
    const text = readFileSync(page, "utf8");
    const inPage = /\| class .*(?:\n\|.*)+/;
    if (process.env["UPDATE_GOLDEN"] === "1")
      writeFileSync(
        page,
        text.replace(inPage, () => table),
      );
    assert.equal(inPage.exec(readFileSync(page, "utf8"))?.[0], table);
  });

  it("are named in lines where a run did not have them", () => {
    const aws = "test/chaos/aws/aws-chaos.int.test.ts";
    const watch = "test/chaos/watch/watch-chaos.int.test.ts";
    const floor = { [aws]: { tests: 3 }, [watch]: { tests: 2 }, other: { tests: 9 } };
    const lines = notRun(floor, { [aws]: { tests: 1, registered: 4 }, [watch]: { tests: 2 } });
    assert.deepEqual(lines, ["AWS chaos: 3 of 4 tests; npm run test:all runs them"]);
    assert.deepEqual(notRun(floor, {}), [
      "watch chaos: 2 of 2 tests; npm run test:all runs them",
      "AWS chaos: 3 of 3 tests; npm run test:all runs them",
    ]);
  });
});

describe("a mocha that has some parts", () => {
  const rootOf = (file: string, count: number): Mocha.Suite => {
    const root = new Mocha().suite;
    const outer = Mocha.Suite.create(root, "outer");
    const inner = Mocha.Suite.create(outer, "inner");
    for (let at = 0; at < count; at += 1) {
      const test = new Mocha.Test(`test ${at}`, () => {});
      test.file = join(repository, compiledOf(file));
      (at < 2 ? outer : inner).addTest(test);
    }
    return root;
  };
  const titlesIn = (suite: Mocha.Suite): string[] => [
    ...suite.tests.map(({ title }) => title),
    ...suite.suites.flatMap(titlesIn),
  ];

  it("keeps theirs, in all suites of the file, and counts all", () => {
    const suite = rootOf(killed, 7);
    const { first } = cutOf(killed) ?? {};
    assert.equal(first, 2);
    assert.deepEqual(Object.fromEntries(keepParts(suite, [2])), {
      [killed]: { registered: 7, parts: [2, 1, 2, 2], due: 2 },
    });
    assert.deepEqual(titlesIn(suite), ["test 0", "test 4"]);
  });

  it("has each test in one part", () => {
    const kept = allParts.flatMap((part) => {
      const suite = rootOf(killed, 7);
      keepParts(suite, [part]);
      return titlesIn(suite);
    });
    assert.deepEqual(kept.sort(), titlesIn(rootOf(killed, 7)));
  });

  it("keeps all of other files", () => {
    const suite = rootOf("test/api/x.test.ts", 4);
    assert.equal(keepParts(suite, [0]).size, 0);
    assert.equal(titlesIn(suite).length, 4);
  });

  it("takes parts that there are, and nothing else", () => {
    assert.equal(partsFrom(undefined), undefined);
    assert.equal(partsFrom(""), undefined);
    assert.deepEqual(partsFrom("0,2"), [0, 2]);
    for (const text of ["4", "-1", "a", "1;2"]) {
      assert.throws(() => partsFrom(text), /CAPSTAN_TEST_PARTS must be of 0 to 3/);
    }
  });
});

describe("the parts that a run has", () => {
  const commits = ["00000002", "00000001", "00000000"];
  const past = (...parts: (number | "failed")[]): PastRun[] =>
    parts.flatMap((part, at) => {
      if (part === "failed") return [];
      return [{ commit: "00000001", parts: [part], passed: parts[at + 1] !== "failed" }];
    });
  const known = (runs: readonly PastRun[], about: Partial<Known> = {}): Known => ({
    commits,
    runs,
    ...about,
  });

  const cases: { name: string; given: Known; want: readonly number[] }[] = [
    { name: "are drawn by the commit where no run is known", given: known([]), want: [2] },
    {
      name: "are drawn by another commit otherwise",
      given: known([], { commits: ["00000007"] }),
      want: [3],
    },
    { name: "are drawn by the seed without git", given: known([], { commits: [] }), want: [1] },
    { name: "are not those of the run before", given: known(past(2)), want: [3] },
    { name: "are the one that has waited longest", given: known(past(1, 0, 2, 3)), want: [1] },
    {
      name: "are drawn anew after a run of all",
      given: known([{ ...past(0)[0]!, parts: allParts }]),
      want: [2],
    },
    { name: "are those that failed once more", given: known(past(0, 1, "failed")), want: [1] },
    {
      name: "are not drawn again once they have passed",
      given: known(past(1, "failed", 1, 0, 2)),
      want: [3],
    },
    {
      name: "are two where one would wait too long otherwise",
      given: known(past(0, 1, 1)),
      want: [2, 3],
    },
    {
      name: "do not depend on runs of other branches",
      given: known(past(0, 1, 3).map((one) => ({ ...one, commit: "ffffffff" }))),
      want: [2],
    },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => assert.deepEqual(drawnParts(given, 5), want));
  }

  it("are all within any four runs, whatever the commits are", () => {
    let runs: readonly PastRun[] = [];
    for (let at = 0; at < 40; at += 1) {
      const commit = `${(at * 2_654_435_761) % 4_294_967_296}`.padStart(8, "0").slice(-8);
      const about = known(runs, { commits: [commit, ...runs.map((one) => one.commit)] });
      const parts = drawnParts(about, 0);
      assert.equal(parts.length, 1);
      runs = [...runs, { commit, parts, passed: true }];
      assert.deepEqual(waitedTooLong({ ...about, runs }), []);
      const last = new Set(runs.slice(-4).flatMap((one) => one.parts));
      assert.ok(at < 3 || last.size === 4, JSON.stringify(runs.slice(-4)));
    }
  });

  it("fail a run that leaves one out for the fourth time", () => {
    const fault = /^part 3 of the tests was in none of the last 4 runs: npm run test:all$/;
    const faults = waitedTooLong(known(past(3, 0, 1, 2, 2)));
    assert.equal(faults.length, 1);
    assert.match(faults[0] ?? "", fault);
    assert.match(waitedTooLong(known(past(0, 1, 2, 3, "failed", 0)))[0] ?? "", fault);
    assert.deepEqual(waitedTooLong(known(past(0, 1, 2))), []);
    const runOfAll = { ...past(0)[0]!, parts: allParts };
    assert.deepEqual(waitedTooLong(known([...past(0, 0, 0), runOfAll])), []);
  });
});
