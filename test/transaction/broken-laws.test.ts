import assert from "node:assert/strict";
import type { JsonObject } from "../../src/api/json.js";
import type { StackEngine } from "../../src/engine/pulumi/engine.js";
import type { NodeKey } from "../../src/graph/graph.js";
import type {
  InfrastructureProvider,
  Observed,
  Presence,
  ResourceHandler,
} from "../../src/provider/port.js";
import type { PassProgram, Registration } from "../../src/transaction/registration.js";
import type { WantedCluster } from "../support/wanted-cluster.js";
import { breachesOf, type HistoryCommand, type History } from "../support/histories.js";
import type { CommandFault } from "../support/faults.js";
import { fakeKeys } from "../support/fake-keys.js";
import { plainWorld } from "../support/fake-cloud.js";
import type { CommandTools } from "../support/fake-engine.js";
import { recalling } from "../support/recalling.js";

const small = { tags: {}, size: "small", controlPlane: "1.34.2" };
const one: WantedCluster = {
  cluster: { cidr: "10.0.0.0/16" },
  machines: { "cp-0": small },
  sets: {},
  deployments: {},
};
const withDisk = (diskGib: number): WantedCluster => ({
  ...one,
  machines: { "cp-0": small, "db-0": { diskGib } },
});
const two = withDisk(20);
const elsewhere: WantedCluster = {
  ...one,
  cluster: { cidr: "10.0.0.0/16", failureDomains: ["local-b", "local-c"] },
};
/** Of another size where there is no room for medium hosts. */
const spare: WantedCluster = {
  ...one,
  machines: { "cp-0": { ...small, size: "medium", otherSizes: ["large"] } },
};

const up = (wanted: WantedCluster, ...faults: CommandFault[]): HistoryCommand => ({
  verb: "up",
  wanted,
  accidents: [],
  faults,
});

const rotate: HistoryCommand = { ...up(one), verb: "rotate" };
/** In a cloud whose hosts run. */
const joining = { before: one, traits: { ...plainWorld, joins: true } };

function history(changed: Partial<History>): History {
  return { traits: plainWorld, commands: [], wayOut: "same", third: one, ...changed };
}

/** A provider whose every handler has some calls of its own. */
function withCalls(
  provider: InfrastructureProvider,
  calls: (good: ResourceHandler) => Partial<ResourceHandler>,
): InfrastructureProvider {
  const handlers = [...provider.handlers].map(([kind, good]): [string, ResourceHandler] => [
    kind,
    { ...good, ...calls(good) },
  ]);
  return { ...provider, handlers: new Map(handlers) };
}

/** A provider that answers "does it exist?" otherwise than the cloud does. */
function answering(
  { provider, ...rest }: CommandTools,
  change: (
    answer: Presence,
    asked: Parameters<ResourceHandler["locate"]>[1],
    id?: string,
  ) => Presence,
): CommandTools {
  const lying = withCalls(provider, (good) => ({
    locate: async (ctx, who, id) => change(await good.locate(ctx, who, id), who, id),
  }));
  return { ...rest, provider: lying };
}

/** An engine that is given other passes than were asked for, once a change of a cluster has begun. */
function passing(
  { engine, ...rest }: CommandTools,
  change: (registrations: readonly Registration[]) => readonly Registration[],
): CommandTools {
  const other = Object.create(engine, {
    pass: {
      value: (stack: string, program: PassProgram, session: Parameters<StackEngine["pass"]>[2]) =>
        engine.pass(
          stack,
          isChange(program)
            ? { ...program, registrations: change(program.registrations) }
            : program,
          session,
        ),
    },
  }) as StackEngine;
  return { ...rest, engine: other };
}

function isChange({ registrations: [transaction] }: PassProgram): boolean {
  return Number(transaction?.inputs["number"]) > 1;
}

const grown: WantedCluster = { ...one, machines: { "cp-0": { ...small, diskGib: 30 } } };
const grownAndMore: WantedCluster = {
  ...grown,
  machines: { ...grown.machines, "db-0": { diskGib: 20 } },
};
const tagged: WantedCluster = { ...one, machines: { "cp-0": { ...small, tags: { team: "a" } } } };
const rollback = (...faults: CommandFault[]): HistoryCommand => ({
  verb: "rollback",
  wanted: one,
  accidents: [],
  faults,
});

const neverBoots: CommandFault = { at: "boot", number: 0, what: "never" };
const unrecordedHost = up(two, { at: "call", number: 3, what: "killAfter" });

