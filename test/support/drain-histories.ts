import fc from "fast-check";
import { CapstanError } from "../../src/api/error.js";
import { keyOf } from "../../src/graph/graph.js";
import { isOpen, type PriorState } from "../../src/records/prior-state.js";
import { FakeEngine, outcomeText, type CommandOutcome } from "./fake-engine.js";
import { plainWorld } from "./fake-cloud.js";
import { faults } from "./histories.js";
import type { CommandFault } from "./faults.js";
import { cluster, desiredOf, machine, machineDeployment, machineSet } from "./manifests.js";

// Hosts that are changed where they are, with what runs on them.

/** What is wanted of every host: only another version disturbs what runs there. */
interface DrainWish {
  readonly version: string;
  readonly size: string;
  readonly team: string;
}

interface DrainCommand {
  readonly verb: "up" | "rollback" | "rotate" | "destroy";
  readonly wish: DrainWish;
  readonly keeps: boolean;
  readonly faults: readonly CommandFault[];
  /** The process dies when it asks for the so-manieth time that a Node take pods, or none; absent: it does not. */
  readonly diesAtCordon?: number;
  /** Its cluster lets no Node take pods again. */
  readonly isRefused: boolean;
  /** Who looks at the cluster after that. */
  readonly looker: "up" | "loop";
  /** Nobody does anything for a while before it: what is on its way comes up. */
  readonly rests?: boolean;
}

export interface DrainHistory {
  readonly members: number;
  readonly single: number;
  readonly set: number;
  readonly pool: number;
  readonly maxUnavailable: number;
  /** How many rounds of a drain pods stay on each host. */
  readonly rounds: number;
  readonly restarts: boolean;
  /** What becomes of workers that are changed to the newest version where they are; absent: they are as before. */
  readonly breaks?: "unready" | "mute";
  readonly commands: readonly DrainCommand[];
  readonly end: Exclude<DrainCommand["verb"], "destroy" | "rotate">;
  readonly last: DrainWish;
}

const newest = "1.34.4";
/** Longer than any host takes to come up. */
const restMs = 20 * 60_000;

const wishes: fc.Arbitrary<DrainWish> = fc.record({
  version: fc.constantFrom("1.34.2", "1.34.3", newest),
  size: fc.constantFrom("small", "small", "small", "medium"),
  team: fc.constantFrom("a", "b"),
});

export const drainHistories: fc.Arbitrary<DrainHistory> = fc.record(
  {
    members: fc.constantFrom(1, 1, 3),
    single: fc.nat({ max: 2 }),
    set: fc.nat({ max: 2 }),
    pool: fc.nat({ max: 3 }),
    maxUnavailable: fc.constantFrom(0, 1, 2),
    rounds: fc.nat({ max: 2 }),
    restarts: fc.boolean(),
    commands: fc.array(
      fc.record(
        {
          verb: fc.constantFrom<DrainCommand["verb"][]>(
            "up",
            "up",
            "up",
            "rollback",
            "rotate",
            "destroy",
          ),
          wish: wishes,
          keeps: fc.boolean(),
          faults: fc.array(faults, { maxLength: 2 }),
          diesAtCordon: fc.nat({ max: 12 }),
          isRefused: fc.constantFrom(false, false, true),
          looker: fc.constantFrom<DrainCommand["looker"][]>("up", "loop"),
          rests: fc.boolean(),
        },
        { requiredKeys: ["verb", "wish", "keeps", "faults", "isRefused", "looker"] },
      ),
      { minLength: 1, maxLength: 4 },
    ),
    end: fc.constantFrom("up", "up", "rollback"),
    last: wishes,
    breaks: fc.constantFrom("unready", "mute"),
  },
  {
    requiredKeys: [
      "members",
      "single",
      "set",
      "pool",
      "maxUnavailable",
      "rounds",
      "restarts",
      "commands",
      "end",
      "last",
    ],
  },
);

const firstWish: DrainWish = { version: "1.34.2", size: "small", team: "a" };

/** One member, and nothing else; histories say what there is more. */
const alone = {
  members: 1,
  single: 0,
  set: 0,
  pool: 0,
  maxUnavailable: 0,
  rounds: 0,
  restarts: false,
  end: "up",
  last: firstWish,
} as const;

