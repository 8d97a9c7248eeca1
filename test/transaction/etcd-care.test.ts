import assert from "node:assert/strict";
import fc from "fast-check";
import { heldByEtcd } from "../../src/plan/waves/members.js";
import { isMajorityWithout, mayLeaveDead, othersAiling } from "../../src/plan/waves/member-care.js";
import { untouchedSoFar } from "../../src/plan/planner/planned-transaction.js";
import { keepsEtcd, patienceEndMs } from "../../src/engine/run/member-care.js";
import { unknownHealth } from "../../src/workload/etcd/etcd-health.js";
import type { RunEvent } from "../../src/engine/run/run-event.js";
import { renewalAnnotation } from "../../src/api/certificate-renewal.js";
import { annotated, machine, cluster, desiredOf } from "../support/manifests.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import {
  courseOf,
  etcdHistories,
  etcdHistoriesOfOne,
  type EtcdHistory,
  membersOf,
} from "../support/etcd-illness.js";
import { assertAsyncLaw } from "../support/laws.js";
import { inMutant } from "../support/mutant.js";
import { replaced, type Replacement } from "../support/replacement.js";

const traits = { ...plainWorld, joins: true };

/** "create cp-0", without hashes, in the order of the calls. */
function memberCalls({ calls }: FakeEngine, from: number): string[] {
  return calls
    .slice(from)
    .filter(({ key }) => key.startsWith("LocalHost/cp-"))
    .map(({ call, key }) => `${call} ${key.replace(/^LocalHost\/(cp-\d+)-.*$/, "$1")}`);
}

/** Three members, of which one is ill from some call on, and what a run tells of its waits. */
async function threeMembers(count = 3) {
  const reasons: string[] = [];
  const tell = (event: RunEvent) => {
    if (event.kind === "waiting") reasons.push(event.reason);
  };
  const engine = await FakeEngine.running(membersOf(count), { traits, tell });
  const hostOf = (name: string) =>
    engine.hosts().find(({ who }) => who.name.startsWith(`${name}-`))!.who.name;
  return { engine, reasons, hostOf, from: engine.calls.length };
}

/** The same members, of which only some are to be large. */
function large(...names: readonly string[]) {
  const sizeOf = (name: string) => (names.includes(name) ? "large" : "small");
  return desiredOf([
    cluster(),
    ...["cp-0", "cp-1", "cp-2"].map((name) =>
      machine(name, { controlPlane: "1.34.2", size: sizeOf(name) }),
    ),
  ]);
}

