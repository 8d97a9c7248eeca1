import fc from "fast-check";
import type { Desired } from "../../src/api/types.js";
import { keyOf } from "../../src/graph/graph.js";
import { cloudResources, isOpen } from "../../src/records/prior-state.js";
import { plainWorld } from "./fake-cloud.js";
import { FakeEngine, outcomeText } from "./fake-engine.js";
import type { CommandFault } from "./faults.js";
import { faults } from "./histories.js";
import { cluster, desiredOf, machine, machineDeployment, machineSet } from "./manifests.js";
import { Missing } from "./missing.js";

// Hosts whose volumes are to outlive them, and verbs that make, change and take them away while calls fail and commands die.

type DataPolicy = "keep" | "delete";

interface OutlivingCommand {
  /** "tell": a destroy that manifests are named with. */
  readonly verb: "up" | "keep" | "rollback" | "forget" | "destroy" | "tell";
  /** Of the hosts with volumes; absent: there are to be none. */
  readonly size?: string;
  /** What becomes of the data of hosts that go. */
  readonly policy: DataPolicy;
  readonly faults: readonly CommandFault[];
}

export interface OutlivingHistory {
  /** At most so many machines of the pool are missing while it rolls; none: others come first. */
  readonly maxUnavailable: number;
  readonly parallel: boolean;
  /** With which hosts are made first. */
  readonly policy: DataPolicy;
  readonly commands: readonly OutlivingCommand[];
}

const policies = fc.constantFrom<DataPolicy[]>("keep", "keep", "keep", "delete");

export const outlivingHistories: fc.Arbitrary<OutlivingHistory> = fc.record({
  maxUnavailable: fc.constantFrom(0, 1),
  parallel: fc.boolean(),
  policy: policies,
  commands: fc.array(
    fc.record(
      {
        policy: policies,
        verb: fc.constantFrom<OutlivingCommand["verb"][]>(
          ...(["up", "up", "up", "keep", "rollback", "forget", "destroy", "tell"] as const),
        ),
        size: fc.constantFrom("small", "medium"),
        faults: fc.array(faults, { maxLength: 2 }),
      },
      { requiredKeys: ["verb", "policy", "faults"] },
    ),
    { minLength: 1, maxLength: 5 },
  ),
});

/** Longer than any host takes to come up. */
const restMs = 20 * 60_000;

function wanted(
  { maxUnavailable }: OutlivingHistory,
  { size, policy }: Pick<OutlivingCommand, "size" | "policy">,
): Desired {
  const others = [cluster(), machine("cp-0", { controlPlane: "1.34.2" })];
  if (size === undefined) return desiredOf(others);
  const shape = { size, dataVolume: { gib: 1, whenHostGoes: policy } };
  const bounds = { maxUnavailable, maxSurge: 1 - maxUnavailable };
  const set = machineSet("set", 1, shape);
  return desiredOf([
    ...others,
    machine("db", shape),
    set,
    machineDeployment("pool", 2, shape, bounds),
  ]);
}

/** Each host has the volume that it was first seen with. What a change has made that is taken back is deleted with its data. */
class DataJudge {
  private readonly dataOf = new Map<string, string>();

  /** Hosts that bear our marks while their data is nobody's. */
  robbed(engine: FakeEngine): string[] {
    const own = engine.alive();
    for (const { id, who, spec } of own) {
      const host = String(spec["hostId"]);
      if (who.kind === "LocalVolume" && !this.dataOf.has(host)) this.dataOf.set(host, id);
    }
    const nobodys = engine.cloud.alive().filter(({ who }) => who.token === "");
    const ids = new Set(nobodys.map(({ id }) => id));
    return own
      .filter(({ id }) => ids.has(this.dataOf.get(id) ?? ""))
      .map(({ who }) => `${who.name} stands without its data`);
  }
}

/** Volumes that stand and bear our marks, by id. */
export function dataOf(engine: FakeEngine): string[] {
  return engine.alive().flatMap(({ id, who }) => (who.kind === "LocalVolume" ? [id] : []));
}

/** Whether manifests of a change keep all data. One that was taken back deletes what it made, and goes by what was said before. */
function keepsAll(
  { verb, size, policy }: OutlivingCommand,
  outcome: string,
  { prior: { transaction } }: FakeEngine,
): boolean {
  const isForward = verb === "up" || verb === "keep" || verb === "tell";
  const isTakenBack = /rolledBack|incomplete/.test(outcome) || transaction?.direction === "back";
  return isForward && !isTakenBack && size !== undefined && policy === "keep";
}

/** Whether nothing is open or owed, and the newest manifests keep all data: what goes then goes by what was committed. */
function isKeptAtRest({ prior }: FakeEngine, last: DataPolicy): boolean {
  const { revision, resources } = prior;
  const wanted = new Set(revision?.target.nodes.map(keyOf));
  const isSettled = cloudResources(prior).every(({ key }) => wanted.has(key));
  return last === "keep" && resources.length > 0 && !isOpen(prior) && isSettled;
}

/** What hosts have lost of their data while they stood, or when they went, and how the commands ended. */
export async function robbedIn(
  history: OutlivingHistory,
): Promise<{ readonly robbed: readonly string[]; readonly outcomes: readonly string[] }> {
  const traits = { ...plainWorld, parallel: history.parallel };
  const engine = await FakeEngine.running(wanted(history, { ...history, size: "small" }), {
    traits,
  });
  const judge = new DataJudge();
  const missing = new Missing(engine);
  const robbed = judge.robbed(engine);
  const outcomes: string[] = [];
  let committed = history.policy;
  for (const command of history.commands) {
    const { verb, faults: drawn } = command;
    if (verb === "forget" && engine.prior.transaction === undefined) continue;
    engine.clock.advance(restMs);
    const work = {
      up: () => engine.up(wanted(history, command), drawn),
      keep: () => engine.up(wanted(history, command), drawn, "keep"),
      forget: () => engine.forget("db", drawn),
      rollback: () => engine.rollback(drawn),
      destroy: () => engine.destroy(drawn),
      tell: () => engine.destroy(drawn, wanted(history, command)),
    };
    const before = dataOf(engine);
    const isDoomed = verb !== "destroy" || !isKeptAtRest(engine, committed);
    const outcome = outcomeText(await work[verb]());
    outcomes.push(`${verb}: ${outcome}`);
    const isKept = keepsAll(command, outcome, engine) || !isDoomed;
    const deleted = missing.among(isKept ? before : []);
    const isAnew = (verb === "up" || verb === "keep") && command.size !== undefined;
    // Whatever else may have led elsewhere.
    committed = isAnew && outcome === "done" ? command.policy : "delete";
    robbed.push(...judge.robbed(engine), ...deleted.map((id) => `${id} was to be kept`));
    robbed.push(...engine.cloud.watch.violations);
    if (robbed.length > 0) break;
  }
  return { robbed, outcomes };
}
