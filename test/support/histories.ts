import fc from "fast-check";
import type { JsonObject } from "../../src/api/json.js";
import type { RunEvent } from "../../src/engine/run/run-event.js";
import { smallClusters, type WantedCluster } from "./wanted-cluster.js";
import { Life } from "./life.js";
import { bootFaults, callFaults, readFaults, type CommandFault } from "./faults.js";
import type { WorldTraits } from "./fake-cloud.js";
import { type EngineSetup, FakeEngine } from "./fake-engine.js";

/** What happens behind everybody's back before a command. */
export type Accident =
  | { readonly kind: "dies"; readonly pick: number }
  | { readonly kind: "drifts"; readonly pick: number; readonly fields: JsonObject }
  /** The cloud says that it will take it away. */
  | { readonly kind: "leaves"; readonly pick: number }
  /** Somebody stops it. */
  | { readonly kind: "stops"; readonly pick: number }
  /** Room for medium hosts goes, or comes back. */
  | { readonly kind: "fills" }
  /** A plain `pulumi refresh`: records are what the cloud shows, and nothing tells any more what an engine was killed in. */
  | { readonly kind: "refreshes" }
  /** Of its resources nothing is recorded any more; the next `up` adopts them. */
  | { readonly kind: "losesState" };

/** One command and everything that goes wrong in it. */
export interface HistoryCommand {
  readonly verb: "up" | "rollback" | "destroy" | "rotate";
  /** Of an `up`: what is wanted. */
  readonly wanted: WantedCluster;
  readonly accidents: readonly Accident[];
  readonly faults: readonly CommandFault[];
  /** Of an `up`: a pool has another name, and its machines move there. */
  readonly renames?: boolean;
  /** Of an `up`: what failed is not taken back. */
  readonly keeps?: boolean;
}

/** What somebody runs, with nothing going wrong any more, to get out of it. */
export const waysOut = ["same", "old", "third", "rollback", "destroy"] as const;
export type WayOut = (typeof waysOut)[number];

/**
 * Somebody else's resource: without marks, of another cluster, of an earlier cluster of this name, or
 * one that carries the very token that a host of ours will have.
 */
export const neighbours = ["unmarked", "otherCluster", "otherLife", "sameToken"] as const;
export type Neighbour = (typeof neighbours)[number];

/** The life of a cluster from a quiet beginning through trouble to a quiet end. JSON data. */
export interface History {
  readonly traits: WorldTraits;
  readonly before?: WantedCluster;
  /** Whose resources stand beside it once `before` is reached. */
  readonly neighbours?: readonly Neighbour[];
  readonly commands: readonly HistoryCommand[];
  readonly wayOut: WayOut;
  readonly third: WantedCluster;
}

export const faults: fc.Arbitrary<CommandFault> = fc.oneof(
  fc.record({
    at: fc.constant("call" as const),
    number: fc.nat({ max: 12 }),
    what: fc.constantFrom(...callFaults),
  }),
  fc.record({
    at: fc.constant("write" as const),
    number: fc.nat({ max: 40 }),
    what: fc.constantFrom("killBefore" as const, "killAfter" as const),
  }),
  fc.record({
    at: fc.constant("look" as const),
    number: fc.nat({ max: 25 }),
    what: fc.constantFrom(...readFaults),
  }),
  fc.record({
    at: fc.constant("boot" as const),
    number: fc.nat({ max: 4 }),
    what: fc.constantFrom(...bootFaults),
  }),
);

export const accidents: fc.Arbitrary<Accident> = fc.oneof(
  fc.constant({ kind: "losesState" as const }),
  fc.constant({ kind: "fills" as const }),
  fc.constant({ kind: "refreshes" as const }),
  fc.record({
    kind: fc.constantFrom("dies" as const, "leaves" as const, "stops" as const),
    pick: fc.nat({ max: 9 }),
  }),
  fc.record({
    kind: fc.constant("drifts" as const),
    pick: fc.nat({ max: 9 }),
    fields: fc.constantFrom<JsonObject[]>({ tags: { by: "hand" } }, { size: "large" }),
  }),
);

