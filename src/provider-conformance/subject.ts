import type { JsonObject } from "../api/json.js";
import type { Clock, Identity, InfrastructureProvider } from "../provider/port.js";

/**
 * A provider on an empty cloud that can be made to misbehave. Each case opens one of its own. `kind` of an identity
 * says what is planted or counted.
 */
export interface World extends WorldPowers {
  readonly provider: InfrastructureProvider;
  /** The clock that the cloud goes by: a real one, or `steppingClock` where waiting is not wanted. */
  readonly clock: Clock;
  /** UID of the cluster that the case makes: one that no case before it had on this cloud. */
  readonly clusterUid: string;
  /** The next creation takes effect, and its answer does not arrive. */
  loseNextCreate(): void | Promise<void>;
  /**
   * For `ms` from its creation, a listing does not show a resource that is made from now on. On a cloud whose
   * listings never lag: nothing to do.
   */
  lagListings(ms: number): void | Promise<void>;
  /**
   * While true, the cloud answers no question (get, list); only creations would still succeed. `how` is "unavailable" without, and
   * otherwise one of `blindBy`.
   */
  blind(on: boolean, how?: Blindness): void | Promise<void>;
  /** Makes a resource that is not the case's, behind the provider's back. Returns its id. */
  plant(who: Identity, spec: JsonObject): string | Promise<string>;
  /** How many resources with this identity are alive, as the cloud itself knows. */
  countAlive(who: Identity): number | Promise<number>;
  /** The case is over. */
  close?(): void | Promise<void>;
}

/**
 * How a cloud leaves questions without an answer. `unavailable`: it fails. `denied`: the credentials may not look. `partial`: a
 * part of it, a zone or a region, gives no answer, in which the resources of the sample are; the others answer.
 */
export type Blindness = "unavailable" | "denied" | "partial";

/** What a world can do, by the names under which it may lack it. */
export type WorldPower = keyof Omit<WorldPowers, "lacks" | "blindBy"> | "denied" | "partial";

/**
 * What a world does where its cloud can. A case that needs what is not there is reported as not checked, and why.
 */
export interface WorldPowers {
  /**
   * Powers that this cloud cannot have, with the reason: { plantNamesake: "names are no keys in it" }. Cases that need one of them
   * are reported as not offered instead of not checked.
   */
  readonly lacks?: Readonly<Partial<Record<WorldPower, string>>>;
  /** The ways of `blind` that the world can show beside "unavailable". */
  readonly blindBy?: readonly Exclude<Blindness, "unavailable">[];
  /**
   * Makes another owner's resource under the name, or another key that the cloud has once, that the resource of `who` would get. It
   * bears the marks of `bears`, or none. Returns its id, which `alive` shows; undefined for a kind without such a key.
   */
  plantNamesake?(
    who: Identity,
    spec: JsonObject,
    bears?: Identity,
  ): string | undefined | Promise<string | undefined>;
  /** Ids, as in `alive`, of what the cloud makes and removes together with this resource: its boot disk. */
  partsOf?(id: string): readonly string[] | Promise<readonly string[]>;
  /** The next change of a resource meets a concurrent one, so that the cloud refuses it as out of date. */
  conflictNextChange?(): void | Promise<void>;
  /** The cloud forgets its operations that have ended, as clouds do after some days. */
  forgetOperations?(): void | Promise<void>;
  /** The next removal is answered with an operation. What this answers ends it: the cloud has refused it, and the resource stays. */
  refuseNextRemoval?(): (() => void) | Promise<() => void>;
  /** While true, changes and removals that the cloud has accepted do not come to their end. */
  holdOperations?(on: boolean): void | Promise<void>;
  /**
   * From now on calls `hook` before each call of the provider that changes something in the cloud. Where it throws,
   * the call does not reach the cloud, and the provider sees the error. Without a hook: no more.
   */
  beforeChange?(hook?: () => void): void;
  /** Ids of all that is alive in the cloud, whatever marks it bears, and also of what lives and dies with it (`partsOf`). */
  alive?(): readonly string[] | Promise<readonly string[]>;
  /** While true, the cloud takes every call and gives no answer, until the signal that came with the call aborts. */
  hang?(on: boolean): void | Promise<void>;
  /**
   * The next creation is answered with an operation, and nothing but that tells of it. What this answers ends it: then
   * it has made the resource, or was refused.
   */
  acceptNextCreate?(fate: "made" | "refused"): (() => void) | Promise<() => void>;
  /** The next creation of a host is refused: there is no room for it. */
  refuseNextCreate?(): void | Promise<void>;
  /** While true, hosts that are made stay pending; after that, they become ready. */
  holdBoot?(on: boolean): void | Promise<void>;
  /** Somebody gives a resource other settings, in the cloud itself. False where the cloud cannot change them. */
  mutate?(id: string, fields: JsonObject): boolean | Promise<boolean>;
  /** Somebody stops a host: it is still there, and does not run. */
  stop?(id: string): void | Promise<void>;
  /** Somebody deletes a resource. */
  kill?(id: string): void | Promise<void>;
  /** As `plant`, many at once, as cheaply as the cloud can. */
  plantMany?(whos: readonly Identity[], spec: JsonObject): void | Promise<void>;
  /** Makes another resource with exactly these marks, which one has already. Returns its id. */
  plantTwin?(who: Identity, spec: JsonObject): string | Promise<string>;
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
  /** Fields of machineSpec with which something is looked up; absent where the sample itself asks, or nothing does. */
  readonly asking?: JsonObject;
  /** Fields of machineSpec with which a host may be another one for want of room; absent as for `asking`. */
  readonly choosing?: JsonObject;
  /** Fields of clusterSpec with which a cluster offers failure domains; absent where the sample's does, or none can. */
  readonly offering?: JsonObject;
  /** Fields of machineSpec with other values for a control-plane member; as it is without. */
  readonly member?: JsonObject;
  /** Inputs of other kinds than hosts, by kind, with other values that change in place. */
  readonly inPlaceOf?: Readonly<Record<string, JsonObject>>;
  /**
   * Inputs for the `index`th resource beside the one of the sample, 1 or more, where the cloud does not take equal
   * ones twice: another range. The same inputs without.
   */
  beside?(kind: string, spec: JsonObject, index: number): JsonObject;
}

