import assert from "node:assert/strict";
import fc from "fast-check";
import { isCapstanError } from "../../src/api/error.js";
import { withMembers } from "../../src/provider/provider-calls.js";
import type { Observed } from "../../src/provider/port.js";
import { nobody } from "../support/fake-cloud.js";
import { type EngineSetup, FakeEngine } from "../support/fake-engine.js";
import { callFaults, type CommandFault } from "../support/faults.js";
import { cluster, desiredOf, machine, machineSet } from "../support/manifests.js";
import { assertAsyncLaw } from "../support/laws.js";

/** What somebody does to a cluster that uses, or has used, a network of somebody else. */
type Verb =
  | { readonly verb: "up"; readonly uses: boolean; readonly replicas: number }
  | { readonly verb: "rollback" | "destroy" | "loseState" };

const verb: fc.Arbitrary<Verb> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      verb: fc.constant("up" as const),
      uses: fc.boolean(),
      replicas: fc.nat(2),
    }),
  },
  fc.record({
    verb: fc.constantFrom("rollback" as const, "destroy" as const, "loseState" as const),
  }),
);
const fault: fc.Arbitrary<CommandFault> = fc.record({
  at: fc.constant("call" as const),
  number: fc.nat(6),
  what: fc.constantFrom(...callFaults),
});
const step = fc.record({ does: verb, faults: fc.array(fault, { maxLength: 1 }) });

async function run(
  steps: readonly { readonly does: Verb; readonly faults: readonly CommandFault[] }[],
  setup: EngineSetup = {},
): Promise<{
  readonly before: Observed;
  readonly after: Observed | undefined;
  readonly touched: number;
}> {
  const engine = new FakeEngine({ adopt: true, ...setup });
  const before = engine.cloud.plant({ ...nobody, kind: "LocalNetwork" }, { cidr: "10.9.0.0/16" });
  const goal = (uses: boolean, replicas: number) =>
    desiredOf([
      cluster(uses ? { network: before.id } : {}),
      machine("cp", { controlPlane: "1.34.2" }),
      machineSet("web", replicas),
    ]);
  for (const { does, faults } of steps) {
    try {
      if (does.verb === "up") await engine.up(goal(does.uses, does.replicas), faults);
      else if (does.verb === "rollback") await engine.rollback(faults);
      else if (does.verb === "destroy") await engine.destroy(faults);
      else engine.loseState();
    } catch (error) {
      if (!isCapstanError(error)) throw error;
    }
  }
  const touched = engine.calls.filter(({ id }) => id === before.id).length;
  return { before, after: engine.cloud.get(before.id), touched };
}

describe("law 5: what is external", () => {
  it("is never changed, marked or deleted, whatever verbs and faults there are", async () => {
    const used = { does: { verb: "up", uses: true, replicas: 1 }, faults: [] } as const;
    await assertAsyncLaw(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
        const { before, after, touched } = await run([used, ...steps]);
        assert.deepEqual(after, before);
        assert.equal(touched, 0);
      }),
      60,
    );
  });

  it("is seen to be changed by who takes over what it finds", async () => {
    const marking: EngineSetup = {
      sabotage: (means) => {
        const { provider } = means;
        const handlers = [...provider.handlers].map(([kind, handler]) => {
          const find: typeof handler.find = async (ctx, id) => {
            const found = await handler.find?.(ctx, id);
            const who = {
              ...nobody,
              kind,
              cluster: "default/other",
              clusterUid: "uid-9",
              name: "network",
            };
            if (found !== undefined) await handler.mark?.(ctx, found, who);
            return found;
          };
          return [kind, withMembers(handler, { find })] as const;
        });
        return { ...means, provider: withMembers(provider, { handlers: new Map(handlers) }) };
      },
    };
    const used = { does: { verb: "up", uses: true, replicas: 0 }, faults: [] } as const;
    const { before, after, touched } = await run([used], marking);
    assert.notDeepEqual(after, before);
    assert.equal(touched, 1);
  });

  it("is seen to be deleted by who takes it for the cluster's own", async () => {
    const owning: EngineSetup = {
      sabotage: (means) => {
        const { provider } = means;
        const remove = provider.handlers.get("LocalLoadBalancer")!.remove;
        const network = provider.handlers.get("LocalNetwork")!;
        const handlers = new Map(provider.handlers).set(
          "LocalLoadBalancer",
          withMembers(provider.handlers.get("LocalLoadBalancer")!, {
            remove: async (ctx, current) => {
              await remove(ctx, current);
              const found = await network.find?.(ctx, String(current.spec["networkId"]));
              if (found !== undefined) await network.remove(ctx, { who: nobody, ...found });
            },
          }),
        );
        return { ...means, provider: withMembers(provider, { handlers }) };
      },
    };
    const used = { does: { verb: "up", uses: true, replicas: 0 }, faults: [] } as const;
    const gone = { does: { verb: "destroy" }, faults: [] } as const;
    const { after } = await run([used, gone], owning);
    assert.equal(after?.phase, "gone");
  });
});
