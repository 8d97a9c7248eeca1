import assert from "node:assert/strict";
import fc from "fast-check";
import { isCapstanError } from "../../src/api/error.js";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import { handOverHere } from "../../src/cli/commands/moving.js";
import type { StackState } from "../../src/engine/backend/state.js";
import type { CommandFault } from "../support/faults.js";
import { assertAsyncLaw } from "../support/laws.js";
import { cluster, desiredOf, machine, machineDeployment } from "../support/manifests.js";
import {
  MovingCluster,
  type MovingVerb,
  movingVerbs,
  type VerbOutcome,
} from "../support/moving-cluster.js";

const desired = desiredOf([
  cluster(),
  machine("cp", { controlPlane: "1.34.2" }),
  machine("db"),
  machineDeployment("web", 1),
]);

type Way = "toServer" | "toFiles";

/** A move that is killed, what everybody does then, and the way that is taken in the end. */
interface MovingHistory {
  readonly way: Way;
  /** Whether its hosts are nodes of a cluster of their own. */
  readonly joins?: boolean;
  readonly kill?: CommandFault | undefined;
  readonly verbs: readonly {
    readonly verb: MovingVerb;
    readonly kill?: CommandFault | undefined;
  }[];
  readonly wayOut: Way;
}

/** Everything but what is against the laws stays with the cluster, whose files are removed. */
async function breachesOf(history: MovingHistory, departsLate = false): Promise<string[]> {
  const { joins = false } = history;
  const moving = await MovingCluster.ofFiles(desired, { joins, departsLate });
  try {
    await begin(moving, history);
    for (const { verb, kill } of history.verbs) await moving.run(verb, some(kill));
    await end(moving, history.wayOut);
    return moving.breaches;
  } finally {
    moving.close();
  }
}

async function begin(moving: MovingCluster, { way, kill }: MovingHistory): Promise<void> {
  if (way === "toFiles") {
    done(moving, "toServer", await moving.run("toServer"));
    await moving.run("watch");
  }
  await moving.run(way, some(kill));
}

/** A command ends whatever is under way, at the latest the one that the other names. */
async function end(moving: MovingCluster, wayOut: Way): Promise<void> {
  let outcome = await moving.run(wayOut);
  if (isCapstanError(outcome) && outcome.hint?.includes("--to kubernetes") === true) {
    done(moving, "toServer", await moving.run("toServer"));
    outcome = await moving.run(wayOut);
  }
  done(moving, wayOut, outcome);
  const { world, breaches } = moving;
  await moving.run("watch");
  if (moving.isAlive && moving.owner === "files") {
    if (moving.objects.length > 0) breaches.push(`left there: ${moving.objects.join(", ")}`);
    // Of an interrupted begin an entry may be left, which the next pass clears.
    const { steps } = await world.plan(desired);
    if (steps.length > 0) breaches.push(`a move to files leaves steps: ${steps.length}`);
    await moving.run("destroy");
  } else if (moving.isAlive) {
    const refused = await moving.run("destroy");
    if (!isCapstanError(refused)) breaches.push("two owners could destroy it");
    await moving.run("deleteCluster");
    await moving.run("watch");
  }
  if (!moving.isAlive) {
    await moving.run("unpause");
    await moving.run("watch");
  }
}

function done(moving: MovingCluster, verb: string, outcome: VerbOutcome): void {
  if (outcome === "done") return;
  const why = isCapstanError(outcome) ? `${outcome.message}; ${outcome.hint ?? ""}` : outcome;
  moving.breaches.push(`${verb} does not end it: ${why}`);
}

function some(kill: CommandFault | undefined): readonly CommandFault[] {
  return kill === undefined ? [] : [kill];
}

const kills: fc.Arbitrary<CommandFault> = fc.record({
  at: fc.constantFrom("write" as const, "show" as const),
  number: fc.nat({ max: 20 }),
  what: fc.constantFrom("killBefore" as const, "killAfter" as const),
});
const ways = fc.constantFrom("toServer" as const, "toFiles" as const);
const histories: fc.Arbitrary<MovingHistory> = fc.record({
  way: ways,
  joins: fc.boolean(),
  kill: fc.option(kills, { nil: undefined }),
  verbs: fc.array(
    fc.record({
      verb: fc.constantFrom(...movingVerbs),
      kill: fc.option(kills, { nil: undefined }),
    }),
    { maxLength: 5 },
  ),
  wayOut: ways,
});

/** What ended badly where the records did not tell of objects that were still to go, or had begun to come. */
const telling: readonly MovingVerb[] = [
  "destroy",
  "unpause",
  "deleteCluster",
  "up",
  "toFiles",
  "toServer",
];

/** Between which writes a move in this direction can be killed. */
async function killPoints(way: Way): Promise<CommandFault[]> {
  const moving = await MovingCluster.ofFiles(desired);
  await begin(moving, { way, verbs: [], wayOut: way });
  moving.close();
  const { write, show } = moving.lastMove.reached;
  return (["write", "show"] as const).flatMap((at) =>
    [...Array(at === "write" ? write : show).keys()].map(
      (number) => ({ at, number, what: "killBefore" }) as const,
    ),
  );
}

