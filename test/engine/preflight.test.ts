import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import { withPreflight } from "../../src/engine/operations/preflight.js";
import { foreseenFailure } from "../../src/plan/foreseen.js";
import type { PlannedStep, PreflightFinding } from "../../src/provider/port.js";
import { planNotes } from "../../src/plan/changes/notes.js";
import { clusterDocument } from "../../src/report/formats/plan-json.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { cluster, desiredOf, machine } from "../support/manifests.js";

const goal = (size = "small") =>
  desiredOf([cluster(), machine("cp", { controlPlane: "1.34.2" }), machine("web", { size })]);

async function asked(
  engine: FakeEngine,
  size: string,
  answer: (steps: readonly PlannedStep[]) => Promise<readonly PreflightFinding[]>,
) {
  const plan = await engine.plan(goal(size));
  const provider = {
    ...engine.provider,
    preflight: (_ctx: unknown, steps: readonly PlannedStep[]) => answer(steps),
  };
  const context = {
    clock: engine.clock,
    signal: new AbortController().signal,
    assertEngineAlive: () => {},
  };
  return withPreflight(plan, { provider, prior: engine.prior, context });
}

const quota: PreflightFinding = {
  code: "QUOTA",
  message: "8 vCPUs are needed",
  hint: "ask for more",
};
const right: PreflightFinding = { code: "PERMISSION", message: "nobody may make hosts" };

describe("a look before the first change", () => {
  it("is given every step with what there is and what is wanted", async () => {
    const engine = await FakeEngine.running(goal());
    let told: readonly PlannedStep[] = [];
    const plan = await asked(engine, "large", async (steps) => {
      told = steps;
      return [];
    });
    assert.equal(plan.foreseen, undefined);
    const network = engine.alive().find(({ who }) => who.kind === "LocalNetwork")?.id;
    assert.deepEqual(
      told.map(({ does, kind, current, wanted }) => [
        does,
        kind,
        current?.spec["size"],
        wanted?.["size"],
        wanted?.["networkId"],
      ]),
      [
        ["create", "LocalHost", undefined, "large", network],
        ["delete", "LocalHost", "small", undefined, undefined],
      ],
    );
  });

  it("refuses a plan with all that stands against it, and the plan shows that", async () => {
    const engine = await FakeEngine.running(goal());
    const warning: PreflightFinding = {
      code: "QUOTA",
      message: "it is tight",
      severity: "warning",
    };
    const plan = await asked(engine, "large", async () => [quota, right, warning]);
    const failure = foreseenFailure(plan);
    assert.deepEqual(
      [failure?.code, failure?.message, failure?.hint],
      [
        "QUOTA",
        "cannot change default/prod: 8 vCPUs are needed\ncannot change default/prod: nobody may make hosts",
        "ask for more; nothing was changed",
      ],
    );
    assert.deepEqual(planNotes(plan), [
      "Would fail, not to be applied (QUOTA): 8 vCPUs are needed; ask for more",
      "Would fail, not to be applied (PERMISSION): nobody may make hosts",
      "May fail (QUOTA): it is tight",
    ]);
    assert.deepEqual(clusterDocument(plan).foreseen, [quota, right, warning]);
    const before = engine.calls.length;
    const outcome = await engine.apply(plan);
    assert.match(outcomeText(outcome), /^stopped untouched: cannot change default\/prod: 8 vCPUs/);
    assert.equal(engine.calls.length, before);
  });

  it("that fails itself, or only warns, keeps nobody from trying", async () => {
    const engine = await FakeEngine.running(goal());
    const plan = await asked(engine, "large", async () => {
      throw new CapstanError({
        code: "PERMISSION",
        source: "cloud",
        message: "not allowed to look",
      });
    });
    assert.deepEqual(
      plan.foreseen?.map(({ code, severity }) => [code, severity]),
      [["PERMISSION", "warning"]],
    );
    assert.equal(foreseenFailure(plan), undefined);
    assert.equal((await engine.apply(plan)).kind, "done");
  });

  it("is not taken for a plan without changes, nor for one that goes on", async () => {
    const engine = await FakeEngine.running(goal());
    const refuses = async () => [quota];
    assert.equal((await asked(engine, "small", refuses)).foreseen, undefined);
    await engine.up(goal("large"), [{ at: "call", number: 0, what: "killBefore" }]);
    assert.equal((await asked(engine, "large", refuses)).foreseen, undefined);
  });
});
