import type { CapstanError } from "../../api/error.js";
import { isJsonObject, type JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { operationOf } from "../../dynamic/recorded.js";
import type { PendingResource } from "../../dynamic/pending-needs.js";
import type { NodeKey } from "../../graph/graph.js";
import { type Observation, type ObservedResources, presentAmong } from "../../plan/observation.js";
import type { Plan } from "../../plan/plan.js";
import { choicesOf, isAmong, type VerdictGiver } from "../../provider/alternatives.js";
import { isLost } from "../../provider/failure.js";
import {
  cloudResources,
  type PriorState,
  recordAt,
  recordedIdentity,
  recordedSpec,
  recordedStatus,
  type RecordedResource,
} from "../../records/prior-state.js";
import { machineOfKey, type Target } from "../../records/target.js";
import type { PassProgram } from "../../transaction/registration.js";
import { failedToStart, HostsDead } from "./failures.js";
import type { SessionOptions } from "./handler-session.js";

// Clouds accept a resource and say up to minutes later that they refuse it. Source: docs/adr/0060.

/** What the handlers of a pass have to know of what the cloud may refuse later, or has. Pure. */
export function passSurroundings(
  { registrations }: PassProgram,
  target: Target,
  prior: PriorState,
  observed: Pick<Observation, "observedResources"> | undefined,
  { withoutRoom }: { readonly withoutRoom?: WithoutRoom | undefined },
): Required<Pick<SessionOptions, "order" | "withoutRoom">> {
  return {
    order: {
      needs: new Map(registrations.map(({ key, dependsOn }) => [key, dependsOn])),
      pending: observed === undefined ? [] : pendingIn(prior, observed.observedResources),
    },
    withoutRoom: withoutRoomOf(target, withoutRoom),
  };
}

/** What is recorded and still pending: the cloud may refuse it yet. */
function pendingIn(prior: PriorState, observedResources: ObservedResources): PendingResource[] {
  return cloudResources(prior).flatMap((resource) => {
    const { id, outputs } = resource;
    const observed = observedResources.get(resource.key);
    if (id === undefined || observed === undefined || observed === "gone") return [];
    if (observed.phase !== "pending") return [];
    return [
      omitUndefined({
        id,
        who: recordedIdentity(resource),
        spec: recordedSpec(resource),
        status: recordedStatus(resource),
        operation: operationOf(outputs),
      }),
    ];
  });
}

/**
 * What a run that stops without a failure of its own has met: hosts of its target that were lost while something else was done. Undefined:
 * none were. Pure.
 */
export function lostMeanwhile(
  { target }: Pick<Plan, "target">,
  observed: Pick<Observation, "observedResources"> | undefined,
): CapstanError | undefined {
  if (observed === undefined) return undefined;
  const hosts = presentAmong(
    target.machines.map(({ host }) => host),
    observed,
  );
  const lost = [...hosts.values()].filter(isLost);
  return lost.length === 0 ? undefined : failedToStart(lost);
}

/** As what the cloud has refused hosts for want of room after it had accepted them, by their machines. One command remembers it. */
export type WithoutRoom = ReadonlyMap<string, readonly JsonObject[]>;

/** The same by the hosts that a target gives the machines now. */
function withoutRoomOf(
  { machines }: Pick<Target, "machines">,
  refused: WithoutRoom = new Map(),
): ReadonlyMap<NodeKey, readonly JsonObject[]> {
  return new Map(machines.map(({ name, host }) => [host, refused.get(name) ?? []]));
}

/**
 * What is refused by then, where a change failed because the cloud had no room for hosts that it had accepted, and each of them may be
 * something else that was not asked for yet; undefined anywhere else. Pure.
 */
export function refusedForRoom(
  provider: VerdictGiver,
  failure: CapstanError | undefined,
  { resources }: Pick<PriorState, "resources">,
  before: WithoutRoom = new Map(),
): WithoutRoom | undefined {
  if (!(failure instanceof HostsDead)) return undefined;
  const refused = new Map(before);
  for (const { key, code } of failure.resources) {
    const record = code === "CAPACITY" ? recordAt(resources, key) : undefined;
    const machine = record?.parent && machineOfKey(record.parent);
    if (record === undefined || machine === undefined) return undefined;
    const specs = [...(refused.get(machine) ?? []), recordedSpec(record)];
    const choices = choicesOf(provider, record.kind, inputSpecOf(record));
    if (!choices.some((choice) => !isAmong(provider, record.kind, choice, specs))) return undefined;
    refused.set(machine, specs);
  }
  return refused;
}

function inputSpecOf({ inputs }: RecordedResource): JsonObject {
  const { spec } = inputs;
  return isJsonObject(spec) ? spec : {};
}
