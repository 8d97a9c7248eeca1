import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import Mocha from "mocha";
import { compiledOf, floorOf, sourceOf, weighed } from "#suite/files";
import { orderRoot, seedFrom } from "#suite/order";
import { Orphans } from "#suite/orphans";
import { batchesOf, nextOf, type Batch, type Servers } from "#suite/plan";
import { sortByNeeds } from "#suite/needs";
import { lossesOf, slowest, verdictOf, type Outcome, type Report } from "#suite/verdict";
import { weightOf } from "#suite/weight";
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
  const all = { parts: [0, 1, 2, 3] };

  it("lets a heavy file have a process of its own, the longest first", () => {
    const floor = floorWith({ a: 7, b: 90, c: 20 });
    assert.deepEqual(
      batchesOf(["a", "b", "c"], floor, all).map(({ files }) => files),
      [["b"], ["c"], ["a"]],
    );
  });

  it("puts light files together, about as much into each process", () => {
    const files = Array.from({ length: 40 }, (_, index) => `file-${index}`);
    const floor = floorWith(Object.fromEntries(files.map((file, at) => [file, (at % 4) + 0.5])));
    const batches = batchesOf(files, floor, all);
    assert.equal(batches.length, 6);
    for (const { seconds } of batches) assert.ok(seconds > 10 && seconds < 17, String(seconds));
  });

  it("leaves no file out and takes none twice", () => {
    const floor = floorWith({ a: 0, b: 0, c: 4, d: 50, e: 0 });
    const files = ["a", "b", "c", "d", "e", "new"];
    const planned = batchesOf(files, floor, all).flatMap((batch) => batch.files);
    assert.deepEqual(planned.sort(), files);
  });

  it("starts a file that nothing is known of early", () => {
    const floor = floorWith({ a: 40, b: 90 });
    const [, second] = batchesOf(["a", "b", "new"], floor, all);
    assert.deepEqual(second?.files, ["new"]);
  });

  it("has nothing to do without files", () => {
    assert.deepEqual(batchesOf([], {}, all), []);
  });

  it("tells how busy a file keeps the processors, and a file with servers from others", () => {
    const floor = {
      waits: { tests: 1, seconds: 100, processorSeconds: 25 },
      light: { tests: 1, seconds: 1, processorSeconds: 1 },
      unknown: { tests: 1 },
    };
    const serversOf = (file: string) => (file === "light" ? ("API servers" as const) : undefined);
    assert.deepEqual(batchesOf(Object.keys(floor), floor, { ...all, serversOf }), [
      { files: ["waits"], seconds: 100, busy: 0.25 },
      { files: ["unknown"], seconds: 60, busy: 1 },
      { files: ["light"], seconds: 1, busy: 1, servers: "API servers" },
    ]);
  });

  it("has of a file that is cut what the parts of the run have, and not a file that they have nothing of", () => {
    const killed = "test/engine/killed.int.test.ts";
    const one = "test/nodes/upgrade.int.test.ts";
    const floor = { [killed]: { tests: 16, seconds: 80 }, [one]: { tests: 1, seconds: 90 } };
    const planned = (parts: readonly number[]) =>
      batchesOf([killed, one], floor, { parts }).map(({ files, seconds }) => [files[0], seconds]);
    assert.deepEqual(planned([0]), [[killed, 20]]);
    assert.deepEqual(planned([2]), [
      [one, 90],
      [killed, 20],
    ]);
    assert.deepEqual(planned([0, 1, 2, 3]), [
      [one, 90],
      [killed, 80],
    ]);
  });
});

