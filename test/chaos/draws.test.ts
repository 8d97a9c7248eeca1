import assert from "node:assert/strict";
import { join } from "node:path";
import { repository } from "../scenario/sandbox.js";
import { boundaryText, callBoundaries, writeBoundaries } from "./boundary.js";
import { isMeant } from "./chaos-fault.js";
import { type Job, jobBefore } from "./attempt.js";
import { jobsOf, type Matrix, matrixJobs } from "./jobs.js";
import { operationsOf } from "./operation.js";
import { BadUsage, readOptions } from "./options.js";
import { pickBy, sampleBy, seedOf } from "./random.js";
import { targetsOf, wantedMachines } from "./targets.js";
import { stuckWith } from "./verdict.js";

const ledgerRow = (call: string, name: string | null) => ({
  seq: 1,
  pid: 1,
  call,
  effect: "found",
  fault: null,
  name,
  kind: null,
  id: null,
  cluster: null,
});

describe("a job whose run was over before it came to its boundary", () => {
  const boundary = { side: "before", kind: "call", what: "create", name: "api", nth: 2 } as const;
  const { create: operation } = operationsOf(
    targetsOf(join(repository, "examples/quickstart")),
    "s",
  );
  const job: Job = { aim: { operation, boundary, fault: "tree" }, ways: ["same"] };
  const result = {
    aim: job.aim,
    recovery: "none",
    hit: false,
    seconds: 1,
    place: undefined,
    verdict: stuckWith("it ended before"),
  } as const;

  it("is tried at the one before, as long as there is one, and where nothing else was wrong", () => {
    const before = jobBefore(job, [{ ...result, missed: true }]);
    assert.deepEqual(before?.aim.boundary, { ...boundary, nth: 1 });
    assert.equal(before && jobBefore(before, [{ ...result, missed: true }]), undefined);
    assert.equal(jobBefore(job, [result]), undefined);
  });
});

describe("boundaries", () => {
  it("are the n-th of their kind, on both sides", () => {
    const ledger = [ledgerRow("list", null), ledgerRow("create", "api"), ledgerRow("list", null)];
    assert.deepEqual(callBoundaries(ledger).map(boundaryText), [
      "before list (all) #1",
      "after list (all) #1",
      "before create api #1",
      "after create api #1",
      "before list (all) #2",
      "after list (all) #2",
    ]);
  });

  it("leave out a call that fails by fault, and count it", () => {
    const failed = { ...ledgerRow("create", "api"), effect: "refused: fail" };
    assert.deepEqual(callBoundaries([failed, ledgerRow("create", "api")]).map(boundaryText), [
      "before create api #2",
      "after create api #2",
    ]);
  });

  it("leave out what the cloud does by itself", () => {
    assert.deepEqual(callBoundaries([ledgerRow("boot", "web-0")]), []);
  });

  it("leave out copies that are never read again", () => {
    const log = [
      { what: "put", name: ".pulumi/stacks/capstan/a.json" },
      { what: "copy", name: ".pulumi/stacks/capstan/a.json.bak" },
      { what: "put", name: ".pulumi/history/capstan/a/a-*.history.json" },
    ] as const;
    assert.deepEqual(writeBoundaries(log).map(boundaryText), [
      "before put .pulumi/stacks/capstan/a.json #1",
      "after put .pulumi/stacks/capstan/a.json #1",
    ]);
  });
});

