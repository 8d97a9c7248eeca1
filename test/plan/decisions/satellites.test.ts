import assert from "node:assert/strict";
import { CapstanError } from "../../../src/api/error.js";
import { foundTarget } from "../../../src/plan/decisions/adoption.js";
import { planTree, verbOf } from "../../../src/plan/changes/tree.js";
import type { Plan } from "../../../src/plan/plan.js";
import { FakeEngine, outcomeText } from "../../support/fake-engine.js";
import {
  cluster,
  desiredOf,
  localProvider,
  machine,
  machineDeployment,
  machineSet,
  type MachineShape,
  type Manifest,
} from "../../support/manifests.js";

const registering = cluster({ registersHosts: true });
const member = machine("cp", { controlPlane: "1.34.2" });

function objectsOf(...objects: readonly Manifest[]) {
  return desiredOf([registering, ...objects]);
}

/** Steps without hashes, a wave each. */
function wavesOf({ waves, steps }: Plan): string[][] {
  const kinds = new Map(steps.map(({ key, kind }) => [key, kind]));
  return waves.map(({ keys }) =>
    keys.map((key) => `${kinds.get(key) ?? ""} ${key.replace(/-[0-9a-f]{8}(?=-|$)/g, "-#")}`),
  );
}

const volumeOf = (gib: number, whenHostGoes?: "keep"): MachineShape => ({
  dataVolume: { gib, ...(whenHostGoes && { whenHostGoes }) },
});

const withVolume = (gib: number, more: MachineShape = {}, whenHostGoes?: "keep") =>
  machine("db", { ...more, ...volumeOf(gib, whenHostGoes) });

const nobody = { cluster: "", clusterUid: "", kind: "", name: "", token: "" };

const volumes = (engine: FakeEngine) =>
  engine.cloud.alive().filter(({ id }) => id.startsWith("LocalVolume-"));
const ours = (engine: FakeEngine) => volumes(engine).filter(({ who }) => who.clusterUid !== "");
/** Nobody's: kept when their hosts went. */
const unmarked = (engine: FakeEngine) => volumes(engine).filter(({ who }) => who.clusterUid === "");

