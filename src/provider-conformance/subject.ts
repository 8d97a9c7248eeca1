import type { JsonObject } from "../api/json.js";
import type { Clock, Identity, InfrastructureProvider } from "../provider/port.js";

/** A provider on an empty cloud that can be made to misbehave. Each case opens one of its own. */
export interface World {
  readonly provider: InfrastructureProvider;
  /** The clock that the cloud goes by: a real one, or `steppingClock` where waiting is not wanted. */
  readonly clock: Clock;
  /** UID of the cluster that the case makes: one that no case before it had on this cloud. */
  readonly clusterUid: string;
  /** The next creation of a host takes effect, and its answer does not arrive. */
  loseNextCreate(): void | Promise<void>;
  /**
   * For `ms` from its creation, a listing does not show a host that is made from now on. On a cloud whose
   * listings never lag: nothing to do.
   */
  lagListings(ms: number): void | Promise<void>;
  /** While true, the cloud answers no question (get, list); only creations would still succeed. */
  blind(on: boolean): void | Promise<void>;
  /** Makes a host that is not the case's, behind the provider's back. Returns its id. */
  plant(who: Identity, spec: JsonObject): string | Promise<string>;
  /** How many hosts with this identity are alive, as the cloud itself knows. */
  countAlive(who: Identity): number | Promise<number>;
  /** The case is over. */
  close?(): void | Promise<void>;
}

/** A provider's own objects, as users write them. */
export interface Sample {
  /** A valid providerSpec.value of a Cluster. */
  readonly clusterSpec: JsonObject;
  /** A valid providerSpec.value of a Machine. */
  readonly machineSpec: JsonObject;
}

/** The sample as it is written in an older version. */
export interface OlderSpecs extends Sample {
  /** What the last release with this storage version compiled for the machine: such hosts are recorded. */
  readonly host: JsonObject;
}

/** What the suite is run on. Its sample is written in the storage version. */
export interface ConformanceSubject extends Sample {
  open(): World | Promise<World>;
  /** The same sample in each older version that the provider serves. */
  readonly olderSpecs?: readonly OlderSpecs[];
  /** Fields of machineSpec with other values that need a new host. */
  readonly replacing: JsonObject;
  /** Fields of machineSpec with other values that change in place; absent where nothing does. */
  readonly inPlace?: JsonObject;
}

/** One thing that every provider must do. */
export interface ConformanceCase {
  readonly name: string;
  /** Rejects with a ConformanceFailure that says what the provider must do and what it did. */
  run(): Promise<void>;
}

/** A provider, or a harness, does not do what it must. */
export class ConformanceFailure extends Error {
  override readonly name = "ConformanceFailure";
}

/** Fails unless the condition holds: "a provider must <requirement>: <seen>". */
export function must(condition: boolean, requirement: string, seen: string): asserts condition {
  if (!condition) throw new ConformanceFailure(`a provider must ${requirement}: ${seen}`);
}

/** Fails unless the condition holds: a fault of the harness, not of the provider. */
export function harnessMust(condition: boolean, requirement: string): asserts condition {
  if (!condition) throw new ConformanceFailure(`the harness must ${requirement}`);
}

/** A clock on which nothing waits: whoever sleeps moves it on. */
export function steppingClock(startMs = 1_000_000): Clock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      nowMs += ms;
    },
  };
}