describe("targets", () => {
  const targets = targetsOf(join(repository, "examples", "quickstart"));

  it("differ from the first in what they are named after", () => {
    const counts = Object.entries(targets).map(([name, objects]) => {
      const machines = wantedMachines(objects as typeof targets.first);
      return [name, machines.reduce((sum, { replicas = 1 }) => sum + replicas, 0)];
    });
    assert.deepEqual(Object.fromEntries(counts), {
      first: 3,
      updated: 3,
      scaled: 4,
      shrunk: 2,
      replaced: 3,
      third: 4,
      grown: 4,
      extended: 4,
      extendedFurther: 5,
      seedling: 2,
      rolled: 3,
      reseated: 3,
      upgraded: 3,
      upgradedFurther: 4,
    });
    const fields = (objects: typeof targets.first) => wantedMachines(objects).at(-1)?.fields;
    assert.deepEqual(fields(targets.updated), {
      ...fields(targets.first),
      kubelet: "1.34.3",
      tags: { chaos: "updated" },
    });
    assert.deepEqual(fields(targets.replaced), { ...fields(targets.first), size: "large" });
    assert.deepEqual(fields(targets.rolled), { ...fields(targets.first), size: "large" });
    assert.deepEqual(fields(targets.reseated), fields(targets.first));
    assert.deepEqual(fields(targets.upgraded), { ...fields(targets.first), kubelet: "1.35.0" });
  });
});

describe("what is drawn", () => {
  const texts = Array.from({ length: 50 }, (_, index) => `point ${index}`);
  const sample = (seed: number, count: number) => sampleBy(seed, count, texts, (one) => one);

  it("is the same for the same seed, and other for another", () => {
    assert.deepEqual(sample(1, 10), sample(1, 10));
    assert.notDeepEqual(sample(1, 10), sample(2, 10));
    assert.equal(pickBy(3, "a")(texts), pickBy(3, "a")(texts));
  });

  it("is as many as asked for, or all", () => {
    assert.equal(sample(1, 10).length, 10);
    assert.equal(sample(1, 0).length, 0);
    assert.deepEqual(sample(1, 99), texts);
    assert.equal(pickBy(1, "a")([]), undefined);
  });
});

describe("the scenarios of a run", () => {
  it("are one where one is named, or where operations are all of one kind", () => {
    const scenarios = (...args: string[]) => readOptions(args)?.parts.map((part) => part.scenario);
    assert.deepEqual(scenarios("--scenario", "x"), ["x"]);
    assert.deepEqual(scenarios("--operation", "roll"), ["test/chaos/scenarios/rollouts"]);
    assert.deepEqual(scenarios("--operation", "scale"), ["examples/quickstart"]);
  });
});

describe("the jobs of a matrix", () => {
  const targets = targetsOf(join(repository, "examples", "quickstart"));
  const { create, destroy } = operationsOf(targets, "default.quickstart");
  const boundaries = callBoundaries([ledgerRow("list", null), ledgerRow("create", "api")]);
  const matrix: Matrix = {
    faults: ["tree"],
    recoveries: undefined,
    seed: 1,
    at: undefined,
    points: undefined,
    double: 0,
  };

  it("try every recovery after a change, and one elsewhere", () => {
    const jobs = jobsOf([{ operation: create, boundaries, problems: [] }], matrix);
    assert.deepEqual(
      jobs.map(({ ways }) => ways.length),
      [1, 1, 4, 4],
    );
  });

  it("ask to take back what is destroyed", () => {
    const jobs = jobsOf([{ operation: destroy, boundaries, problems: [] }], matrix);
    assert.ok(jobs.some(({ ways }) => ways.includes("rollback")));
  });

  it("give what lives on a run for each recovery", () => {
    const jobs = jobsOf([{ operation: create, boundaries, problems: [] }], {
      ...matrix,
      faults: ["cli"],
      recoveries: ["same", "old"],
      at: "after create",
    });
    assert.deepEqual(
      jobs.map(({ ways }) => ways),
      [["same"], ["old"]],
    );
  });

  it("inject a fault only where it has a meaning", () => {
    const meant = boundaries.filter((one) => isMeant("quota", one)).map(boundaryText);
    assert.deepEqual(meant, ["before create api #1"]);
  });
});

