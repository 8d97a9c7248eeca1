import assert from "node:assert/strict";
import fc from "fast-check";
import { keyOf } from "../../src/graph/graph.js";
import type { Desired } from "../../src/api/types.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { faults } from "../support/histories.js";
import type { Observed } from "../../src/provider/port.js";
import { Missing } from "../support/missing.js";
import { splitHostName } from "../../src/records/host-name.js";
import type { PriorState } from "../../src/records/prior-state.js";
import type { CommandFault } from "../support/faults.js";
import { assertAsyncLaw } from "../support/laws.js";
import { annotated, cluster, desiredOf, machine, machineSet } from "../support/manifests.js";

interface HoldingCommand {
  readonly verb: "up" | "adopt" | "rollback" | "forget" | "destroy";
  /** Of the hosts that are held; absent: there are to be none. */
  readonly size?: string;
  /** Of an `up`: the hook is taken off its Machine. */
  readonly frees?: boolean;
  readonly faults: readonly CommandFault[];
}

interface HoldingHistory {
  readonly hook: string;
  /** Hosts are nodes of a cluster, whose pods move. */
  readonly joins: boolean;
  readonly whenHostGoes: "delete" | "keep";
  readonly commands: readonly HoldingCommand[];
}

const histories: fc.Arbitrary<HoldingHistory> = fc.record({
  hook: fc.constantFrom("pre-drain.delete.hook", "pre-terminate.delete.hook"),
  joins: fc.boolean(),
  whenHostGoes: fc.constantFrom("delete", "keep"),
  commands: fc.array(
    fc.record(
      {
        verb: fc.constantFrom<HoldingCommand["verb"][]>(
          ...(["up", "up", "up", "up", "adopt", "rollback", "forget", "destroy"] as const),
        ),
        size: fc.constantFrom("small", "medium", "large"),
        frees: fc.boolean(),
        faults: fc.array(faults, { maxLength: 2 }),
      },
      { requiredKeys: ["verb", "faults"] },
    ),
    { minLength: 1, maxLength: 5 },
  ),
});

/** Longer than any host takes to come up. */
const restMs = 20 * 60_000;

function wanted({ hook, whenHostGoes }: HoldingHistory, size?: string, frees = false): Desired {
  const others = [cluster(), machine("cp-0", { controlPlane: "1.34.2" }), machine("other-0")];
  if (size === undefined) return desiredOf(others);
  const shape = { size, dataVolume: { gib: 1, whenHostGoes } };
  const hooks = frees ? {} : { [`${hook}.machine.cluster.x-k8s.io/migrate`]: "backup" };
  const held = annotated(hooks, machine("db-0", shape));
  return desiredOf([...others, held, machineSet("web", 1, { size })]);
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

/** Whether a hook holds what is recorded now: what was taken back is unsaid, and halfway back both words count. */
function saysHook(state: PriorState, before: boolean): boolean {
  const { transaction, revision } = state;
  const db = transaction?.target.objects.find(({ metadata }) => metadata.name === "db-0");
  if (transaction === undefined || db === undefined) return before;
  const says = Object.keys(db.metadata.annotations ?? {}).length > 0;
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

/** What has gone of a host that a hook holds, or of what lives with it, or is there twice, and how the commands ended. */
async function goneIn(history: HoldingHistory): Promise<{ gone: string[]; outcomes: string[] }> {
  const { joins } = history;
  const traits = { ...plainWorld, joins };
  const engine = await FakeEngine.running(wanted(history, "small"), { traits, adopt: true });
  const missing = new Missing(engine);
  const gone: string[] = [];
  const outcomes: string[] = [];
  let drains = joins;
  let isKnown = true;
  let wasLost = false;
  let isHooked = true;
  /** Of hosts that go since a change was taken back: whether that change said that they are held. */
  const saidOf = new Map<string, boolean>();
  for (const { verb, size, frees: isFreed = false, faults: drawn } of history.commands) {
    const frees = verb === "up" && isFreed;
    if (verb === "forget" && engine.prior.transaction === undefined) continue;
    engine.clock.advance(restMs);
    const alive = engine.alive();
    // A hook before the drain is about nodes alone, and those of a cluster that goes as a whole are not drained.
    // Nor does anybody drain what only a lost state could have been asked about.
    drains &&= verb !== "destroy" && verb !== "adopt";
    wasLost ||= verb === "adopt";
    // With the state the hook is lost, unless the manifests still tell of it.
    isKnown &&= verb !== "adopt";
    const isTold = size !== undefined && (verb === "adopt" || verb === "up");
    const mayBeHeld =
      !(frees && size !== undefined) &&
      (isKnown || isTold) &&
      (drains || history.hook.startsWith("pre-terminate"));
    const runs = (host: string) =>
      alive.some(({ who, phase }) => who.name === host && phase === "ready");
    const own = alive.filter(({ who }) => {
      const [host] = /^db-0-[0-9a-f]{8}-\d+/.exec(who.name) ?? [];
      return mayBeHeld && host !== undefined && (saidOf.get(host) ?? isHooked) && runs(host);
    });
    const work = {
      up: () => engine.up(wanted(history, size, frees), drawn),
      adopt: () => {
        engine.loseState();
        return engine.up(wanted(history, size), drawn);
      },
      forget: () => engine.forget("other-0", drawn),
      rollback: () => engine.rollback(drawn),
      destroy: () => engine.destroy(drawn),
    };
    const outcome = await work[verb]();
    const going = takesBack(engine.prior) ? hostsThatGo(engine) : [];
    if (going.length === 0 && isTold) saidOf.clear();
    for (const host of going) saidOf.set(host, saidOf.get(host) ?? (isHooked && !frees));
    isHooked = saysHook(engine.prior, isHooked);
    isKnown ||= isTold && (outcome.kind === "done" || outcome.kind === "stopped");
    outcomes.push(`${verb}: ${outcomeText(outcome)}`);
    const lost = new Set(missing.among(own.map(({ id }) => id)));
    const taken = own.filter(({ id }) => lost.has(id));
    gone.push(...taken.map(({ who }) => `${verb} takes ${who.kind} ${who.name}`));
    if (!wasLost) gone.push(...engine.cloud.watch.violations, ...doublesAmong(engine.hosts()));
    if (gone.length > 0) break;
  }
  return { gone, outcomes };
}

describe("what a hook holds", () => {
  it("stays with all that lives with it, and is there once, whatever verbs and faults there are", async () => {
    const property = fc.asyncProperty(histories, async (history) => {
      const { gone, outcomes } = await goneIn(history);
      assert.deepEqual(gone, [], outcomes.join("\n"));
    });
    await assertAsyncLaw(property, 100);
  });
});
