import assert from "node:assert/strict";
import { planBack } from "../../src/engine/operations/apply.js";
import { keyOf, type NodeKey, nodeKey } from "../../src/graph/graph.js";
import type { Plan } from "../../src/plan/plan.js";
import type { PendingOperation, PriorState } from "../../src/records/prior-state.js";
import {
  type Action,
  type Situation,
  type Standing,
  standingOf,
  step,
} from "../../src/transaction/lifecycle.js";
import { cluster, desiredOf, machine, type Manifest } from "../support/manifests.js";
import type { CommandFault } from "../support/faults.js";
import { FakeEngine } from "../support/fake-engine.js";

const member = machine("cp", { controlPlane: "1.34.2" });
const upgraded = machine("cp", { controlPlane: "1.35.0" });
const worker = machine("web");
const large = machine("web", { size: "large" });

const desiredWith = (...objects: Manifest[]) => desiredOf([cluster(), ...objects]);

/** A situation that a run could be in, with what the cloud shows then. */
function situationOf(plan: Plan, prior: PriorState, changed: Partial<Situation> = {}): Situation {
  return {
    plan,
    prior,
    shown: new Set(plan.steps.map(({ kind, key }) => `${kind} ${key}`)),
    done: new Set(),
    tried: new Set(),
    available: new Set(plan.target.nodes.map(keyOf)),
    nowMs: plan.transaction.startedAtMs,
    unsettled: false,
    openAtLastFailure: Number.POSITIVE_INFINITY,
    onFailure: "rollBack",
    closed: false,
    ...changed,
  };
}

/** "change LocalHost/web-#-1": what is to be done, without its reason and without hashes. */
function shown(action: Action): string {
  const keys =
    "keys" in action ? action.keys : "deletions" in action ? action.deletions : ([] as string[]);
  const details = [
    ...("result" in action ? [action.result] : []),
    ...("number" in action ? [String(action.number)] : []),
    ...("resources" in action ? action.resources.map(({ id }) => id) : []),
    ...keys.map((key) => key.replace(/-[0-9a-f]{8}(?=-|$)/g, "-#")),
  ];
  const own = action.kind === "refresh" && action.isOwn ? ["its own"] : [];
  return [action.kind, ...own, ...details].join(" ");
}

/** Where the transaction stands when a command was killed at some point. */
async function killed(
  before: readonly Manifest[] | undefined,
  after: readonly Manifest[],
  at: CommandFault,
): Promise<FakeEngine> {
  const engine = new FakeEngine();
  if (before !== undefined) await engine.settle(desiredWith(...before));
  const outcome = await engine.up(desiredWith(...after), [at]);
  assert.equal(outcome.kind, "killed");
  return engine;
}

const crossed = [
  { kind: "version", machine: "cp", host: nodeKey("LocalHost", "cp"), version: "1.35.0" },
] as const;
const afterBegin: CommandFault = { at: "write", number: 2, what: "killBefore" };
const pendingOf = (type: string, key: NodeKey): PendingOperation => ({
  type,
  urn: "urn",
  key,
  kind: key.split("/")[0] ?? "",
  inputs: {},
});

interface Case {
  readonly name: string;
  given(): Situation;
  readonly want: string;
  readonly because?: RegExp;
}

function table(cases: readonly Case[]): void {
  for (const { name, given, want, because } of cases) {
    it(name, () => {
      const action = step(given());
      assert.equal(shown(action), want);
      if (because !== undefined) assert.match("reason" in action ? action.reason : "", because);
    });
  }
}