/** What failed of one kind in one case. */
export interface KindFailure {
  readonly kind: string;
  readonly message: string;
  /** The call of the provider that threw, and what: "locate of AcmeHost threw PERMISSION: ..."; absent where none did. */
  readonly origin?: string;
}

/** A provider, or a harness, does not do what it must. */
export class ConformanceFailure extends Error {
  override readonly name = "ConformanceFailure";

  /** `failures`: of a whole case, kind by kind in the order of time. */
  constructor(
    message: string,
    options?: ErrorOptions,
    readonly failures: readonly KindFailure[] = [],
  ) {
    super(message, options);
  }
}

/** Fails unless the condition holds: "a provider must <requirement>: <seen>". */
export function must(condition: boolean, requirement: string, seen: string): asserts condition {
  if (!condition) throw new ConformanceFailure(`a provider must ${requirement}: ${seen}`);
}

/** Fails unless the condition holds: a fault of the harness, not of the provider. */
export function harnessMust(condition: boolean, requirement: string): asserts condition {
  if (!condition) throw new ConformanceFailure(`the harness must ${requirement}`);
}

/**
 * Why there is no verdict: `notChecked`, the world cannot show it. `notOffered`, the provider has nothing of the kind,
 * which it may.
 */
export type WithoutVerdict = "notChecked" | "notOffered";

/** A case ends without a verdict. No failure. */
export class NoVerdict extends Error {
  override readonly name = "NoVerdict";

  constructor(
    readonly outcome: WithoutVerdict,
    reason: string,
  ) {
    super(reason);
  }
}

/** Ends a case unless the world can show what it is about. */
export function checkable(condition: boolean, reason: string): asserts condition {
  if (!condition) throw new NoVerdict("notChecked", reason);
}

/** Ends a case unless the provider has what it is about. */
export function offered(condition: boolean, reason: string): asserts condition {
  if (!condition) throw new NoVerdict("notOffered", reason);
}

/** A clock that can be moved on. */
export interface SteppingClock extends Clock {
  advance(ms: number): void;
}

export function isStepping(clock: Clock): clock is SteppingClock {
  return "advance" in clock;
}

/** A clock on which nothing waits: whoever sleeps moves it on. Timers still come to their turn. */
export function steppingClock(startMs = 1_000_000): SteppingClock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance: (ms) => void (nowMs += ms),
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      nowMs += ms;
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
    },
  };
}
