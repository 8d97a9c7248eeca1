import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import type { RunEvent } from "../../src/engine/run/run-event.js";
import { plainWorld } from "../support/fake-cloud.js";
import { isOpen } from "../../src/records/prior-state.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import {
  annotated,
  annotatedSet,
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  type MachineShape,
  type Manifest,
} from "../support/manifests.js";

const goal = (...objects: Manifest[]) => desiredOf([cluster(), ...objects]);
const joins = { traits: { ...plainWorld, joins: true } } as const;
const member = machine("cp-0", { controlPlane: "1.34.2" });

/** A worker with a limit of its own for each part of its deletion. */
function worker(size: string, deletion?: object, annotations: Record<string, string> = {}) {
  const plain = machine("web", { size });
  const spec = { ...(plain["spec"] as object), deletion };
  const { labels } = plain["metadata"] as { labels: object };
  const { metadata } = annotated(annotations, plain) as { metadata: object };
  return { ...plain, metadata: { ...metadata, labels }, spec };
}

const stuck = () => [{ pod: "default/a", why: "its budget allows none" }];

describe("a host that is deleted", () => {
  const reasons: string[] = [];
  const tell = (event: RunEvent) => {
    if (event.kind === "waiting") reasons.push(event.reason);
  };

  /** How long its replacement takes, milliseconds. */
  async function replaced(
    prepare: (engine: FakeEngine) => void,
    deletion?: object,
    annotations?: Record<string, string>,
  ): Promise<{ engine: FakeEngine; tookMs: number }> {
    reasons.length = 0;
    const small = goal(member, worker("small", deletion, annotations));
    const engine = await FakeEngine.running(small, { ...joins, tell });
    prepare(engine);
    const sinceMs = engine.clock.now();
    await engine.settle(goal(member, worker("large", deletion, annotations)));
    assert.equal(engine.hosts().length, 2);
    return { engine, tookMs: engine.clock.now() - sinceMs };
  }

  it("waits until its volumes are detached", async () => {
    let looks = 0;
    const { engine } = await replaced(({ cloud: { hosts } }) => {
      hosts.volumesOf = (host) => {
        assert.ok(hosts.drained.has(host), "its pods go before");
        looks += 1;
        return looks < 4 ? ["default/data"] : [];
      };
    });
    assert.equal(looks, 4);
    assert.match(
      reasons.join("\n"),
      /^LocalHost\/web-\w+-1: 1 volume has to be detached first since [\dT:-]+Z: default\/data$/m,
    );
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("goes once the time of its Machine is over, for pods and for volumes", async () => {
    const none = await replaced(() => {});
    const prepare = ({ cloud: { hosts } }: FakeEngine) => {
      hosts.blockersOf = stuck;
      hosts.volumesOf = () => ["default/data"];
    };
    const limited = { nodeDrainTimeoutSeconds: 1, nodeVolumeDetachTimeoutSeconds: 1 };
    const { tookMs } = await replaced(prepare, limited);
    const all = await replaced(prepare);
    assert.ok(tookMs >= none.tookMs + 2_000, `${tookMs} ms`);
    assert.ok(tookMs < all.tookMs, `${tookMs} ms, and ${all.tookMs} ms without limits`);
    assert.doesNotMatch(reasons.join("\n"), /hosts go all the same.*hosts go/s);
  });

  describe("whose limits its set's template states", () => {
    const limits = { nodeDrainTimeoutSeconds: 1, nodeVolumeDetachTimeoutSeconds: 1 };

    function pool(replicas: number, deletion?: object): Manifest {
      const plain = machineDeployment("pool", replicas);
      const spec = plain["spec"] as { template: { spec: object } };
      const template = { ...spec.template, spec: { ...spec.template.spec, deletion } };
      return { ...plain, spec: { ...spec, template } };
    }

    /** Milliseconds until a machine of the pool is gone, whose pods and volumes never move. */
    async function scaledDown(
      prepare: (engine: FakeEngine) => Promise<unknown>,
      ...after: Manifest[]
    ): Promise<number> {
      const engine = await FakeEngine.running(goal(member, pool(2)), joins);
      engine.cloud.hosts.blockersOf = stuck;
      engine.cloud.hosts.volumesOf = () => ["default/data"];
      await prepare(engine);
      const sinceMs = engine.clock.now();
      await engine.settle(goal(member, ...after));
      return engine.clock.now() - sinceMs;
    }

    const nothing = () => Promise.resolve();
    const drainIsInterrupted = async (engine: FakeEngine, wanted = pool(1)) => {
      const { hosts } = engine.cloud;
      hosts.blockersOf = () => {
        const cause = { code: "CANCELLED", source: "user", message: "interrupted" } as const;
        engine.lastProcess.stop.abort(new CapstanError(cause));
        return stuck();
      };
      assert.match(outcomeText(await engine.up(goal(member, wanted))), /CANCELLED/);
      hosts.blockersOf = stuck;
    };
    const limitsAreStated = (engine: FakeEngine) => engine.settle(goal(member, pool(2, limits)));

    const cases = [
      { name: "in a change before", prepare: limitsAreStated, after: [pool(1, limits)] },
      { name: "in the same change", prepare: nothing, after: [pool(1, limits)] },
      {
        name: "after its drain was interrupted",
        prepare: (engine: FakeEngine) => drainIsInterrupted(engine),
        after: [pool(1, limits)],
      },
      {
        name: "after its drain was interrupted, and the set is removed then",
        prepare: async (engine: FakeEngine) => {
          await drainIsInterrupted(engine);
          await drainIsInterrupted(engine, pool(1, limits));
        },
        after: [],
      },
    ];
    for (const { name, prepare, after } of cases) {
      it(`goes once they are over, stated ${name}`, async () => {
        const unlimitedMs = await scaledDown(nothing, pool(1));
        const tookMs = await scaledDown(prepare, ...after);
        assert.ok(tookMs < unlimitedMs - 1_000, `${tookMs} ms, and ${unlimitedMs} ms without`);
      });
    }

    it("goes by the former limit no more once the same change takes that off", async () => {
      const unlimitedMs = await scaledDown(nothing, pool(1));
      assert.equal(await scaledDown(limitsAreStated, pool(1)), unlimitedMs);
    });
  });

  it("is made anew without its pods, as its plan says", async () => {
    const engine = await FakeEngine.running(goal(member, worker("small")), joins);
    const { undo } = await engine.plan(goal(member, worker("large")));
    const deletion = undo.find(({ step }) => step === "delete");
    assert.equal(deletion?.class, "compensable");
    assert.match(deletion?.reason ?? "", /^deleted once its pods have moved; taken back/);
  });

  it("takes its Node along, which is asked for again", async () => {
    let asked = 0;
    const { engine } = await replaced(({ cloud: { hosts } }) => {
      hosts.keepsNode = () => (asked += 1) < 3;
    });
    assert.equal(asked, 3);
    assert.equal(engine.cloud.hosts.deletedNodes.size, 1);
  });

  it("leaves its Node where that does not go in time", async () => {
    const prepare = ({ cloud: { hosts } }: FakeEngine) => {
      hosts.keepsNode = () => true;
    };
    const least = await replaced(prepare, { nodeDeletionTimeoutSeconds: 1 });
    const { engine, tookMs } = await replaced(prepare, { nodeDeletionTimeoutSeconds: 3 });
    assert.ok(tookMs >= least.tookMs + 1_000, `${tookMs} ms, and ${least.tookMs} ms`);
    const longest = await replaced(prepare, { nodeDeletionTimeoutSeconds: 3_600 });
    assert.ok(longest.tookMs <= tookMs + 5_000, `${longest.tookMs} ms`);
    assert.equal(engine.cloud.hosts.deletedNodes.size, 0);
  });

  it("is held by the hooks of its machine also where a killed command left it in no record, whatever that is wanted to be", async () => {
    const hook = { "pre-drain.delete.hook.machine.cluster.x-k8s.io/migrate": "backup" };
    const kubelet = machine("web", { size: "small", kubelet: "1.34.4" });
    const cases = [
      [],
      [annotated(hook, machine("web", { size: "large" }))],
      [annotated(hook, kubelet)],
    ];
    let unrecorded = 0;
    for (const [at, after] of cases.entries()) {
      for (let number = 0; number < 6; number += 1) {
        const engine = await FakeEngine.running(goal(member), joins);
        const killed = { at: "call", number, what: "killAfter" } as const;
        await engine.up(goal(member, worker("small", undefined, hook)), [killed]);
        engine.clock.advance(20 * 60_000);
        const recorded = new Set(engine.prior.resources.map(({ id }) => id));
        const left = engine.hosts().filter(({ id }) => !recorded.has(id));
        unrecorded += left.length;
        await engine.up(goal(member, ...after));
        await engine.up(goal(member));
        for (const { id, who } of left)
          assert.equal(
            engine.cloud.get(id)?.phase,
            "ready",
            `case ${at}, call ${number}, ${who.name}`,
          );
      }
    }
    assert.ok(unrecorded > 2, `${unrecorded} hosts were left`);
  });

  it("holds up no other change where a killed command left it in no record, and is owed as long as a hook holds it", async () => {
    const hook = { "pre-drain.delete.hook.machine.cluster.x-k8s.io/migrate": "backup" };
    const pool = (replicas: number) => machineDeployment("pool", replicas);
    const engine = await FakeEngine.running(goal(member, pool(2)), joins);
    const killed = { at: "call", number: 1, what: "killAfter" } as const;
    const db = annotated(hook, machine("db"));
    assert.equal(outcomeText(await engine.up(goal(member, pool(2), db), [killed])), "killed");
    engine.clock.advance(20 * 60_000);
    const named = (prefix: string) =>
      engine.hosts().filter(({ who }) => who.name.startsWith(prefix)).length;
    const [worker] = engine.hosts().filter(({ who }) => who.name.startsWith("pool"));
    engine.cloud.kill(worker!.id);
    for (const _again of [1, 2, 3]) {
      const outcome = await engine.up(goal(member, pool(3)));
      assert.match(
        outcomeText(outcome),
        /^stopped owing: cannot delete LocalHost\/db-\S+: held by/,
      );
      assert.deepEqual([named("pool"), named("db")], [3, 1]);
      assert.equal(engine.prior.revision?.number, 3, "nothing is committed again");
    }
    await engine.up(goal(member, pool(3), machine("db")));
    await engine.settle(goal(member, pool(3)));
    assert.deepEqual([named("pool"), named("db")], [3, 0]);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  for (const [exclusion, asked] of [
    ["exclude-node-draining", "volumes"],
    ["exclude-wait-for-node-volume-detach", "pods"],
  ] as const) {
    it(`is asked for its ${asked} alone with ${exclusion}`, async () => {
      const seen = new Set<string>();
      const prepare = ({ cloud: { hosts } }: FakeEngine) => {
        hosts.blockersOf = () => (seen.add("pods"), []);
        hosts.volumesOf = () => (seen.add("volumes"), []);
      };
      await replaced(prepare, undefined, { [`machine.cluster.x-k8s.io/${exclusion}`]: "" });
      assert.deepEqual([...seen], [asked]);
    });
  }

  it("is drained by the rules that are for its Machine, in their order", async () => {
    const ruleOf = (name: string, spec: object): Manifest => ({
      apiVersion: "cluster.x-k8s.io/v1beta2",
      kind: "MachineDrainRule",
      metadata: { name },
      spec,
    });
    const skip = { drain: { behavior: "Skip" } };
    const rules = [
      ruleOf("z", skip),
      ruleOf("a", { ...skip, machines: [{ selector: { matchLabels: { kind: "other" } } }] }),
      ruleOf("b", {
        ...skip,
        machines: [{ selector: { matchLabels: { "cluster.k8s.io/cluster-name": "prod" } } }],
      }),
    ];
    const engine = await FakeEngine.running(goal(member, worker("small"), ...rules), joins);
    const seen: string[] = [];
    engine.cloud.hosts.blockersOf = (_host, given) => {
      seen.push(given.map(({ name }) => name).join());
      return [];
    };
    await engine.settle(goal(member, worker("large"), ...rules));
    assert.deepEqual(seen, ["b,z"]);
    await engine.settle(goal(member, worker("large")));
    await engine.settle(goal(member, worker("small")));
    assert.deepEqual(seen, ["b,z", ""]);
  });

  it("is not drained for a volume that nobody recorded before another one takes its pods", async () => {
    const pool = (shape: MachineShape) =>
      goal(member, machineDeployment("pool", 3, shape, { maxUnavailable: 0, maxSurge: 1 }));
    for (const number of [1, 3, 5]) {
      const fewest = { takePods: 3 };
      const engine: FakeEngine = new FakeEngine({
        traits: { ...plainWorld, joins: true, tellsTimes: true, parallel: true },
        tell: () => {
          const running = engine.hosts().filter(({ phase }) => phase === "ready");
          const workers = running.filter(({ who }) => who.name.startsWith("pool-"));
          const open = workers.filter(({ who }) => !engine.cloud.hosts.cordoned.has(who.name));
          fewest.takePods = Math.min(fewest.takePods, open.length);
        },
      });
      await engine.settle(pool({}));
      engine.clock.advance(60 * 60_000);
      const grown = pool({ dataVolume: { gib: 1 } });
      const killed = await engine.up(grown, [{ at: "call", number, what: "killAfter" }]);
      assert.equal(killed.kind, "killed");
      engine.clock.advance(20 * 60_000);
      fewest.takePods = 3;
      assert.equal(outcomeText(await engine.up(pool({ size: "medium" }))), "done");
      assert.equal(fewest.takePods, 3, `killed in call ${number}`);
    }
  });

  describe("that a hook of its Machine holds", () => {
    const preDrain = { "pre-drain.delete.hook.machine.cluster.x-k8s.io/migrate": "backup" };
    const preTerminate = { "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp": "" };
    const held = (size: string, hooks: Record<string, string>) => worker(size, undefined, hooks);

    it("stays until the annotation is off, and the change is committed meanwhile", async () => {
      reasons.length = 0;
      const engine = await FakeEngine.running(goal(member, held("small", preDrain)), {
        ...joins,
        tell,
      });
      const wanted = goal(member, held("large", preDrain));
      const outcome = await engine.up(wanted);
      assert.match(
        outcomeText(outcome),
        /^stopped owing.*held by pre-drain\S+ \(owner backup\) since/s,
      );
      assert.match(reasons.join("\n"), /^LocalHost\/web-\w+-1: held by pre-drain/m);
      assert.equal(engine.hosts().length, 3);
      assert.equal(engine.cloud.hosts.cordoned.size, 0);
      assert.match(outcomeText(await engine.up(wanted)), /^stopped owing/);
      await engine.settle(goal(member, held("large", {})));
      assert.equal(engine.hosts().length, 2);
      assert.equal(engine.cloud.hosts.drained.size, 1);
      assert.deepEqual(engine.cloud.watch.violations, []);
    });

    it("is drained before it is held at its end", async () => {
      const engine = await FakeEngine.running(goal(member, held("small", preTerminate)), joins);
      const outcome = await engine.up(goal(member, held("large", preTerminate)));
      assert.match(outcomeText(outcome), /^stopped owing.*held by pre-terminate\S+ since/s);
      assert.equal(engine.cloud.hosts.drained.size, 1);
      await engine.settle(goal(member, held("large", {})));
      assert.equal(engine.hosts().length, 2);
    });

    it("goes with the annotations that it was recorded with once it is in no manifest", async () => {
      const engine = await FakeEngine.running(goal(member, held("small", preDrain)), joins);
      assert.match(outcomeText(await engine.up(goal(member), [], "rollBack")), /^stopped owing/);
      assert.equal(engine.hosts().length, 2);
      await engine.settle(goal(member, held("small", {})));
      await engine.settle(goal(member));
      assert.equal(engine.hosts().length, 1);
    });

    it("is asked for as well where the command that made it was killed before it was recorded", async () => {
      const engine = await FakeEngine.running(goal(member), joins);
      const killed = [{ at: "call", number: 1, what: "killAfter" }] as const;
      await engine.up(goal(member, held("small", preDrain)), killed);
      engine.clock.advance(20 * 60_000);
      const [, left] = engine.hosts();
      const { steps, orphaned, empty } = await engine.plan(goal(member));
      assert.deepEqual([steps, orphaned.map(({ id }) => id), empty], [[], [left?.id], false]);
      const outcome = outcomeText(await engine.up(goal(member)));
      assert.match(outcome, /^stopped owing: .*held by pre-drain\S+ \(owner backup\) since/s);
      assert.equal(engine.hosts().length, 2);
      await engine.settle(goal(member, held("small", {})));
      assert.deepEqual(engine.hosts().map(({ id }) => id)[1], left?.id);
      await engine.settle(goal(member));
      assert.equal(engine.hosts().length, 1);
      assert.ok(engine.cloud.hosts.drained.has(left?.who.name ?? ""));
      assert.deepEqual(engine.cloud.watch.violations, []);
    });

    it("is held by what was said last, also where that is taken back", async () => {
      for (const [before, after, isHeld] of [
        [{}, preTerminate, true],
        [preTerminate, {}, false],
      ] as const) {
        const engine = await FakeEngine.running(goal(member, held("small", before)), joins);
        const wanted = goal(member, machine("other"), held("large", after));
        await engine.up(wanted, [{ at: "call", number: 4, what: "killAfter" }]);
        engine.clock.advance(20 * 60_000);
        const made = engine.hosts().at(-1);
        assert.match(made?.who.name ?? "", /^web-/);
        const text = outcomeText(await engine.rollback());
        assert.equal(text.includes("held by"), isHeld, text);
        const left = engine.hosts().map(({ id }) => id);
        assert.equal(left.includes(made?.id ?? ""), isHeld, text);
      }
    });

    it("is held by what was said last, also where a change is taken back that was committed, unless its revision is named", async () => {
      const plain = goal(member, held("small", {}));
      for (const to of [undefined, 1]) {
        const engine = await FakeEngine.running(plain, joins);
        const owing = await engine.up(goal(member, held("large", preTerminate)));
        assert.match(outcomeText(owing), /^stopped owing: .*held by/);
        const made = engine.hosts().at(-1);
        const text = outcomeText(await engine.rollback([], to));
        assert.equal(text.includes("held by"), to === undefined, text);
        const isThere = engine.hosts().some(({ id }) => id === made?.id);
        assert.equal(isThere, to === undefined);
        // Whoever has what must be done beforehand done says so by manifests without the hook.
        await engine.settle(plain);
        assert.equal(engine.hosts().length, 2);
      }
    });

    it("is held by what was named with a destroy, whatever verb goes on, until manifests that are named with one say otherwise", async () => {
      const told = (...hooks: Record<string, string>[]) =>
        goal(member, ...hooks.map((one) => held("small", one)));
      const verbs = {
        destroy: (engine: FakeEngine) => engine.destroy(),
        "up without it": (engine: FakeEngine) => engine.up(goal(member)),
        "destroy -f": (engine: FakeEngine) => engine.destroy([], told({})),
        // Not even an empty list of annotations.
        "destroy -f, silent": (engine: FakeEngine) =>
          engine.destroy([], goal(member, machine("web", { size: "small" }))),
      };
      for (const [verb, isHeld] of [
        ["destroy", true],
        ["up without it", true],
        ["destroy -f", false],
        ["destroy -f, silent", false],
      ] as const) {
        const engine = await FakeEngine.running(goal(member, held("small", {})), joins);
        const web = engine.hosts().at(-1)?.id ?? "";
        assert.match(outcomeText(await engine.destroy([], told(preTerminate))), /held by/);
        const text = outcomeText(await verbs[verb](engine));
        assert.equal(
          engine.hosts().some(({ id }) => id === web),
          isHeld,
          `${verb}: ${text}`,
        );
      }
    });

    it("is held by the template of its set, however many that asks for, once a change was taken back", async () => {
      const pool = (replicas: number, hooks: Record<string, string>) =>
        annotatedSet(hooks, machineDeployment("pool", replicas, { size: "small" }));
      for (const [before, after, isHeld] of [
        [preTerminate, {}, false],
        [{}, preTerminate, true],
      ] as const) {
        const engine = await FakeEngine.running(goal(member, pool(1, {})), {
          traits: { ...plainWorld, parallel: true },
        });
        const faults = [
          { at: "boot", number: 1, what: "never" },
          ...(isHeld ? [{ at: "call", number: 2, what: "killBefore" } as const] : []),
        ] as const;
        await engine.up(goal(member, pool(2, before), machine("x")), faults);
        const second = engine.hosts().find(({ who }) => /^pool-[0-9a-f]{8}-1-/.test(who.name));
        assert.ok(second, "it is there");
        engine.clock.advance(20 * 60_000);
        const text = outcomeText(await engine.up(goal(member, pool(1, after))));
        assert.equal(
          engine.hosts().some(({ id }) => id === second.id),
          isHeld,
          text,
        );
      }
    });

    it("is held by what was said last, whatever verbs come after", async () => {
      const plain = goal(member, held("small", {}));
      const verbs = {
        "up without it": (engine: FakeEngine) => engine.up(goal(member)),
        destroy: (engine: FakeEngine) => engine.destroy(),
        rollback: (engine: FakeEngine) => engine.rollback(),
        "up as before": (engine: FakeEngine) => engine.up(plain),
      };
      for (const [first, second] of [
        ["up without it", "destroy"],
        ["destroy", "destroy"],
        ["rollback", "destroy"],
        ["rollback", "up without it"],
        ["rollback", "up as before"],
      ] as const) {
        const engine = await FakeEngine.running(plain, joins);
        const wanted = goal(member, machine("other"), held("large", preTerminate));
        await engine.up(wanted, [{ at: "call", number: 4, what: "killAfter" }]);
        engine.clock.advance(20 * 60_000);
        const made = engine.hosts().at(-1)?.id ?? "";
        const ends = [await verbs[first](engine), await verbs[second](engine)].map(outcomeText);
        const isThere = engine.hosts().some(({ id }) => id === made);
        assert.equal(isThere, second !== "up as before", `${first}, ${second}: ${ends.join("; ")}`);
      }
    });

    it("has a record from then on, with what lives with it, so that no verb forgets what holds it", async () => {
      const volume = { dataVolume: { gib: 1, whenHostGoes: "keep" as const } };
      const others = [machine("other-0"), machine("other-1")];
      const db = annotated(preTerminate, machine("db", volume));
      const engine = await FakeEngine.running(goal(member, ...others), joins);
      await engine.up(goal(member, ...others, db), [{ at: "call", number: 2, what: "killAfter" }]);
      engine.clock.advance(20 * 60_000);
      const left = engine.alive().filter(({ who }) => who.name.startsWith("db-"));
      assert.equal(left.length, 2);
      const [first] = others;
      assert.ok(first);
      assert.match(outcomeText(await engine.up(goal(member, first))), /^stopped owing: .*held by/s);
      const recorded = new Set(engine.prior.resources.map(({ id }) => id));
      assert.deepEqual(
        left.filter(({ id }) => !recorded.has(id)),
        [],
      );
      for (const refused of [
        await engine.forget("other-0"),
        await engine.rotate(),
        await engine.destroy(),
      ]) {
        assert.match(outcomeText(refused), /TRANSACTION_OPEN|held by pre-terminate/);
        assert.equal(
          engine.alive().filter(({ id }) => left.some((one) => one.id === id)).length,
          2,
        );
      }
    });

    it("holds up no host beside it", async () => {
      const other = machine("other");
      const engine = await FakeEngine.running(goal(member, held("small", preDrain), other), joins);
      assert.match(outcomeText(await engine.up(goal(member))), /^stopped owing/);
      assert.deepEqual(
        engine
          .hosts()
          .map(({ who }) => who.name.replace(/-.*/, ""))
          .sort(),
        ["cp", "web"],
      );
    });

    it("holds up a destroy only at its end, with what it needs", async () => {
      for (const [hooks, hosts] of [
        [preDrain, 0],
        [preTerminate, 1],
      ] as const) {
        const engine = await FakeEngine.running(goal(member, held("small", hooks)), joins);
        const outcome = outcomeText(await engine.destroy());
        assert.match(outcome, hosts === 0 ? /^done/ : /^stopped incomplete.*held by/s);
        const workers = engine.hosts().filter(({ who }) => who.name.startsWith("web-"));
        assert.equal(workers.length, hosts);
        if (hosts > 0) {
          const told = (annotations: Record<string, string>) =>
            goal(member, held("small", annotations));
          const again = outcomeText(await engine.destroy([], told(hooks)));
          assert.match(again, /^stopped incomplete.*held by/s);
          assert.equal(outcomeText(await engine.destroy([], told({}))), "done");
          assert.equal(engine.alive().length, 0);
        }
        assert.deepEqual(engine.cloud.watch.violations, []);
      }
    });

    it("keeps a change open that needs its room, and takes nothing back", async () => {
      const pool = (size: string, annotations: Record<string, string>) => {
        const plain = machineDeployment("pool", 2, { size }, { maxSurge: 0, maxUnavailable: 1 });
        const { template, ...spec } = plain["spec"] as { template: { metadata: object } };
        const metadata = { ...template.metadata, annotations };
        return { ...plain, spec: { ...spec, template: { ...template, metadata } } };
      };
      const engine = await FakeEngine.running(goal(member, pool("small", preDrain)), joins);
      const wanted = goal(member, pool("large", preDrain));
      assert.match(outcomeText(await engine.up(wanted)), /^HELD|broke.*HELD|held by/s);
      assert.equal(isOpen(engine.prior), true);
      assert.equal(engine.hosts().length, 3);
      await engine.settle(goal(member, pool("large", {})));
      assert.equal(isOpen(engine.prior), false);
      assert.deepEqual(engine.cloud.watch.violations, []);
    });
  });
});
