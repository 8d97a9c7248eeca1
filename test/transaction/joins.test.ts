import assert from "node:assert/strict";
import { keyAlgorithmAnnotation } from "../../src/api/key-algorithm.js";
import type { Desired } from "../../src/api/types.js";
import { planNotes } from "../../src/plan/changes/notes.js";
import { CapstanError } from "../../src/api/error.js";
import type { RunEvent } from "../../src/engine/run/run-event.js";
import { annotated, cluster, desiredOf, machine, type Manifest } from "../support/manifests.js";
import { byPolicy } from "../drift/drifting.js";
import { plainWorld } from "../support/fake-cloud.js";
import type { CommandFault } from "../support/faults.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { quotaWithoutStore } from "../support/fake-hosts.js";

const goal = (...objects: Manifest[]) => desiredOf([cluster(), ...objects]);
const member = (name: string, size = "small") => machine(name, { controlPlane: "1.34.2", size });
const joins = { traits: { ...plainWorld, joins: true } } as const;

/** "LocalHost/cp-0": keys without hashes. */
function short(keys: readonly string[]): string[] {
  return keys.map((key) => key.replace(/-[0-9a-f]{8}-\d+$/, ""));
}

function hosts(engine: FakeEngine): string[] {
  return engine.hosts().map(({ who }) => who.name.replace(/-[0-9a-f]{8}-/, "."));
}

const never: CommandFault = { at: "boot", number: 0, what: "never" };
const interrupted = { code: "CANCELLED", source: "user", message: "interrupted" } as const;
const fails: CommandFault = { at: "boot", number: 0, what: "fails" };