/** A defect, and a history in which the law that it breaks has to be seen broken. */
interface Defect {
  readonly name: string;
  readonly law: RegExp;
  readonly history: History;
  sabotage(means: CommandTools): CommandTools;
}

const defects: readonly Defect[] = [
  {
    name: "law 8: a pass that makes something and goes on to its deletions should that fail",
    law: /^law 8: admitted: deletions do not wait for/,
    history: history({ commands: [up(one)] }),
    sabotage: ({ engine, provider }) => {
      const pass: StackEngine["pass"] = (stack, program, session, how) =>
        engine.pass(stack, program, session, { checkpoints: "each", ...how, continues: true });
      return { engine: Object.create(engine, { pass: { value: pass } }) as StackEngine, provider };
    },
  },
  {
    name: "law 3: creating without looking first, on a cloud without tokens",
    law: /^law 3: one host: the token of db-0-\w+-1 is used twice/,
    history: history({
      traits: { ...plainWorld, remembersTokens: false },
      commands: [unrecordedHost],
    }),
    sabotage: (means) =>
      answering(means, (answer, _who, id) => (id === undefined ? { found: "none" } : answer)),
  },
  {
    name: "law 3: forgetting interrupted creations, and what no record knows",
    law: /^law 3: LocalHost-\d+ is an orphan/,
    history: history({
      before: one,
      commands: [up(two, { at: "call", number: 0, what: "killAfter" })],
      wayOut: "old",
    }),
    sabotage: ({ engine, provider }) => {
      const recorded = async () => {
        const { resources } = await engine.readState("");
        return new Set(resources.map(({ id }) => id));
      };
      const forgetful = Object.create(engine, {
        readState: {
          value: async (stack: string) => ({ ...(await engine.readState(stack)), pending: [] }),
        },
      }) as StackEngine;
      const inventory: InfrastructureProvider["inventory"] = async (ctx, scope) => {
        const ids = await recorded();
        return (await provider.inventory(ctx, scope)).filter(({ id }) => ids.has(id));
      };
      return { engine: forgetful, provider: { ...provider, inventory } };
    },
  },
  {
    name: "law 3: planning before the last calls of a dead command have come to their end",
    law: /^law 3: an undisturbed rollback ended: stopped incomplete: LocalHost\/db-0-\w+-1 \(LocalHost-4\) is not what is recorded/,
    history: history({
      before: two,
      commands: [up(withDisk(30), { at: "call", number: 0, what: "killLate" })],
      wayOut: "rollback",
    }),
    sabotage: ({ engine, provider }) => {
      const hasty = { get: () => false, set: () => undefined };
      return { engine: Object.create(engine, { unsettled: hasty }) as StackEngine, provider };
    },
  },
  {
    name: "law 3: believing an update that never happened",
    law: /^law 3: LocalHost\/cp-0-\w+-1 is not what is (wanted|recorded)/,
    history: history({
      before: one,
      commands: [up({ ...one, machines: { "cp-0": { ...small, tags: { team: "a" } } } })],
    }),
    sabotage: ({ engine, provider }) => {
      const claimed = new Map<string, JsonObject>();
      const claiming = withCalls(provider, () => ({
        update: async (_ctx, current, spec) => {
          claimed.set(current.id, spec);
          return { ...current, spec };
        },
      }));
      const inventory: InfrastructureProvider["inventory"] = async (ctx, scope) =>
        (await provider.inventory(ctx, scope)).map((seen) => ({
          ...seen,
          spec: claimed.get(seen.id) ?? seen.spec,
        }));
      return { engine, provider: { ...claiming, inventory } };
    },
  },
  {
    name: "law 3: taking what the cloud has accepted for gone",
    law: /^law 3: an undisturbed up ended: broke: UNKNOWN_PRESENCE .* is not found by its marks/,
    history: history({
      traits: { ...plainWorld, acceptsFirst: true },
      before: one,
      commands: [up(two)],
    }),
    sabotage: ({ engine, provider }) => ({
      engine,
      provider: withCalls(provider, () => ({ poll: async () => ({ state: "done" }) })),
    }),
  },
  {
    name: "law 3: letting a host serve on that is to leave",
    law: /^law 3: LocalHost\/cp-0-\w+-1 is to leave, and serves on/,
    history: history({
      before: one,
      commands: [{ ...up(one), accidents: [{ kind: "leaves", pick: 0 }] }],
    }),
    sabotage: ({ engine, provider }) => {
      const inventory: InfrastructureProvider["inventory"] = async (ctx, scope) =>
        (await provider.inventory(ctx, scope)).map(({ leavesAtMs: _untold, ...seen }) => seen);
      return { engine, provider: { ...provider, inventory } };
    },
  },
  {
    name: "law 3: taking a host for another one that was made for want of room",
    law: /^law 3: (a plan is not empty|an undisturbed up ended)/,
    history: history({
      third: spare,
      wayOut: "third",
      commands: [{ ...up(one), accidents: [{ kind: "fills" }] }],
    }),
    sabotage: ({ engine, provider }) => {
      const hasMade = () => provider.hostKind in made;
      const made: Record<string, true> = {};
      const alternatives = (host: JsonObject) =>
        hasMade() ? [] : (provider.alternatives?.(host) ?? []);
      const making = withCalls(provider, (good) => ({
        create: async (ctx, who, spec) => {
          const observed = await good.create(ctx, who, spec);
          made[who.kind] = true;
          return observed;
        },
      }));
      return { engine, provider: { ...making, alternatives } };
    },
  },
  {
    name: "law 5: taking what only looks like ours for ours",
    law: /^law 5: ours only: delete of LocalHost\/db-0-\w+-1/,
    history: history({ before: one, neighbours: ["sameToken"], commands: [up(two)] }),
    sabotage: (means) =>
      answering(means, (answer, who) =>
        answer.found === "one" ? { found: "one", resource: { ...answer.resource, who } } : answer,
      ),
  },
  {
    name: "law 6: taking no answer for absence",
    law: /^law 6: unknown: create of LocalNetwork\/network/,
    history: history({
      commands: [up(one, { at: "look", number: 3, what: "unknownForGood" })],
    }),
    sabotage: (means) =>
      answering(means, (answer) => (answer.found === "unknown" ? { found: "none" } : answer)),
  },
  {
    name: "law 7: changing what no plan shows",
    law: /^law 7: shown: update of LocalHost\/cp-0-\w+-1 \(LocalHost-3\) in change/,
    history: history({ before: one, commands: [up(two)] }),
    sabotage: (means) =>
      passing(means, (registrations) =>
        registrations.map((registration) => {
          if (!registration.name.startsWith("cp-0-")) return registration;
          const spec = registration.inputs["spec"] as JsonObject;
          const inputs = { ...registration.inputs, spec: { ...spec, kubelet: "1.0.0" } };
          return { ...registration, inputs };
        }),
      ),
  },
  {
    name: "law 8: leaving out of a pass what is not to be deleted",
    law: /^law 8: admitted: LocalHost\/cp-0-\w+-1 is deleted before the commit/,
    history: history({ before: one, commands: [up(two)] }),
    sabotage: (means) =>
      passing(means, (registrations) =>
        registrations
          .filter(({ name }) => !name.startsWith("cp-0-"))
          .map((registration) => ({
            ...registration,
            dependsOn: registration.dependsOn.filter((key) => !key.startsWith("LocalHost/cp-0-")),
          })),
      ),
  },
  {
    name: "law 9: taking back what the plan never called replaceable",
    law: /^law 9: LocalHost\/cp-0-\w+-1 was deleted, a member that was there before/,
    history: history({
      before: one,
      commands: [
        {
          ...up(one, neverBoots),
          accidents: [{ kind: "drifts", pick: 0, fields: { size: "large" } }],
        },
      ],
      wayOut: "rollback",
    }),
    sabotage: (means) =>
      recalling(means, (transaction) => ({
        ...transaction,
        compensable: transaction.target.machines
          .map(({ host }) => host)
          .concat(transaction.target.machines.map(({ host }) => firstOf(host))),
      })),
  },
  {
    name: "law 9: replacing for one field what the transaction was to change in another",
    law: /^law 9: LocalHost\/db-0-\w+-1 was deleted, which the transaction had not changed/,
    history: history({
      before: two,
      commands: [
        up(withDisk(30), { at: "call", number: 0, what: "killBefore" }),
        {
          ...up({ ...one, cluster: { cidr: "10.1.0.0/16" } }, neverBoots),
          accidents: [{ kind: "drifts", pick: 3, fields: { size: "large" } }],
        },
      ],
    }),
    sabotage: (means) =>
      recalling(means, ({ compensableFields: _fields, ...transaction }) => transaction),
  },
  {
    name: "law 9: taking an adoption for what somebody has made",
    law: /^law 3: LocalHost-\d+ is left|^law 3: an adoption taken back changed|^law 9: /,
    history: history({
      before: one,
      commands: [
        {
          ...up(one, { at: "write", number: 6, what: "killAfter" }),
          accidents: [{ kind: "losesState" }],
        },
      ],
      wayOut: "rollback",
    }),
    sabotage: (means) =>
      recalling(means, (transaction) =>
        transaction.goal.kind === "adopt" ? { ...transaction, goal: { kind: "up" } } : transaction,
      ),
  },
  {
    name: "law 3: forgetting what an interrupted way back has made",
    law: /^law 3: all was rolled back, and LocalHost\/db-0-\w+-\d, which was made for that, does not serve/,
    history: history({
      before: two,
      commands: [
        { ...up(two, { at: "write", number: 6, what: "killBefore" }), verb: "destroy" },
        up(elsewhere, neverBoots, { ...neverBoots, number: 1 }),
        up(elsewhere, neverBoots),
      ],
    }),
    sabotage: (means) => recalling(means, ({ touched: _touched, ...transaction }) => transaction),
  },
  {
    name: "law 10: forgetting what a rollback was to lead to",
    law: /^law 10: /,
    history: history({
      before: one,
      commands: [up(tagged), rollback({ at: "call", number: 0, what: "killAfter" })],
      wayOut: "rollback",
    }),
    sabotage: (means) =>
      recalling(means, (transaction) =>
        transaction.goal.kind === "rollback"
          ? { ...transaction, goal: { kind: "up" } }
          : transaction,
      ),
  },
  {
    name: "law 3: taking what the cloud is deleting for what has failed and stays",
    law: /^law 3: an undisturbed rollback ended: stopped incomplete/,
    history: history({
      traits: { ...plainWorld, removalMs: 1_500 },
      before: one,
      commands: [
        { ...rollback({ at: "look", number: 5, what: "unknownForGood" }), verb: "destroy" },
      ],
      wayOut: "rollback",
    }),
    sabotage: ({ provider, ...rest }) => {
      const staying = (one: Observed): Observed =>
        one.phase === "deleting" ? { ...one, phase: "failed" } : one;
      const shown = answering({ provider, ...rest }, (answer) =>
        answer.found === "one" ? { found: "one", resource: staying(answer.resource) } : answer,
      );
      const inventory: InfrastructureProvider["inventory"] = async (ctx, scope) =>
        (await provider.inventory(ctx, scope)).map(staying);
      return { ...shown, provider: { ...shown.provider, inventory } };
    },
  },
  {
    name: "law 11: forgetting what the plan has said of the way back",
    law: /^law (9|11): /,
    history: history({
      before: one,
      commands: [up(grownAndMore, neverBoots)],
      wayOut: "rollback",
    }),
    sabotage: (means) =>
      recalling(means, (transaction) => ({ ...transaction, pointsOfNoReturn: [] })),
  },
  {
    name: "law 15: forgetting the keys that hosts were made with",
    law: /^law 15: ca 1 became no keys/,
    history: history({ before: one, commands: [up(two)] }),
    sabotage: (means) => recalling(means, ({ keys: _keys, ...transaction }) => transaction),
  },
  {
    name: "law 15: other keys under a number that hosts were made with",
    law: /^law 15: ca 1 became ca 2/,
    history: history({ ...joining, commands: [rotate, rotate] }),
    sabotage: (means) =>
      recalling(means, ({ keys = {}, ...transaction }) => {
        const { 1: first, 2: second } = keys;
        const isSwapped = first !== undefined && second !== undefined;
        return { ...transaction, keys: isSwapped ? { 1: second, 2: first } : keys };
      }),
  },
  {
    name: "law 17: signing with other keys than those that hosts have come to trust",
    law: /^law 17: trust: cp-0-\w+-2 does not trust cp-0-\w+-3/,
    history: history({ ...joining, commands: [rotate, rotate] }),
    sabotage: (means) =>
      recalling(means, (transaction) => {
        const { keys = {}, target } = transaction;
        return target.keyStage === "2+1"
          ? { ...transaction, keys: { ...keys, 2: fakeKeys(6) } }
          : transaction;
      }),
  },
];

/** The first incarnation of a host's generation. */
function firstOf(host: NodeKey): NodeKey {
  return host.replace(/\d+$/, "1") as NodeKey;
}

describe("a defect that breaks a law is seen", () => {
  for (const { name, law, history: told, sabotage } of defects) {
    it(name, async () => {
      assert.deepEqual(await breachesOf(told), [], "the history alone breaks no law");
      const breaches = await breachesOf(told, { sabotage });
      assert.ok(
        breaches.some((breach) => law.test(breach)),
        `no breach is ${String(law)}: ${JSON.stringify(breaches, null, 2)}`,
      );
    });
  }
});