describe("the next step of a transaction", () => {
  /** A first creation: planned; begun; and a change of a running cluster: planned; begun. */
  let fresh: Situation;
  let begun: Situation;
  let planned: Situation;
  let changing: Situation;
  /** Committed, with a deletion left. */
  let owing: Situation;
  /** Taking a first creation, or a change, back. */
  let toNothing: Situation;
  let back: Situation;
  /** An upgrade of the control plane under way. */
  let upgrading: Situation;

  before(async () => {
    const first = new FakeEngine();
    fresh = situationOf(await first.plan(desiredWith(member, worker)), first.prior, {
      available: new Set(),
    });
    const created = await killed(undefined, [member, worker], afterBegin);
    const again = await created.plan(desiredWith(member, worker));
    begun = situationOf(again, created.prior, { available: new Set() });
    toNothing = situationOf(await takingBack(created), await begunBack(created));
    const running = new FakeEngine();
    await running.settle(desiredWith(member, worker));
    planned = situationOf(await running.plan(desiredWith(member, large)), running.prior);
    const changed = await killed([member, worker], [member, large], afterBegin);
    changing = situationOf(await changed.plan(desiredWith(member, large)), changed.prior);
    const grown = await killed([member], [member, worker], {
      at: "write",
      number: 5,
      what: "killAfter",
    });
    back = situationOf(await takingBack(grown), await begunBack(grown));
    const left = await killed([member, worker], [member], {
      at: "call",
      number: 0,
      what: "killBefore",
    });
    owing = situationOf(await left.plan(desiredWith(member)), { ...left.prior, pending: [] });
    const upgrade = await killed([member, worker], [upgraded, worker], afterBegin);
    upgrading = situationOf(await upgrade.plan(desiredWith(upgraded, worker)), upgrade.prior);
  });

  describe("undisturbed", () => {
    table([
      { name: "begins before it does anything", given: () => fresh, want: "begin 1" },
      { name: "begins the next number on a change", given: () => planned, want: "begin 2" },
      {
        name: "changes infrastructure and control plane first",
        given: () => begun,
        want: "change LocalNetwork/network LocalLoadBalancer/api LocalHost/cp-#-1",
      },
      {
        name: "waits for the control plane",
        given: () => ({ ...changing, available: new Set() }),
        want: "wait LocalHost/cp-#-1",
      },
      { name: "goes on to workers", given: () => changing, want: "change LocalHost/web-#-1" },
      {
        name: "commits what needs no step",
        given: () => ({ ...changing, plan: { ...changing.plan, steps: [] } }),
        want: "commit",
        because: /everything runs/,
      },
      {
        name: "goes on with deletions that are owed, without a begin",
        given: () => owing,
        want: "commit LocalHost/web-#-1",
      },
      { name: "ends when it is closed", given: () => ({ ...changing, closed: true }), want: "end" },
    ]);
  });

  describe("after a dead command", () => {
    const network = nodeKey("LocalNetwork", "network");
    const host = nodeKey("LocalHost", "elsewhere");
    const pending = (...operations: PendingOperation[]) => ({
      ...begun,
      prior: { ...begun.prior, pending: operations },
    });
    /** The network is in the state. */
    const recordedWith = (...operations: PendingOperation[]) => {
      const situation = pending(...operations);
      const made = planned.prior.resources.find(({ key }) => key === network);
      const resources = [...situation.prior.resources, made!];
      return { ...situation, prior: { ...situation.prior, resources } };
    };
    const orphaned = () => ({
      ...begun.plan,
      orphaned: [{ id: "host-9", who: { kind: "LocalHost" } as never }],
    });
    const stale = () => ({ ...orphaned(), stale: [network] });
    table([
      {
        name: "lets its last calls come to their end before anything else",
        given: () => ({
          ...pending(pendingOf("updating", network)),
          plan: stale(),
          unsettled: true,
        }),
        want: "settle",
      },
      {
        name: "reads again what is not as it is recorded",
        given: () => ({ ...pending(pendingOf("updating", host)), plan: stale() }),
        want: "refresh LocalNetwork/network",
      },
      {
        name: "reads its own change again as such",
        given: () => ({ ...begun, plan: stale(), tried: new Set([network]) }),
        want: "refresh its own LocalNetwork/network",
      },
      {
        name: "reads again what was being updated",
        given: () => ({ ...recordedWith(pendingOf("updating", network)), plan: orphaned() }),
        want: "refresh LocalNetwork/network",
      },
      {
        name: "reads again what was being deleted",
        given: () => recordedWith(pendingOf("deleting", network), pendingOf("creating", host)),
        want: "refresh LocalNetwork/network",
      },
      ...["importing", "reading", "updating", "deleting"].map((type) => ({
        name: `forgets the ${type} of what is in no record, before it looks for what that left`,
        given: () => ({ ...pending(pendingOf(type, host)), plan: orphaned() }),
        want: "forget LocalHost/elsewhere",
      })),
      {
        name: "reads what is recorded again first, and only that",
        given: () => recordedWith(pendingOf("importing", host), pendingOf("updating", network)),
        want: "refresh LocalNetwork/network",
      },
      {
        name: "removes what is in no record",
        given: () => ({ ...pending(pendingOf("creating", host)), plan: orphaned() }),
        want: "remove host-9",
      },
      {
        name: "finds out about a creation that nothing wants any more",
        given: () => pending(pendingOf("creating", host)),
        want: "resolve LocalHost/elsewhere",
      },
      {
        name: "leaves a creation that is wanted to the pass that makes it",
        given: () => pending(pendingOf("creating", network), pendingOf("creating", host)),
        want: "change LocalNetwork/network LocalLoadBalancer/api LocalHost/cp-#-1",
      },
      {
        name: "clears the entry of a creation that is recorded by now",
        given: () => recordedWith(pendingOf("creating", network)),
        want: "resolve LocalNetwork/network",
      },
    ]);
  });

  describe("when something is not as it was shown", () => {
    table([
      {
        name: "ends untouched before the begin",
        given: () => ({ ...fresh, shown: new Set<string>() }),
        want: "stop untouched",
        because: /^LocalNetwork\/network has to be created now, which the plan did not show$/,
      },
      {
        name: "rolls back after it, with the step's reason",
        given: () => ({
          ...changing,
          shown: new Set(changing.plan.steps.slice(0, 1).map((one) => `${one.kind} ${one.key}`)),
        }),
        want: "rollBack",
        because: /has to be deleted now, which the plan did not show: LocalHost\/web-\w+-1 serves/,
      },
      {
        name: "plans a rollback anew",
        given: () => ({ ...back, shown: new Set<string>() }),
        want: "rollBack",
        because: /^LocalHost\/web-\w+-1 has to be deleted now/,
      },
      {
        name: "plans a rollback anew also after a failure that was worth a retry",
        given: () => ({ ...back, shown: new Set<string>(), openAtLastFailure: 0 }),
        want: "rollBack",
      },
      {
        name: "does not change again what it has changed already",
        given: () => ({
          ...changing,
          done: new Set(changing.plan.steps.map(({ key }) => key)),
        }),
        want: "rollBack",
        because: /the cloud accepted a change of LocalHost\/web-\w+-1 and does not show it/,
      },
    ]);
  });

  describe("after a failure", () => {
    const failure = "the cloud says no";
    const late = (situation: Situation) => situation.plan.transaction.deadlineAtMs + 1;
    const steps = (situation: Situation) => situation.plan.steps.length;
    table([
      {
        name: "ends untouched when nothing was begun",
        given: () => ({ ...planned, failure }),
        want: "stop untouched",
        because: /the cloud says no/,
      },
      { name: "rolls back", given: () => ({ ...changing, failure }), want: "rollBack" },
      {
        name: "keeps the pieces when that was asked for",
        given: () => ({ ...changing, failure, onFailure: "keep" }),
        want: "stop kept",
      },
      {
        name: "past its deadline it rolls back",
        given: () => ({ ...changing, nowMs: late(changing) }),
        want: "rollBack",
        because: /it was not done by its deadline/,
      },
      {
        name: "past its deadline it no longer recovers for this way",
        given: () => ({ ...changing, nowMs: late(changing), unsettled: true }),
        want: "rollBack",
      },
      {
        name: "at its deadline it still goes on",
        given: () => ({ ...changing, nowMs: late(changing) - 1 }),
        want: "change LocalHost/web-#-1",
      },
      {
        name: "past its deadline it still only begins: the time counts from the begin",
        given: () => ({ ...planned, nowMs: late(planned) }),
        want: "begin 2",
      },
      {
        name: "rolls back an upgrade that has not happened",
        given: () => ({ ...upgrading, failure }),
        want: "rollBack",
      },
      {
        name: "goes forward only once the control plane is newer",
        given: () => ({ ...upgrading, failure, plan: { ...upgrading.plan, passed: crossed } }),
        want: "stop forwardOnly",
      },
      {
        name: "after the commit it tries what is left again",
        given: () => ({ ...owing, failure }),
        want: "retry",
      },
      {
        name: "after the commit it stops when a retry achieved nothing",
        given: () => ({ ...owing, failure, openAtLastFailure: steps(owing) }),
        want: "stop owing",
      },
      {
        name: "in a rollback it tries what is left again",
        given: () => ({ ...back, failure, openAtLastFailure: steps(back) + 1 }),
        want: "retry",
      },
      {
        name: "in a rollback it stops when a retry achieved nothing, whatever was asked for",
        given: () => ({ ...back, failure, openAtLastFailure: steps(back), onFailure: "keep" }),
        want: "stop incomplete",
      },
      {
        name: "a failed verification of a closed rollback is a failure like any other",
        given: () => ({ ...back, failure, closed: true, openAtLastFailure: steps(back) }),
        want: "stop incomplete",
      },
    ]);
  });

  describe("in a rollback", () => {
    const closed = (differences?: readonly string[]) => ({
      ...back,
      plan: { ...back.plan, steps: [] },
      closed: true,
      ...(differences !== undefined && { differences }),
    });
    table([
      {
        name: "to nothing, where nothing is recorded, it looks whether anything is left",
        given: () => toNothing,
        want: "verify",
      },
      {
        name: "to nothing it lets its own records go once nothing is left",
        given: () => ({ ...toNothing, differences: [] }),
        want: "clear",
      },
      {
        name: "does not wait for what did not run before and was not touched",
        given: () => ({ ...back, available: new Set<NodeKey>() }),
        want: "commit LocalHost/web-#-1",
      },
      {
        name: "waits for what it has made itself, also in a pass that has failed",
        given: () => ({
          ...back,
          available: new Set<NodeKey>(),
          tried: new Set(back.plan.target.machines.map(({ host }) => host)),
        }),
        want: "wait LocalHost/cp-#-1",
      },
      { name: "looks twice at the end", given: () => closed(), want: "verify" },
      { name: "ends when cloud and records agree", given: () => closed([]), want: "end" },
      {
        name: "says what still differs",
        given: () => closed(["LocalHost/a is gone", "LocalHost/b is left"]),
        want: "stop incomplete",
        because: /^LocalHost\/a is gone\nLocalHost\/b is left$/,
      },
      {
        name: "says which steps are still to be taken",
        given: () => ({ ...closed([]), plan: back.plan }),
        want: "stop incomplete",
        because: /^LocalHost\/web-\w+-1 is still to be deleted$/,
      },
    ]);
  });

  describe("standing", () => {
    const cases: { name: string; given(): PriorState; want: Standing }[] = [
      { name: "nothing recorded", given: () => fresh.prior, want: "absent" },
      {
        name: "resources without a transaction",
        given: () => ({ resources: planned.prior.resources, pending: [] }),
        want: "owing",
      },
      { name: "a first creation under way", given: () => begun.prior, want: "forward" },
      { name: "a change under way", given: () => changing.prior, want: "forward" },
      { name: "a rollback under way", given: () => back.prior, want: "back" },
      { name: "committed, everything in its place", given: () => planned.prior, want: "idle" },
      { name: "committed, a deletion left", given: () => owing.prior, want: "owing" },
      {
        name: "committed, an operation pending",
        given: () => ({
          ...planned.prior,
          pending: [pendingOf("deleting", nodeKey("LocalHost", "a"))],
        }),
        want: "owing",
      },
      ...(["unfinished", "deleting"] as const).map((flag) => ({
        name: `committed, a resource ${flag}`,
        given: () => ({
          ...planned.prior,
          resources: planned.prior.resources.map((one) =>
            one.kind === "LocalHost" ? { ...one, [flag]: true } : one,
          ),
        }),
        want: "owing" as const,
      })),
      {
        name: "committed, the component of a machine that is gone",
        given: () => {
          const parts = planned.prior.resources.find(({ kind }) => kind === "Machine");
          const old = { ...parts!, key: nodeKey("Machine", "old") };
          return { ...planned.prior, resources: [...planned.prior.resources, old] };
        },
        want: "idle",
      },
    ];
    for (const { name, given, want } of cases) {
      it(name, () => assert.equal(standingOf(given()), want));
    }
  });
});

/** The plan that takes an engine's open transaction back. */
async function takingBack({ prior, provider, clock }: FakeEngine): Promise<Plan> {
  const stop = new AbortController().signal;
  const how = { provider, clock, stop, by: "user@host", deadlineMs: 60_000 };
  return (await planBack({ ...prior, pending: [], foreign: [] }, "it failed", how)).plan;
}

/** The same state once that plan was begun. */
async function begunBack(engine: FakeEngine): Promise<PriorState> {
  const { transaction, target } = await takingBack(engine);
  return { ...engine.prior, pending: [], transaction: { ...transaction, target } };
}
