import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import {
  breachesOf,
  faults,
  type History,
  type HistoryCommand,
  histories,
  type Neighbour,
  waysOut,
} from "../support/histories.js";
import { assertHistoryLaw, timesAsMany } from "../support/laws.js";
import { bootFaults, callFaults, type CommandFault } from "../support/faults.js";
import { plainWorld } from "../support/fake-cloud.js";
import { desiredCluster, smallClusters, type WantedCluster } from "../support/wanted-cluster.js";
import { FakeEngine } from "../support/fake-engine.js";

const file = "test/transaction/atomic.model.test.ts";
const small = { tags: {}, size: "small", controlPlane: "1.34.2" };
const nothingElse = { sets: {}, deployments: {} };
const member: WantedCluster = {
  cluster: { cidr: "10.0.0.0/16" },
  machines: { "cp-0": small },
  ...nothingElse,
};
const withWorker: WantedCluster = {
  ...member,
  machines: { "cp-0": small, "db-0": { diskGib: 20 } },
};
/** Updates one host in place, replaces one, makes two and deletes one. */
const changed: WantedCluster = {
  ...member,
  machines: { "cp-0": { ...small, tags: { team: "a" } } },
  deployments: { web: { replicas: 2, template: { size: "small" } } },
};

const lawful = async (history: History, trace: (line: string) => void) =>
  assert.deepEqual(await breachesOf(history, { trace }), []);

/** Whoever has destroyed a cluster beside an earlier one of its name has to say whose that is. */
function withoutDestroy(history: History): History {
  return {
    ...history,
    commands: history.commands.map((one) =>
      one.verb === "destroy" ? { ...one, verb: "up" } : one,
    ),
    wayOut: history.wayOut === "destroy" ? "same" : history.wayOut,
  };
}

/** The same with another member of the control plane, like the first. */
function withTwin(wanted: WantedCluster): WantedCluster {
  const { "cp-0": first, ...others } = wanted.machines;
  if (first === undefined) return wanted;
  return { ...wanted, machines: { "cp-0": first, "cp-1": first, ...others } };
}

/** In a cloud whose hosts run. What makes a control plane's data or keys unknown has tests of its own. */
function joining(history: History): History {
  return {
    ...history,
    ...(history.before !== undefined && { before: withTwin(history.before) }),
    third: withTwin(history.third),
    traits: { ...history.traits, joins: true },
    commands: history.commands.map((one) => ({
      ...one,
      // Half of the commands that would destroy it give it other keys instead.
      verb: one.verb === "destroy" && one.renames === true ? "rotate" : one.verb,
      wanted: withTwin(one.wanted),
      // Some leave as it is what has failed: the next command finds members that never ran.
      keeps: one.faults.length > 1,
      accidents: one.accidents.filter(({ kind }) => kind === "drifts"),
    })),
  };
}

/** Keys are changed again and again, with little going wrong and something else between. */
const rotations: fc.Arbitrary<History> = fc
  .record({
    history: histories,
    before: smallClusters.filter(({ machines }) => "cp-0" in machines),
    steps: fc.array(
      fc.record({
        verb: fc.constantFrom<HistoryCommand["verb"][]>(
          "rotate",
          "rotate",
          "rotate",
          "up",
          "rollback",
        ),
        wanted: smallClusters.filter(({ machines }) => "cp-0" in machines),
        faults: fc.oneof(
          { weight: 3, arbitrary: fc.constant([]) },
          { weight: 2, arbitrary: fc.array(faults, { minLength: 1, maxLength: 2 }) },
        ),
      }),
      { minLength: 2, maxLength: 7 },
    ),
  })
  .map(({ history, before, steps }) =>
    joining({ ...history, before, commands: steps.map((one) => ({ ...one, accidents: [] })) }),
  );