describe("what lives with one host", () => {
  it("comes with its host, behind it", async () => {
    const plan = await new FakeEngine().plan(objectsOf(member, withVolume(5)));
    assert.deepEqual(wavesOf(plan), [
      [
        "create LocalNetwork/network",
        "create LocalLoadBalancer/api",
        "create LocalHost/cp-#-1",
        "create LocalTarget/cp-#-1-api",
      ],
      ["create LocalHost/db-#-1", "create LocalVolume/db-#-1-data"],
    ]);
  });

  it("is told behind its machine, by its own name", async () => {
    const plan = await new FakeEngine().plan(objectsOf(member, withVolume(5)));
    assert.deepEqual(
      planTree(plan).map(({ label, kind }) => `${label} ${verbOf(kind)}`.trim()),
      [
        "Cluster prod",
        "network + create",
        "api + create",
        "Machine cp + create",
        "LocalTarget api of cp + create",
        "Machine db + create",
        "LocalVolume data of db + create",
      ],
    );
  });

  it("is another one's for another host, and goes with the old one", async () => {
    const engine = await FakeEngine.running(objectsOf(member, withVolume(5)));
    const plan = await engine.plan(objectsOf(member, withVolume(5, { size: "large" })));
    assert.deepEqual(wavesOf(plan), [
      ["create LocalHost/db-#-1", "create LocalVolume/db-#-1-data"],
      ["delete LocalHost/db-#-1", "delete LocalVolume/db-#-1-data"],
    ]);
    assert.equal((await engine.apply(plan)).kind, "done");
    assert.equal(volumes(engine).length, 1);
    assert.ok((await engine.plan(objectsOf(member, withVolume(5, { size: "large" })))).empty);
  });

  it("stays when its machine goes and others of its set are kept, also once the state was lost", async () => {
    for (const losesState of [false, true]) {
      const set = (replicas: number) =>
        machineDeployment("web", replicas, { dataVolume: { gib: 5, whenHostGoes: "keep" } });
      const engine = await FakeEngine.running(objectsOf(member, set(2)), { adopt: true });
      if (losesState) engine.loseState();
      assert.equal(outcomeText(await engine.up(objectsOf(member, set(1)))), "done");
      assert.deepEqual([engine.hosts().length, volumes(engine).length], [2, 2]);
      const marked = volumes(engine).filter(({ who }) => who.clusterUid !== "");
      assert.equal(marked.length, 1, `loses its state: ${losesState}`);
    }
  });

  it("outlives its host in a change that was kept open, too, unless that is taken back", async () => {
    const set = (replicas: number) => machineSet("web", replicas, volumeOf(5, "keep"));
    const third = [{ at: "boot", number: 3, what: "fails" }] as const;
    const ends = {
      destroy: (engine: FakeEngine) => engine.destroy(),
      up: (engine: FakeEngine) => engine.up(objectsOf(member, set(0))),
      rollback: (engine: FakeEngine) => engine.rollback(),
    };
    for (const [how, end] of Object.entries(ends)) {
      const engine = new FakeEngine();
      const open = await engine.up(objectsOf(member, set(3)), third, "keep");
      assert.match(outcomeText(open), /^stopped kept/);
      assert.equal(ours(engine).length, 3);
      await end(engine);
      const left = [ours(engine).length, unmarked(engine).length];
      assert.deepEqual(left, how === "rollback" ? [0, 0] : [0, 3], how);
    }
  });

  it("stays when the change that replaces its host says so, whatever was said when it was made", async () => {
    const pool = (size: string, replicas: number, policy?: "keep") =>
      machineDeployment("web", replicas, { size, ...volumeOf(5, policy) });
    const changes = {
      machine: [withVolume(5), withVolume(5, { size: "large" }, "keep")],
      pool: [pool("small", 1), pool("large", 1, "keep")],
      "pool of none": [pool("small", 1), pool("small", 0, "keep")],
      // Its name ends like that of a deployment's set.
      set: [
        machineSet("web-20261127", 1, volumeOf(5)),
        machineSet("web-20261127", 0, volumeOf(5, "keep")),
      ],
    } as const;
    for (const [what, [before, after]] of Object.entries(changes)) {
      const engine = await FakeEngine.running(objectsOf(member, before));
      const [data] = ours(engine);
      await engine.settle(objectsOf(member, after));
      assert.deepEqual(
        unmarked(engine).map(({ id }) => id),
        [data?.id],
        what,
      );
    }
  });

  it("follows the set that its machine is of by now, whatever the machine is called", async () => {
    const pool = (name: string, size: string, policy?: "keep") =>
      objectsOf(member, machineDeployment(name, 1, { size, ...volumeOf(5, policy) }));
    const engine = await FakeEngine.running(pool("pool", "small"));
    const [data] = ours(engine);
    const kind = "MachineDeployment";
    const move = { from: { kind, name: "pool" }, to: { kind, name: "pond" } } as const;
    assert.equal(outcomeText(await engine.move(pool("pond", "small"), [move])), "done");
    await engine.settle(pool("pond", "large", "keep"));
    assert.deepEqual(
      unmarked(engine).map(({ id }) => id),
      [data?.id],
    );
  });

  it("is no other one's although its name ends like that of a later generation", async () => {
    /** Hosts with a volume of each name in the place of one. */
    const named = (...names: string[]) => {
      const provider = localProvider();
      const compile = provider.compile.bind(provider);
      provider.compile = (...parts) => {
        const compiled = compile(...parts);
        const satellites = [...(compiled.satellites ?? [])].map(([of, own]) => {
          const [first] = own;
          return [
            of,
            first === undefined ? [] : names.map((name) => ({ ...first, name })),
          ] as const;
        });
        return { ...compiled, satellites: new Map(satellites) };
      };
      return provider;
    };
    const db = desiredOf([cluster(), member, withVolume(5)]);
    const both = ["data", "data-20261127"] as const;
    for (const names of [both, [...both].reverse()]) {
      for (const last of both) {
        const engine = await FakeEngine.running(db, { provider: named("data") });
        const [first] = ours(engine);
        engine.upgrade(named(...names));
        await engine.settle(db);
        assert.equal(ours(engine).length, 2);
        engine.upgrade(named(last));
        await engine.settle(db);
        const [left] = ours(engine);
        assert.ok(left);
        assert.ok(left.who.name.endsWith(`-1-${last}`), left.who.name);
        assert.equal(left.id === first?.id, last === "data");
      }
    }
  });

  it("stays also where the change before owes its deletion still, and said that it goes", async () => {
    const engine = await FakeEngine.running(objectsOf(member, withVolume(5)));
    const [data] = ours(engine);
    const large = (policy?: "keep") => objectsOf(member, withVolume(5, { size: "large" }, policy));
    const isProtected = new CapstanError({
      code: "CLOUD_FAILED",
      source: "cloud",
      message: "it is protected",
    });
    engine.cloud.refusal = ({ call }) => (call === "delete" ? isProtected : undefined);
    assert.match(outcomeText(await engine.up(large())), /^stopped owing/);
    engine.cloud.refusal = () => undefined;
    await engine.settle(large("keep"));
    assert.deepEqual(
      unmarked(engine).map(({ id }) => id),
      [data?.id],
    );
  });

  it("stays where a rollback was killed that was to delete it, and manifests lead to the same that keep it", async () => {
    const small = objectsOf(member, withVolume(5, {}, "keep"));
    const medium = objectsOf(member, withVolume(5, { size: "medium" }));
    for (const number of [0, 1, 2, 3, 4, 5]) {
      const engine = await FakeEngine.running(small);
      await engine.settle(medium);
      const data = ours(engine).map(({ id }) => id);
      await engine.rollback([{ at: "write", number, what: "killAfter" }]);
      const isThere = ours(engine).some(({ id }) => data.includes(id));
      await engine.settle(small);
      const left = volumes(engine).filter(({ id }) => data.includes(id));
      assert.equal(left.length, isThere ? 1 : 0, `write ${number}`);
    }
  });

  it("is deleted by a way back from a change that said otherwise of what others had made", async () => {
    const engine = await FakeEngine.running(objectsOf(member, withVolume(5)));
    const [data] = ours(engine);
    const fails = [{ at: "boot", number: 0, what: "fails" }] as const;
    const medium = objectsOf(member, withVolume(5, { size: "medium" }));
    assert.match(outcomeText(await engine.up(medium, fails, "keep")), /^stopped kept/);
    const large = objectsOf(member, withVolume(5, { size: "large" }, "keep"));
    await engine.up(large, fails);
    assert.deepEqual(
      ours(engine).map(({ id }) => id),
      [data?.id],
    );
    assert.deepEqual(unmarked(engine), []);
  });

  it("is deleted by a way back whichever of several changes that were never committed has made it", async () => {
    const data = { dataVolume: { gib: 5, whenHostGoes: "keep" as const } };
    const sized = (size: string) => objectsOf(member, machine("web", { ...data, size }));
    const engine = new FakeEngine();
    for (const [size, number] of [
      ["small", 1],
      ["large", 0],
    ] as const) {
      const fails = [{ at: "boot", number, what: "fails" }] as const;
      assert.match(outcomeText(await engine.up(sized(size), fails, "keep")), /^stopped kept/);
    }
    assert.equal(unmarked(engine).length + ours(engine).length, 2);
    await engine.rollback();
    assert.deepEqual([ours(engine).length, unmarked(engine).length], [0, 0]);
  });

  it("is never deleted where it served before, whatever was wanted again and failed", async () => {
    const db = (size: string) => withVolume(5, { size }, "keep");
    const fails = [{ at: "boot", number: 0, what: "fails" }] as const;
    const others = [machine("x"), machine("y")] as const;
    const ends = [
      objectsOf(member, db("medium"), others[1]),
      objectsOf(member, db("large"), others[1]),
      objectsOf(member, others[1]),
    ];
    for (const end of ends) {
      for (const number of [1, 2, 3, 4]) {
        const engine = await FakeEngine.running(objectsOf(member, db("small"), others[0]));
        const [data] = volumes(engine);
        const killed = [{ at: "call", number, what: "killBefore" }] as const;
        await engine.up(objectsOf(member, db("medium")), killed);
        engine.clock.advance(60_000);
        await engine.rollback([{ at: "call", number: 0, what: "killBefore" }]);
        engine.clock.advance(60_000);
        await engine.up(end, fails);
        const { phase } = engine.cloud.get(data?.id ?? "") ?? {};
        assert.notEqual(phase, "gone", `killed in call ${number}`);
      }
    }
  });

  it("stays on a host that a rollback lets go, whatever was said of it", async () => {
    const other = machine("other");
    const engine = await FakeEngine.running(objectsOf(member, other));
    const { id } = engine.cloud.plant(nobody, engine.hosts().at(-1)?.spec ?? {});
    const imported = objectsOf(member, other, machine("imp"));
    assert.equal(outcomeText(await engine.import("imp", id, imported)), "done");
    await engine.settle(objectsOf(member, other, machine("imp", volumeOf(5))));
    const [own] = volumes(engine);
    assert.equal(outcomeText(await engine.rollback([], 1)), "done");
    assert.deepEqual(
      engine.cloud
        .alive()
        .filter((one) => one.id === id || one.id === own?.id)
        .map(({ who }) => who.token),
      ["", ""],
    );
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("is nobody's to a state that is older than the end of its host, and stops no verb", async () => {
    const set = (replicas: number) => machineSet("web", replicas, volumeOf(5, "keep"));
    const verbs = {
      up: (engine: FakeEngine) => engine.up(objectsOf(member, set(1))),
      "up with its machine": (engine: FakeEngine) => engine.up(objectsOf(member, set(2))),
      destroy: (engine: FakeEngine) => engine.destroy(),
    };
    for (const [how, verb] of Object.entries(verbs)) {
      const engine = await FakeEngine.running(objectsOf(member, set(2)));
      const older = engine.savedState();
      await engine.settle(objectsOf(member, set(1)));
      engine.restoreState(older);
      const [kept] = unmarked(engine);
      assert.equal(outcomeText(await verb(engine)), "done", how);
      assert.ok(
        unmarked(engine).some(({ id }) => id === kept?.id),
        how,
      );
    }
  });

  for (const [what, set] of Object.entries({ deployment: machineDeployment, set: machineSet })) {
    it(`follows the template of a ${what} that asks for none, also once the state was lost`, async () => {
      const of = (replicas: number, whenHostGoes?: "keep") =>
        objectsOf(member, set("web", replicas, volumeOf(5, whenHostGoes)), withVolume(5));
      for (const losesState of [false, true]) {
        const engine = await FakeEngine.running(of(2, "keep"), { adopt: true });
        if (losesState) engine.loseState();
        assert.equal(outcomeText(await engine.up(of(0, "keep"))), "done");
        assert.equal(volumes(engine).length, 3, "that of db is deleted with it alone");
        assert.equal(unmarked(engine).length, 2, `loses its state: ${losesState}`);
      }
      const engine = await FakeEngine.running(of(2), { adopt: true });
      engine.loseState();
      assert.equal(outcomeText(await engine.up(of(0))), "done");
      assert.equal(volumes(engine).length, 1, "nothing else is kept");
    });
  }

  it("follows its own template, not that of others which keep theirs, once the state was lost", async () => {
    const of = (replicas: number) =>
      objectsOf(member, machineSet("web", replicas, volumeOf(5)), withVolume(5, {}, "keep"));
    const engine = await FakeEngine.running(of(2), { adopt: true });
    engine.loseState();
    assert.equal(outcomeText(await engine.up(of(0))), "done");
    assert.equal(volumes(engine).length, 1);
    assert.deepEqual(unmarked(engine), []);
  });

  it("stays also as a later generation when its machine goes, once the state was lost", async () => {
    const of = (replicas: number, gib: number) =>
      objectsOf(member, machineDeployment("web", replicas, volumeOf(gib, "keep")));
    const engine = await FakeEngine.running(of(2, 5), { adopt: true });
    await engine.settle(of(2, 3));
    const before = ours(engine);
    assert.equal(before.length, 2);
    for (const { who } of before) assert.match(who.name, /-data-[0-9a-f]{8}$/);
    engine.loseState();
    assert.equal(outcomeText(await engine.up(of(1, 3))), "done");
    const [gone] = unmarked(engine).filter(({ id }) => before.some((one) => one.id === id));
    assert.ok(gone !== undefined, "without our marks");
    assert.equal(ours(engine).length, 1);
  });

  it("stays with a machine that no manifest speaks of where a template keeps its name", async () => {
    const kept = machineDeployment("web", 0, volumeOf(5, "keep"));
    for (const isSpokenOf of [true, false]) {
      const engine = await FakeEngine.running(objectsOf(member, withVolume(5, {}, "keep")), {
        adopt: true,
      });
      engine.loseState();
      const desired = objectsOf(member, ...(isSpokenOf ? [kept] : []));
      assert.equal(outcomeText(await engine.up(desired)), "done");
      assert.equal(unmarked(engine).length, isSpokenOf ? 1 : 0);
      assert.deepEqual(ours(engine), []);
    }
  });

  it("changes in place, or is replaced beside its host", async () => {
    const engine = await FakeEngine.running(objectsOf(member, withVolume(5)));
    const grown = await engine.plan(objectsOf(member, withVolume(6)));
    assert.deepEqual(wavesOf(grown), [
      ["update LocalHost/db-#-1", "update LocalVolume/db-#-1-data"],
    ]);
    const shrunk = await engine.plan(objectsOf(member, withVolume(4)));
    assert.deepEqual(
      shrunk.steps.map(({ kind, key }) => `${kind} ${key.replace(/[0-9a-f]{8}/g, "#")}`),
      [
        "update LocalHost/db-#-1",
        "create LocalVolume/db-#-1-data-#",
        "delete LocalVolume/db-#-1-data",
      ],
    );
    assert.equal((await engine.apply(shrunk)).kind, "done");
    assert.ok((await engine.plan(objectsOf(member, withVolume(4)))).empty);
  });

  it("comes anew with a host whose last one is gone", async () => {
    const engine = await FakeEngine.running(objectsOf(member, withVolume(5)));
    const host = engine.hosts().find(({ who }) => who.name.startsWith("db-"));
    engine.cloud.kill(host?.id ?? "");
    await engine.settle(objectsOf(member, withVolume(5)));
    const [volume, ...others] = volumes(engine);
    assert.equal(others.length, 0);
    assert.match(volume?.who.name ?? "", /^db-[0-9a-f]{8}-2-data$/);
  });

  it("is made anew alone when it is gone, while its host goes on", async () => {
    const engine = await FakeEngine.running(objectsOf(member, withVolume(5)));
    engine.cloud.kill(volumes(engine)[0]?.id ?? "");
    const plan = await engine.plan(objectsOf(member, withVolume(5)));
    assert.deepEqual(wavesOf(plan), [["create LocalVolume/db-#-1-data"]]);
    await engine.settle(objectsOf(member, withVolume(5)));
    assert.equal(volumes(engine).length, 1);
  });

  it("never gets a name again that one had that was taken away", async () => {
    const engine = await FakeEngine.running(objectsOf(member, withVolume(5)));
    const names = new Set<string | undefined>();
    for (let times = 0; times < 3; times += 1) {
      names.add(volumes(engine)[0]?.who.name);
      await engine.settle(objectsOf(member, machine("db")));
      assert.deepEqual(volumes(engine), []);
      await engine.settle(objectsOf(member, withVolume(5)));
    }
    assert.equal(names.add(volumes(engine)[0]?.who.name).size, 4);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("stays without our marks where that is its policy, and only once it was committed", async () => {
    const kept = objectsOf(member, withVolume(5, {}, "keep"));
    const engine = await FakeEngine.running(kept);
    const without = await engine.plan(objectsOf(member));
    const step = without.steps.find(({ key }) => key.startsWith("LocalVolume/"));
    assert.equal(step?.kind === "delete" && step.letGo, true);
    assert.equal((await engine.apply(without)).kind, "done");
    assert.deepEqual(
      volumes(engine).map(({ who }) => who.clusterUid),
      [""],
    );
    const failing = new FakeEngine();
    const fails = [{ at: "boot", number: 1, what: "fails" }] as const;
    const outcome = await failing.up(kept, fails);
    assert.match(outcomeText(outcome), /rolledBack/);
    assert.deepEqual(failing.cloud.alive(), [], "what never served is no data of anybody's");
  });

  it("is found again in a lost state, with its host and its policy", async () => {
    const desired = objectsOf(member, withVolume(5, {}, "keep"), machineDeployment("web", 1));
    const engine = await FakeEngine.running(desired);
    const found = engine.alive();
    const { nodes } = foundTarget({ desired, provider: localProvider(), found, nowMs: 0 });
    const made = engine.prior.revision?.target.nodes ?? [];
    const those = (all: typeof nodes) =>
      all
        .filter(({ host }) => host !== undefined)
        .map(({ name, host, keep, spec, dependsOn }) => ({ name, host, keep, spec, dependsOn }))
        .sort((left, right) => (left.name < right.name ? -1 : 1));
    assert.equal(those(nodes).length, 2);
    assert.deepEqual(those(nodes), those(made));
    const stranger = desiredOf([registering, member]);
    const target = foundTarget({ desired: stranger, provider: localProvider(), found, nowMs: 0 });
    const volume = target.nodes.find(({ kind }) => kind === "LocalVolume");
    assert.match(volume?.host ?? "", /^LocalHost\/db-/, "of whatever machine");
  });

  it("that has outlived its host is kept as it was found, until a commit without it", async () => {
    const desired = objectsOf(member, withVolume(5), machineDeployment("web", 1));
    const engine = await FakeEngine.running(desired, { adopt: true });
    const host = engine.hosts().find(({ who }) => who.name.startsWith("db-"));
    engine.cloud.kill(host?.id ?? "");
    engine.loseState();
    const [before] = volumes(engine);
    const outcome = await engine.up(desired, [{ at: "boot", number: 0, what: "fails" }]);
    assert.match(outcomeText(outcome), /rolledBack/);
    assert.deepEqual(
      volumes(engine).map(({ id }) => id),
      [before?.id],
    );
    await engine.settle(desired);
    assert.equal(volumes(engine).length, 1);
    assert.notEqual(volumes(engine)[0]?.id, before?.id);
  });
});
