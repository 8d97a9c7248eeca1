import assert from "node:assert/strict";
import { nodeKey } from "../../src/graph/graph.js";
import { fileOwner, handOverSummary, isHandOver, ownerText } from "../../src/records/hand-over.js";
import { makePlan } from "../../src/plan/planner/make-plan.js";
import type { PlanInput } from "../../src/plan/plan-input.js";
import { cloudResources, type PriorState } from "../../src/records/prior-state.js";
import type { Target } from "../../src/records/target.js";
import type { TransactionRecord } from "../../src/records/transaction.js";
import { canHandOver } from "../../src/engine/operations/hand-over.js";
import { desiredOf, localProvider } from "../support/manifests.js";
import { FakeEngine } from "../support/fake-engine.js";
import { quickstart } from "../support/sample-plans.js";

const server = "3e0f";
const moveTo = (to: string) =>
  ({ kind: "move", to, from: to === fileOwner ? server : fileOwner }) as const;

describe("changing the owner of a stack", () => {
  let prior: PriorState;
  let target: Target;
  before(async () => {
    ({ prior } = await FakeEngine.running(desiredOf(quickstart)));
    assert.ok(prior.revision);
    ({ target } = prior.revision);
  });

  /** When every host is gone from the cloud. */
  const planned = (given: PriorState, more: Partial<PlanInput> = {}) => {
    const gone = cloudResources(given).map(({ key }) => [key, "gone"] as const);
    return makePlan({
      planGoal: { kind: "recorded", target },
      provider: localProvider(),
      prior: given,
      observedResources: new Map(gone),
      unrecorded: [],
      newClusterUid: "new",
      nowMs: 5_000,
      owner: fileOwner,
      goal: moveTo(server),
      by: "user@host",
      deadlineMs: 60_000,
      ...more,
    });
  };
  const after = (transaction: Partial<TransactionRecord>): PriorState => ({
    ...prior,
    transaction: { ...prior.transaction!, ...transaction },
  });

  it("is a transaction of its own with the same target, and no step, whatever the cloud looks like", () => {
    const plan = planned(prior);
    assert.equal(plan.transaction.number, (prior.transaction?.number ?? 0) + 1);
    assert.equal(plan.transaction.owner, server);
    assert.equal(plan.transaction.clusterUid, prior.transaction?.clusterUid);
    assert.deepEqual(plan.target, target);
    assert.deepEqual([plan.steps, plan.orphaned, plan.stale], [[], [], []]);
    assert.equal(plan.empty, false);
    assert.deepEqual(plan.transaction.summary, handOverSummary(server));
  });

  it("goes on under its number after it broke off", () => {
    const number = (prior.transaction?.number ?? 0) + 1;
    const begun = after({
      number,
      owner: server,
      goal: moveTo(server),
      deadlineAtMs: 9_000,
    });
    assert.equal(planned(begun).transaction.number, number);
    assert.equal(planned(begun, { nowMs: 10_000 }).transaction.number, number + 1);
    assert.equal(planned(begun, { nowMs: 10_000 }).transaction.owner, server);
  });

  it("can be turned round before it is committed", () => {
    const number = (prior.transaction?.number ?? 0) + 1;
    const begun = after({ number, owner: server, goal: moveTo(server) });
    const { transaction } = planned(begun, { goal: moveTo(fileOwner) });
    assert.deepEqual([transaction.number, transaction.owner], [number + 1, fileOwner]);
  });

  it("happens only when it is asked for", () => {
    const plan = makePlan({
      planGoal: { kind: "recorded", target },
      provider: localProvider(),
      prior,
      observedResources: new Map(),
      unrecorded: [],
      newClusterUid: "new",
      nowMs: 5_000,
      owner: server,
      goal: { kind: "up" },
      by: "user@host",
      deadlineMs: 60_000,
    });
    assert.equal(plan.transaction.owner, fileOwner);
    assert.equal(plan.empty, true);
  });

  const standings: readonly {
    readonly name: string;
    readonly given: () => PriorState;
    readonly want: boolean;
  }[] = [
    { name: "idle", given: () => prior, want: true },
    {
      name: "a change of owner that broke off",
      given: () => after({ number: 9, owner: server, goal: moveTo(server) }),
      want: true,
    },
    { name: "any other open transaction", given: () => after({ number: 9 }), want: false },
    {
      name: "a rollback",
      given: () => after({ number: 9, direction: "back", goal: { kind: "takeBack" } }),
      want: false,
    },
    {
      name: "an operation that an engine was killed in",
      given: () => ({
        ...prior,
        pending: [
          {
            type: "updating",
            urn: "u",
            key: nodeKey("LocalHost", "a"),
            kind: "LocalHost",
            inputs: {},
          },
        ],
      }),
      want: false,
    },
  ];
  for (const { name, given, want } of standings) {
    it(`${want ? "can" : "cannot"} happen: ${name}`, () => {
      assert.equal(canHandOver({ ...given(), foreign: [] }), want);
    });
  }

  it("is told from changes that somebody asked for", () => {
    assert.equal(isHandOver(prior.transaction!), false);
    assert.match(ownerText(fileOwner), /files/);
    assert.match(ownerText(server), /3e0f/);
  });
});
