import { CapstanError } from "../../api/error.js";
import type { JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { type BridgeRuntime, CloudResource } from "../../dynamic/cloud-resource.js";
import type { PlannedUpdates } from "../../dynamic/resuming.js";
import type { ResourceEvent } from "../../dynamic/resource-event.js";
import type { HostBootstrapper } from "../../dynamic/host-bootstrapper.js";
import { PendingNeeds, type PendingResource } from "../../dynamic/pending-needs.js";
import type { Removals } from "../../dynamic/removals.js";
import { Postponement } from "../../dynamic/postponed.js";
import { OutlivingResource } from "../../dynamic/outliving-resource.js";
import type { DynamicResource } from "../../dynamic/protocol.js";
import { SessionCloud } from "../../dynamic/session-cloud.js";
import { type RecordKind, recordKinds, RecordResource } from "../../dynamic/record-resource.js";
import type {
  CallContext,
  Clock,
  CloudIdentity,
  InfrastructureProvider,
} from "../../provider/port.js";
import { timingOf } from "../../provider/timing.js";
import type { NodeKey } from "../../graph/graph.js";
import type { HandlerSession } from "../pulumi/engine-options.js";

/** Finds the resource that serves a kind among the records and the given providers. */
export function resourceFor(
  kind: string,
  providers: readonly InfrastructureProvider[],
  runtime: BridgeRuntime,
): DynamicResource {
  if ((recordKinds as readonly string[]).includes(kind)) {
    return new RecordResource(kind as RecordKind, async (name, recorded) => {
      const provider = providers.find((one) => one.name === name);
      const cloud = runtime.cloud ?? new SessionCloud();
      await (provider && cloud.compared(provider, runtime.context, { subject: kind, recorded }));
    });
  }
  for (const provider of providers) {
    const handler = provider.handlers.get(kind);
    if (handler === undefined) continue;
    return new OutlivingResource(new CloudResource(provider, kind, handler, runtime));
  }
  throw new CapstanError({
    code: "NOT_FOUND",
    source: "engine",
    message: `cannot serve resources of kind ${kind}: no provider of this release does`,
    hint: "install the release or the provider that made them",
  });
}

/** A context for calls outside engine runs: looking and waiting, and changes that ask `assertHeld` before. */
export function callContext(
  clock: Clock,
  signal: AbortSignal,
  assertHeld: CallContext["assertEngineAlive"] = () => {},
): CallContext {
  return { clock, signal, assertEngineAlive: assertHeld };
}

/** In which order the resources of one engine run are made. */
interface PassOrder {
  /** What each is made after. */
  readonly needs: ReadonlyMap<NodeKey, readonly NodeKey[]>;
  /** What earlier engine runs have left pending. */
  readonly pending: readonly PendingResource[];
}

interface StepwiseOptions {
  readonly provider: InfrastructureProvider;
  readonly clock: Clock;
  /** How long a deletion or a lost answer may take, milliseconds. */
  readonly timeoutMs: number;
  /** Where to remember what this one engine run has made, so that it cannot delete it again. */
  readonly served?: Set<string>;
  readonly recordedTwice?: ReadonlySet<string>;
  /** What is let go instead of deleted. */
  readonly letGo?: ReadonlySet<NodeKey>;
  /** What the plan changes in place in this engine run; absent: nothing. */
  readonly changing?: PlannedUpdates;
  /** What is made after what in this engine run, and what of it is pending from before; absent: nothing is waited for. */
  readonly order?: PassOrder;
  /** As `BridgeRuntime.withoutRoom`. */
  readonly withoutRoom?: ReadonlyMap<NodeKey, readonly JsonObject[]>;
  /** Ids of what was there before and is marked instead of created. */
  readonly imports?: ReadonlyMap<NodeKey, string>;
  /** As `BridgeRuntime.mode` "records". */
  readonly recordsOnly?: boolean;
  /** Which cloud it is about, where that is known. */
  readonly cloud?: CloudIdentity | undefined;
  /** As `BridgeRuntime.removals`. */
  readonly removals?: Removals;
  /** Told of deletions that are put off; without it they are waited for. */
  readonly postponed?: (event: ResourceEvent) => void;
  /** What makes user data for hosts; absent: hosts of the provider take none. */
  readonly bootstrap?: HostBootstrapper | undefined;
  /** Stops them too: for work between engine runs, when no engine is there to ask. */
  readonly stop?: AbortSignal;
  /** Throws ENGINE_DEAD once the engine of this run has ended, LOCKED once another command has taken this one's place. */
  assertEngineAlive(): Promise<void> | void;
  report(event: ResourceEvent): void;
}

/** What differs from one engine run of a command to the next. */
export type SessionOptions = Pick<
  StepwiseOptions,
  | "recordsOnly"
  | "stop"
  | "recordedTwice"
  | "changing"
  | "order"
  | "withoutRoom"
  | "assertEngineAlive"
  | "postponed"
>;

/**
 * The handlers of one engine run under our own command: they answer once the cloud has accepted,
 * and stop where they can resume when the engine is asked to stop.
 */
export function stepwiseSession(options: StepwiseOptions): HandlerSession {
  const { provider, clock, timeoutMs, order } = options;
  const abort = new AbortController();
  const context: CallContext = {
    clock,
    signal:
      options.stop === undefined ? abort.signal : AbortSignal.any([abort.signal, options.stop]),
    assertEngineAlive: () => options.assertEngineAlive(),
  };
  const runtime: BridgeRuntime = omitUndefined({
    context,
    mode: options.recordsOnly === true ? "records" : "stepwise",
    readyTimeoutMs: timeoutMs,
    cloud: new SessionCloud(options.cloud),
    served: options.served,
    recordedTwice: options.recordedTwice,
    letGo: options.letGo,
    changing: options.changing,
    imports: options.imports,
    needs: order && new PendingNeeds(provider.handlers, context, order.needs, order.pending),
    withoutRoom: options.withoutRoom,
    removals: options.removals,
    postponement:
      options.postponed && new Postponement(clock, timingOf(provider), options.postponed),
    bootstrap: options.bootstrap,
    report: (event) => options.report(event),
  });
  const resources = new Map<string, DynamicResource>();
  return {
    lookup: (kind) => {
      const known = resources.get(kind) ?? resourceFor(kind, [provider], runtime);
      resources.set(kind, known);
      return known;
    },
    cancelled: () =>
      abort.abort(
        new CapstanError({
          code: "CANCELLED",
          source: "user",
          message: "interrupted",
          hint: "the same command goes on where this one stopped",
        }),
      ),
  };
}