describe("the points of the matrix", () => {
  const targets = targetsOf(join(repository, "examples", "quickstart"));
  const operations = Object.values(operationsOf(targets, "default.quickstart"));
  const boundaries = callBoundaries([
    ledgerRow("list", null),
    ledgerRow("create", "api"),
    ledgerRow("update", "api"),
  ]);
  const recordings = operations.map((operation) => ({ operation, boundaries, problems: [] }));
  const draw = (seed: number, points?: number) =>
    matrixJobs(recordings, {
      faults: ["tree"],
      recoveries: undefined,
      seed,
      points,
      at: undefined,
    });
  const pairOf = ({ aim, ways }: Job) => `${aim.operation.name}, then ${ways.join()}`;
  const textOf = (job: Job) => `${pairOf(job)}: ${boundaryText(job.aim.boundary)}`;
  const pairs = new Set(draw(1).map(pairOf));

  it("are all pairs of verbs at all boundaries", () => {
    assert.equal(draw(1).length, pairs.size * boundaries.length);
    assert.equal(new Set(draw(1).map(textOf)).size, draw(1).length);
    assert.ok(pairs.has("destroy, then rollback") && pairs.has("adoptChanged, then up"));
    assert.ok(!pairs.has("destroy, then destroy"), "that is the same again");
  });

  it("are each pair once before any is there twice", () => {
    const jobs = draw(1, pairs.size);
    assert.equal(new Set(jobs.map(pairOf)).size, pairs.size);
    assert.ok(pairs.size <= 200, "a third of 600 points takes every pair");
  });

  it("begin with calls that change something", () => {
    assert.ok(draw(1, pairs.size).every(({ aim }) => aim.boundary.what !== "list"));
  });

  it("are the same for the same seed, and other for another", () => {
    assert.deepEqual(draw(1, 50).map(textOf), draw(1, 50).map(textOf));
    assert.notDeepEqual(draw(1, 50).map(textOf), draw(2, 50).map(textOf));
  });
});

describe("the options of chaos", () => {
  it("have defaults", () => {
    const options = readOptions([]);
    const operations = options?.parts.map((part) => part.operations.join());
    assert.deepEqual(operations, [
      "create,update,scale,shrink,replace,destroy,rollback,rollbackTo,failing,stillborn,cornered,adopt,adoptChanged,adoptFailing",
      "roll,members,upgrade",
    ]);
    assert.deepEqual(
      options?.parts.map(({ points }) => points),
      [undefined, 60],
    );
    assert.deepEqual(options?.faults, ["tree"]);
  });

  it("share the points of a matrix among its scenarios", () => {
    const parts = readOptions(["--matrix", "--points", "sample=600"])?.parts ?? [];
    assert.deepEqual(
      parts.map(({ points }) => points),
      [200, 200, 200],
    );
    assert.ok(parts.every(({ operations }) => operations.includes("plain")));
  });

  it("read lists and samples", () => {
    const args = ["--points", "sample=5", "--kills", "tree,fail", "--recoveries", "old"];
    const options = readOptions(args);
    assert.deepEqual(
      options?.parts.map(({ points }) => points),
      [5, 5],
    );
    assert.equal(options?.faults.length, 6);
    assert.deepEqual(options?.recoveries, ["old"]);
  });

  it("leave requests for records alone to the local cloud", () => {
    const isForget = (...args: string[]) => readOptions(args)?.recoveries?.includes("forget");
    assert.equal(isForget("--matrix"), true);
    assert.equal(isForget("--matrix", "--provider", "aws"), false);
  });

  for (const args of [
    ["--points", "some"],
    ["--kills", "axe"],
    ["--unknown"],
    ["--seed", "x"],
    ["--provider", "aws", "--recoveries", "import"],
  ]) {
    it(`refuse ${args.join(" ")}`, () => assert.throws(() => readOptions(args), BadUsage));
  }
});

describe("the seed of a sample", () => {
  const night = Date.parse("2026-11-24T23:59:59Z");
  const cases = [
    { name: "is the day", env: {}, want: 20_261_124 },
    { name: "is what the suite is drawn by", env: { CAPSTAN_SEED: "-7" }, want: -7 },
    { name: "is its own", env: { CAPSTAN_SEED: "-7", CHAOS_SEED: "8" }, want: 8 },
  ];
  for (const { name, env, want } of cases) {
    it(name, () => assert.equal(seedOf(env, night), want));
  }

  it("is a number", () => {
    assert.throws(() => seedOf({ CHAOS_SEED: "today" }, night), /this one is today/);
  });
});