describe("what a run begins next", () => {
  const batch = (name: string, seconds: number, busy: number, servers?: Servers): Batch => ({
    files: [name],
    seconds,
    busy,
    ...(servers && { servers }),
  });
  const room = { processors: 2, workers: 8 };
  const next = (waiting: readonly Batch[], running: readonly Batch[], more = {}) =>
    nextOf(waiting, running, { ...room, ...more })?.files[0];

  it("is the longest", () => {
    assert.equal(next([batch("a", 5, 1), batch("b", 9, 1)], []), "b");
  });

  it("is as much as keeps the processors busy, and one that waits for most beside them", () => {
    const running = [batch("r", 9, 1.6), batch("s", 9, 1.6)];
    assert.equal(next([batch("a", 90, 0.9), batch("b", 5, 0.5)], running), "b");
    assert.equal(next([batch("a", 90, 0.9)], running), undefined);
  });

  it("is one at a time of those with kubelets, two of those with an API server", () => {
    const kubelets = batch("k", 9, 0.2, "kubelets");
    const server = batch("s", 9, 0.2, "API servers");
    const light = batch("l", 1, 0.2);
    assert.equal(next([kubelets, light], [kubelets]), "l");
    assert.equal(next([kubelets], [kubelets]), undefined);
    assert.equal(next([server, light], [server]), "s");
    assert.equal(next([server, light], [server, server]), "l");
  });

  it("is one that others have to wait for before a longer one", () => {
    const kubelets = ["k", "l", "m"].map((name) => batch(name, 40, 0.2, "kubelets"));
    assert.equal(next([batch("a", 90, 0.5), ...kubelets], []), "k");
    assert.equal(next([batch("a", 130, 0.5), ...kubelets], []), "a");
  });

  it("is anything where nothing runs, and nothing where all workers do", () => {
    assert.equal(next([batch("a", 9, 16)], []), "a");
    assert.equal(next([batch("a", 9, 0.1)], [batch("b", 9, 0.1)], { workers: 1 }), undefined);
  });
});

describe("the weight of a file", () => {
  const given = { tests: 2, ms: 100_000, processorMs: 20_000 };

  it("is what it would take where nothing runs beside it", () => {
    assert.deepEqual(weightOf(given, 1), { seconds: 100, processorSeconds: 20 });
    assert.deepEqual(weightOf(given, 3), { seconds: 60, processorSeconds: 20 });
  });

  it("is no less than its time where all of it was slow", () => {
    const parallel = { ...given, processorMs: 90_000 };
    assert.deepEqual(weightOf(parallel, 2), { seconds: 50, processorSeconds: 90 });
  });

  it("is that of all parts of a file that is cut as a whole, and of a run of one that is not", () => {
    const cut = { ...given, registered: 8, due: 2 };
    const whole = { ...cut, parts: [2, 2, 2, 2] };
    assert.deepEqual(weightOf(whole, 1), { seconds: 400, processorSeconds: 80 });
    assert.deepEqual(weightOf({ ...cut, parts: [0, 1, 1, 0] }, 1).seconds, 100);
  });
});

