import { CapstanError, type ErrorCode } from "../api/error.js";
import { isKind, isSharedKind } from "../api/schema.js";
import type { ErrorReason } from "../api/status.js";
import { type FailedResource, ResourcesFailed } from "../engine/run/failures.js";
import type { ResourceEvent } from "../dynamic/resource-event.js";
import { type NodeKey, nodeKey } from "../graph/graph.js";
import { BadInput } from "../manifest/bad-input.js";
import { diagnosisText, type Diagnostic } from "../manifest/diagnostic.js";
import { objectOf } from "../manifest/object-parts.js";
import { RefusedChange, type Refusal } from "../plan/refused-change.js";
import { cloudResources, type PriorState } from "../records/prior-state.js";
import { machineOfKey, type Target } from "../records/target.js";
import type { FailedOperation, ObjectFailure } from "../source/cluster-view.js";

// What an error means for single objects: the one place in which failures get the words of Cluster API.

/** INVALID_INPUT: objects of an API server that cannot be used, each with what is wrong. */
export class WrongObjects extends CapstanError {
  constructor(
    key: string,
    readonly diagnostics: readonly Diagnostic[],
  ) {
    super({
      code: "INVALID_INPUT",
      source: "user",
      subject: key,
      message: diagnostics
        .map(({ subject = "", ...one }) => `${subject}: ${diagnosisText(one)}`)
        .join("\n"),
    });
  }
}

/** Where failures are placed. */
export interface FailurePlaces {
  /** "<namespace>/<name>" of the Cluster. */
  readonly key: string;
  readonly records: PriorState;
  /** What was to be applied; absent: what is recorded. */
  readonly target?: Target;
  readonly nowMs: number;
}

/** The objects that an error is about, and how each of them failed; none for errors of the whole cluster. Pure. */
export function objectFailuresOf(error: CapstanError, places: FailurePlaces): ObjectFailure[] {
  if (error instanceof ResourcesFailed) {
    return error.resources.map((resource) => resourceFailure(resource, places));
  }
  const about = { atMs: places.nowMs, isTransient: false };
  if (error instanceof RefusedChange) {
    return distinct(
      error.refusals.map((refusal) => ({
        ...about,
        ...refusedObject(refusal, places),
        operation: "Update",
        reason: "UnsupportedChange",
        message: `${refusal.reason}; ${error.remedy}`,
      })),
    );
  }
  if (!(error instanceof WrongObjects || error instanceof BadInput)) return [];
  return error.diagnostics.flatMap((diagnostic) => {
    const { kind = "", name = "" } = objectOf(diagnostic) ?? {};
    if (!isShown(kind)) return [];
    const message = diagnosisText(diagnostic);
    const isUnsupported = diagnostic.code === "UNSUPPORTED_CONFIGURATION";
    const reason = isUnsupported ? "UnsupportedConfiguration" : "InvalidConfiguration";
    return [{ ...about, kind, name, reason, message }];
  });
}

/** A call that is refused for now, and asked again. Pure. */
export function transientFailureOf(event: ResourceEvent, places: FailurePlaces): ObjectFailure {
  const { kind, name, operation, message = "", code = "CLOUD_FAILED" } = event;
  const resource = { key: nodeKey(kind, name), operation, code, message, retryable: true };
  return resourceFailure(resource, places);
}

function resourceFailure(
  { key, operation, code, message, retryable }: FailedResource,
  places: FailurePlaces,
): ObjectFailure {
  const machine = machineOf(key, places);
  const about = machine === undefined ? clusterIn(places) : { kind: "Machine" as const };
  const done = operations[operation];
  return {
    name: machine ?? "",
    ...about,
    operation: done,
    reason: reasonOf(code, done),
    message: machine === undefined ? `${key}: ${message}` : message,
    atMs: places.nowMs,
    isTransient: retryable && code !== "DEADLINE",
  };
}

const operations: Readonly<Record<ResourceEvent["operation"], FailedOperation>> = {
  create: "Create",
  adopt: "Create",
  import: "Create",
  read: "Update",
  update: "Update",
  delete: "Delete",
  forget: "Delete",
};

/** Source: docs/cluster-api.md#machine. */
function reasonOf(code: ErrorCode, operation: FailedOperation): ErrorReason {
  switch (code) {
    case "QUOTA":
    case "CAPACITY":
      return "InsufficientResources";
    case "PERMISSION":
      return "PermissionDenied";
    case "INVALID_INPUT":
      return "InvalidConfiguration";
    case "UNSUPPORTED_CHANGE":
      return "UnsupportedChange";
    case "DEADLINE":
      return "JoinClusterTimeoutError";
    default:
      return `${operation}Error`;
  }
}

/** The machine that a host is of; undefined for what machines share. */
function machineOf(key: NodeKey, { records, target }: FailurePlaces): string | undefined {
  const targets = [target, records.transaction?.target, records.revision?.target];
  const machines = targets.flatMap((one) => one?.machines ?? []);
  const planned = machines.find(({ host }) => host === key);
  if (planned !== undefined) return planned.name;
  const parent = cloudResources(records).find((one) => one.key === key)?.parent;
  // One that is wanted no more is in no target: its record tells.
  return parent === undefined ? undefined : machineOfKey(parent);
}

function refusedObject(
  { machine }: Refusal,
  places: FailurePlaces,
): Pick<ObjectFailure, "kind" | "name"> {
  if (machine === undefined) return clusterIn(places);
  if (machine.owner === undefined) return { kind: "Machine", name: machine.name };
  const { machineSet, machineDeployment } = machine.owner;
  return machineDeployment === undefined
    ? { kind: "MachineSet", name: machineSet }
    : { kind: "MachineDeployment", name: machineDeployment };
}

function clusterIn({ key }: FailurePlaces): Pick<ObjectFailure, "kind" | "name"> {
  return { kind: "Cluster", name: key.slice(key.indexOf("/") + 1) };
}

function isShown(kind: string): kind is ObjectFailure["kind"] {
  return isKind(kind) && !isSharedKind(kind);
}

/** Machines of one set are refused for one reason, once. */
function distinct(failures: readonly ObjectFailure[]): ObjectFailure[] {
  return [...new Map(failures.map((one) => [`${one.kind}/${one.name}`, one])).values()];
}
