import assert from "node:assert/strict";
import fc from "fast-check";
import { CapstanError } from "../../src/api/error.js";
import { keptOnceDone, tryToKeepMarks } from "../../src/engine/run/cluster-nodes.js";
import { judged, leftBefore, takesPodsAgain, uncordon } from "../../src/engine/run/cordons.js";
import { Drains, mayComeUp, roundOf } from "../../src/engine/run/drains.js";
import type { RunEvent } from "../../src/engine/run/run-event.js";
import { keyOf } from "../../src/graph/graph.js";
import { planTree } from "../../src/plan/changes/tree.js";
import { followsUndisturbed } from "../../src/plan/decisions/hosts.js";
import { nextAction } from "../../src/plan/waves/next-action.js";
import { isBroken } from "../../src/plan/waves/workers.js";
import {
  badRollouts,
  drainCourseOf,
  drainHistories,
  leftFailed,
  leftStarting,
  leftUnbooted,
  leftUnrecorded,
  leftUnready,
} from "../support/drain-histories.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { assertAsyncLaw, timesAsMany } from "../support/laws.js";
import {
  annotated,
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  type MachineShape,
  type Manifest,
} from "../support/manifests.js";
import { inMutant } from "../support/mutant.js";
import { replaced, replacedMethod, type Replacement } from "../support/replacement.js";

const [old, newer] = ["1.34.2", "1.34.3"];
const traits = { ...plainWorld, joins: true, restarts: true };
const member = machine("cp-0", { controlPlane: newer, kubelet: newer });
const goal = (...objects: Manifest[]) => desiredOf([cluster(), member, ...objects]);

function worker(shape: MachineShape, deletion?: object, annotations: Record<string, string> = {}) {
  const plain = machine("web", shape);
  const { labels } = plain["metadata"] as { labels: object };
  const { metadata } = annotated(annotations, plain) as { metadata: object };
  return {
    ...plain,
    metadata: { ...metadata, labels },
    spec: { ...(plain["spec"] as object), deletion },
  };
}

const stuck = () => [{ pod: "default/a", why: "its budget allows none" }];