describe("a control plane whose etcd is asked", () => {
  it("is not touched while another member is ill, and goes on once that is well", async () => {
    const { engine, reasons, hostOf, from } = await threeMembers();
    const sick = hostOf("cp-2");
    const { hosts } = engine.cloud;
    const wellAtMs = engine.clock.now() + 2_000;
    hosts.ails = (host) => {
      if (host !== sick || engine.clock.now() >= wellAtMs) return undefined;
      assert.deepEqual(memberCalls(engine, from), [], "nothing is touched before");
      return "etcdserver: no leader";
    };
    assert.equal(outcomeText(await engine.up(large("cp-0"))), "done");
    assert.deepEqual(memberCalls(engine, from), ["create cp-0", "delete cp-0"]);
    assert.deepEqual(
      reasons.filter((one) => one.includes("etcd")),
      [`etcd has to be well first: LocalHost/${sick}: its etcd says "etcdserver: no leader"`],
    );
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("ends with what is wrong where it does not get well in time, and nothing was touched", async () => {
    const { engine, hostOf, from } = await threeMembers();
    const sick = hostOf("cp-2");
    engine.cloud.hosts.ails = (host) => (host === sick ? "it is out of space" : undefined);
    const outcome = await engine.up(large("cp-0"));
    assert.match(
      outcomeText(outcome),
      /^rolledBack: etcd was not well for \d s: LocalHost\/cp-2-\w+-1: its etcd says "it is out of space"$/,
    );
    assert.deepEqual(memberCalls(engine, from), []);
  });

  for (const killed of [false, true]) {
    const how = killed ? "was killed once it had begun" : "waited for it in vain";
    it(`is taken back at once, whatever etcd says, where the change ${how} and no call was made`, async () => {
      const { engine, hostOf, from } = await threeMembers();
      const sick = hostOf("cp-2");
      engine.cloud.hosts.ails = (host) => (host === sick ? "it is out of space" : undefined);
      const wanted = membersOf(3, {}, { version: "1.34.3" });
      const begun = { at: "write", number: 2, what: "killAfter" } as const;
      const forward = await engine.up(wanted, killed ? [begun] : []);
      if (killed) assert.equal(outcomeText(forward), "killed");
      const outcome = killed ? await engine.rollback() : forward;
      assert.match(outcomeText(outcome), /^rolledBack/);
      assert.deepEqual(memberCalls(engine, from), []);
      assert.deepEqual(engine.cloud.watch.violations, []);
    });
  }

  it("gets the member that is ill mended first, which leaves etcd before its successor joins", async () => {
    const { engine, hostOf, from } = await threeMembers();
    const sick = hostOf("cp-2");
    const { hosts } = engine.cloud;
    hosts.ails = (host) => (host === sick ? "it is ill" : undefined);
    assert.equal(outcomeText(await engine.up(large("cp-0", "cp-2"))), "done");
    assert.deepEqual(memberCalls(engine, from).slice(0, 3), [
      "create cp-2",
      "delete cp-2",
      "create cp-0",
    ]);
    assert.ok(hosts.leftMembers.has(sick));
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("waits before the next member, and before the commit, for the one that has just come", async () => {
    const { engine, reasons, from } = await threeMembers();
    const { hosts } = engine.cloud;
    const since = new Map<string, number>();
    const first = new Set(engine.hosts().map(({ who }) => who.name));
    hosts.ails = (host) => {
      if (first.has(host)) return undefined;
      const nowMs = engine.clock.now();
      if (!since.has(host)) since.set(host, nowMs);
      return nowMs < since.get(host)! + 1_500 ? "it catches up" : undefined;
    };
    assert.equal(outcomeText(await engine.up(large("cp-0", "cp-1"))), "done");
    assert.deepEqual(memberCalls(engine, from), [
      "create cp-0",
      "delete cp-0",
      "create cp-1",
      "delete cp-1",
    ]);
    assert.equal(reasons.filter((one) => one.includes("it catches up")).length, 2);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("keeps an ill member without which the others are no majority", async () => {
    const { engine, hostOf, from } = await threeMembers();
    const sick = ["cp-1", "cp-2"].map(hostOf);
    engine.cloud.hosts.ails = (host) => (sick.includes(host) ? "it is ill" : undefined);
    const outcome = await engine.up(large("cp-2"));
    assert.match(outcomeText(outcome), /^rolledBack: etcd was not well .*cp-1-.*cp-2-/);
    assert.deepEqual(memberCalls(engine, from), []);
  });

  it("is asked nothing where only workers change, nor where its only member begins", async () => {
    const engine = new FakeEngine({ traits });
    const { hosts } = engine.cloud;
    let asked = 0;
    hosts.ails = () => {
      asked += 1;
      return "it is ill";
    };
    const member = machine("cp-0", { controlPlane: "1.34.2" });
    await engine.settle(desiredOf([cluster(), member]));
    await engine.settle(desiredOf([cluster(), member, machine("web")]));
    assert.equal(asked, 0);
  });

  it("is known to the plan, which tells what its run would wait for in the same words", async () => {
    const { engine, reasons, hostOf } = await threeMembers();
    const { hosts } = engine.cloud;
    const told = async (...names: readonly string[]) =>
      (await engine.plan(large(...names))).foreseen?.map(({ message }) => message);
    assert.equal(await told("cp-0"), undefined);
    const sick = hostOf("cp-2");
    hosts.ails = (host) => (host === sick ? "it is out of space" : undefined);
    const words = `etcd has to be well first: LocalHost/${sick}: its etcd says "it is out of space"`;
    assert.deepEqual(await told("cp-0"), [words]);
    assert.equal(await told("cp-0", "cp-2"), undefined, "what mends comes first");
    const asks = hosts.asks;
    assert.equal(await told(), undefined);
    // Its Nodes, and nothing else.
    assert.equal(hosts.asks, asks + 1);
    await engine.up(large("cp-0"));
    assert.ok(reasons.includes(words), reasons.join("\n"));
    hosts.answers = () => false;
    assert.deepEqual(await told("cp-0"), ["etcd has to be well first: no API server answers"]);
  });

  it("is told of by the plan where certificates are to be renewed, and nobody sees them", async () => {
    const { engine } = await threeMembers();
    const { hosts } = engine.cloud;
    const wanted = desiredOf([
      annotated({ [renewalAnnotation]: "30" }, cluster()),
      ...["cp-0", "cp-1", "cp-2"].map((name) => machine(name, { controlPlane: "1.34.2" })),
    ]);
    await engine.settle(wanted);
    assert.equal((await engine.plan(wanted)).foreseen, undefined);
    hosts.answers = () => false;
    const { empty, foreseen } = await engine.plan(wanted);
    assert.equal(empty, true);
    assert.deepEqual(foreseen, [
      {
        code: "API_SERVER",
        severity: "warning",
        message:
          "when certificates of the control plane expire cannot be seen, and none is renewed: no API server answers",
      },
    ]);
    assert.equal((await engine.plan(large())).foreseen, undefined);
  });

  it("counts no more on a member that is gone once its records are, also where fewer are wanted", async () => {
    const { engine, hostOf } = await threeMembers();
    const { hosts } = engine.cloud;
    const gone = hostOf("cp-2");
    engine.cloud.kill(engine.hosts().find(({ who }) => who.name === gone)!.id);
    assert.equal(outcomeText(await engine.up(membersOf(2))), "done");
    assert.deepEqual(hosts.deadMembers(engine.hosts()), []);
    assert.ok(hosts.leftMembers.has(gone));
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("law 18: no member is touched while another one is ill, nor goes below etcd's majority, whatever is killed", () =>
    assertAsyncLaw(
      fc.asyncProperty(fc.oneof(etcdHistories, etcdHistoriesOfOne), async (drawn) => {
        const { violations, outcomes } = await courseOf(drawn);
        assert.deepEqual(violations, []);
        assert.equal(outcomes.at(-1), "up: done", outcomes.join("\n"));
      }),
      40,
    ));

  it("counts no more on members that a destroy has deleted which broke off, once an up goes on", async () => {
    const { violations, outcomes } = await courseOf({
      members: 5,
      change: "size",
      illnesses: [],
      silences: [],
      commands: [
        { verb: "up", faults: [] },
        { verb: "rollback", faults: [{ at: "write", number: 32, what: "killAfter" }] },
        { verb: "destroy", faults: [{ at: "write", number: 9, what: "killBefore" }] },
      ],
      wayOut: "up",
    });
    assert.deepEqual(outcomes.slice(0, 3), ["up: done", "rollback: killed", "destroy: killed"]);
    assert.deepEqual(violations, []);
    assert.equal(outcomes.at(-1), "up: done", outcomes.join("\n"));
  });

  interface Defect {
    readonly name: string;
    /** `etcdHistories` without. */
    readonly drawnFrom?: fc.Arbitrary<EtcdHistory>;
    /** Histories that come near it; all without. */
    readonly among?: (drawn: EtcdHistory) => boolean;
    readonly replacements: readonly Replacement[];
    readonly want: RegExp;
  }
  const defects: readonly Defect[] = [
    {
      name: "another member may be ill",
      among: ({ change, illnesses }) =>
        change === "size" && illnesses.some(({ forMs }) => forMs === undefined),
      replacements: [replaced(othersAiling, () => () => [])],
      want: /^law 18: etcd: cp-\d is touched while cp-\d is not well$/,
    },
    {
      name: "nobody waits for etcd before a wave",
      replacements: [
        replaced(
          heldByEtcd,
          (original) => (change, hostSet) =>
            change.commits === true ? original(change, hostSet) : undefined,
        ),
      ],
      want: /^law 18: etcd: cp-\d is touched while cp-\d is not well$/,
    },
    {
      name: "no majority is asked for",
      among: ({ members, change, illnesses }) =>
        members === 3 && change === "size" && new Set(illnesses.map((one) => one.member)).size > 1,
      replacements: [replaced(isMajorityWithout, () => () => true)],
      want: /^law 18: etcd: cp-\S+ leaves, and \d others are no majority$/,
    },
    {
      name: "an etcd that cannot be asked holds nobody up",
      among: ({ silences }) => silences.length > 0,
      replacements: [replaced(unknownHealth, () => () => [])],
      want: /^law 18: etcd: cp-\d is touched while nobody knows how cp-\d is$/,
    },
    {
      name: "members stay whose hosts are gone",
      among: ({ change, commands }) =>
        change === "fewer" && commands.some(({ dies }) => dies !== undefined),
      replacements: [
        replaced(
          othersAiling,
          (original) => (touched, change, health) =>
            original(touched, change, health).filter(({ state }) => state !== "dead"),
        ),
        replaced(mayLeaveDead, () => () => []),
      ],
      want: /^law 18: etcd: cp-\S+ is gone, and etcd counts on it$/,
    },
    {
      name: "a destroy asks how etcd is",
      among: ({ wayOut }) => wayOut === "destroy",
      replacements: [
        replaced(
          keepsEtcd,
          () =>
            (_target, { transaction }) =>
              transaction?.keys !== undefined,
        ),
      ],
      want: /^law 18: etcd: a destroy asks the cluster's own API server$/,
    },
    {
      name: "a way back waits for what was only planned",
      drawnFrom: etcdHistoriesOfOne,
      among: ({ illnesses, commands }) =>
        illnesses.some(({ forMs }) => forMs === undefined) &&
        commands.every(({ dies }) => dies === undefined),
      replacements: [replaced(untouchedSoFar, () => () => new Set())],
      want: /^law 18: etcd: nothing was touched, and \w+ takes it back incompletely$/,
    },
    {
      name: "etcd is waited for too long",
      among: ({ silences }) => silences.some(({ forMs }) => forMs === undefined),
      replacements: [
        replaced(
          patienceEndMs,
          (original) => (sinceMs, _timeoutMs, deadlineAtMs) =>
            original(sinceMs, 1_000_000, deadlineAtMs),
        ),
      ],
      want: /^law 18: etcd: \w+ took \d+ ms$/,
    },
  ];
  for (const {
    name,
    drawnFrom = etcdHistories,
    among = () => true,
    replacements,
    want,
  } of defects) {
    it(`law 18 sees that ${name}`, async () => {
      const asked = { module: "test/support/etcd-illness.js", own: { courseOf } };
      await inMutant(replacements, asked, async (copy) => {
        const found: string[] = [];
        const drawn = fc.sample(drawnFrom, { numRuns: 400, seed: 18 }).filter(among);
        for (const one of drawn.slice(0, 60)) {
          const { violations } = await copy.courseOf(one).catch(() => ({ violations: [] }));
          found.push(...violations);
          if (found.some((what) => want.test(what))) break;
        }
        assert.ok(
          found.some((one) => want.test(one)),
          [...new Set(found)].slice(0, 9).join("\n"),
        );
      });
    });
  }
});
