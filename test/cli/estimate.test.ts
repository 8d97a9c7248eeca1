import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type Estimate,
  estimateLeft,
  estimateText,
  type Remaining,
} from "../../src/cli/estimate.js";
import { RunCourse } from "../../src/cli/run-course.js";
import { Stopwatch } from "../../src/cli/stopwatch.js";
import type { RunEvent } from "../../src/engine/run/run-event.js";
import { nodeKey } from "../../src/graph/graph.js";
import { FakeClock } from "../support/fake-clock.js";
import { FakeEngine } from "../support/fake-engine.js";
import { cluster, desiredOf, machine, machineDeployment } from "../support/manifests.js";
import { assertLaw } from "../support/laws.js";

const nowMs = 1_000_000;
const about = (leftMs: number): Estimate => ({ kind: "about", leftMs });

describe("what is left of a change", () => {
  const cases: readonly { name: string; given: Remaining; want: Estimate }[] = [
    {
      name: "nothing is said while nothing is known",
      given: { underway: [{ sinceMs: nowMs, minReadyMs: 0 }], toCome: [{ kind: "changes" }] },
      want: { kind: "none" },
    },
    {
      name: "a host that boots takes as long as others took, and its minReadySeconds",
      given: {
        underway: [{ sinceMs: nowMs - 10_000, minReadyMs: 5_000 }],
        toCome: [],
        bootMs: 60_000,
      },
      want: about(55_000),
    },
    {
      name: "a host that is ready has to stay so, whatever boots take",
      given: {
        underway: [{ sinceMs: 0, readySinceMs: nowMs - 10_000, minReadyMs: 30_000 }],
        toCome: [],
      },
      want: about(20_000),
    },
    {
      name: "the slowest host counts, and then every wave to come",
      given: {
        underway: [
          { sinceMs: nowMs - 10_000, minReadyMs: 0 },
          { sinceMs: nowMs - 50_000, minReadyMs: 0 },
        ],
        toCome: [{ kind: "hosts", minReadyMs: 30_000 }, { kind: "changes" }],
        bootMs: 60_000,
        changesMs: 4_000,
      },
      want: about(50_000 + 90_000 + 4_000),
    },
    {
      name: "changes of which nothing is known count as nothing beside hosts",
      given: {
        underway: [],
        toCome: [{ kind: "hosts", minReadyMs: 0 }, { kind: "changes" }],
        bootMs: 60_000,
      },
      want: about(60_000),
    },
    {
      name: "changes take as long as earlier ones",
      given: { underway: [], changingSinceMs: nowMs - 1_000, toCome: [], changesMs: 3_000 },
      want: about(2_000),
    },
    {
      name: "what takes longer than was estimated is said to, and does not begin anew",
      given: {
        underway: [{ sinceMs: nowMs - 70_000, minReadyMs: 0 }],
        toCome: [{ kind: "hosts", minReadyMs: 0 }],
        bootMs: 60_000,
      },
      want: { kind: "exceeded" },
    },
    {
      name: "nothing is said when nothing is left",
      given: { underway: [], toCome: [], bootMs: 60_000, changesMs: 1_000 },
      want: { kind: "none" },
    },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => assert.deepEqual(estimateLeft(given, nowMs), want));
  }

  it("is never negative", () => {
    const ms = fc.integer({ min: 0, max: 2 * nowMs });
    const maybe = fc.option(ms, { nil: undefined });
    const host = fc.record({ sinceMs: ms, readySinceMs: maybe, minReadyMs: ms });
    const wave = fc.oneof(
      fc.record({ kind: fc.constant("hosts" as const), minReadyMs: ms }),
      fc.constant({ kind: "changes" as const }),
    );
    const given = fc.record({
      underway: fc.array(host),
      changingSinceMs: maybe,
      toCome: fc.array(wave),
      bootMs: maybe,
      changesMs: maybe,
    });
    assertLaw(
      fc.property(given, (remaining) => {
        const estimate = estimateLeft(remaining as Remaining, nowMs);
        assert.ok(estimate.kind !== "about" || estimate.leftMs > 0);
      }),
    );
  });

  const texts: readonly (readonly [Estimate, string])[] = [
    [{ kind: "none" }, ""],
    [about(1), "about 5 s left"],
    [about(61_000), "about 65 s left"],
    [about(125_000), "about 2 min left"],
    [about(7_500_000), "about 2 h left"],
    [{ kind: "exceeded" }, "longer than estimated"],
  ];
  for (const [estimate, text] of texts) {
    it(`is told as "${text}"`, () => assert.equal(estimateText(estimate), text));
  }
});

