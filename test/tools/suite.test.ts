import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import Mocha from "mocha";
import { compiledOf, floorOf, sourceOf } from "#suite/files";
import { orderRoot, seedFrom } from "#suite/order";
import { batchesOf } from "#suite/plan";
import { sortByNeeds } from "#suite/needs";
import { lossesOf, slowest, verdictOf, type Outcome, type Report } from "#suite/verdict";
import { workThrough, Workplace } from "#suite/workers";
import { isAlive } from "../scenario/process-tree.js";
import { until } from "../scenario/until.js";

function report(more: Partial<Report> = {}): Report {
  return { passes: 2, failures: 0, pending: 0, files: {}, failureText: "", ...more };
}

function outcome(more: Partial<Outcome> = {}): Outcome {
  return { files: ["test/a.test.ts"], code: 0, isOverdue: false, report: report(), ...more };
}

function died(more: Partial<Outcome> = {}): Outcome {
  const { report: _, ...rest } = outcome(more);
  return rest;
}

describe("the plan of a run of all tests", () => {
  const floorWith = (seconds: Readonly<Record<string, number>>) =>
    Object.fromEntries(
      Object.entries(seconds).map(([file, took]) => [file, { tests: 1, seconds: took }]),
    );

  it("lets a heavy file have a process of its own, the longest first", () => {
    const floor = floorWith({ a: 7, b: 90, c: 20 });
    assert.deepEqual(
      batchesOf(["a", "b", "c"], floor).map(({ files }) => files),
      [["b"], ["c"], ["a"]],
    );
  });

  it("puts light files together, about as much into each process", () => {
    const files = Array.from({ length: 40 }, (_, index) => `file-${index}`);
    const floor = floorWith(Object.fromEntries(files.map((file, at) => [file, (at % 4) + 0.5])));
    const batches = batchesOf(files, floor);
    assert.equal(batches.length, 6);
    for (const { seconds } of batches) assert.ok(seconds > 10 && seconds < 17, String(seconds));
  });

  it("leaves no file out and takes none twice", () => {
    const floor = floorWith({ a: 0, b: 0, c: 4, d: 50, e: 0 });
    const files = ["a", "b", "c", "d", "e", "new"];
    const planned = batchesOf(files, floor).flatMap((batch) => batch.files);
    assert.deepEqual(planned.sort(), files);
  });

  it("starts a file that nothing is known of early", () => {
    const floor = floorWith({ a: 40, b: 90 });
    const [, second] = batchesOf(["a", "b", "new"], floor);
    assert.deepEqual(second?.files, ["new"]);
  });

  it("has nothing to do without files", () => {
    assert.deepEqual(batchesOf([], {}), []);
  });
});

describe("the verdict on one mocha", () => {
  const cases: {
    name: string;
    given: Outcome;
    want: { passed: number; failed: number; fault?: RegExp };
  }[] = [
    { name: "all pass", given: outcome(), want: { passed: 2, failed: 0 } },
    {
      name: "failures count, and are no faults",
      given: outcome({ code: 3, report: report({ failures: 3 }) }),
      want: { passed: 2, failed: 3 },
    },
    {
      name: "a pending test fails",
      given: outcome({ report: report({ pending: 1 }) }),
      want: { passed: 2, failed: 1, fault: /a\.test\.ts: 1 tests are pending/ },
    },
    {
      name: "an end without a report fails",
      given: died({ code: 137 }),
      want: { passed: 0, failed: 1, fault: /a\.test\.ts: mocha ended with 137/ },
    },
    {
      name: "an end without a report fails whatever the exit code",
      given: died(),
      want: { passed: 0, failed: 1, fault: /mocha ended with 0, and its tests had not/ },
    },
    {
      name: "one that had to be killed fails",
      given: died({ code: 137, isOverdue: true }),
      want: { passed: 0, failed: 1, fault: /it took too long/ },
    },
    {
      name: "an exit code without a failing test fails",
      given: outcome({ code: 7 }),
      want: { passed: 2, failed: 1, fault: /ended with 7 without a failing test/ },
    },
    {
      name: "what keeps the process alive fails",
      given: outcome({ report: report({ keptAlive: "TCPServerWrap" }) }),
      want: { passed: 2, failed: 1, fault: /kept the process alive: TCPServerWrap/ },
    },
    {
      name: "a run of nothing fails",
      given: outcome({ report: report({ passes: 0 }) }),
      want: { passed: 0, failed: 1, fault: /no test ran/ },
    },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => {
      const { passed, failed, faults } = verdictOf(given);
      assert.deepEqual({ passed, failed }, { passed: want.passed, failed: want.failed });
      assert.equal(faults.length, want.fault === undefined ? 0 : 1);
      if (want.fault !== undefined) assert.match(faults[0] ?? "", want.fault);
    });
  }
});

