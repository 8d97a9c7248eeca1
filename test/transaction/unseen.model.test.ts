import assert from "node:assert/strict";
import type { InfrastructureProvider } from "../../src/provider/port.js";
import type { WantedCluster } from "../support/wanted-cluster.js";
import { assertHistoryLaw, timesAsMany } from "../support/laws.js";
import { plainWorld } from "../support/fake-cloud.js";
import {
  breachesOfSwitched,
  type SwitchedHistory,
  switchedHistories,
} from "../support/switched-clouds.js";

const file = "test/transaction/unseen.model.test.ts";
const one: WantedCluster = {
  cluster: { cidr: "10.0.0.0/16" },
  machines: { "cp-0": { tags: {}, size: "small", controlPlane: "1.34.2" } },
  sets: {},
  deployments: {},
};

/** The comparison that is none: whatever answers calls itself what is recorded. */
const believing = (provider: InfrastructureProvider): InfrastructureProvider => ({
  ...provider,
  identity: async (ctx) => {
    await provider.identity?.(ctx);
    return { account: "here" };
  },
});

/** The comparison that is made once, before everything else. */
const believingAfterwards = (provider: InfrastructureProvider): InfrastructureProvider => {
  let first: ReturnType<NonNullable<InfrastructureProvider["identity"]>> | undefined;
  return {
    ...provider,
    identity: async (ctx) => {
      const answer = provider.identity?.(ctx) ?? Promise.resolve({});
      first ??= answer;
      await answer;
      return first;
    },
  };
};

describe("unseen is not gone", () => {
  it("law 12 holds whenever the credentials lead elsewhere, whatever else goes wrong", () =>
    assertHistoryLaw({
      law: "unseen",
      file,
      histories: switchedHistories,
      numRuns: 400,
      check: async (history, trace) =>
        assert.deepEqual(await breachesOfSwitched(history, { trace }), []),
    })).timeout(timesAsMany(300_000));

  it("a switch at every question of an up and of a rollback", async () => {
    const bigger: WantedCluster = { ...one, deployments: { web: { replicas: 2, template: {} } } };
    for (let switchAt = 0; switchAt < 40; switchAt += 1) {
      for (const verb of ["up", "rollback"] as const) {
        const open = { verb: "up", wanted: bigger, isElsewhere: false } as const;
        const killed = { at: "call", number: 1, what: "killAfter" } as const;
        const history: SwitchedHistory = {
          traits: plainWorld,
          before: one,
          commands: [
            ...(verb === "rollback" ? [{ ...open, faults: [killed] }] : []),
            { verb, wanted: bigger, faults: [], isElsewhere: false, switchAt },
          ],
          after: one,
        };
        assert.deepEqual(await breachesOfSwitched(history), [], `${verb} ${switchAt}`);
      }
    }
  }).timeout(timesAsMany(120_000));

  for (const { name, spoil, switchAt } of [
    { name: "nobody compares", spoil: believing, switchAt: undefined },
    { name: "it is compared only once", spoil: believingAfterwards, switchAt: 1 },
  ]) {
    it(`a defect that breaks the law is seen: ${name}`, async () => {
      const history: SwitchedHistory = {
        traits: plainWorld,
        before: one,
        commands: [
          {
            verb: "up",
            wanted: { ...one, machines: { ...one.machines, "db-0": {} } },
            faults: [],
            isElsewhere: switchAt === undefined,
            ...(switchAt !== undefined && { switchAt }),
          },
        ],
        after: one,
      };
      assert.deepEqual(await breachesOfSwitched(history), [], "the history alone breaks no law");
      const breaches = await breachesOfSwitched(history, { spoil });
      assert.ok(
        breaches.some((breach) => /^law 12: (create|remove|update) of /.test(breach)),
        JSON.stringify(breaches),
      );
    });
  }
});