describe("the course of a run", () => {
  const objects = (replicas: number, minReadySeconds: number) => {
    const web = machineDeployment("web", replicas, { size: "small" }) as { spec: object };
    return desiredOf([
      cluster(),
      machine("cp", { controlPlane: "1.34.2" }),
      { ...web, spec: { ...web.spec, minReadySeconds } },
    ]);
  };
  const timeoutMs = 600_000;

  it("knows from the first hosts what those of later waves take", async () => {
    const plan = await new FakeEngine().plan(objects(1, 10));
    const course = new RunCourse(plan, timeoutMs);
    const told = (event: RunEvent, atMs: number) => {
      course.on(event, atMs);
      return course.estimate(atMs);
    };
    const [first, second] = plan.waves;
    assert.ok(first !== undefined && second !== undefined && plan.waves.length === 2);
    assert.deepEqual(course.estimate(0), { kind: "none" });
    assert.deepEqual(told({ kind: "pass", number: 1, ...first }, 0), { kind: "none" });
    const [member, worker] = [first, second].map(({ keys }) =>
      keys.find((key) => key.startsWith("LocalHost/")),
    );
    assert.ok(member !== undefined && worker !== undefined);
    assert.deepEqual(told({ kind: "ready", key: member }, 40_000), about(50_000));
    assert.deepEqual(told({ kind: "pass", number: 2, ...second }, 41_000), about(50_000));
    assert.deepEqual(course.estimate(51_000), about(40_000));
    const proving = { kind: "proving", key: worker, minReadyMs: 10_000 } as const;
    assert.deepEqual(told({ ...proving, readySinceMs: 70_000 }, 71_000), about(9_000));
    assert.deepEqual(course.estimate(81_000), { kind: "exceeded" });
    assert.deepEqual(told({ kind: "ready", key: worker }, 81_000), { kind: "none" });
    assert.deepEqual(told({ kind: "committed", revision: 1 }, 82_000), { kind: "none" });
  });

  it("knows from hosts that are there what a new one takes, but not from one that was restarted", async () => {
    const engine = new FakeEngine();
    await engine.settle(objects(1, 0));
    const plan = await engine.plan(objects(2, 0));
    const kept = plan.target.machines.find(({ controlPlane }) => controlPlane)?.host;
    assert.ok(kept !== undefined);
    const seen = (tookMs: number) => {
      const course = new RunCourse(plan, timeoutMs);
      const host = { createdAtMs: 5_000, readySinceMs: 5_000 + tookMs };
      const one = { id: "1", who: { kind: "LocalHost", name: "cp" }, phase: "ready" } as const;
      const observedResources = new Map([
        [kept, { ...one, ...host, spec: {}, status: {} }],
        [nodeKey("LocalNetwork", "x"), { ...one, ...host, spec: {}, status: {} }],
      ]);
      course.observed({ observedResources, unrecorded: [] } as never);
      return course.estimate(0);
    };
    assert.deepEqual(seen(30_000), about(30_000));
    assert.deepEqual(seen(timeoutMs + 1), { kind: "none" });
  });
});

describe("the clock of a command", () => {
  it("stands still while somebody is asked", async () => {
    const clock = new FakeClock();
    const stopwatch = new Stopwatch(clock);
    clock.advance(1_000);
    await stopwatch.except(() => clock.sleep(60_000));
    clock.advance(500);
    assert.equal(stopwatch.elapsedMs(), 1_500);
  });
});
