import fc from "fast-check";
import { keyOf } from "../../src/graph/graph.js";
import type { Desired } from "../../src/api/types.js";
import { plainWorld } from "./fake-cloud.js";
import { type CommandOutcome, FakeEngine, outcomeText } from "./fake-engine.js";
import { faults } from "./histories.js";
import type { Observed } from "../../src/provider/port.js";
import { Missing } from "./missing.js";
import { splitHostName } from "../../src/records/host-name.js";
import type { PriorState } from "../../src/records/prior-state.js";
import type { CommandFault } from "./faults.js";
import { annotated, annotatedSet, cluster, desiredOf, machine, machineSet } from "./manifests.js";

// Hosts that a hook holds, and verbs that take them away while calls fail, commands die and states are lost.

interface HoldingCommand {
  /** "tell" and "tellBack": a destroy and a rollback that manifests are named with. */
  readonly verb: "up" | "adopt" | "rollback" | "forget" | "destroy" | "tell" | "tellBack";
  /** Of the hosts that are held; absent: there are to be none. */
  readonly size?: string;
  /** Of an `up`, or of what others are told: the hook is taken off its Machine, or the template of that. */
  readonly frees?: boolean;
  /** Another machine is not wanted, so that a way back has to make something. */
  readonly alone?: boolean;
  readonly faults: readonly CommandFault[];
}

export interface HoldingHistory {
  readonly hook: string;
  /** What holds: a Machine, or a set that may ask for none and speaks all the same. One is called as hosts of others are. */
  readonly holder: Holder;
  /** Its first host is made without the hook. */
  readonly isFree: boolean;
  /** Hosts are nodes of a cluster, whose pods move. */
  readonly joins: boolean;
  readonly whenHostGoes: "delete" | "keep";
  readonly commands: readonly HoldingCommand[];
}

type Holder = "Machine db-0" | "Machine db-20261127" | "MachineSet db" | "MachineSet db-20261127";

export const holdingHistories: fc.Arbitrary<HoldingHistory> = fc.record({
  holder: fc.constantFrom<Holder[]>(
    "Machine db-0",
    "Machine db-20261127",
    "MachineSet db",
    "MachineSet db-20261127",
  ),
  isFree: fc.boolean(),
  hook: fc.constantFrom("pre-drain.delete.hook", "pre-terminate.delete.hook"),
  joins: fc.boolean(),
  whenHostGoes: fc.constantFrom("delete", "keep"),
  commands: fc.array(
    fc.record(
      {
        verb: fc.constantFrom<HoldingCommand["verb"][]>(
          ...([
            "up",
            "up",
            "up",
            "up",
            "adopt",
            "rollback",
            "forget",
            "destroy",
            "tell",
            "tell",
            "tellBack",
          ] as const),
        ),
        size: fc.constantFrom("small", "medium", "large"),
        frees: fc.boolean(),
        alone: fc.boolean(),
        faults: fc.array(faults, { maxLength: 2 }),
      },
      { requiredKeys: ["verb", "faults"] },
    ),
    { minLength: 1, maxLength: 5 },
  ),
});

const plainly = {
  holder: "Machine db-0",
  hook: "pre-terminate.delete.hook",
  joins: false,
  whenHostGoes: "delete",
} as const;

/** What a destroy is told takes the place of what another one was told that broke off. */
const toldTwice: HoldingHistory = {
  ...plainly,
  isFree: false,
  commands: [
    {
      verb: "tell",
      size: "small",
      frees: true,
      faults: [{ at: "write", number: 1, what: "killAfter" }],
    },
    { verb: "tell", size: "small", faults: [] },
    { verb: "up", faults: [] },
  ],
};

/** A host is held by a hook that came with its successor; a rollback that wants it again fails, and is taken back. */
const failedRollback: HoldingHistory = {
  ...plainly,
  isFree: true,
  commands: [
    { verb: "up", size: "large", alone: true, faults: [] },
    { verb: "rollback", faults: [{ at: "call", number: 0, what: "failForGood" }] },
  ],
};

/** An adoption has begun, and what comes next does not want its host. */
const openAdoption: HoldingHistory = {
  ...plainly,
  isFree: false,
  commands: [
    { verb: "adopt", size: "small", faults: [{ at: "write", number: 8, what: "killAfter" }] },
    { verb: "up", faults: [] },
  ],
};

