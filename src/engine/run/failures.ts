import { isAsAdopted } from "../../records/history.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import {
  CapstanError,
  type ErrorCode,
  type ErrorDetails,
  isCapstanError,
  messageOf,
} from "../../api/error.js";
import { quoted } from "../../api/quoted.js";
import { failureReason, lossOf, whyFailed } from "../../provider/failure.js";
import type { Failure, InfrastructureProvider, Observed } from "../../provider/port.js";
import type { ResourceEvent } from "../../dynamic/resource-event.js";
import { keyOf, type NodeKey, nodeKey, nodeKind, nodeName } from "../../graph/graph.js";
import type { PriorState } from "../../records/prior-state.js";
import type { GivenUp } from "../../records/transaction.js";

// What a run can fail with, in words.

/** One resource that could not be had. */
export interface FailedResource {
  readonly key: NodeKey;
  readonly operation: ResourceEvent["operation"];
  readonly code: ErrorCode;
  readonly message: string;
  /** The same may go well later without any change. */
  readonly retryable: boolean;
}

/** An error that knows which resources failed, and each of them how. */
export class ResourcesFailed extends CapstanError {
  constructor(
    details: ErrorDetails,
    readonly resources: readonly FailedResource[],
  ) {
    super(details);
  }
}

/** Hosts that never will serve: others can take their place, under other names. */
export class HostsDead extends ResourcesFailed {}

/** Hosts that did not serve in the time that they had. */
class HostsLate extends ResourcesFailed {
  constructor(
    details: ErrorDetails,
    resources: readonly FailedResource[],
    /** Those of them that do not run, each with what a plan says of it: others run, and had to prove it for longer. */
    readonly stuck: GivenUp,
  ) {
    super(details, resources);
  }
}

/**
 * Whether nothing failed but creates that the cloud has answered with what has ended: what a killed engine asked for under
 * the same names was refused, or died, where no look has shown it.
 */
export function areNamesSpent(failure: CapstanError | undefined): boolean {
  return (
    failure instanceof ResourcesFailed &&
    failure.resources.every(({ code }) => code === "TOKEN_SPENT")
  );
}

/**
 * CLOUD_FAILED: what a pass failed with. A host that the cloud has refused after it had accepted it is dead; of what was to be made after
 * a refused resource nothing is told but that.
 */
export function passFailed(
  cluster: string,
  events: readonly ResourceEvent[],
  { hostKind }: Pick<InfrastructureProvider, "hostKind">,
): CapstanError {
  const refused = new Map(
    events.flatMap(({ refused: need }) => (need === undefined ? [] : [[need.key, need.failure]])),
  );
  const calls = events.filter((event) => event.refused === undefined);
  const isHostsAlone = [...refused.keys()].every((key) => nodeKind(key) === hostKind);
  if (calls.length === 0 && isHostsAlone) {
    return hostsDead([...refused].map(([key, failure]) => ({ key, failure })));
  }
  return callsFailed(cluster, [...[...refused].map(refusalEvent), ...calls]);
}

function refusalEvent([key, failure]: readonly [NodeKey, Failure]): ResourceEvent {
  return {
    operation: "create",
    state: "failed",
    kind: nodeKind(key),
    name: nodeName(key),
    message: `the cloud accepted it and then refused it: ${failureReason(failure)}`,
    code: failure.code ?? "CLOUD_FAILED",
    retryable: false,
  };
}

/** CLOUD_FAILED: the calls of a pass that failed, a line each, with what to do about them. */
export function callsFailed(cluster: string, events: readonly ResourceEvent[]): CapstanError {
  const hints = [...new Set(events.flatMap(({ hint }) => hint ?? []))];
  const lines = events.map(
    ({ operation, kind, name, message = "" }) =>
      `cannot ${operation} ${kind} ${name}: ${quoted(message)}`,
  );
  const details: ErrorDetails = omitUndefined({
    code: "CLOUD_FAILED",
    source: "cloud",
    subject: cluster,
    message: lines.join("\n"),
    hint: hints.length > 0 ? hints.join("; ") : undefined,
  });
  return new ResourcesFailed(details, events.map(failedCall));
}

function failedCall({
  operation,
  kind,
  name,
  message = "",
  hint,
  code = "CLOUD_FAILED",
  retryable = true,
}: ResourceEvent): FailedResource {
  const told = hint === undefined ? message : `${message}; ${hint}`;
  return { key: nodeKey(kind, name), operation, code, message: told, retryable };
}

/** CLOUD_FAILED: hosts that the cloud says never will run, each with the cloud's reason and code, as far as it says. */
export function failedToStart(
  hosts: readonly Pick<Observed, "who" | "phase" | "failure">[],
): CapstanError {
  return hostsDead(hosts.map((host) => ({ key: keyOf(host.who), failure: lossOf(host) })));
}