export const traits: fc.Arbitrary<WorldTraits> = fc
  .record({
    listingLagMs: fc.constantFrom(0, 0, 800),
    searchesLag: fc.boolean(),
    remembersTokens: fc.boolean(),
    tokensLast: fc.boolean(),
    parallel: fc.boolean(),
    acceptsFirst: fc.constantFrom(false, false, true),
    removalMs: fc.constantFrom(0, 0, 0, 1_500),
    // A member that a change has stopped for good would take etcd's majority along: drain and resizing histories draw that.
    restarts: fc.constant(false),
  })
  // A cloud that neither shows what it made nor remembers its token cannot be used by anybody.
  .map((some) => ({
    ...some,
    searchesLag: some.searchesLag && some.remembersTokens,
    tokensLast: some.tokensLast && some.remembersTokens,
    acceptsFirst: some.acceptsFirst && some.remembersTokens,
  }));

export const histories: fc.Arbitrary<History> = fc.record(
  {
    traits,
    before: smallClusters,
    commands: fc.array(
      fc.record({
        verb: fc.constantFrom(
          "up" as const,
          "up" as const,
          "rollback" as const,
          "destroy" as const,
        ),
        wanted: smallClusters,
        renames: fc.boolean(),
        accidents: fc.oneof(
          { weight: 4, arbitrary: fc.constant([]) },
          { weight: 1, arbitrary: fc.array(accidents, { minLength: 1, maxLength: 2 }) },
        ),
        faults: fc.array(faults, { minLength: 1, maxLength: 3 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    wayOut: fc.constantFrom(...waysOut),
    third: smallClusters,
  },
  { requiredKeys: ["traits", "commands", "wayOut", "third"] },
);

/**
 * Lets a history happen. Returns every way in which it breaks the laws, a line each, the law first:
 * what the watch saw, and after each command what its own words promise of state and cloud.
 */
export async function breachesOf(history: History, setup: LifeSetup = {}): Promise<string[]> {
  const { trace = () => {}, ...rest } = setup;
  const told = tellTo(trace);
  const engine = new FakeEngine({
    ...rest,
    traits: history.traits,
    adopt: history.neighbours === undefined,
    tell: (event) => {
      told(event);
      if (event.kind === "committed") life.committed();
      if (event.kind === "plannedAnew") life.plannedAnew();
    },
  });
  const life = new Life(engine, trace);
  if (history.before !== undefined) await life.quietly("up", history.before);
  for (const neighbour of history.neighbours ?? []) life.plant(neighbour);
  for (const command of history.commands) {
    for (const accident of command.accidents) {
      // Whose resources are whose could not be told any more.
      if (accident.kind === "losesState" && history.neighbours !== undefined) continue;
      await life.happen(accident);
    }
    await life.live(command);
  }
  await life.getOut(history);
  life.mustHaveLeftAlone();
  life.mustKeepNothing();
  const { watch, rollouts } = engine.cloud;
  return [...watch.violations, ...rollouts.violations, ...life.breaches];
}

export interface LifeSetup extends EngineSetup {
  /** Told what happens, a line each, for people. */
  readonly trace?: (line: string) => void;
}

function tellTo(trace: (line: string) => void): (event: RunEvent) => void {
  return (event) => {
    switch (event.kind) {
      case "pass":
        return trace(`  pass ${event.number}: ${event.keys.join(" ")}`);
      case "plannedAnew":
      case "rollingBack":
        return trace(`  ${event.kind}: ${event.reason}`);
      case "refreshing":
        return trace(`  reading ${event.keys.join(", ")} again`);
      case "recovering":
        return trace(`  recovering: ${event.reason}`);
      case "committed":
        return trace(`  committed ${event.revision}`);
      case "resource": {
        const { operation, kind, name, state, message = "" } = event.event;
        return trace(`    ${operation} ${kind}/${name} ${state} ${message}`.trimEnd());
      }
      case "leftover":
        return trace(`  removed: ${event.leftover.id}`);
      case "configured":
        return trace(`  configured: ${event.what}`);
      case "unconfigured":
        return trace(`  unconfigured: ${event.reason}`);
      case "waiting":
      case "proving":
      case "ready":
        return trace(`  ${event.kind}: ${"key" in event ? event.key : event.keys.join(" ")}`);
    }
  };
}