/** A command that nothing disturbs, and that is taken back where it fails. */
const plainly = {
  verb: "up",
  wish: firstWish,
  keeps: false,
  faults: [],
  isRefused: false,
  looker: "up",
} as const;

const toNewest: DrainWish = { ...firstWish, version: newest };

/** A change that no worker of a deployment survives: what random histories come to seldom. */
export const badRollouts: readonly DrainHistory[] = (["unready", "mute"] as const).map(
  (breaks) => ({
    ...alone,
    pool: 3,
    maxUnavailable: 1,
    breaks,
    commands: [{ ...plainly, wish: toNewest }],
  }),
);

/** The first of two hosts is left unready, and what is asked for next changes both, but disturbs the second alone. */
export const leftUnready: DrainHistory = {
  ...alone,
  single: 2,
  breaks: "unready",
  commands: [
    { ...plainly, wish: toNewest, keeps: true },
    { ...plainly, wish: { ...toNewest, team: "b" } },
  ],
};

/** A host whose command was killed before it recorded it, and which nobody wants, or wants otherwise, once it has run for a while. */
export const leftUnrecorded: readonly DrainHistory[] = (
  [
    { end: "rollback", last: firstWish },
    { end: "up", last: { version: "1.34.3", size: "medium", team: "a" } },
  ] as const
).map((after) => ({
  ...alone,
  single: 1,
  rounds: 1,
  commands: [
    {
      ...plainly,
      wish: { ...firstWish, size: "medium" },
      faults: [{ at: "call", number: 2, what: "killAfter" }],
    },
  ],
  ...after,
}));

/** A worker that comes up while a way back that deletes it waits for the pods of a member. */
export const leftStarting: DrainHistory = {
  ...alone,
  single: 2,
  rounds: 1,
  commands: [
    { ...plainly, verb: "rotate", faults: [{ at: "call", number: 7, what: "interrupt" }] },
    { ...plainly, verb: "rollback" },
  ],
};

/** One of two hosts fails in its change, and is to get a successor while the other one is to be changed. */
export const leftFailed: DrainHistory = {
  ...alone,
  single: 2,
  restarts: true,
  commands: [
    {
      ...plainly,
      wish: { ...firstWish, version: "1.34.3" },
      faults: [{ at: "boot", number: 1, what: "fails" }],
      diesAtCordon: 6,
    },
    { ...plainly, diesAtCordon: 0 },
  ],
  last: toNewest,
};

/** A member that an earlier command has made does not boot, and is changed by the next one. */
export const leftUnbooted: DrainHistory = {
  ...alone,
  members: 3,
  commands: [
    { ...plainly, verb: "rotate", diesAtCordon: 0 },
    { ...plainly, keeps: true, faults: [{ at: "boot", number: 0, what: "never" }] },
  ],
  last: toNewest,
};

function wanted(history: DrainHistory, { version, size, team }: DrainWish) {
  const { members, single, set, pool, maxUnavailable } = history;
  const shape = { kubelet: version, size, tags: { team } };
  const named = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, at) => `${prefix}-${at}`);
  const bounds = { maxUnavailable, maxSurge: maxUnavailable === 0 ? 1 : 0 };
  return desiredOf([
    cluster(),
    ...named("cp", members).map((name) =>
      machine(name, { kubelet: version, tags: { team }, controlPlane: version }),
    ),
    ...named("db", single).map((name) => machine(name, shape)),
    machineSet("set", set, shape),
    machineDeployment("pool", pool, shape, bounds),
  ]);
}

/** What laws say of one history, and how its commands ended. */
export interface DrainCourse {
  readonly violations: readonly string[];
  readonly outcomes: readonly string[];
  /** How often a host was disturbed whose pods had moved away. */
  readonly drained: number;
  /** No member was left that could bring the cluster to an end that anybody wants. */
  readonly isLost: boolean;
}

