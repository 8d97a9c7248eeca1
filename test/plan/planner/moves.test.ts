import assert from "node:assert/strict";
import { isCapstanError } from "../../../src/api/error.js";
import { planSummary, planTree, summaryOf, verbOf } from "../../../src/plan/changes/tree.js";
import type { Plan } from "../../../src/plan/plan.js";
import type { OwnerMove } from "../../../src/sets/moves.js";
import { type CommandOutcome, FakeEngine, outcomeText } from "../../support/fake-engine.js";
import {
  asking,
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../../support/manifests.js";

const cp = machine("cp", { controlPlane: "1.34.2" });

function wanted(...objects: Manifest[]) {
  return desiredOf([cluster(), cp, ...objects]);
}

function running(...objects: Manifest[]): Promise<FakeEngine> {
  return FakeEngine.running(wanted(...objects));
}

/** "MachineDeployment/workers": as people write it. */
function named(text: string): OwnerMove["from"] {
  const [kind = "", name = ""] = text.split("/");
  return { kind: kind as OwnerMove["from"]["kind"], name };
}

function move(from: string, to: string): OwnerMove {
  return { from: named(from), to: named(to) };
}

const renamed = [move("MachineDeployment/workers", "MachineDeployment/general")];

function stepsOf({ steps }: Plan): string[] {
  return steps.map(({ kind, key }) => `${kind} ${withoutHash(key)}`);
}

function withoutHash(text: string): string {
  return text.replace(/-[0-9a-f]{8}\b/g, "-#");
}

/** "workers-#-0 of general-#, 0": each worker of a plan's target. */
function ownersIn({ target }: Plan): string[] {
  return target.machines.flatMap(({ name, owner }) =>
    owner === undefined
      ? []
      : [
          withoutHash(
            `${name} of ${owner.machineDeployment ?? "set"}/${owner.machineSet} ${owner.ordinal}`,
          ),
        ],
  );
}

function mustBeDone(outcome: CommandOutcome): void {
  assert.equal(outcome.kind, "done", outcomeText(outcome));
}

function idsOf(engine: FakeEngine): string[] {
  return engine.hosts().map(({ id }) => id);
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (isCapstanError(error)) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "";
}

describe("a MachineDeployment that is renamed", () => {
  it("would be made anew without a move", async () => {
    const engine = await running(machineDeployment("workers", 3));
    const plan = await engine.plan(wanted(machineDeployment("general", 3)));
    assert.equal(plan.steps.filter(({ kind }) => kind === "create").length, 3);
  });

  it("keeps machines and hosts: nothing is to be done but to record it", async () => {
    const engine = await running(machineDeployment("workers", 3));
    const plan = await engine.plan(wanted(machineDeployment("general", 3)), renamed);
    assert.deepEqual(stepsOf(plan), []);
    assert.equal(plan.empty, false);
    assert.deepEqual(ownersIn(plan), [
      "workers-#-0 of general/general-# 0",
      "workers-#-1 of general/general-# 1",
      "workers-#-2 of general/general-# 2",
    ]);
  });

  it("is shown as what moves, and from where", async () => {
    const engine = await running(machineDeployment("workers", 2));
    const plan = await engine.plan(wanted(machineDeployment("general", 2)), renamed);
    assert.deepEqual(
      planTree(plan)
        .filter(({ kind }) => kind === "move" || kind === "group")
        .map(({ label, kind, detail }) =>
          withoutHash([label, verbOf(kind), detail].filter((one) => one !== "").join(" | ")),
        ),
      [
        "Cluster prod",
        "MachineDeployment general",
        "Machine workers-#-0 | > move | from MachineDeployment workers",
        "Machine workers-#-1 | > move | from MachineDeployment workers",
      ],
    );
    assert.equal(planSummary(plan), "Plan: 2 to move; no resource changes");
    assert.deepEqual(summaryOf(plan).lines.map(withoutHash), [
      "> move Machine workers-#-0: from MachineDeployment workers",
      "> move Machine workers-#-1: from MachineDeployment workers",
    ]);
  });

  it("changes nothing in the cloud, and the next plan is empty", async () => {
    const engine = await running(machineDeployment("workers", 3));
    const [before, calls] = [idsOf(engine), engine.calls.length];
    const objects = wanted(machineDeployment("general", 3));
    mustBeDone(await engine.move(objects, renamed));
    assert.deepEqual([idsOf(engine), engine.calls.length], [before, calls]);
    assert.equal((await engine.plan(objects)).empty, true);
  });

  it("asked for again changes nothing", async () => {
    const engine = await running(machineDeployment("workers", 3));
    const objects = wanted(machineDeployment("general", 3));
    mustBeDone(await engine.move(objects, renamed));
    assert.equal((await engine.plan(objects, renamed)).empty, true);
  });

  it("follows what changes in place besides", async () => {
    const engine = await running(machineDeployment("workers", 2));
    const objects = wanted(machineDeployment("general", 2, { tags: { pool: "general" } }));
    const plan = await engine.plan(objects, renamed);
    assert.deepEqual(stepsOf(plan), [
      "update LocalHost/workers-#-0-#-1",
      "update LocalHost/workers-#-1-#-1",
    ]);
    assert.match(planTree(plan).at(-1)?.detail ?? "", /tags .*from MachineDeployment workers/);
    mustBeDone(await engine.move(objects, renamed));
    assert.equal((await engine.plan(objects)).empty, true);
  });

  it("is rolled out within the bounds of its new name where its template needs new hosts", async () => {
    const engine = await running(machineDeployment("workers", 3));
    const objects = wanted(
      machineDeployment("general", 3, { size: "large" }, { maxSurge: 1, maxUnavailable: 0 }),
    );
    const plan = await engine.plan(objects, renamed);
    assert.equal(plan.machines.filter(({ kind }) => kind === "replace").length, 3);
    assert.ok(plan.waves.every(({ keys }) => keys.length <= 2));
    mustBeDone(await engine.move(objects, renamed));
    assert.deepEqual(engine.cloud.rollouts.violations, []);
    assert.equal((await engine.plan(objects)).empty, true);
  });

  it("gives up what is one too many, as its set does, and shows it", async () => {
    const engine = await running(machineDeployment("workers", 3));
    const plan = await engine.plan(wanted(machineDeployment("general", 2)), renamed);
    assert.deepEqual(stepsOf(plan), ["delete LocalHost/workers-#-2-#-1"]);
  });

  it("gives new machines its own name, and its old name to nobody twice", async () => {
    const engine = await running(machineDeployment("workers", 2));
    mustBeDone(await engine.move(wanted(machineDeployment("general", 2)), renamed));
    const both = wanted(machineDeployment("general", 3), machineDeployment("workers", 1));
    const plan = await engine.plan(both);
    assert.deepEqual(ownersIn(plan), [
      "general-#-2 of general/general-# 2",
      "workers-#-0 of general/general-# 0",
      "workers-#-1 of general/general-# 1",
      "workers-#-2 of workers/workers-# 2",
    ]);
    mustBeDone(await engine.up(both));
    assert.equal((await engine.plan(both)).empty, true);
  });

  it("is taken back by a rollback, without a new host", async () => {
    const engine = await running(machineDeployment("workers", 2));
    const before = idsOf(engine);
    mustBeDone(await engine.move(wanted(machineDeployment("general", 2)), renamed));
    mustBeDone(await engine.rollback());
    assert.deepEqual(idsOf(engine), before);
    assert.equal((await engine.plan(wanted(machineDeployment("workers", 2)))).empty, true);
  });
});

describe("moves between pools", () => {
  const kill = [{ at: "call", number: 1, what: "killAfter" }] as const;

  it("that are killed leave to the old manifests what was theirs", async () => {
    const old = wanted(machineDeployment("workers", 2));
    const engine = await FakeEngine.running(old);
    const before = idsOf(engine);
    const more = wanted(machineDeployment("general", 3, { tags: { pool: "general" } }));
    await engine.move(more, renamed, kill);
    mustBeDone(await engine.up(old));
    assert.deepEqual(idsOf(engine), before);
    assert.equal((await engine.plan(old)).empty, true);
  });

  it("that are killed leave to the old manifests a machine between two pools", async () => {
    const pools = (workers: number, general: number) =>
      wanted(
        machineDeployment("workers", workers, { tags: { size: String(workers) } }),
        machineDeployment("general", general),
      );
    const engine = await FakeEngine.running(pools(2, 1));
    const before = idsOf(engine);
    const name = engine.prior.transaction?.target.machines.at(-1)?.name ?? "";
    const one = [move(`Machine/${name}`, "MachineDeployment/general")];
    await engine.move(pools(1, 2), one, kill);
    mustBeDone(await engine.up(pools(2, 1)));
    assert.deepEqual(idsOf(engine), before);
  });

  it("alone are what a rollback takes back, and no revision more", async () => {
    const pools = wanted(machineDeployment("a", 2), machineDeployment("b", 2));
    const engine = await running(machineDeployment("a", 1));
    await engine.settle(pools);
    const before = idsOf(engine);
    const [a, b] = ["MachineDeployment/a", "MachineDeployment/b"];
    mustBeDone(await engine.move(pools, [move(a, b), move(b, a)]));
    mustBeDone(await engine.rollback());
    assert.deepEqual(idsOf(engine), before);
  });

  it("made again for other objects are looked at again", async () => {
    const engine = await running(machineDeployment("workers", 2));
    mustBeDone(await engine.move(wanted(machineDeployment("general", 2)), renamed));
    const old = wanted(machineDeployment("workers", 2));
    const outcome = await engine.move(old, renamed);
    assert.match(outcomeText(outcome), /hold no MachineDeployment general/);
  });

  it("take one machine along, and its old pool shrinks by it", async () => {
    const engine = await running(machineDeployment("workers", 3), machineDeployment("general", 2));
    const name = engine.prior.transaction?.target.machines.find(
      ({ owner }) => owner?.machineDeployment === "workers" && owner.ordinal === 1,
    )?.name;
    const before = idsOf(engine);
    const objects = wanted(machineDeployment("workers", 2), machineDeployment("general", 3));
    const moves = [move(`Machine/${name ?? ""}`, "MachineDeployment/general")];
    const plan = await engine.plan(objects, moves);
    assert.deepEqual(stepsOf(plan), []);
    assert.deepEqual(ownersIn(plan), [
      "general-#-0 of general/general-# 0",
      "general-#-1 of general/general-# 1",
      "workers-#-0 of workers/workers-# 0",
      "workers-#-1 of general/general-# 2",
      "workers-#-2 of workers/workers-# 2",
    ]);
    mustBeDone(await engine.move(objects, moves));
    assert.deepEqual(idsOf(engine), before);
    assert.equal((await engine.plan(objects)).empty, true);
  });

  it("swap two deployments", async () => {
    const engine = await running(
      machineDeployment("a", 1),
      machineDeployment("b", 2, { size: "large" }),
    );
    const moves = [
      move("MachineDeployment/a", "MachineDeployment/b"),
      move("MachineDeployment/b", "MachineDeployment/a"),
    ];
    const objects = wanted(machineDeployment("b", 1), machineDeployment("a", 2, { size: "large" }));
    assert.deepEqual(stepsOf(await engine.plan(objects, moves)), []);
  });

  it("go from a set and from a Machine of its own to a deployment, and back to a set", async () => {
    const engine = await running(machineSet("db", 2), machine("lone"));
    const objects = wanted(machineDeployment("pool", 3));
    const moves = [
      move("MachineSet/db", "MachineDeployment/pool"),
      move("Machine/lone", "MachineDeployment/pool"),
    ];
    assert.deepEqual(stepsOf(await engine.plan(objects, moves)), []);
    mustBeDone(await engine.move(objects, moves));
    const back = [move("MachineDeployment/pool", "MachineSet/db")];
    assert.deepEqual(stepsOf(await engine.plan(wanted(machineSet("db", 3)), back)), []);
  });

  it("bring what cannot follow the template as a set of its own: only it is replaced", async () => {
    const engine = await running(
      machineDeployment("workers", 1, { size: "large" }),
      machineDeployment("general", 2),
    );
    const objects = wanted(machineDeployment("general", 3));
    const plan = await engine.plan(objects, renamed);
    assert.deepEqual(
      plan.machines.filter(({ kind }) => kind !== "same").map(({ kind }) => kind),
      ["replace"],
    );
  });

  it("leave alone what a policy forbids to replace", async () => {
    const engine = await running(machineDeployment("workers", 1));
    const objects = wanted(
      asking("inPlaceOnly", machineDeployment("general", 1, { size: "large" })),
    );
    assert.match(await refusalOf(engine.plan(objects, renamed)), /^UNSUPPORTED_CHANGE/);
  });

  it("are refused for what is there already, and for what is gone", async () => {
    const engine = await running(machineDeployment("workers", 2));
    const name = engine.prior.transaction?.target.machines.at(-1)?.name ?? "";
    const workers = move(`Machine/${name}`, "MachineDeployment/workers");
    const same = wanted(machineDeployment("workers", 2));
    assert.match(await refusalOf(engine.plan(same, [workers])), /it is there already$/);
    const objects = wanted(machineDeployment("general", 2));
    await engine.settle(objects);
    assert.match(await refusalOf(engine.plan(objects, renamed)), /workers is recorded$/);
  });

  it("are refused all at once, with their reasons", async () => {
    const engine = await running(machineDeployment("workers", 2));
    const name = engine.prior.transaction?.target.machines.at(-1)?.name ?? "";
    const objects = wanted(machineDeployment("general", 2));
    const general = "MachineDeployment/general";
    const moves = [
      move("MachineDeployment/none", general),
      move("MachineDeployment/workers", "MachineSet/none"),
      move(`Machine/${name}`, general),
      move("MachineDeployment/workers", "Machine/cp"),
      move(general, general),
      move("Machine/cp", general),
    ];
    assert.deepEqual((await refusalOf(engine.plan(objects, moves))).split("\n").map(withoutHash), [
      "INVALID_INPUT: cannot move MachineDeployment/none -> MachineDeployment/general: no machine of MachineDeployment/none is recorded",
      "cannot move MachineDeployment/workers -> MachineSet/none: the manifests hold no MachineSet none",
      "cannot move Machine/workers-#-1 -> MachineDeployment/general: Machine workers-#-1 is to go to two places",
      "cannot move MachineDeployment/workers -> Machine/cp: a machine keeps its name; it can go to a MachineSet or a MachineDeployment",
      "cannot move MachineDeployment/general -> MachineDeployment/general: it is there already",
      "cannot move Machine/cp -> MachineDeployment/general: the manifests hold Machine cp itself; take it out of them first",
    ]);
  });
});

describe("a move that is killed", () => {
  const objects = wanted(machineDeployment("general", 3, { tags: { pool: "general" } }));

  for (const number of [0, 1, 2, 4, 6, 8]) {
    for (const what of ["killBefore", "killAfter"] as const) {
      it(`${what} write ${number}: once begun, up finishes it and rollback takes it back`, async () => {
        const ways = await Promise.all(
          ["up", "rollback"].map(async (way) => {
            const engine = await running(machineDeployment("workers", 3));
            const before = idsOf(engine);
            const outcome = await engine.move(objects, renamed, [{ at: "write", number, what }]);
            const begun = engine.prior.transaction?.number === 2;
            if (way === "up" && begun) {
              mustBeDone(await engine.up(objects));
              assert.equal((await engine.plan(objects)).empty, true);
            } else if (begun) {
              assert.notEqual((await engine.rollback()).kind, "broke");
              assert.equal(
                (await engine.plan(wanted(machineDeployment("workers", 3)))).empty,
                true,
              );
            }
            assert.deepEqual(idsOf(engine), before);
            assert.deepEqual(engine.cloud.watch.violations, []);
            return outcome.kind;
          }),
        );
        assert.equal(new Set(ways).size, 1);
      });
    }
  }
});