describe("hosts that are disturbed where they are", function () {
  this.timeout(timesAsMany(300_000));
  const reasons: string[] = [];
  const tell = (event: RunEvent) => {
    if (event.kind === "waiting" || event.kind === "pass") reasons.push(event.reason);
  };
  const running = (...objects: Manifest[]) => {
    reasons.length = 0;
    return FakeEngine.running(goal(...objects), { traits, tell });
  };
  const updates = ({ calls }: FakeEngine) =>
    calls.filter(({ call }) => call === "update").map(({ key }) => key.replace(/-.*/, ""));

  it("are drained first and take pods again once they run, as their plan says", async () => {
    const engine = await running(worker({ kubelet: old }));
    const { hosts } = engine.cloud;
    let looks = 0;
    hosts.blockersOf = () => {
      assert.deepEqual(updates(engine), [], "its pods move before");
      return (looks += 1) < 3 ? stuck() : [];
    };
    const plan = await engine.plan(goal(worker({ kubelet: newer })));
    assert.deepEqual(
      planTree(plan).flatMap(({ label, detail }) => (label === "Machine web" ? [detail] : [])),
      ["kubelet 1.34.2 -> 1.34.3 (disruptive: the kubelet restarts) (drains first)"],
    );
    assert.equal(outcomeText(await engine.apply(plan)), "done");
    assert.equal(looks, 3);
    assert.match(
      reasons.join("\n"),
      /^LocalHost\/web-\w+-1: 1 pod has to go first since .*default\/a/m,
    );
    assert.deepEqual(updates(engine), ["LocalHost/web"]);
    assert.equal(hosts.drainedFirst, 1);
    assert.deepEqual([...hosts.cordoned], []);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("are not drained for what disturbs nothing, nor where nobody could ask for it", async () => {
    const asked: string[] = [];
    const labelled = { kubelet: old, labels: { a: "b" }, tags: { team: "a" } };
    const engine = await running(worker({ kubelet: old }));
    engine.cloud.hosts.onCordon = (what) => {
      if (what === "drain") asked.push(what);
      return undefined;
    };
    const plan = await engine.settle(goal(worker(labelled)));
    assert.ok(plan.steps.some(({ kind }) => kind === "update"));
    const simulated = await FakeEngine.running(goal(worker({ kubelet: old })));
    const other = await simulated.plan(goal(worker({ kubelet: newer })));
    assert.deepEqual(
      other.steps.map((step) => [step.kind, "drains" in step]),
      [["update", false]],
    );
    assert.deepEqual(asked, []);
  });

  it("are changed all the same once the time of their Machines is over", async () => {
    const deletion = { nodeDrainTimeoutSeconds: 1 };
    for (const [limits, told] of [
      [deletion, undefined],
      [undefined, /hosts are changed all the same$/m],
    ] as const) {
      const engine = await running(worker({ kubelet: old }, limits));
      engine.cloud.hosts.blockersOf = stuck;
      const sinceMs = engine.clock.now();
      assert.equal(outcomeText(await engine.up(goal(worker({ kubelet: newer }, limits)))), "done");
      const tookMs = engine.clock.now() - sinceMs;
      assert.ok(limits === undefined ? tookMs > 3_000 : tookMs > 1_000 && tookMs < 3_000);
      if (told === undefined) assert.doesNotMatch(reasons.join("\n"), /all the same/);
      else assert.match(reasons.join("\n"), told);
      assert.deepEqual([...engine.cloud.hosts.cordoned], []);
    }
  });

  it("are held by no hook of a deletion, and excluded from drains as from those before one", async () => {
    const hook = { "pre-drain.delete.hook.machine.cluster.x-k8s.io/migrate": "backup" };
    const excluded = { "machine.cluster.x-k8s.io/exclude-node-draining": "" };
    for (const [annotations, drains] of [
      [hook, 1],
      [excluded, 0],
    ] as const) {
      const engine = await running(worker({ kubelet: old }, undefined, annotations));
      const { hosts } = engine.cloud;
      hosts.volumesOf = () => assert.fail("its volumes stay with it");
      await engine.settle(goal(worker({ kubelet: newer }, undefined, annotations)));
      assert.equal(hosts.drainedFirst, drains);
    }
  });

  it("take turns where no bounds of a deployment say how many may drain at once", async () => {
    const names = ["a", "b", "c"];
    const pool = (kubelet: string) => [
      ...names.map((name) => machine(name, { kubelet })),
      machineDeployment("pool", 3, { kubelet }, { maxSurge: 0, maxUnavailable: 2 }),
    ];
    const engine = await running(...pool(old));
    const { hosts } = engine.cloud;
    const most = { single: 0, pool: 0 };
    hosts.blockersOf = () => {
      const ours = [...hosts.cordoned].filter((name) => !name.startsWith("pool-"));
      most.single = Math.max(most.single, ours.length);
      most.pool = Math.max(most.pool, hosts.cordoned.size - ours.length);
      return [];
    };
    await engine.settle(goal(...pool(newer)));
    assert.deepEqual(most, { single: 1, pool: 2 });
    assert.ok(reasons.some((one) => one.startsWith("one machine drains at a time; pool: ")));
    assert.equal(hosts.drainedFirst, 6);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("take turns after one that does not serve, whatever is left to be done to that one", async () => {
    const pool = (kubelet: string, team: string) => [
      ...["a", "b"].map((name) => machine(name, { kubelet, tags: { team } })),
      machine("c", { kubelet: newer, tags: { team } }),
    ];
    const engine = await running(...pool(old, "x"));
    const plan = await engine.plan(goal(...pool(newer, "y")));
    const startBeside = (broken: string) => {
      const available = plan.target.nodes.map(keyOf).filter((key) => !key.includes(`/${broken}-`));
      const applied = plan.steps.flatMap(({ key }) => (key.includes("/cp-") ? [key] : []));
      const action = nextAction(plan, {
        applied: new Set(applied),
        available: new Set(available),
      });
      assert.ok(action.kind === "change", action.kind);
      return action.keys.map((key) => key.replace(/^\w+\/|-.*/g, ""));
    };
    assert.deepEqual(["none", "a", "b", "c"].map(startBeside), [
      ["a", "c"],
      ["a", "c"],
      ["b", "c"],
      ["c"],
    ]);
  });

  it("take pods again where their change fails and is taken back", async () => {
    const engine = await running(worker({ kubelet: old }));
    const { hosts } = engine.cloud;
    const outcome = await engine.up(goal(worker({ kubelet: newer })), [
      { at: "call", number: 0, what: "failForGood" },
    ]);
    assert.match(outcomeText(outcome), /^rolledBack/);
    assert.deepEqual([[...hosts.cordoned], hosts.drainedFirst], [[], 0]);
    // One that was changed is drained once more before it is changed back.
    const broken = await engine.up(goal(worker({ kubelet: newer })), [
      { at: "boot", number: 0, what: "fails" },
    ]);
    assert.match(outcomeText(broken), /^rolledBack/);
    assert.deepEqual([...hosts.cordoned], []);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("hold the commit up while their cluster does not let them take pods again, and not for ever", async () => {
    for (const [silences, retryable, looker] of [
      [3, true, "up"],
      [Infinity, true, "up"],
      [Infinity, false, "loop"],
    ] as const) {
      const engine = await running(worker({ kubelet: old }));
      const { hosts } = engine.cloud;
      let asked = 0;
      hosts.onCordon = (what) => {
        if (what === "drain" || (asked += 1) > silences) return undefined;
        const message = "no API server answers";
        const details = { code: "API_SERVER", source: "cloud", retryable } as const;
        return Promise.reject(new CapstanError({ ...details, message }));
      };
      assert.equal(outcomeText(await engine.up(goal(worker({ kubelet: newer })))), "done");
      const isLeft = silences === Infinity;
      assert.equal(hosts.cordoned.size, isLeft ? 1 : 0);
      assert.match(reasons.join("\n"), /^hosts that stay have to take pods again: no API/m);
      const isTold = reasons.some((one) => one.includes("kubectl uncordon"));
      assert.equal(isTold, isLeft);
      // Nothing is left to do then, so whoever looks at the cluster sees to it.
      await engine.look(looker);
      assert.equal(hosts.cordoned.size, isLeft ? 1 : 0, "it does not answer yet");
      hosts.onCordon = () => undefined;
      await engine.look(looker);
      assert.deepEqual([...hosts.cordoned], []);
    }
  });

  it("are asked about anew, and not waited for, after their cluster was silent once", async () => {
    const pool = (kubelet: string) => ["a", "b", "c"].map((name) => machine(name, { kubelet }));
    const engine = await running(...pool(old));
    const { hosts } = engine.cloud;
    const asked = [0, 0, 0];
    hosts.onCordon = (what) => {
      if (what === "uncordon") return undefined;
      const changed = updates(engine).length;
      asked[changed]! += 1;
      if (changed > 1) return undefined;
      const details = { code: "API_SERVER", source: "cloud", retryable: true } as const;
      return Promise.reject(new CapstanError({ ...details, message: "no API server answers" }));
    };
    assert.equal(outcomeText(await engine.up(goal(...pool(newer)))), "done");
    assert.deepEqual(updates(engine), ["LocalHost/a", "LocalHost/b", "LocalHost/c"]);
    assert.equal(hosts.drainedFirst, 1);
    assert.equal(reasons.filter((one) => one.endsWith("changed all the same")).length, 2);
    // The last one is answered, and told of before its effect and after it.
    const [first = 0, ...others] = asked;
    assert.ok(first > 2, `${first} asks`);
    assert.deepEqual(others, [1, 2]);
  });

  it("count again once their Nodes have said so, and fail the change where these do not", async () => {
    const bounds = { maxSurge: 0, maxUnavailable: 1 };
    const pool = (kubelet: string) => machineDeployment("pool", 3, { kubelet }, bounds);
    for (const how of ["unready", "mute"] as const) {
      const engine = await running(pool(old));
      const { hosts } = engine.cloud;
      const specOf = (name: string) =>
        engine.hosts().find(({ who }) => who.name === name)?.spec["kubelet"];
      hosts.breaks = (name) =>
        specOf(name) === newer && name.startsWith("pool") ? how : undefined;
      const outcome = outcomeText(await engine.up(goal(pool(newer))));
      assert.match(
        outcome,
        /^rolledBack: not ready after 4 s: LocalHost\/(pool-\S+) \(running, but its Node \1 has not become ready since its change\)$/,
      );
      assert.equal(updates(engine).length, 2, "one, and back again");
      assert.deepEqual([...hosts.cordoned], []);
      assert.deepEqual(engine.cloud.watch.violations, []);
    }
  });

  it("do not count while nobody can ask for their Nodes, and do where nobody may", async () => {
    for (const [code, want] of [
      [
        "API_SERVER",
        /^rolledBack: not ready after 4 s: .* \(running, but its cluster does not say/,
      ],
      ["NOT_FOUND", /^done$/],
    ] as const) {
      const engine = await running(worker({ kubelet: old }));
      const retryable = code === "API_SERVER";
      const failure = new CapstanError({ code, source: "cloud", message: "no answer", retryable });
      engine.cloud.hosts.onReadiness = () =>
        updates(engine).length === 1 ? Promise.reject(failure) : undefined;
      assert.match(outcomeText(await engine.up(goal(worker({ kubelet: newer })))), want);
      assert.deepEqual([...engine.cloud.hosts.cordoned], []);
    }
  });

  it("are not disturbed any more once the change is over its deadline", async () => {
    const engine = await running(worker({ kubelet: old }));
    const { hosts } = engine.cloud;
    hosts.blockersOf = () => {
      engine.clock.advance(3_700_000);
      return stuck();
    };
    const outcome = await engine.up(goal(worker({ kubelet: newer })));
    assert.match(outcomeText(outcome), /^rolledBack: it was not done by its deadline/);
    assert.deepEqual([updates(engine), [...hosts.cordoned]], [[], []]);
  });

  it("law 19: pods have moved away before, and come back once they run, whatever is killed", () =>
    assertAsyncLaw(
      fc.asyncProperty(drainHistories, async (drawn) => {
        const { violations, outcomes, isLost } = await drainCourseOf(drawn);
        assert.deepEqual(violations, [], outcomes.join("\n"));
        if (!isLost) assert.equal(outcomes.at(-1), "up: done", outcomes.join("\n"));
      }),
      40,
    ));

  it("law 19: no more hosts are down at once than their bounds allow, where a change leaves all unready", async () => {
    for (const one of badRollouts) {
      const { violations, outcomes } = await drainCourseOf(one);
      assert.deepEqual(violations, []);
      assert.match(outcomes.join("\n"), /^up: rolledBack: not ready after 4 s: .*\nup: done$/);
    }
  });

  it("law 19: none that serves is disturbed while another run has left one unready that changes, too", async () => {
    const { violations, outcomes } = await drainCourseOf(leftUnready);
    assert.deepEqual(violations, []);
    const notReady = /not ready after 4 s: LocalHost\/db-0-\S+ \([^,]*, but [^,]*\)/.source;
    const want = `^up: stopped kept: ${notReady}\nup: rolledBack: ${notReady}\nup: done$`;
    assert.match(outcomes.join("\n"), new RegExp(want));
  });

  it("law 19: what a killed command has left has its pods moved away, too, before it goes, and is not changed", async () => {
    for (const one of leftUnrecorded) {
      const { violations, outcomes } = await drainCourseOf(one);
      assert.deepEqual(violations, []);
      assert.match(outcomes.join("\n"), /^up: killed\n(rollback: rolledBack: .*\n)?up: done$/);
    }
  });

  it("law 19: what comes up while others are waited for has its pods moved away, too", async () => {
    const { violations, outcomes } = await drainCourseOf(leftStarting);
    assert.deepEqual(violations, []);
    assert.match(
      outcomes.join("\n"),
      /^rotate: broke: CANCELLED .*\nrollback: rolledBack: .*\nup: done$/,
    );
  });

  it("law 19: none that serves is disturbed while one that is down gets a successor", async () => {
    const { violations, outcomes } = await drainCourseOf(leftFailed);
    assert.deepEqual(violations, []);
    assert.deepEqual(outcomes, ["up: killed", "up: killed", "up: done"]);
  });

  it("law 19: what does not boot is given up, also once it was changed", async () => {
    const { violations, outcomes } = await drainCourseOf(leftUnbooted);
    assert.deepEqual(violations, []);
    assert.match(outcomes.join("\n"), /^rotate: killed\nup: stopped kept: not ready .*\nup: done$/);
  });

  /** The last look of a run lifts what is left, too. */
  const endLifts = replaced(keptOnceDone, (original) => (target, driftFilter) => ({
    ...original(target, driftFilter),
    uncordons: false,
  }));
  const defects: readonly {
    readonly name: string;
    readonly replacements: readonly Replacement[];
    readonly want: RegExp;
  }[] = [
    {
      name: "nothing is drained before it is disturbed",
      replacements: [
        replacedMethod(
          Drains,
          ({ departures }) => departures,
          (original) =>
            function ({ plan, ...pass }, waits) {
              return original.call(this, { ...pass, plan: { ...plan, steps: [] } }, waits);
            },
        ),
      ],
      want: /^law 19: drain: \S+ is disturbed and takes pods$/,
    },
    {
      name: "what comes up while others are waited for goes with its pods",
      replacements: [replaced(mayComeUp, () => () => false)],
      want: /^law 19: drain: \S+ goes and takes pods$/,
    },
    {
      name: "what nobody recorded goes with its pods",
      replacements: [
        replacedMethod(
          Drains,
          ({ removal }) => removal,
          () =>
            ({ resources }) =>
              Promise.resolve({ going: resources, staying: [], held: undefined }),
        ),
      ],
      want: /^law 19: drain: \S+ goes and takes pods$/,
    },
    {
      name: "what nobody recorded is changed by the pass that records it",
      replacements: [
        replaced(
          followsUndisturbed,
          (original) => (verdict) => verdict.kind === "inPlace" || original(verdict),
        ),
      ],
      want: /^law 19: drain: \S+ is disturbed and takes pods$/,
    },
    {
      name: "pods that are left are not waited for",
      replacements: [
        replaced(roundOf, (original) => async (clearings, open, waits) => {
          const round = await original(clearings, open, waits);
          return round.kind === "blocked" ? ({ kind: "drained" } as const) : round;
        }),
      ],
      want: /^law 19: drain: \S+ is disturbed while pods are left on it$/,
    },
    {
      name: "pods come back to a host that does not run yet",
      replacements: [
        replaced(takesPodsAgain, () => (_phase, disturbance) => disturbance?.kind !== "open"),
      ],
      want: /^law 19: drain: \S+ takes pods before it runs again$/,
    },
    {
      name: "whoever goes on knows of no cordon",
      replacements: [replaced(leftBefore, () => () => new Set()), endLifts],
      want: /^law 19: drain: \S+ is left without pods$/,
    },
    {
      name: "nobody lifts a cordon",
      replacements: [replaced(uncordon, () => () => Promise.resolve()), endLifts],
      want: /^law 19: drain: \S+ is left without pods$/,
    },
    {
      name: "a host counts as soon as its cloud runs it",
      replacements: [
        replacedMethod(
          Drains,
          ({ unready }) => unready,
          () => () => new Map(),
        ),
      ],
      want: /^law 19: drain: \S+ is disturbed while \d+ are not ready$/,
    },
    {
      name: "a host counts by what its Node has said before it was changed",
      replacements: [
        replaced(judged, (original) => (changed, node) => {
          const readyAtMs = node === "refused" ? undefined : node?.readyAtMs;
          return readyAtMs === undefined ? original(changed, node) : ({ kind: "proven" } as const);
        }),
      ],
      want: /^law 19: drain: \S+ is disturbed while \d+ are not ready$/,
    },
    {
      name: "one that is unready, and that something is left to be done to, counts as any other",
      replacements: [replaced(isBroken, () => () => false)],
      want: /^law 19: drain: db-\S+ is disturbed while 1 are not ready$/,
    },
    {
      name: "whoever looks leaves the cordons of a settled cluster",
      replacements: [
        replaced(
          tryToKeepMarks,
          (original) => (seen, kept) => original(seen, { ...kept, uncordons: false }),
        ),
      ],
      want: /^law 19: drain: \S+ is left without pods$/,
    },
  ];
  for (const { name, replacements, want } of defects) {
    it(`law 19 sees that ${name}`, async () => {
      const asked = { module: "test/support/drain-histories.js", own: { drainCourseOf } };
      await inMutant(replacements, asked, async (copy) => {
        const found: string[] = [];
        const sampled = fc.sample(drainHistories, { numRuns: 60, seed: 19 });
        const given = [...badRollouts, leftUnready, ...leftUnrecorded, leftStarting, leftFailed];
        for (const drawn of [...given, ...sampled]) {
          const { violations } = await copy.drainCourseOf(drawn).catch(() => ({ violations: [] }));
          found.push(...violations);
          if (found.some((one) => want.test(one))) break;
        }
        assert.ok(
          found.some((one) => want.test(one)),
          [...new Set(found)].slice(0, 9).join("\n"),
        );
      });
    });
  }
});