/** What a destroy is told is remembered by the next one. */
const toldOnce: HoldingHistory = {
  ...plainly,
  isFree: true,
  commands: [
    { verb: "tell", size: "small", faults: [] },
    { verb: "destroy", faults: [] },
  ],
};

/** Nobody knows of Nodes. */
const beforeNoDrain: HoldingHistory = {
  ...plainly,
  hook: "pre-drain.delete.hook",
  isFree: false,
  commands: [{ verb: "up", faults: [] }],
};

/** What random histories come to seldom. */
export const rareHistories = [toldOnce, toldTwice, beforeNoDrain, failedRollback, openAdoption];

/** Longer than any host takes to come up. */
const restMs = 20 * 60_000;

function wanted(
  { hook, whenHostGoes, holder }: HoldingHistory,
  { size, frees = false, alone = false }: Pick<HoldingCommand, "size" | "frees" | "alone">,
): Desired {
  const machines = [machine("cp-0", { controlPlane: "1.34.2" }), machine("other-0")];
  const others = [cluster(), ...machines.slice(0, alone ? 1 : 2)];
  const [kind, name = ""] = holder.split(" ");
  if (size === undefined && kind === "Machine") return desiredOf(others);
  const shape = { size: size ?? "small", dataVolume: { gib: 1, whenHostGoes } };
  const hooks = frees ? {} : { [`${hook}.machine.cluster.x-k8s.io/migrate`]: "backup" };
  const held =
    kind === "Machine"
      ? annotated(hooks, machine(name, shape))
      : annotatedSet(hooks, machineSet(name, size === undefined ? 0 : 2, shape));
  const web = size === undefined ? [] : [machineSet("web", 1, { size })];
  return desiredOf([...others, held, ...web]);
}

/** Whether manifests of that say what holds the host: a set does that asks for none. */
function speaks({ holder }: HoldingHistory, size: string | undefined): boolean {
  return size !== undefined || holder.startsWith("MachineSet");
}

/** Hosts of one machine that all run and are made alike: one of them was to be found again. */
function doublesAmong(hosts: readonly Observed[]): string[] {
  const running = hosts.filter(({ phase }) => phase === "ready").map(({ who }) => who.name);
  const generations = running.map((name) => splitHostName(name).generation);
  return running.filter((_, index) => generations.indexOf(generations[index] ?? "") !== index);
}

/** Whether a state's last transaction takes the last change back, committed or not: that change's own words hold its hosts. */
function takesBack({ transaction }: PriorState): boolean {
  const goal = transaction?.goal;
  return goal?.kind === "takeBack" || (goal?.kind === "rollback" && !goal.named);
}

function objectOf({ transaction }: PriorState, holder: Holder) {
  return transaction?.target.objects.find(
    ({ kind, metadata }) => `${kind} ${metadata.name}` === holder,
  );
}

/** Whether a hook holds what is recorded now: what was taken back is unsaid, and halfway back both words count. */
function saysHook(state: PriorState, holder: Holder, before: boolean): boolean {
  const { transaction, revision } = state;
  const db = objectOf(state, holder);
  if (transaction === undefined || db === undefined) return before;
  const { metadata = {} } = db.kind === "MachineSet" ? db.spec.template : db;
  const says = Object.keys(metadata.annotations ?? {}).length > 0;
  const isHalfway = takesBack(state) && transaction.number !== revision?.number;
  return says && (before || !isHalfway);
}

function hostsThatGo(engine: FakeEngine): string[] {
  const wanted = new Set(engine.prior.transaction?.target.machines.map(({ host }) => host));
  return engine
    .hosts()
    .filter(({ who }) => !wanted.has(keyOf(who)))
    .map(({ who }) => who.name);
}

/** Whether a command has got so far that what it was told stands in a record. */
function hasBegun(outcome: CommandOutcome): boolean {
  const { kind } = outcome;
  return kind === "done" || (kind === "stopped" && outcome.result !== "untouched");
}