describe("what processes cost that outlive their parents", () => {
  const process = (pid: number, parent: number, ms: number) => ({ pid, parent, begun: "1", ms });
  const root = process(10, 2, 500);

  it("is nothing while a parent waits for them", () => {
    const orphans = new Orphans(10, () => false);
    orphans.sample([root, process(11, 10, 40), process(12, 11, 7)]);
    assert.equal(orphans.ms, 0);
  });

  it("is counted once their parent has ended, and stays when they have", () => {
    const orphans = new Orphans(10, () => false);
    orphans.sample([root, process(11, 10, 40), process(12, 11, 7)]);
    orphans.sample([root, process(12, 1, 30), process(13, 12, 5)]);
    assert.equal(orphans.ms, 35);
    orphans.sample([root, process(12, 1, 50)]);
    assert.equal(orphans.ms, 50);
    orphans.sample([root]);
    assert.equal(orphans.ms, 50);
    orphans.sample([root, { ...process(12, 1, 900), begun: "2" }]);
    assert.equal(orphans.ms, 50);
  });

  it("counts one whose parent had ended before it was seen, by what it was started with", () => {
    const orphans = new Orphans(10, (pid) => pid === 12);
    orphans.sample([root, process(12, 1, 30), process(14, 1, 70), process(15, 12, 2)]);
    assert.equal(orphans.ms, 32);
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
      name: "a run of nothing is right where the parts have nothing of its file",
      given: outcome({
        report: report({
          passes: 0,
          files: {
            a: { tests: 0, ms: 0, processorMs: 0, registered: 2, parts: [1, 1, 0, 0], due: 0 },
          },
        }),
      }),
      want: { passed: 0, failed: 0 },
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
  const cut = (tests: number, registered: number, parts: readonly number[], due = 1) => {
    const count = { tests, ms: 10, processorMs: 10, registered, parts, due };
    return outcome({ report: report({ files: { "test/a.test.ts": count } }) });
  };
  const cases: { name: string; given: readonly Outcome[]; want: readonly RegExp[] }[] = [
    { name: "is reached by those of this run's part", given: [cut(1, 2, [1, 1, 0, 0])], want: [] },
    {
      name: "misses a lost test of another part",
      given: [cut(1, 1, [1, 0, 0, 0])],
      want: [/it has 1 tests, 2 have to be there/],
    },
    {
      name: "misses a test of the part that did not run",
      given: [cut(1, 3, [2, 1, 0, 0], 2)],
      want: [/1 tests ran, 2 of its part have to/],
    },
    {
      name: "misses the titles that a part goes by",
      given: [cut(2, 2, [0, 0, 0, 0], 2)],
      want: [/no test of it is in a part/],
    },
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
    const measured = {
      a: { seconds: 1.26, processorSeconds: 0.8 },
      gone: { seconds: 1, processorSeconds: 1 },
    };
    assert.deepEqual(floorOf(counted, measured, before), {
      a: { tests: 3, seconds: 1.5, processorSeconds: 1 },
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

  it("keeps the seconds that are still about right, and those of the processors with them", () => {
    const cases = [
      { known: 30, seconds: 50, want: 30 },
      { known: 30, seconds: 70, want: 70 },
      { known: 30, seconds: 12, want: 12 },
      { known: 0.5, seconds: 2.4, want: 0.5 },
      { known: 0.5, seconds: 4, want: 4 },
    ];
    const floorFrom = (seconds: number, processorSeconds: number, known: number) =>
      floorOf(
        { a: { tests: 1 } },
        { a: { seconds, processorSeconds } },
        { a: { tests: 1, seconds: known, processorSeconds: 10 } },
      )["a"];
    for (const { known, seconds, want } of cases) {
      const floor = floorFrom(seconds, 11, known);
      assert.equal(floor?.seconds, want, `${known} s, now ${seconds} s`);
      assert.equal(floor.processorSeconds, want === known ? 10 : 11);
    }
    assert.deepEqual(floorFrom(31, 40, 30), { tests: 1, seconds: 31, processorSeconds: 40 });
  });

  it("is as heavy as this machine has measured it", () => {
    const floor = { a: { tests: 1, seconds: 3 }, b: { tests: 2, seconds: 5 } };
    const measured = {
      b: { seconds: 7, processorSeconds: 2 },
      c: { seconds: 1, processorSeconds: 1 },
    };
    assert.deepEqual(weighed(floor, measured), {
      a: { tests: 1, seconds: 3 },
      b: { tests: 2, seconds: 7, processorSeconds: 2 },
    });
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

  it("take one after another as they are told to, and give results in the order of the list", async () => {
    const begun: number[] = [];
    let running = 0;
    let most = 0;
    const inTurn = (waiting: readonly number[], begun: readonly number[]) =>
      begun.length < 2 ? waiting[0] : undefined;
    const results = await workThrough([3, 1, 4, 6, 5, 9], inTurn, async (item) => {
      begun.push(item);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return item * 10;
    });
    assert.deepEqual(begun, [3, 1, 4, 6, 5, 9]);
    assert.deepEqual(results, [30, 10, 40, 60, 50, 90]);
    assert.equal(most, 2);
    await assert.rejects(
      workThrough(
        [1],
        () => undefined,
        () => Promise.resolve(),
      ),
      /none of 1 tasks may begin/,
    );
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

  it("tell what an orphan has cost", async () => {
    const busy =
      "const end = Date.now() + 1e6; while (process.cpuUsage().user < 3e5 && Date.now() < end);";
    const then =
      "fs.writeFileSync(process.env.TMPDIR + '/done', ''); setInterval(() => fs.existsSync(process.env.TMPDIR) || process.exit(), 50)";
    const orphan = JSON.stringify(["--eval", `${busy} ${then}`]);
    const parent = `child_process.spawn(process.execPath, ${orphan}, { detached: true, stdio: 'ignore' }); process.exit()`;
    const code =
      `child_process.spawn(process.execPath, ["--eval", ${JSON.stringify(parent)}], { stdio: 'ignore' });` +
      "const timer = setInterval(() => fs.existsSync(os.tmpdir() + '/done') && clearInterval(timer), 20)";
    const ended = await node(code, 120_000);
    assert.equal(ended.code, 0);
    assert.ok(ended.orphansMs >= 250 || process.platform !== "linux", `${ended.orphansMs} ms`);
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