/** Commands that change hosts where they are, killed in the middle of it, and at the end one that nothing disturbs. */
export async function drainCourseOf(history: DrainHistory): Promise<DrainCourse> {
  const engine = await FakeEngine.running(wanted(history, firstWish), {
    traits: { ...plainWorld, joins: true, restarts: history.restarts },
  });
  const { hosts } = engine.cloud;
  const rounds = new Map<string, number>();
  hosts.blockersOf = (host) => {
    // Whoever lets it take pods again has them there again.
    const before = hosts.drained.has(host) ? history.rounds : (rounds.get(host) ?? 0);
    rounds.set(host, before >= history.rounds ? 0 : before + 1);
    return before < history.rounds ? [{ pod: "default/a", why: "is ending" }] : [];
  };
  const versionOf = (name: string) =>
    engine.hosts().find(({ who }) => who.name === name)?.spec["kubelet"];
  hosts.breaks = (name) =>
    versionOf(name) === newest && !name.startsWith("cp") ? history.breaks : undefined;
  hosts.turnsOf = (name) => {
    if (name.startsWith("cp")) return undefined;
    return name.startsWith("pool")
      ? { sharers: /^pool/, most: Math.max(1, history.maxUnavailable) }
      : { sharers: /^(db|set)/, most: 1 };
  };
  const outcomes: string[] = [];
  const run = async (command: DrainCommand) => {
    if (command.rests === true) engine.clock.advance(restMs);
    let asked = 0;
    hosts.onCordon = (what) => {
      if (asked++ === command.diesAtCordon) return engine.lastProcess.die();
      return what === "uncordon" && command.isRefused ? Promise.reject(refused) : undefined;
    };
    const before = engine.prior;
    const outcome = await started(engine, history, command);
    hosts.onCordon = () => undefined;
    outcomes.push(`${command.verb}: ${outcomeText(outcome)}`);
    if (outcome.kind !== "done" && outcome.kind !== "rolledBack") return;
    if (command.isRefused) await engine.look(command.looker);
    // One that finds nothing to do has looked: whoever was refused may have died before.
    else if (command.verb === "up" && isSettledAs(before, engine.prior)) await engine.look("up");
    hosts.mustTakePods(engine.hosts());
    hosts.mustSayVersions(engine.hosts());
  };
  for (const command of history.commands) await run(command);
  hosts.breaks = () => undefined;
  // What the revision has and does not run any more is for a health check, or for who deletes it.
  const before = new Set(engine.prior.revision?.target.machines.map(({ host }) => host));
  engine.cloud.endStuck(({ who }) => before.has(keyOf(who)));
  // A destroy that broke off may have taken the majority of etcd along, and so may a rollback of a first creation.
  const isBroken = outcomes.some((one) => one.startsWith("destroy") && one !== "destroy: done");
  const left = engine.hosts();
  const isLost = isBroken || !hosts.isAnswering(left) || hosts.hasLostMajority(left);
  const quiet = {
    wish: history.last,
    keeps: false,
    faults: [],
    isRefused: false,
    looker: "up",
    rests: true,
  } as const;
  // Of one that was begun nothing leads back.
  const { transaction, revision } = engine.prior;
  const isUnderWay = transaction?.number !== revision?.number;
  if (isUnderWay && transaction?.goal.kind === "destroy") await run({ verb: "destroy", ...quiet });
  if (history.end === "rollback") await run({ verb: "rollback", ...quiet });
  await run({ verb: "up", ...quiet });
  const drained = hosts.drainedFirst;
  return { violations: engine.cloud.watch.violations, outcomes, drained, isLost };
}

/** Whether nothing was under way, and nothing was begun. */
function isSettledAs(before: PriorState, after: PriorState): boolean {
  return !isOpen(before) && before.transaction?.number === after.transaction?.number;
}

const refused = new CapstanError({
  code: "API_SERVER",
  source: "cloud",
  message: "nobody may change Nodes",
});

function started(
  engine: FakeEngine,
  history: DrainHistory,
  { verb, wish, keeps, faults: given }: DrainCommand,
): Promise<CommandOutcome> {
  switch (verb) {
    case "up":
      return engine.up(wanted(history, wish), given, keeps ? "keep" : "rollBack");
    case "rollback":
      return engine.rollback(given);
    case "rotate":
      return engine.rotate(given);
    case "destroy":
      return engine.destroy(given);
  }
}