describe("the floor of a run of all tests", () => {
  const floor = { "test/a.test.ts": { tests: 2, seconds: 1 } };
  const ran = (tests: number, file = "test/a.test.ts") =>
    outcome({
      files: [file],
      report: report({ files: { [file]: { tests, ms: 10, processorMs: 10 } } }),
    });
  const cases: { name: string; given: readonly Outcome[]; want: readonly RegExp[] }[] = [
    { name: "is reached", given: [ran(2)], want: [] },
    { name: "may be passed", given: [ran(3)], want: [] },
    { name: "misses a lost test", given: [ran(1)], want: [/1 tests ran, 2 have to/] },
    { name: "misses a lost file", given: [], want: [/a\.test\.ts: 0 tests ran, 2 have to/] },
    {
      name: "counts each file alone",
      given: [ran(1), ran(9, "test/b.test.ts")],
      want: [/a\.test\.ts: 1 tests ran/, /b\.test\.ts is not in test\/floor\.json/],
    },
    {
      name: "does not tell again of a mocha that died",
      given: [died()],
      want: [],
    },
    {
      name: "does not know a new file, also when it holds no test",
      given: [ran(2), outcome({ files: ["test/b.test.ts"] })],
      want: [/b\.test\.ts is not in test\/floor\.json/],
    },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => {
      const losses = lossesOf(given, floor);
      assert.equal(losses.length, want.length, losses.join("\n"));
      want.forEach((pattern, index) => assert.match(losses[index] ?? "", pattern));
    });
  }

  it("is written from what was counted, with the seconds that are known", () => {
    const counted = { a: { tests: 3 }, b: { tests: 1 }, c: { tests: 2 } };
    const before = { b: { tests: 7, seconds: 31 }, gone: { tests: 1, seconds: 1 } };
    assert.deepEqual(floorOf(counted, { a: { ms: 1_260 }, gone: { ms: 1 } }, before), {
      a: { tests: 3, seconds: 1.5 },
      b: { tests: 1, seconds: 31 },
      c: { tests: 2 },
    });
  });

  it("keeps what a file needs", () => {
    const before = { a: { tests: 1, needs: "hosts" } };
    assert.deepEqual(floorOf({ a: { tests: 2 } }, {}, before), { a: { tests: 2, needs: "hosts" } });
  });

  it("leaves out the files whose needs are not met here, and says why of each", async () => {
    const a = { tests: 2, needs: "hosts" };
    const b = { tests: 1, needs: "gold" };
    const c = { tests: 3 };
    const asked: string[] = [];
    const lacks = {
      hosts: (): Promise<string> => {
        asked.push("hosts");
        return Promise.resolve("namespaces and mounts need root");
      },
      gold: () => Promise.resolve(undefined),
    };
    assert.deepEqual(await sortByNeeds({ a, b, c, d: a }, lacks, {}), {
      runnable: { b, c },
      leftOut: [
        { file: "a", line: "a (2 tests) needs hosts: namespaces and mounts need root" },
        { file: "d", line: "d (2 tests) needs hosts: namespaces and mounts need root" },
      ],
    });
    assert.deepEqual(asked, ["hosts"]);
    await assert.rejects(sortByNeeds({ a }, {}, {}), /a needs hosts, which is unknown/);
  });

  it("keeps the seconds that are still about right", () => {
    const cases = [
      { known: 30, ms: 50_000, want: 30 },
      { known: 30, ms: 70_000, want: 70 },
      { known: 30, ms: 12_000, want: 12 },
      { known: 0.5, ms: 2_400, want: 0.5 },
      { known: 0.5, ms: 4_000, want: 4 },
    ];
    for (const { known, ms, want } of cases) {
      const floor = floorOf(
        { a: { tests: 1 } },
        { a: { ms } },
        { a: { tests: 1, seconds: known } },
      );
      assert.equal(floor["a"]?.seconds, want, `${known} s, now ${ms} ms`);
    }
  });

  it("shows the slowest files, the slowest first", () => {
    const files = {
      a: { tests: 1, ms: 900, processorMs: 200 },
      b: { tests: 4, ms: 61_000, processorMs: 130_000 },
      c: { tests: 1, ms: 5_000, processorMs: 40 },
    };
    assert.deepEqual(slowest([outcome({ report: report({ files }) })], 2), [
      "   61.0 s   130.0 s  b (4 tests)",
      "    5.0 s     0.0 s  c (1 tests)",
    ]);
  });
});

describe("the names of test files", () => {
  it("lead from sources to what tsc made of them, and back", () => {
    assert.equal(compiledOf("test/api/x.test.ts"), "dist/test/api/x.test.js");
    assert.equal(compiledOf("./test/api/x.test.ts"), "dist/test/api/x.test.js");
    assert.equal(compiledOf("--grep"), "--grep");
    assert.equal(sourceOf("dist/test/api/x.test.js"), "test/api/x.test.ts");
  });
});

