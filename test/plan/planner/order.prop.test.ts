import assert from "node:assert/strict";
import fc from "fast-check";
import { readDesired } from "../../../src/manifest/desired.js";
import { diagnosticText } from "../../../src/manifest/diagnostic.js";
import type { Plan } from "../../../src/plan/plan.js";
import { planSummary, planTree } from "../../../src/plan/changes/tree.js";
import { type AllowedChanges, programOf } from "../../../src/transaction/pass.js";
import { manifestsOf, type WantedCluster, wantedClusters } from "../../support/wanted-cluster.js";
import { assertAsyncLaw } from "../../support/laws.js";
import { localProvider, type Manifest, textOf } from "../../support/manifests.js";
import { payloadsOf, FakeEngine } from "../../support/fake-engine.js";

/** The same objects in another order, each key of each object in another order too. */
function shuffled(objects: readonly Manifest[], salt: number): Manifest[] {
  const order = objects.map((object, index) => ({ object, rank: (index * 7919 + salt) % 101 }));
  return order.sort((left, right) => left.rank - right.rank).map(({ object }) => reversed(object));
}

function reversed<T>(value: T): T {
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, member]) => [key, reversed(member)])) as T;
}

function planOf(engine: FakeEngine, objects: readonly Manifest[]): Promise<Plan> {
  const { clusters, diagnostics } = readDesired(
    [{ file: "test.yaml", text: textOf(objects) }],
    [localProvider()],
  );
  assert.deepEqual(diagnostics.map(diagnosticText), []);
  const [desired] = clusters;
  assert.ok(desired !== undefined);
  return engine.plan(desired);
}

/** Everything that people, state and cloud see of a plan, in order. */
function traceOf(engine: FakeEngine, plan: Plan) {
  const admission: AllowedChanges = {
    kind: "commit",
    allowed: new Set(plan.steps.map(({ key }) => key)),
    deletions: new Set(plan.steps.filter(({ kind }) => kind === "delete").map(({ key }) => key)),
  };
  const { registrations } = programOf(
    plan,
    engine.prior,
    admission,
    payloadsOf(plan, engine.prior),
  );
  return {
    digest: plan.targetDigest,
    steps: plan.steps,
    spent: plan.transaction.spent,
    tree: planTree(plan).map(({ branch, label, detail }) => `${branch}${label} ${detail}`),
    summary: planSummary(plan),
    registrations: registrations.map(({ key, inputs, dependsOn }) => [
      key,
      JSON.stringify(inputs["who"] ?? null),
      [...dependsOn].sort(),
    ]),
  };
}

describe("law 4: the same inputs give the same names, tokens, order and text", () => {
  const inputs = fc.tuple(wantedClusters, wantedClusters, fc.nat({ max: 1_000 }));

  it("on a first creation, whatever order documents and fields were written in", async () => {
    const property = fc.asyncProperty(
      inputs,
      async ([wanted, , salt]: [WantedCluster, WantedCluster, number]) => {
        const engine = new FakeEngine();
        const written = manifestsOf(wanted);
        const plan = await planOf(engine, written);
        const other = await planOf(engine, shuffled(written, salt));
        assert.deepEqual(traceOf(engine, other), traceOf(engine, plan));
      },
    );
    await assertAsyncLaw(property);
  });

  it("on a change of a running cluster", async () => {
    const property = fc.asyncProperty(
      inputs,
      async ([before, after, salt]: [WantedCluster, WantedCluster, number]) => {
        const engine = new FakeEngine();
        await engine.apply(await planOf(engine, shuffled(manifestsOf(before), salt)));
        const plan = await planOf(engine, manifestsOf(after));
        const other = await planOf(engine, shuffled(manifestsOf(after), salt));
        assert.deepEqual(traceOf(engine, other), traceOf(engine, plan));
      },
    );
    await assertAsyncLaw(property);
  });

  it("law 1: a plan of what was just applied is empty, also when written in another order", async () => {
    const property = fc.asyncProperty(
      inputs,
      async ([wanted, , salt]: [WantedCluster, WantedCluster, number]) => {
        const engine = new FakeEngine();
        await engine.apply(await planOf(engine, manifestsOf(wanted)));
        const again = await planOf(engine, shuffled(manifestsOf(wanted), salt));
        assert.equal(again.empty, true);
      },
    );
    await assertAsyncLaw(property);
  });

  it("two engines that apply the same goals record and make the same", async () => {
    const property = fc.asyncProperty(
      inputs,
      async ([first, second]: [WantedCluster, WantedCluster, number]) => {
        const made = [];
        for (const engine of [new FakeEngine(), new FakeEngine()]) {
          for (const wanted of [first, second])
            await engine.apply(await planOf(engine, manifestsOf(wanted)));
          made.push({ prior: engine.prior, calls: engine.calls });
        }
        assert.deepEqual(made[0], made[1]);
      },
    );
    await assertAsyncLaw(property, 40);
  });
});