describe("success or nothing", () => {
  it("law 17: hosts that are there together trust each other, whatever keys they come with", () =>
    assertHistoryLaw({
      law: "rotations",
      file,
      histories: rotations,
      numRuns: 150,
      check: lawful,
    })).timeout(timesAsMany(300_000));

  it("laws 16, 17: one host begins the cluster, all others join it and trust it, and nothing kept for them is left", () =>
    assertHistoryLaw({
      law: "joins",
      file,
      histories: histories.map(joining),
      numRuns: 200,
      check: lawful,
    })).timeout(timesAsMany(300_000));

  it("laws 3, 6, 7, 8 hold whatever goes wrong, however often, and whatever is run then", () =>
    assertHistoryLaw({
      law: "atomic",
      file,
      histories,
      numRuns: 600,
      check: lawful,
    })).timeout(timesAsMany(300_000));

  it("law 5: what others have beside us is never touched", async () => {
    const neighbours = fc.subarray<Neighbour>(["unmarked", "otherCluster", "otherLife"], {
      minLength: 1,
    });
    const beside = fc.tuple(histories, neighbours).map(([history, some]): History => {
      const beside = { before: member, ...history, neighbours: some };
      return some.includes("otherLife") ? withoutDestroy(beside) : beside;
    });
    await assertHistoryLaw({
      law: "neighbours",
      file,
      histories: beside,
      numRuns: 100,
      check: lawful,
    });
  }).timeout(timesAsMany(120_000));

  it("law 5: not even one that carries a token of ours; then nothing is achieved, and that is said", async () => {
    const impostor = histories.map((history): History => ({
      ...history,
      before: member,
      neighbours: ["sameToken"],
    }));
    await assertHistoryLaw({
      law: "impostor",
      file,
      histories: impostor,
      numRuns: 60,
      check: async (history, trace) => {
        const breaches = await breachesOf(history, { trace });
        assert.deepEqual(
          breaches.filter((one) => !one.startsWith("law 3: an undisturbed")),
          [],
        );
      },
    });
  }).timeout(timesAsMany(120_000));
});

describe("one fault at every place there is", () => {
  const scenarios: {
    name: string;
    before?: WantedCluster;
    after: WantedCluster;
    first?: readonly CommandFault[];
  }[] = [
    { name: "a first creation", after: withWorker },
    { name: "a change", before: withWorker, after: changed },
    {
      name: "a rollback",
      before: withWorker,
      after: changed,
      first: [{ at: "boot", number: 1, what: "fails" }],
    },
  ];
  for (const { name, before, after, first = [] } of scenarios) {
    it(`of ${name}`, async () => {
      const places = await placesIn(before, after, first);
      assert.ok(places.length > 60, `${places.length} places are too few to be all`);
      for (const [index, fault] of places.entries()) {
        const breaches = await breachesOf({
          traits: { ...plainWorld, parallel: index % 2 === 0 },
          ...(before !== undefined && { before }),
          commands: [{ verb: "up", wanted: after, accidents: [], faults: [...first, fault] }],
          wayOut: waysOut[index % waysOut.length] ?? "same",
          third: member,
        });
        assert.deepEqual(breaches, [], `${JSON.stringify(fault)}, then ${index % 4}`);
      }
    }).timeout(timesAsMany(120_000));
  }
});

/** Everything that can go wrong once in a command, wherever an otherwise undisturbed one gets to. */
async function placesIn(
  before: WantedCluster | undefined,
  after: WantedCluster,
  first: readonly CommandFault[],
): Promise<CommandFault[]> {
  const engine = new FakeEngine();
  if (before !== undefined) await engine.settle(desiredCluster(before));
  await engine.up(desiredCluster(after), first);
  const { call, write, look, boot } = engine.lastProcess.reached;
  const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);
  return [
    ...numbers(call).flatMap((number) =>
      callFaults.map((what): CommandFault => ({ at: "call", number, what })),
    ),
    ...numbers(write).flatMap((number) =>
      (["killBefore", "killAfter"] as const).map((what): CommandFault => ({
        at: "write",
        number,
        what,
      })),
    ),
    ...numbers(look).map((number): CommandFault => ({ at: "look", number, what: "unknown" })),
    ...numbers(boot).flatMap((number) =>
      bootFaults.map((what): CommandFault => ({ at: "boot", number, what })),
    ),
  ];
}

describe("histories that broke a law once", () => {
  const folder = fileURLToPath(new URL("../../../test/transaction/histories/", import.meta.url));
  for (const file of readdirSync(folder)) {
    it(file.replace(/\.json$/, "").replaceAll("-", " "), async () => {
      const { history } = JSON.parse(readFileSync(`${folder}${file}`, "utf8")) as {
        history: History;
      };
      assert.deepEqual(await breachesOf(history), []);
    });
  }
});
