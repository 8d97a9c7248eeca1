import fc from "fast-check";
import type { Desired } from "../../src/api/types.js";
import { plainWorld } from "./fake-cloud.js";
import { FakeEngine, outcomeText } from "./fake-engine.js";
import type { CommandFault } from "./faults.js";
import { faults } from "./histories.js";
import { cluster, desiredOf, machine, machineDeployment } from "./manifests.js";

// Hosts whose volumes are to outlive them, and verbs that make, change and take them away while calls fail and commands die.

interface OutlivingCommand {
  readonly verb: "up" | "keep" | "rollback" | "forget" | "destroy";
  /** Of the hosts with volumes; absent: there are to be none. */
  readonly size?: string;
  readonly faults: readonly CommandFault[];
}

export interface OutlivingHistory {
  /** At most so many machines of the pool are missing while it rolls; none: others come first. */
  readonly maxUnavailable: number;
  readonly parallel: boolean;
  readonly commands: readonly OutlivingCommand[];
}

export const outlivingHistories: fc.Arbitrary<OutlivingHistory> = fc.record({
  maxUnavailable: fc.constantFrom(0, 1),
  parallel: fc.boolean(),
  commands: fc.array(
    fc.record(
      {
        verb: fc.constantFrom<OutlivingCommand["verb"][]>(
          ...(["up", "up", "up", "keep", "rollback", "forget", "destroy"] as const),
        ),
        size: fc.constantFrom("small", "medium"),
        faults: fc.array(faults, { maxLength: 2 }),
      },
      { requiredKeys: ["verb", "faults"] },
    ),
    { minLength: 1, maxLength: 5 },
  ),
});

/** Longer than any host takes to come up. */
const restMs = 20 * 60_000;

function wanted({ maxUnavailable }: OutlivingHistory, size?: string): Desired {
  const others = [cluster(), machine("cp-0", { controlPlane: "1.34.2" })];
  if (size === undefined) return desiredOf(others);
  const shape = { size, dataVolume: { gib: 1, whenHostGoes: "keep" as const } };
  const bounds = { maxUnavailable, maxSurge: 1 - maxUnavailable };
  return desiredOf([...others, machine("db", shape), machineDeployment("pool", 2, shape, bounds)]);
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

/** What hosts have lost of their data while they stood, and how the commands ended. */
export async function robbedIn(
  history: OutlivingHistory,
): Promise<{ readonly robbed: readonly string[]; readonly outcomes: readonly string[] }> {
  const traits = { ...plainWorld, parallel: history.parallel };
  const engine = await FakeEngine.running(wanted(history, "small"), { traits });
  const judge = new DataJudge();
  const robbed = judge.robbed(engine);
  const outcomes: string[] = [];
  for (const { verb, size, faults: drawn } of history.commands) {
    if (verb === "forget" && engine.prior.transaction === undefined) continue;
    engine.clock.advance(restMs);
    const work = {
      up: () => engine.up(wanted(history, size), drawn),
      keep: () => engine.up(wanted(history, size), drawn, "keep"),
      forget: () => engine.forget("db", drawn),
      rollback: () => engine.rollback(drawn),
      destroy: () => engine.destroy(drawn),
    };
    outcomes.push(`${verb}: ${outcomeText(await work[verb]())}`);
    robbed.push(...judge.robbed(engine), ...engine.cloud.watch.violations);
    if (robbed.length > 0) break;
  }
  return { robbed, outcomes };
}