describe("the order of tests", () => {
  const rootOf = (files: Readonly<Record<string, number>>): Mocha.Suite => {
    const root = new Mocha().suite;
    for (const [file, count] of Object.entries(files)) {
      const suite = Mocha.Suite.create(root, `suite of ${file}`);
      suite.file = file;
      for (let at = 0; at < count; at += 1) suite.addTest(new Mocha.Test(`test ${at}`, () => {}));
    }
    return root;
  };
  const orderOf = (files: Readonly<Record<string, number>>, seed: number): string[] => {
    const root = rootOf(files);
    orderRoot(root, seed);
    return root.suites.flatMap((suite) => suite.tests.map((test) => `${suite.file} ${test.title}`));
  };

  it("is drawn: two seeds give two", () => {
    assert.notDeepEqual(orderOf({ a: 20 }, 1), orderOf({ a: 20 }, 2));
    assert.notDeepEqual(orderOf({ a: 20 }, 1), orderOf({ a: 20 }, 1).sort());
  });

  it("is the same again for a seed, with other files beside or without", () => {
    const among = orderOf({ c: 5, a: 20, b: 5 }, 7);
    assert.deepEqual(
      among.filter((name) => name.startsWith("a ")),
      orderOf({ a: 20 }, 7),
    );
    assert.deepEqual(orderOf({ b: 5, a: 20, c: 5 }, 7), among);
  });

  it("keeps each file together, and every test", () => {
    const files = orderOf({ a: 3, b: 3, c: 3 }, 11).map((name) => name[0]);
    assert.deepEqual([...new Set(files)].length, 3);
    assert.deepEqual(
      files.filter((file, at) => file !== files[at - 1]),
      [...new Set(files)],
    );
    assert.equal(files.length, 9);
  });

  it("takes a seed as fast-check prints it, and nothing that is none", () => {
    assert.equal(seedFrom("7"), 7);
    assert.equal(seedFrom("-1"), 2 ** 32 - 1);
    assert.throws(() => seedFrom("seven"), /CAPSTAN_SEED must be an integer/);
    assert.throws(() => seedFrom("4294967296"), /CAPSTAN_SEED must be an integer/);
  });
});

describe("workers", () => {
  let place: Workplace;
  beforeEach(() => {
    place = new Workplace();
  });
  afterEach(() => place.close());
  const node = (code: string, deadlineMs = 20_000) =>
    place.run(
      { program: process.execPath, args: ["--eval", code], deadlineMs },
      { cwd: process.cwd(), env: process.env },
    );

  it("take one after another, in the order of the list, never more than they are", async () => {
    const begun: number[] = [];
    let running = 0;
    let most = 0;
    const results = await workThrough([3, 1, 4, 1, 5, 9], 2, async (item) => {
      begun.push(item);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return item * 10;
    });
    assert.deepEqual(begun, [3, 1, 4, 1, 5, 9]);
    assert.deepEqual(results, [30, 10, 40, 10, 50, 90]);
    assert.equal(most, 2);
  });

  it("keep what was written to both outputs, and the exit code", async () => {
    const ended = await node("console.log('out'); console.error('err'); process.exitCode = 3");
    assert.equal(ended.code, 3);
    assert.equal(ended.output, "out\nerr\n");
    assert.equal(ended.isOverdue, false);
  });

  it("have a folder for temporary files each, gone after the job", async () => {
    const code = "fs.writeFileSync(os.tmpdir() + '/file', ''); console.log(os.tmpdir())";
    const folders = await Promise.all([node(code), node(code)]);
    const [one = "", other = ""] = folders.map(({ output }) => output.trim());
    assert.notEqual(one, other);
    assert.equal(dirname(one), dirname(other));
    assert.equal(existsSync(one), false);
    place.close();
    assert.equal(existsSync(dirname(one)), false);
  });

  it("kill what takes too long, and say so", async () => {
    const ended = await node("setInterval(() => {}, 1000)", 200);
    assert.equal(ended.isOverdue, true);
    assert.equal(ended.code, 137);
  });

  it("kill what that has started, too", async () => {
    const started = "child_process.spawn('sleep', ['600'], { detached: true, stdio: 'ignore' })";
    const ended = await node(`console.log(${started}.pid); setInterval(() => {}, 1000)`, 5_000);
    assert.equal(ended.isOverdue, true);
    const pid = Number(ended.output.trim());
    assert.ok(pid > 0, ended.output);
    await until(`${pid} has ended`, () => !isAlive(pid));
  });

  it("do not wait for what a job has left behind, and end it", async () => {
    const left = "child_process.spawn('sleep', ['600'], { stdio: 'inherit' })";
    const ended = await node(`console.log(${left}.pid); process.exit()`);
    const pid = ended.output.trim();
    assert.match(pid, /^\d+$/);
    assert.ok(ended.ms < 45_000, `${ended.ms} ms`);
    await until(`${pid} has ended`, () => !isAlive(Number(pid)));
  });
});
