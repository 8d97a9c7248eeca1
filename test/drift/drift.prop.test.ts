import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject } from "../../src/api/json.js";
import { driftAnnotations, type DriftPolicy } from "../../src/api/drift-policy.js";
import type { Desired } from "../../src/api/types.js";
import { hasCorrections } from "../../src/drift/judge.js";
import type { Plan } from "../../src/plan/plan.js";
import { manifestsOf, type WantedCluster, wantedClusters } from "../support/wanted-cluster.js";
import { assertAsyncLaw } from "../support/laws.js";
import { annotated, desiredOf, type Manifest } from "../support/manifests.js";
import { outcomeText, FakeEngine } from "../support/fake-engine.js";
import { byPolicy, judged, reportOn } from "./drifting.js";

/** What happens behind everybody's back to whatever is there. */
type Accident =
  | { readonly kind: "dies"; readonly pick: number }
  | { readonly kind: "drifts"; readonly pick: number; readonly fields: JsonObject }
  | { readonly kind: "extra"; readonly pick: number };

const pick = fc.nat({ max: 30 });
const accidents: fc.Arbitrary<readonly Accident[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("dies" as const), pick }),
    fc.record({
      kind: fc.constant("drifts" as const),
      pick,
      fields: fc.constantFrom<JsonObject[]>(
        { tags: { by: "hand" } },
        { size: "large" },
        { diskGib: 99 },
        { taints: [{ key: "x", effect: "NoSchedule" }] },
      ),
    }),
    fc.record({ kind: fc.constant("extra" as const), pick }),
  ),
  { minLength: 1, maxLength: 5 },
);

/** To hosts alone: where what they share is made anew, they follow it whatever has become of them. */
function strike(engine: FakeEngine, all: readonly Accident[]): void {
  for (const [number, accident] of all.entries()) {
    const hosts = engine.hosts();
    const host = hosts[accident.pick % Math.max(hosts.length, 1)];
    if (host === undefined) continue;
    if (accident.kind === "dies") engine.cloud.kill(host.id);
    else if (accident.kind === "drifts") engine.cloud.drift(host.id, accident.fields);
    else {
      // Each of an apply of its own; a copy of one would be nobody's to delete.
      const who = { ...host.who, name: "old-0123abcd-0", token: `nobody's ${number}` };
      engine.cloud.plant(who, host.spec);
    }
  }
}

/** With deployments that are not rolled out: their machines keep what they were made with. */
function paused(wanted: WantedCluster): Manifest[] {
  return manifestsOf(wanted).map((one) =>
    one["kind"] === "MachineDeployment"
      ? { ...one, spec: { ...(one["spec"] as Manifest), paused: true } }
      : one,
  );
}

/** What a cluster's annotations ask for, on all its machines. */
function annotatedWith(
  wanted: WantedCluster,
  policy: DriftPolicy,
  more: Readonly<Record<string, string>> = {},
  manifests = manifestsOf,
): Desired {
  const [cluster = {}, ...others] = manifests(wanted);
  return desiredOf([annotated({ [driftAnnotations.policy]: policy, ...more }, cluster), ...others]);
}

async function running(desired: Desired): Promise<FakeEngine> {
  const engine = new FakeEngine(byPolicy);
  await engine.settle(desired);
  return engine;
}

/** A plan without what it says about drift. */
function intent({ ignoredDrift: _ignored, ...plan }: Plan): Omit<Plan, "ignoredDrift"> {
  return plan;
}

const tolerant = fc.constantFrom<DriftPolicy[]>("report", "ignore");
const lenient = {
  [driftAnnotations.maxUnhealthy]: "100%",
  [driftAnnotations.maxInFlight]: "30%",
};

describe("laws of drift", () => {
  it("under report or ignore, a plan from a drifted cloud is the plan from the undrifted one", async () => {
    const property = fc.asyncProperty(
      fc.tuple(wantedClusters, wantedClusters, accidents, tolerant),
      async ([first, second, all, policy]) => {
        const engine = await running(annotatedWith(first, policy, lenient));
        const desired = annotatedWith(second, policy, lenient, paused);
        await engine.settle(desired);
        const before = await engine.plan(desired);
        strike(engine, all);
        const after = await engine.plan(desired);
        assert.deepEqual(intent(after), intent(before));
        assert.equal(after.empty, true);
      },
    );
    await assertAsyncLaw(property, 60);
  });

  it("what a plan tolerates is left untouched by its apply, whatever else is asked for", async () => {
    const property = fc.asyncProperty(
      fc.tuple(wantedClusters, wantedClusters, accidents, tolerant),
      async ([before, after, all, policy]) => {
        const engine = await running(annotatedWith(before, policy, lenient));
        strike(engine, all);
        const plan = await engine.plan(annotatedWith(after, policy, lenient));
        const calls = engine.calls.length;
        const outcome = await engine.apply(plan);
        const left = new Set(plan.ignoredDrift?.map(({ key }) => key));
        const touched = engine.calls.slice(calls).filter(({ key }) => left.has(key));
        assert.deepEqual(touched, []);
        assert.deepEqual(engine.cloud.watch.violations, []);
        assert.equal(outcome.kind, "done", outcomeText(outcome));
      },
    );
    await assertAsyncLaw(property, 100);
  });

  it("under correct or replace, turn after turn comes to an end: no drift, records and cloud the same", async () => {
    const property = fc.asyncProperty(
      fc.tuple(wantedClusters, accidents, fc.constantFrom<DriftPolicy[]>("correct", "replace")),
      async ([wanted, all, policy]) => {
        const desired = annotatedWith(wanted, policy, lenient);
        const engine = await running(desired);
        strike(engine, all);
        for (let turn = 0; ; turn += 1) {
          const found = judged(await reportOn(engine), desired);
          if (found.freeze?.cause.kind === "allGone") return;
          if (!hasCorrections(found)) {
            // A control-plane host is somebody's to ask for.
            const others = found.items.filter(
              ({ decision }) => decision.kind !== "report" || decision.because.kind !== "member",
            );
            assert.deepEqual(
              others.map(({ item }) => item.key),
              [],
            );
            break;
          }
          assert.ok(turn < 10, "it comes to an end");
          const outcome = await engine.up(desired);
          assert.equal(outcome.kind, "done", outcomeText(outcome));
        }
        assert.deepEqual(engine.cloud.watch.violations, []);
        assert.equal((await engine.plan(desired)).empty, true);
      },
    );
    await assertAsyncLaw(property, 100);
  });

  it("law 6: of a cloud that does not answer nothing is concluded and nothing is done", async () => {
    const property = fc.asyncProperty(
      fc.tuple(wantedClusters, accidents),
      async ([wanted, all]) => {
        const desired = annotatedWith(wanted, "correct", lenient);
        const engine = await running(desired);
        strike(engine, all);
        const failing = { at: "look", number: 0, what: "failForGood" } as const;
        const found = judged(await reportOn(engine, [failing]), desired);
        assert.equal(hasCorrections(found), false);
        assert.ok(found.items.every(({ item }) => item.class === "unknown"));
        const calls = engine.calls.length;
        assert.equal((await engine.up(desired, [failing])).kind, "broke");
        assert.equal(engine.calls.length, calls);
      },
    );
    await assertAsyncLaw(property, 40);
  });
});
