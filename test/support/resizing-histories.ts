import fc from "fast-check";
import type { Desired } from "../../src/api/types.js";
import { plainWorld } from "./fake-cloud.js";
import { FakeEngine, outcomeText } from "./fake-engine.js";
import { callFaults, type CommandFault } from "./faults.js";
import { cluster, desiredOf, machine } from "./manifests.js";

// Hosts that a change in place stops, changes and starts, a call each, while calls fail and commands die between these.

interface ResizingCommand {
  /**
   * "keep": an `up` that takes nothing back. "refresh": a plain `pulumi refresh`. "drift": a size that somebody sets by hand. "drop": an
   * `up` that wants no worker. "replace": one that wants another image.
   */
  readonly verb: "up" | "keep" | "rollback" | "refresh" | "drift" | "drop" | "replace" | "destroy";
  readonly sizes: Sizes;
  readonly faults: readonly CommandFault[];
}

interface Sizes {
  readonly member: string;
  readonly worker: string;
}

export interface ResizingHistory {
  readonly parallel: boolean;
  readonly listingLagMs: number;
  readonly commands: readonly ResizingCommand[];
  /** What is wanted in the end. */
  readonly last: Sizes;
}

const sizes = fc.record({
  member: fc.constantFrom("small", "medium", "large"),
  worker: fc.constantFrom("small", "medium"),
});

const cuts: fc.Arbitrary<CommandFault> = fc.oneof(
  fc.record({
    at: fc.constant("call" as const),
    number: fc.nat({ max: 8 }),
    what: fc.constantFrom(...callFaults),
  }),
  fc.record({
    at: fc.constant("write" as const),
    number: fc.nat({ max: 24 }),
    what: fc.constantFrom("killBefore" as const, "killAfter" as const),
  }),
);

export const resizingHistories: fc.Arbitrary<ResizingHistory> = fc.record({
  parallel: fc.boolean(),
  listingLagMs: fc.constantFrom(0, 0, 800),
  commands: fc.array(
    fc.record({
      verb: fc.constantFrom<ResizingCommand["verb"][]>(
        ...(["up", "up", "up", "keep", "keep", "rollback", "refresh", "drift"] as const),
        ...(["drop", "replace", "destroy"] as const),
      ),
      sizes,
      faults: fc.array(cuts, { minLength: 1, maxLength: 2 }),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  last: sizes,
});

const small: Sizes = { member: "small", worker: "small" };
const medium: Sizes = { member: "medium", worker: "medium" };

const largerMember: Sizes = { member: "medium", worker: "small" };

/**
 * What random histories come to seldom: a transaction is gone on with that has finished a change which drift then took back; and a
 * change between stop and start is followed by a destroy that is cut off as it begins.
 */
export const rareResizingHistories: readonly ResizingHistory[] = [
  {
    parallel: false,
    listingLagMs: 0,
    commands: [
      { verb: "up", sizes: largerMember, faults: [{ at: "call", number: 2, what: "killBefore" }] },
      { verb: "destroy", sizes: small, faults: [{ at: "write", number: 2, what: "killAfter" }] },
    ],
    last: largerMember,
  },
  {
    parallel: false,
    listingLagMs: 0,
    commands: [
      { verb: "up", sizes: medium, faults: [{ at: "call", number: 0, what: "interrupt" }] },
      { verb: "drift", sizes: small, faults: [] },
      { verb: "up", sizes: medium, faults: [{ at: "call", number: 0, what: "killLate" }] },
    ],
    last: small,
  },
];

function wanted({ member, worker }: Sizes, verb?: "drop" | "replace"): Desired {
  const image = verb === "replace" ? { image: "local/ubuntu-26.04" } : {};
  const workers = [machine("db", { size: worker, resizable: true, ...image })];
  return desiredOf([
    cluster(),
    machine("cp-0", { controlPlane: "1.34.2", size: member, resizable: true }),
    ...(verb === "drop" ? [] : workers),
  ]);
}

const endings: ReadonlySet<ResizingCommand["verb"]> = new Set(["drop", "replace", "destroy"]);

/** Longer than any host takes to come up. */
const restMs = 20 * 60_000;

/**
 * What befell two hosts of which every change can be made in place: each has to be there until the end, and to run as it is wanted
 * once a command has ended well; and how the commands ended.
 */
export async function lostIn(
  history: ResizingHistory,
): Promise<{ readonly lost: readonly string[]; readonly outcomes: readonly string[] }> {
  const { parallel, listingLagMs, commands, last } = history;
  const first = { member: "small", worker: "small" };
  const traits = { ...plainWorld, parallel, listingLagMs };
  const engine = await FakeEngine.running(wanted(first), { traits });
  const ids = engine.hosts().map(({ id }) => id);
  const outcomes: string[] = [];
  const lost: string[] = [];
  const look = (isOver: boolean): void => {
    for (const id of ids) {
      const { phase } = engine.cloud.get(id) ?? { phase: "gone" };
      if (phase === "gone") lost.push(`${id} is deleted`);
      else if (isOver && phase !== "ready") lost.push(`${id} is left ${phase}`);
    }
    lost.push(...engine.cloud.watch.violations);
  };
  let mayGo = false;
  // One whose end was asked for is gone: what was to be seen is how it was planned until then.
  const hasEnded = () =>
    mayGo && ids.some((id) => (engine.cloud.get(id)?.phase ?? "gone") === "gone");
  for (const { verb, sizes: asked, faults } of commands) {
    engine.clock.advance(restMs);
    const work = {
      up: () => engine.up(wanted(asked), faults),
      keep: () => engine.up(wanted(asked), faults, "keep"),
      rollback: () => engine.rollback(faults),
      drop: () => engine.up(wanted(asked, "drop"), faults),
      replace: () => engine.up(wanted(asked, "replace"), faults),
      destroy: () => engine.destroy(faults),
    };
    if (verb === "refresh") await engine.refresh();
    else if (verb === "drift") engine.cloud.drift(ids[0] ?? "", { size: asked.member });
    else {
      const outcome = await work[verb]();
      outcomes.push(`${verb}: ${outcomeText(outcome)}`);
      mayGo ||= endings.has(verb);
      if (hasEnded()) return { lost: [...engine.cloud.watch.violations], outcomes };
      look(outcome.kind === "done" || outcome.kind === "rolledBack");
    }
    if (lost.length > 0) return { lost, outcomes };
  }
  engine.clock.advance(restMs);
  const outcome = await engine.up(wanted(last));
  outcomes.push(`up at last: ${outcomeText(outcome)}`);
  if (hasEnded()) return { lost: [...engine.cloud.watch.violations], outcomes };
  look(true);
  if (outcome.kind !== "done") lost.push(outcomeText(outcome));
  const [member, worker] = ids.map((id) => engine.cloud.get(id)?.spec["size"]);
  if (member !== last.member || worker !== last.worker)
    lost.push("they are not as they are wanted");
  return { lost, outcomes };
}