/** What has gone of a host that a hook holds, or of what lives with it, or is there twice, and how the commands ended. */
export async function goneIn(
  history: HoldingHistory,
): Promise<{ readonly gone: readonly string[]; readonly outcomes: readonly string[] }> {
  const { joins, holder } = history;
  const [kind, name = ""] = holder.split(" ");
  const ordinal = kind === "Machine" ? "" : "-\\d+";
  const hostOfHolder = new RegExp(`^${name}${ordinal}-[0-9a-f]{8}-\\d+`);
  const traits = { ...plainWorld, joins };
  const engine = await FakeEngine.running(
    wanted(history, { size: "small", frees: history.isFree }),
    {
      traits,
      adopt: true,
    },
  );
  const missing = new Missing(engine);
  const gone: string[] = [];
  const outcomes: string[] = [];
  let drains = true;
  let isKnown = true;
  let wasLost = false;
  let isHooked = !history.isFree;
  /** Of hosts that go since a change was taken back: whether that change said that they are held. */
  const saidOf = new Map<string, boolean>();
  for (const command of history.commands) {
    const { verb, size, frees: isFreed = false, faults: drawn } = command;
    const isTelling = verb === "tell" || verb === "tellBack";
    const frees = (verb === "up" || isTelling) && isFreed;
    if (verb === "forget" && engine.prior.transaction === undefined) continue;
    engine.clock.advance(restMs);
    const alive = engine.alive();
    // A hook before the drain holds no host of a cluster that goes as a whole: nobody drains those.
    // Nor does anybody drain what only a lost state could have been asked about.
    drains &&= verb !== "destroy" && verb !== "tell" && verb !== "adopt";
    wasLost ||= verb === "adopt";
    // With the state the hook is lost, unless the manifests still tell of it.
    isKnown &&= verb !== "adopt";
    const isSpoken = speaks(history, size);
    const isTold = isSpoken && (verb === "adopt" || verb === "up");
    const mayBeHeld =
      !(frees && isSpoken) &&
      (isKnown || isTold) &&
      (drains || history.hook.startsWith("pre-terminate"));
    const runs = (host: string) =>
      alive.some(({ who, phase }) => who.name === host && phase === "ready");
    const own = alive.filter(({ who }) => {
      const [host] = hostOfHolder.exec(who.name) ?? [];
      return mayBeHeld && host !== undefined && (saidOf.get(host) ?? isHooked) && runs(host);
    });
    const work = {
      up: () => engine.up(wanted(history, command), drawn),
      adopt: () => {
        engine.loseState();
        return engine.up(wanted(history, { ...command, frees }), drawn);
      },
      forget: () => engine.forget("other-0", drawn),
      rollback: () => engine.rollback(drawn),
      destroy: () => engine.destroy(drawn),
      tell: () => engine.destroy(drawn, wanted(history, command)),
      tellBack: () => engine.rollback(drawn, undefined, wanted(history, command)),
    };
    const outcome = await work[verb]();
    const going = takesBack(engine.prior) ? hostsThatGo(engine) : [];
    if (going.length === 0 && isTold) saidOf.clear();
    for (const host of going) saidOf.set(host, saidOf.get(host) ?? (isHooked && !frees));
    isHooked = saysHook(engine.prior, holder, isHooked);
    if (isTelling && isSpoken) {
      // Of one that did not get to record what it was told nobody can tell.
      const isHeard = hasBegun(outcome) || outcome.kind === "rolledBack";
      if (verb === "tell") isHooked = (isHeard || isHooked) && !frees;
      for (const [host, said] of saidOf) saidOf.set(host, (isHeard || said) && !frees);
    }
    isKnown ||= isTold && hasBegun(outcome);
    isKnown ||= isTold && objectOf(engine.prior, holder) !== undefined;
    outcomes.push(`${verb}: ${outcomeText(outcome)}`);
    const lost = new Set(missing.among(own.map(({ id }) => id)));
    const taken = own.filter(({ id }) => lost.has(id));
    gone.push(...taken.map(({ who }) => `${verb} takes ${who.kind} ${who.name}`));
    if (!wasLost) gone.push(...engine.cloud.watch.violations, ...doublesAmong(engine.hosts()));
    if (gone.length > 0) break;
  }
  return { gone, outcomes };
}
