import { CapstanError } from "../api/error.js";
import { failureReason, whyFailed } from "../provider/failure.js";
import type { Failure, Identity, Observed } from "../provider/port.js";

// Why Pulumi is refused what it asks of a cloud resource, in words.

/** UNKNOWN_PRESENCE: the cloud does not tell whether it is there (law 6). */
export function unknownPresence(
  kind: string,
  { name }: Pick<Identity, "name">,
  reason: string,
): CapstanError {
  return new CapstanError({
    code: "UNKNOWN_PRESENCE",
    source: "cloud",
    subject: name,
    message: `cannot find out whether ${kind} ${name} exists: ${reason}`,
    hint: "nothing was changed; run the same command again when the cloud answers",
    retryable: true,
  });
}

/** SEVERAL_FOUND: more than one resource carries the same identity. */
export function severalFound(what: string, ids: readonly string[]): CapstanError {
  return new CapstanError({
    code: "SEVERAL_FOUND",
    source: "cloud",
    message: `cannot tell which resource is ${what}: ${ids.length > 0 ? ids.join(", ") : "none"}`,
    hint: "look at them, and remove all but one by hand or take their marks off",
  });
}

/** NOT_OURS: what was found carries somebody else's marks (law 5). */
export function notOurs(
  kind: string,
  who: Identity,
  found: Pick<Observed, "id" | "who">,
  verb: string,
): CapstanError {
  return new CapstanError({
    code: "NOT_OURS",
    source: "cloud",
    subject: who.name,
    message: `cannot ${verb} ${kind} ${who.name}: ${found.id} is marked as ${found.who.cluster} ${found.who.name}`,
    hint: "it was left as it is; remove the mark or the resource by hand if it is yours",
  });
}

/** The code of the failure, CLOUD_FAILED without: what the cloud has accepted and not carried out. */
export function refusedLater(
  what: "change" | "removal",
  kind: string,
  { name }: Pick<Identity, "name">,
  failure: Failure,
  retryable = false,
): CapstanError {
  return new CapstanError({
    code: failure.code ?? "CLOUD_FAILED",
    source: "cloud",
    subject: name,
    message: `the ${what} of ${kind} ${name} was accepted and then failed: ${failureReason(failure)}`,
    retryable,
  });
}

/** The code of the failure, CLOUD_FAILED without: the cloud has accepted a resource that will never run. */
export function neverRuns(kind: string, { who, failure }: Observed): CapstanError {
  return new CapstanError({
    code: failure?.code ?? "CLOUD_FAILED",
    source: "cloud",
    subject: who.name,
    message: `${kind} ${who.name} failed to start${whyFailed({ failure })}`,
    hint: "run capstan plan: it plans a replacement",
  });
}

/** DEADLINE: the cloud has accepted, and what was waited for has not come. */
export function gaveUpWaiting(what: string, timeoutMs: number): CapstanError {
  return new CapstanError({
    code: "DEADLINE",
    source: "cloud",
    message: `gave up waiting for ${what} after ${timeoutMs / 1000} s`,
    retryable: true,
  });
}

/** INVALID_INPUT: a provider asks for user data, and nobody makes any for that resource. */
export function noUserData(kind: string, { name }: Pick<Identity, "name">): CapstanError {
  return new CapstanError({
    code: "INVALID_INPUT",
    source: "engine",
    subject: name,
    message: `cannot create ${kind} ${name}: its provider asks for user data, and there is none for it`,
    hint: "a provider asks for user data of its hosts alone, and declares userData for that",
  });
}

/** RESOURCE_GONE: it is recorded, and the cloud has it no more. */
export function resourceGone(kind: string, who: Identity, id?: string): CapstanError {
  return new CapstanError({
    code: "RESOURCE_GONE",
    source: "cloud",
    subject: who.name,
    message: `${kind} ${who.name}${id === undefined ? "" : ` (${id})`} is gone`,
    hint: "run capstan plan: it looks at the cloud and plans a new one",
  });
}

/** BAD_STATE: Pulumi would delete what it has just recorded as made. */
export function replacedByItself(kind: string, who: Identity, id: string): CapstanError {
  return new CapstanError({
    code: "BAD_STATE",
    source: "engine",
    subject: who.name,
    message: `cannot delete ${kind} ${who.name}: ${id} was recorded anew by the same engine run`,
    hint: "this is a defect; the resource was left as it is",
  });
}

/** TOKEN_SPENT: the cloud answers a create with what has ended already. */
export function tokenSpent(kind: string, found: Observed): CapstanError {
  return new CapstanError({
    code: "TOKEN_SPENT",
    source: "cloud",
    subject: found.who.name,
    message: `cannot create ${kind} ${found.who.name}: the cloud gave back ${found.id}, which is terminated`,
    hint: "run the same command again: a new incarnation with a fresh token is planned",
  });
}

/** UNSUPPORTED_CHANGE: only another generation can be what is wanted. */
export function unsupportedChange(kind: string, current: Observed, reason: string): CapstanError {
  return new CapstanError({
    code: "UNSUPPORTED_CHANGE",
    source: "cloud",
    subject: current.who.name,
    message: `cannot change ${kind} ${current.who.name} in place: ${reason}`,
    hint: "run capstan plan: it plans a replacement",
  });
}

/** UNSUPPORTED_CHANGE: the provider has no call that takes marks off. */
export function cannotLetGo(kind: string, { id, who }: Pick<Observed, "id" | "who">): CapstanError {
  return new CapstanError({
    code: "UNSUPPORTED_CHANGE",
    source: "engine",
    subject: who.name,
    message: `cannot let go of ${kind} ${who.name} (${id}): its provider cannot take our marks off`,
    hint: "use the release of the provider that could",
  });
}

/** UNSUPPORTED_CHANGE: the provider has no calls that find and mark what nothing of ours has made. */
export function cannotImport(kind: string, who: Identity, id: string): CapstanError {
  return new CapstanError({
    code: "UNSUPPORTED_CHANGE",
    source: "engine",
    subject: who.name,
    message: `cannot import ${kind} ${who.name} (${id}): its provider cannot put our marks on`,
    hint: "use the release of the provider that could",
  });
}