function hostsDead(
  lost: readonly { readonly key: NodeKey; readonly failure: Failure | undefined }[],
): HostsDead {
  const names = lost.map(({ key, failure }) =>
    failure === undefined ? key : `${key} (${failureReason(failure)})`,
  );
  const message = `failed to start: ${names.join(", ")}`;
  return new HostsDead(
    { code: "CLOUD_FAILED", source: "cloud", message },
    lost.map(({ key, failure }) => ({
      key,
      operation: "create",
      code: failure?.code ?? "CLOUD_FAILED",
      message: `its host failed to start${whyFailed({ failure })}`,
      retryable: false,
    })),
  );
}

/** Hosts that do not serve in their time. `why`: what is said of each; `stuck`: those that do not run. */
export function hostsLate(
  hosts: readonly NodeKey[],
  why: string,
  stuck: readonly NodeKey[],
  details: ErrorDetails,
): CapstanError {
  const reasons = stuck.map((key) => [key, `its host did not come up: ${why}`] as const);
  return new HostsLate(details, failuresOf(hosts, why, details), Object.fromEntries(reasons));
}

/**
 * What is given up for a failure: what did not come up in its time, and was not there before. What the revision has was up once, and is
 * for a health check to judge; a revision of an adoption has hosts as they were found, up or not. Undefined: nothing. Pure.
 */
export function givenUpAfter(
  failure: CapstanError | undefined,
  { revision }: Pick<PriorState, "revision">,
): GivenUp | undefined {
  if (!(failure instanceof HostsLate)) return undefined;
  const isProven = revision !== undefined && !isAsAdopted(revision);
  const before = new Set(isProven ? revision.target.nodes.map(keyOf) : []);
  const late = Object.entries(failure.stuck).filter(([key]) => !before.has(key as NodeKey));
  return late.length === 0 ? undefined : Object.fromEntries(late);
}

/** What becomes of who runs and never will be well or ready, after its name. */
export const replacedOnceFound =
  "gets another host by capstan up, once its MachineHealthCheck finds it unhealthy or its host was deleted in the cloud";

/** Hosts that were made and do not serve. `why`: what is said of each. */
export function hostsFailed(
  hosts: readonly NodeKey[],
  why: string,
  details: ErrorDetails,
): CapstanError {
  return new ResourcesFailed(details, failuresOf(hosts, why, details));
}

function failuresOf(
  hosts: readonly NodeKey[],
  message: string,
  { code }: ErrorDetails,
): FailedResource[] {
  const about = { operation: "create", code, message, retryable: false } as const;
  return hosts.map((key) => ({ key, ...about }));
}

/** The same failure with what the hosts have printed last, as far as that is known. */
export function withConsoles(
  error: unknown,
  consoles: ReadonlyMap<NodeKey, string> = new Map(),
): unknown {
  if (!(error instanceof ResourcesFailed) || consoles.size === 0) return error;
  const told = [...consoles].map(
    ([key, text]) => `${key} printed last:\n${text.replace(/^/gm, "    ")}`,
  );
  const resources = error.resources.map((one) => {
    const text = consoles.get(one.key);
    return text === undefined
      ? one
      : { ...one, message: `${one.message}; it printed last: ${text}` };
  });
  return retold(error, [error.message, ...told].join("\n"), error, resources);
}

/** Whether the state could not be written, for want of room or of leave: nothing that a rollback mends. */
export function isOfStorage({ code }: Pick<CapstanError, "code">): boolean {
  return code === "NO_SPACE" || code === "NOT_WRITABLE";
}

/** What a failure has left could not be read either: the second error, which tells of the first too. */
export function unreadableAfter(failure: CapstanError, second: unknown): Error {
  const message = `${messageOf(second)}\nIt was read after a failure: ${failure.message}`;
  if (!isCapstanError(second)) return new Error(message, { cause: second });
  return retold(second, message, failure);
}

/** What failed cannot be taken back: the failure, which tells why there is no way back too. */
export function withoutWayBack(failure: CapstanError, refusal: CapstanError): CapstanError {
  return retold(
    failure,
    `${failure.message}\nIt cannot be taken back: ${refusal.message}`,
    refusal,
  );
}

/** The same error with more to tell. */
function retold(
  error: CapstanError,
  message: string,
  cause: CapstanError,
  resources = error instanceof ResourcesFailed ? error.resources : undefined,
): CapstanError {
  const { code, source, subject, hint, retryable } = error;
  const details: ErrorDetails = omitUndefined({
    code,
    source,
    message,
    retryable,
    cause,
    subject,
    hint,
  });
  if (resources === undefined) return new CapstanError(details);
  if (error instanceof HostsLate) return new HostsLate(details, resources, error.stuck);
  return error instanceof HostsDead
    ? new HostsDead(details, resources)
    : new ResourcesFailed(details, resources);
}