describe("a move that is killed", () => {
  for (const way of ["toServer", "toFiles"] as const) {
    it(`${way}: at every write, then whatever anybody does: one owner, and a command that ends it`, async () => {
      for (const [place, kill] of (await killPoints(way)).entries()) {
        for (const [index, verb] of telling.entries()) {
          // Each verb meets both ways, at one place or the next.
          const wayOut = (place + index) % 2 === 0 ? "toServer" : "toFiles";
          const history = {
            way,
            joins: place % 2 === 0,
            kill,
            verbs: [{ verb }, { verb: "watch" as const }],
            wayOut,
          } as const;
          assert.deepEqual(await breachesOf(history), [], JSON.stringify(history));
        }
      }
    }).timeout(240_000);
  }

  it("whatever happens to it then, in any order", async () => {
    const property = fc.asyncProperty(histories, async (history) => {
      assert.deepEqual(await breachesOf(history), []);
    });
    await assertAsyncLaw(property, 100);
  }).timeout(240_000);

  it("is seen where objects go only after the commit", async () => {
    // The first write is the pause.
    const kill = { at: "show", number: 1, what: "killBefore" } as const;
    const verbs = [{ verb: "destroy" }, { verb: "unpause" }, { verb: "watch" }] as const;
    const history: MovingHistory = { way: "toFiles", kill, verbs, wayOut: "toFiles" };
    assert.deepEqual(await breachesOf(history), []);
    assert.deepEqual(await breachesOf(history, true), [
      "watch has brought a destroyed cluster back",
    ]);
  });

  it("is refused while a hook holds a Machine of a set, unless the template has it, which manifests hold", async () => {
    const hooked = { "pre-terminate.delete.hook.machine.cluster.x-k8s.io/all": "" };
    const member = machine("cp", { controlPlane: "1.34.2" });
    const web = machineDeployment("web", 1);
    const { template } = web["spec"] as { template: { metadata: object } };
    const metadata = { ...template.metadata, annotations: hooked };
    const spec = { ...(web["spec"] as object), template: { ...template, metadata } };
    const moving = await MovingCluster.ofFiles(desiredOf([cluster(), member, { ...web, spec }]));
    try {
      done(moving, "toServer", await moving.run("toServer"));
      await moving.run("watch");
      const { server: api } = moving.controller;
      const [own] = api
        .all()
        .filter(({ kind, metadata }) => kind === "Machine" && metadata.name.startsWith("web-"));
      const hook = { "pre-drain.delete.hook.machine.cluster.x-k8s.io/migrate": "backup" };
      const holding = (hooks: Record<string, string>) =>
        api.edit(`Machine ${own!.metadata.name}`, ({ metadata }) => ({
          metadata: { ...metadata, annotations: { ...hooked, ...hooks } },
        }));
      holding(hook);
      const refused = await moving.run("toFiles");
      assert.ok(isCapstanError(refused));
      assert.match(
        refused.message,
        /hooks hold Machine web-\S+ \(pre-drain\S+migrate\), and manifests/,
      );
      assert.equal(moving.owner, "kube");
      holding({});
      const templateBears = async (annotations: Record<string, string>) => {
        api.edit("MachineDeployment web", ({ spec }) => {
          const before = (spec as { template: { metadata: object } }).template;
          const template = { ...before, metadata: { ...before.metadata, annotations } };
          return { spec: { ...(spec as object), template } };
        });
        await moving.run("watch");
      };
      // The set that a controller has made keeps it, and is in no manifest.
      await templateBears({});
      const again = await moving.run("toFiles");
      assert.ok(isCapstanError(again));
      assert.match(again.message, /hooks hold Machine web-\S+ \(pre-terminate\S+all\), and/);
      await templateBears(hooked);
      done(moving, "toFiles", await moving.run("toFiles"));
      assert.deepEqual(moving.breaches, []);
    } finally {
      moving.close();
    }
  });

  it("goes on only with the API server that it is about", () => {
    const stateOf = (to: string, from: string | undefined, number = 2) => {
      const goal = omitUndefined({ kind: "move" as const, to, from });
      const transaction = { number, owner: to, goal };
      return { transaction, revision: { number: 1 } } as unknown as StackState;
    };
    const here = { cluster: "default/prod", server: "3e0f" };
    const elsewhere = { code: "NOT_OWNER", message: /on its way to or from the API server 77aa/ };
    assert.deepEqual(handOverHere(here, stateOf("files", "3e0f")), { to: "files", from: "3e0f" });
    assert.deepEqual(handOverHere(here, stateOf("3e0f", "files")), { to: "3e0f", from: "files" });
    assert.throws(() => handOverHere(here, stateOf("files", "77aa")), elsewhere);
    assert.throws(() => handOverHere(here, stateOf("77aa", "files")), elsewhere);
    // Records of early releases do not tell.
    assert.deepEqual(handOverHere(here, stateOf("files", undefined)), { to: "files" });
    assert.equal(handOverHere(here, stateOf("77aa", "files", 1)), undefined);
  });
});