describe("a cluster whose hosts join each other", () => {
  it("begins with one member; the next ones, and then workers, follow one that serves", async () => {
    const engine = new FakeEngine(joins);
    const plan = await engine.plan(goal(member("cp-0"), member("cp-1"), machine("web")));
    assert.deepEqual(
      plan.waves.map(({ keys }) => short(keys)),
      [
        ["LocalNetwork/network", "LocalLoadBalancer/api", "LocalHost/cp-0"],
        ["LocalHost/cp-1"],
        ["LocalHost/web"],
      ],
    );
    await engine.settle(goal(member("cp-0"), member("cp-1"), machine("web")));
    assert.deepEqual(engine.cloud.watch.violations, []);
    assert.deepEqual([...engine.cloud.hosts.kept.keys(), ...engine.cloud.hosts.tokens.keys()], []);
  });

  it("keeps what a first member fetches until all that lives with it is ready", async () => {
    const traits = { ...joins.traits, attachMs: 1_000 };
    const engine = new FakeEngine({ traits });
    const { kept } = engine.cloud.hosts;
    const seen: string[] = [];
    const forget = kept.delete.bind(kept);
    kept.delete = (name) => {
      const phases = engine.cloud.alive().map(({ who, phase }) => `${who.kind} ${phase}`);
      seen.push(...phases.filter((one) => !one.startsWith("LocalNetwork")));
      return forget(name);
    };
    const wanted = goal(machine("cp-0", { controlPlane: "1.34.2", dataVolume: { gib: 1 } }));
    assert.equal(outcomeText(await engine.up(wanted)), "done");
    assert.deepEqual(seen.sort(), [
      "LocalHost ready",
      "LocalLoadBalancer ready",
      "LocalVolume ready",
    ]);
    assert.equal(kept.size, 0);
  });

  it("replaces its only member by one that joins it", async () => {
    const engine = await FakeEngine.running(goal(member("cp-0")), joins);
    await engine.settle(goal(member("cp-0", "large")));
    assert.deepEqual(hosts(engine), ["cp-0.1"]);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("takes a member out of etcd before its host goes, and no worker", async () => {
    const engine = await FakeEngine.running(goal(member("cp-0"), machine("web")), joins);
    const { hosts: nodes } = engine.cloud;
    await engine.settle(goal(member("cp-0", "large"), machine("web", { size: "large" })));
    assert.deepEqual(
      [...nodes.leftMembers].map((name) => name.replace(/-[0-9a-f]{8}-/, ".")),
      ["cp-0.1"],
    );
    assert.deepEqual(
      [...nodes.deletedNodes].map((name) => name.replace(/-[0-9a-f]{8}-/, ".")).sort(),
      ["cp-0.1", "web.1"],
    );
    assert.equal((await engine.destroy()).kind, "done");
    assert.equal(nodes.leftMembers.size, 1);
  });

  it("takes a member whose host is gone out of etcd before another joins", async () => {
    const three = goal(member("cp-0"), member("cp-1"), member("cp-2"));
    const engine = await FakeEngine.running(three, joins);
    const lost = engine.hosts().find(({ who }) => who.name.startsWith("cp-1-"))!;
    engine.cloud.kill(lost.id);
    await engine.settle(three);
    assert.deepEqual([...engine.cloud.hosts.leftMembers], [lost.who.name]);
    assert.deepEqual(hosts(engine).sort(), ["cp-0.1", "cp-1.2", "cp-2.1"]);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("takes one out, too, whose record a plain refresh has dropped", async () => {
    const three = goal(member("cp-0"), member("cp-1"), member("cp-2"), machine("web"));
    const engine = await FakeEngine.running(three, joins);
    const gone = ["cp-1-", "web-"].map((name) =>
      engine.hosts().find(({ who }) => who.name.startsWith(name))!,
    );
    for (const { id } of gone) engine.cloud.kill(id);
    engine.tamper((resources) => resources.filter(({ id }) => gone.every((one) => one.id !== id)));
    await engine.settle(three);
    assert.deepEqual([...engine.cloud.hosts.leftMembers], [gone[0]?.who.name]);
    assert.deepEqual(hosts(engine).sort(), ["cp-0.1", "cp-1.2", "cp-2.1", "web.2"]);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  describe("whose hosts are drained before they go", () => {
    const small = goal(member("cp-0"), machine("web"));
    const large = goal(member("cp-0"), machine("web", { size: "large" }));

    it("moves pods away first, and waits for those whose budget does not let them go", async () => {
      const reasons: string[] = [];
      const tell = (event: RunEvent) => {
        if (event.kind === "waiting") reasons.push(event.reason);
      };
      const engine = await FakeEngine.running(small, { ...joins, tell });
      const { hosts: nodes } = engine.cloud;
      let rounds = 0;
      nodes.blockersOf = () => {
        rounds += 1;
        assert.equal(hosts(engine).length, 3, "nothing is deleted before");
        return rounds < 4 ? [{ pod: "default/a", why: "its budget allows none" }] : [];
      };
      await engine.settle(large);
      assert.equal(rounds, 4);
      assert.equal(nodes.drained.size, 1);
      assert.match(
        reasons.join("\n"),
        /^LocalHost\/web-\w+-1: 1 pod has to go first since [\dT:-]+Z: default\/a \(its budget allows none\)$/m,
      );
    });

    it("waits for them no longer than a deletion may take", async () => {
      const engine = await FakeEngine.running(small, joins);
      const { hosts: nodes } = engine.cloud;
      nodes.blockersOf = () => [{ pod: "default/a", why: "its budget allows none" }];
      await engine.settle(large);
      assert.equal(nodes.drained.size, 0);
      assert.deepEqual(hosts(engine), ["cp-0.1", "web.1"]);
    });

    it("has as much time for those whose deletion is owed", async () => {
      const engine = await FakeEngine.running(small, joins);
      const { hosts: nodes } = engine.cloud;
      const outcome = await engine.up(large, [{ at: "call", number: 5, what: "failForGood" }]);
      assert.match(outcomeText(outcome), /^stopped owing/);
      engine.clock.advance(24 * 60 * 60_000);
      let rounds = 0;
      nodes.blockersOf = () => {
        rounds += 1;
        return rounds < 3 ? [{ pod: "default/a", why: "its budget allows none" }] : [];
      };
      await engine.settle(large);
      assert.equal(rounds, 3);
    });

    it("lets hosts that stay after all take pods again", async () => {
      const engine = await FakeEngine.running(small, joins);
      const { hosts: nodes } = engine.cloud;
      nodes.blockersOf = () => {
        engine.lastProcess.stop.abort(new CapstanError(interrupted));
        return [{ pod: "default/a", why: "its budget allows none" }];
      };
      assert.match(outcomeText(await engine.up(large)), /CANCELLED/);
      const [stays = ""] = nodes.cordoned;
      nodes.blockersOf = () => [];
      await engine.settle(small);
      assert.ok(engine.hosts().some(({ who }) => who.name === stays));
      assert.equal(nodes.cordoned.has(stays), false);
    });

    it("drains nothing of a cluster that goes as a whole", async () => {
      const engine = await FakeEngine.running(small, joins);
      assert.equal((await engine.destroy()).kind, "done");
      assert.equal(engine.cloud.hosts.cordoned.size, 0);
    });
  });

  describe("whose hosts run before they have joined", () => {
    const wanted = goal(member("cp-0"), member("cp-1"), machine("web"));
    const isWeb = (host: string) => host.startsWith("web-");

    it("waits for them, and keeps their tokens until then", async () => {
      const engine = new FakeEngine(joins);
      const { hosts: nodes } = engine.cloud;
      const asked: string[] = [];
      nodes.hasJoined = (host) => {
        assert.equal(nodes.tokens.size, 1, `${host} joins with its token`);
        asked.push(host);
        return asked.filter((one) => one === host).length > 2;
      };
      await engine.up(wanted);
      assert.equal(asked.length, 6, asked.join());
      assert.deepEqual([...nodes.tokens.keys()], []);
      assert.deepEqual(engine.cloud.watch.violations, []);
    });

    it("takes back what none of them joins", async () => {
      const engine = await FakeEngine.running(goal(member("cp-0"), member("cp-1")), joins);
      engine.cloud.hosts.hasJoined = (host) => !isWeb(host);
      const outcome = await engine.up(wanted);
      assert.match(outcomeText(outcome), /^rolledBack.*not ready after/s);
      assert.deepEqual(hosts(engine).sort(), ["cp-0.1", "cp-1.1"]);
      assert.deepEqual([...engine.cloud.hosts.tokens.keys()], []);
    });

    it("finds those that a command left that was killed", async () => {
      const engine = await FakeEngine.running(goal(member("cp-0"), member("cp-1")), joins);
      engine.cloud.hosts.hasJoined = (host) => !isWeb(host);
      const kept = await engine.up(wanted, [], "keep");
      assert.match(outcomeText(kept), /^stopped/);
      engine.cloud.hosts.hasJoined = () => true;
      assert.equal(outcomeText(await engine.up(wanted)), "done");
      assert.deepEqual(engine.cloud.watch.violations, []);
    });
  });

  it("keeps no member that has left etcd, wherever its replacement is killed", async () => {
    const before = goal(member("cp-0"), member("cp-1"));
    for (let number = 0; number < 16; number += 1) {
      for (const back of ["rollback", "up"] as const) {
        const engine = await FakeEngine.running(before, joins);
        const fault: CommandFault = { at: "call", number, what: "killBefore" };
        await engine.up(goal(member("cp-0", "large"), member("cp-1", "large")), [fault]);
        const where = `${back} after call ${number}`;
        if (back === "rollback") {
          await engine.rollback();
          assert.deepEqual(engine.cloud.hosts.leftAmong(engine.hosts()), [], where);
        }
        await engine.settle(before);
        assert.deepEqual(engine.cloud.hosts.leftAmong(engine.hosts()), [], where);
        assert.equal(engine.hosts().length, 2, where);
        assert.deepEqual(engine.cloud.watch.violations, [], where);
      }
    }
  });

  it("keeps the host of a member that serves and cannot leave etcd", async () => {
    const engine = await FakeEngine.running(goal(member("cp-0")), joins);
    engine.cloud.hosts.refusesToLeave = true;
    const outcome = await engine.up(goal(member("cp-0", "large")));
    assert.match(outcomeText(outcome), /etcd has no majority without it/);
    assert.deepEqual(hosts(engine).sort(), ["cp-0.1", "cp-0.1"]);
    engine.cloud.hosts.refusesToLeave = false;
    await engine.settle(goal(member("cp-0", "large")));
    assert.equal(hosts(engine).length, 1);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  for (const fault of [never, fails]) {
    it(`begins anew once a first member that ${fault.what} is gone, and not before`, async () => {
      const engine = new FakeEngine(joins);
      const wanted = goal(member("cp-0"), member("cp-1"));
      const kept = await engine.up(wanted, [fault], "keep");
      assert.match(outcomeText(kept), /^stopped/);
      assert.deepEqual(hosts(engine), ["cp-0.1"]);
      const outcome = await engine.up(wanted);
      assert.equal(outcomeText(outcome), "done");
      assert.deepEqual(hosts(engine), ["cp-0.2", "cp-1.1"]);
      assert.deepEqual(engine.cloud.watch.violations, []);
    });
  }

  it("takes back the token of a host that is taken back", async () => {
    const engine = await FakeEngine.running(goal(member("cp-0")), joins);
    const outcome = await engine.up(goal(member("cp-0"), machine("web")), [fails]);
    assert.match(outcomeText(outcome), /^rolledBack/);
    assert.deepEqual(hosts(engine), ["cp-0.1"]);
    assert.deepEqual([...engine.cloud.hosts.tokens.keys()], []);
  });

  it("takes tokens back at the end that its API server was too busy for, and does not wait for one that stays so", async () => {
    const wanted = goal(member("cp-0"), machine("a"), machine("b"));
    for (const [refusals, left] of [
      [3, 0],
      [Number.POSITIVE_INFINITY, 2],
    ] as const) {
      const engine = await FakeEngine.running(goal(member("cp-0")), joins);
      const { hosts: nodes } = engine.cloud;
      let asked = 0;
      nodes.keepsToken = () => (asked += 1) <= refusals;
      const sinceMs = engine.clock.now();
      assert.equal(outcomeText(await engine.up(wanted)), "done");
      assert.equal(nodes.tokens.size, left);
      assert.ok(engine.clock.now() - sinceMs < 2 * 60_000, "it comes to its end");
      assert.deepEqual(engine.cloud.watch.violations, []);
    }
  });

  it("takes back at the end of a change what an earlier one could not, whose API server was too busy", async () => {
    const first = goal(member("cp-0"), machine("a"));
    const engine = await FakeEngine.running(goal(member("cp-0")), joins);
    const { hosts: nodes } = engine.cloud;
    nodes.keepsToken = () => true;
    assert.equal(outcomeText(await engine.up(first)), "done");
    assert.equal(nodes.tokens.size, 1);
    nodes.keepsToken = () => false;
    const wanted = goal(member("cp-0"), machine("a"), machine("b"));
    assert.equal(outcomeText(await engine.up(wanted)), "done");
    assert.equal(nodes.tokens.size, 0);
  });

  describe("whose command is killed while a host joins", () => {
    const wanted = goal(member("cp-0"), machine("web"));
    // Its first call keeps the host's secret, and its second makes the host.
    const kill: CommandFault = { at: "call", number: 1, what: "killAfter" };
    let engine: FakeEngine;

    const tokensAfter = async (...faults: CommandFault[]): Promise<string[]> => {
      engine = await FakeEngine.running(goal(member("cp-0")), joins);
      assert.equal(outcomeText(await engine.up(wanted, faults)), "killed");
      const tokens = [...engine.cloud.hosts.tokens.keys()];
      assert.equal(tokens.length, 1);
      return tokens;
    };

    it("takes the host's token back with the next one", async () => {
      await tokensAfter(kill);
      assert.equal(outcomeText(await engine.up(wanted)), "done");
      assert.deepEqual([...engine.cloud.hosts.tokens.keys()], []);
    });

    it("takes it back, too, where its host never came to be and is not wanted any more", async () => {
      await tokensAfter(kill);
      assert.equal((await engine.rollback()).kind, "rolledBack");
      assert.deepEqual([...engine.cloud.hosts.tokens.keys()], []);
    });

    it("keeps the host's token good as long as it has not joined", async () => {
      const tokens = await tokensAfter(kill, never);
      await engine.up(wanted, [], "keep");
      assert.deepEqual([...engine.cloud.hosts.extended], tokens);
    });
  });

  describe("and does without a store", () => {
    const without = (...objects: Manifest[]) =>
      desiredOf([cluster({ machineQuota: quotaWithoutStore }), ...objects]);

    it("is told everything by its user data, and the store is never asked", async () => {
      const engine = await FakeEngine.running(without(member("cp-0"), machine("web")), joins);
      await engine.settle(without(member("cp-0", "large"), machine("web")));
      assert.equal((await engine.destroy()).kind, "done");
      assert.equal(engine.cloud.hosts.storeCalls, 0);
      assert.deepEqual(engine.cloud.watch.violations, []);
    });

    it("leaves nothing of what was kept while it had one", async () => {
      const engine = await FakeEngine.running(goal(member("cp-0")), joins);
      const kill: CommandFault = { at: "call", number: 0, what: "killAfter" };
      const killed = await engine.up(goal(member("cp-0"), machine("web")), [kill]);
      assert.equal(outcomeText(killed), "killed");
      assert.equal(engine.cloud.hosts.kept.size, 1);
      await engine.settle(without(member("cp-0"), machine("web")));
      assert.deepEqual(hosts(engine), ["cp-0.1", "web.1"]);
      assert.deepEqual([...engine.cloud.hosts.kept.keys()], []);
      assert.deepEqual(engine.cloud.watch.violations, []);
    });
  });

  it("does not begin a second time where its control plane has run and is lost", async () => {
    const engine = await FakeEngine.running(goal(member("cp-0"), machine("web")), joins);
    const [first] = engine.hosts();
    engine.cloud.kill(first?.id ?? "");
    const outcome = await engine.up(goal(member("cp-0"), machine("web")));
    assert.match(
      outcomeText(outcome),
      /cannot make host cp-0-\w+-2: the control plane of default\/prod has run, and no member of it is left to join/,
    );
    assert.deepEqual(hosts(engine), ["web.1"]);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("says that it keeps its keys where another algorithm is asked for later", async () => {
    const asks = (algorithm: string) =>
      desiredOf([annotated({ [keyAlgorithmAnnotation]: algorithm }, cluster()), member("cp-0")]);
    const engine = await FakeEngine.running(goal(member("cp-0")), joins);
    const notes = async (desired: Desired) =>
      planNotes(await engine.plan(desired)).filter((note) => note.includes("keys"));
    assert.deepEqual(await notes(asks("RSA-4096")), [
      "The cluster's keys stay as they are: capstan.dev/key-algorithm RSA-4096 counts for keys that capstan certificates rotate default.prod makes.",
    ]);
    assert.deepEqual(await notes(asks("ECDSA-P256")), [], "which is what they are without");
    assert.deepEqual(await notes(goal(member("cp-0"), machine("web"))), []);
  });

  it("makes no host while nobody knows its keys", async () => {
    const engine = await FakeEngine.running(goal(member("cp-0")), { ...joins, adopt: true });
    engine.loseState();
    const outcome = await engine.up(goal(member("cp-0"), machine("web")));
    assert.match(
      outcomeText(outcome),
      /^stopped untouched: .* holds no keys to make or take away hosts with: Machine web$/,
    );
    assert.deepEqual(hosts(engine), ["cp-0.1"]);
  });

  it("takes no member away while nobody knows its keys, but the whole cluster", async () => {
    const engine = await FakeEngine.running(goal(member("cp-0"), member("cp-1")), {
      ...joins,
      adopt: true,
    });
    engine.loseState();
    const outcome = await engine.up(goal(member("cp-0")));
    assert.match(outcomeText(outcome), /^stopped untouched: .*: Machine cp-1$/);
    assert.deepEqual(hosts(engine), ["cp-0.1", "cp-1.1"]);
    assert.equal((await engine.destroy()).kind, "done");
    assert.deepEqual(hosts(engine), []);
  });

  it("takes no worker from its pods while nobody knows its keys, unless it is not to be drained", async () => {
    const undrained = (name: string) =>
      annotated({ "machine.cluster.x-k8s.io/exclude-node-draining": "" }, machine(name));
    const all = [member("cp-0"), undrained("bare"), machine("web")];
    const engine = await FakeEngine.running(goal(...all), { ...joins, adopt: true });
    engine.loseState();
    assert.equal((await engine.up(goal(...all))).kind, "done");
    const outcome = await engine.up(goal(member("cp-0")));
    assert.match(outcomeText(outcome), /^stopped untouched: .*: Machine web$/);
    assert.equal((await engine.up(goal(member("cp-0"), machine("web")))).kind, "done");
    assert.deepEqual(hosts(engine), ["cp-0.1", "web.1"]);
  });

  it("has Nodes that bear what their Machines want once a change is done", async () => {
    const labelled = (labels: Record<string, string>) => {
      const plain = machine("web");
      const spec = { ...(plain["spec"] as object), metadata: { labels } };
      return desiredOf([cluster(), member("cp-0"), { ...plain, spec }]);
    };
    const engine = await FakeEngine.running(labelled({ a: "1" }), joins);
    const { marks } = engine.cloud.hosts;
    const labelsOf = () => [...marks].map(([host, { labels }]) => [short([host])[0], labels]);
    assert.deepEqual(labelsOf(), [
      ["cp-0", {}],
      ["web", { a: "1" }],
    ]);
    await engine.settle(labelled({ b: "2" }));
    assert.deepEqual(labelsOf()[1], ["web", { b: "2" }]);
    // What only looks marks nothing.
    marks.clear();
    await engine.plan(labelled({ c: "3" }));
    assert.equal(marks.size, 0);
  });

  it("tells of a Node that runs otherwise than its host was told, and replaces nothing", async () => {
    const wanted = desiredOf([
      annotated({ "capstan.dev/drift-policy": "replace" }, cluster()),
      member("cp-0"),
      machine("web"),
    ]);
    const engine = await FakeEngine.running(wanted, { ...joins, ...byPolicy });
    assert.equal((await engine.plan(wanted)).ignoredDrift, undefined);
    engine.cloud.hosts.nodeSays = (host) => ({
      kubelet: host.startsWith("web") ? "1.33.9" : "1.34.2",
    });
    const plan = await engine.plan(wanted);
    assert.deepEqual(plan.steps, []);
    assert.deepEqual(
      plan.ignoredDrift?.map(({ key, because }) => [short([key]), because]),
      [[["LocalHost/web"], "report"]],
    );
    // A cluster that does not answer says nothing of its Nodes.
    const [first] = engine.hosts();
    engine.cloud.kill(first?.id ?? "");
    const { ignoredDrift = [] } = await engine.plan(wanted);
    assert.deepEqual(
      ignoredDrift.filter(({ key }) => key.includes("web")),
      [],
    );
  });

  it("tells what hosts that fail have printed last, without secrets", async () => {
    const engine = new FakeEngine({
      ...joins,
      sabotage: ({ provider, engine: pulumi }) => ({
        engine: pulumi,
        provider: {
          ...provider,
          ...(provider.userData !== undefined && {
            userData: {
              ...provider.userData,
              console: async () =>
                "\u001b[1;31mbooting\u001b[0m\n\t[ERROR NumCPU]: 1 CPU\u0007\nkubeadm: token abcdef.0123456789abcdef is unknown\n",
            },
          }),
        },
      }),
    });
    const outcome = await engine.up(goal(member("cp-0")), [fails], "keep");
    assert.match(
      outcomeText(outcome),
      /LocalHost\/cp-0-\w+-1 printed last:\n {4}booting\n {4}\t\[ERROR NumCPU\]: 1 CPU\n {4}kubeadm: token \[redacted\] is unknown/,
    );
  });
});
