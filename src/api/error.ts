import { boundedMessage } from "./bounded-text.js";

/** Where an error has its origin: what the user gave, what the cloud answered, or the engine. */
type ErrorSource = "user" | "cloud" | "engine";

/** Every stable error code with its meaning. docs/errors.md is generated from this table. */
export const errorCodes = {
  AMBIGUOUS_OWNER: "The cloud holds resources of this cluster that the state does not know.",
  API_SERVER: "The API server refused or failed a request.",
  BAD_STATE: "Recorded state cannot be read or does not fit together.",
  BAD_USAGE: "The command line cannot be understood.",
  CANCELLED: "The operation was interrupted before it finished.",
  CAPACITY: "The cloud has no room for a host like this one.",
  CLOUD_CORRUPT: "The file that holds the local cloud is damaged.",
  CLOUD_FAILED: "The cloud refused or failed a call.",
  CLOUD_THROTTLED: "The cloud asks to slow down.",
  CONTROL_PLANE_LOST:
    "The control plane has run, and no member of it is left that a new one could join.",
  DEADLINE: "Something did not become ready in time.",
  ENGINE_DEAD: "The engine that asked for this call no longer lives.",
  ENGINE_FAILED: "The Pulumi engine ended with an error.",
  FROZEN: "What the cloud shows, or what would be deleted, is implausible, so nothing was changed.",
  GRAPH_CYCLE: "Resources depend on each other in a circle.",
  IN_USE: "Something in the cloud cannot be deleted while others use it.",
  HELD: "A hook on a Machine keeps its host from being deleted.",
  INVALID_INPUT: "Manifests are wrong; nothing was touched.",
  KUBECONFIG: "No API server can be reached with the kubeconfig as it is.",
  LOCKED: "Somebody else is working on this stack.",
  NOT_CONFIRMED: "The change was not confirmed.",
  NOT_FOUND: "What was named does not exist.",
  NOT_OWNER: "The stack is owned by somebody else: files, or another API server.",
  NOT_YET_USABLE: "Something that a call needs was just made and cannot be used yet.",
  NOT_LEADER: "Another controller leads, or may lead by now.",
  NOT_OURS:
    "A resource carries no mark of this cluster, or a definition belongs to another product, so it is left alone.",
  NO_ANSWER: "A call to the cloud was not answered in time, so what it has done is unknown.",
  NO_SPACE: "The disk has not enough room left for the state.",
  NOT_REVERSIBLE: "A step cannot be taken back as far as was required, or has gone too far to be.",
  NOT_WRITABLE: "The state, or a file beside it, cannot be written.",
  PERMISSION: "The credentials may not make a call, or the cloud does not know them.",
  PLAN_STALE: "What a saved plan was made from has changed since.",
  PROTECTED: "A cluster would lose what nobody has allowed it to lose; nothing was touched.",
  QUOTA: "A quota of the cloud is exhausted.",
  RESOURCE_GONE: "The resource no longer exists in the cloud.",
  SCHEMA_NEWER: "The state, or what an API server holds, was written by a newer release.",
  SEVERAL_FOUND: "Several resources carry the same identity.",
  TOKEN_SPENT: "The cloud answered a create with a host that is already terminated.",
  TOOLCHAIN: "A tool that is needed is missing.",
  TRANSACTION_OPEN: "An earlier transaction of this stack is not finished.",
  UNKNOWN_PRESENCE: "The cloud could not say whether a resource exists.",
  UNSUPPORTED_CHANGE: "The provider cannot make this change.",
  WRONG_CLOUD: "The credentials lead to another cloud than the one that is recorded.",
} as const;

export type ErrorCode = keyof typeof errorCodes;

const brand = Symbol.for("capstan.error");

export interface ErrorDetails {
  readonly code: ErrorCode;
  /** "cannot <verb> <kind> <name>: <cause>". */
  readonly message: string;
  readonly source: ErrorSource;
  /** The object or resource concerned, as a user would name it. */
  readonly subject?: string;
  /** The next action. */
  readonly hint?: string;
  /** The same call may succeed later without any change. Without it, true of NOT_YET_USABLE and IN_USE. */
  readonly retryable?: boolean;
  /** The least that the cloud asks to be left alone for before the call is made again, milliseconds. */
  readonly retryAfterMs?: number;
  /** The call may have taken effect although it failed: the answer was lost. */
  readonly ambiguous?: boolean;
  /** What stands in the way, as a person finds it in the cloud; the message ends with it. */
  readonly blockedBy?: readonly string[];
  readonly cause?: unknown;
}

/**
 * The only error that this project throws on purpose. Recognised by brand, not by class, because
 * two copies of the package can meet in one Pulumi project.
 */
export class CapstanError extends Error {
  readonly code: ErrorCode;
  readonly source: ErrorSource;
  readonly subject: string | undefined;
  readonly hint: string | undefined;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly ambiguous: boolean;
  readonly [brand] = true;

  constructor(details: ErrorDetails) {
    super(
      boundedMessage(messageIn(details)),
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.name = "CapstanError";
    this.code = details.code;
    this.source = details.source;
    this.subject = details.subject;
    this.hint = details.hint;
    this.retryable = details.retryable ?? passing.has(details.code);
    this.retryAfterMs = askedWaitMs(details.retryAfterMs);
    this.ambiguous = details.ambiguous ?? false;
  }
}

/** The longest that a cloud may ask to wait: whoever asks for more is asked again. */
const longestWaitMs = 10 * 60_000;

/** A header that is missing, or a date, is no number: it asks for nothing. */
function askedWaitMs(asked: unknown): number | undefined {
  if (typeof asked !== "number" || !Number.isFinite(asked) || asked < 0) return undefined;
  return Math.min(asked, longestWaitMs);
}

/** What says by itself that the same call may succeed later. */
const passing: ReadonlySet<ErrorCode> = new Set(["NOT_YET_USABLE", "IN_USE"]);

/** So many of what stands in the way are named. */
const namedBlockers = 3;

function messageIn({ message, blockedBy = [] }: ErrorDetails): string {
  if (blockedBy.length === 0) return message;
  const named = blockedBy.slice(0, namedBlockers).join(", ");
  const others = blockedBy.length - namedBlockers;
  return `${message} (in its way: ${named}${others > 0 ? ` and ${others} more` : ""})`;
}

/** Whether a caught value is an error of ours, from whichever copy of the package. */
export function isCapstanError(value: unknown): value is CapstanError {
  return typeof value === "object" && value !== null && brand in value;
}

/** The message of any caught value, as far as anything looks at it. */
export function messageOf(value: unknown): string {
  return boundedMessage(value instanceof Error ? value.message : String(value));
}

/** A value that the code around it guarantees to be there; throws an Error that names it otherwise. */
export function expectDefined<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`there is no ${what}`);
  return value;
}

/** Ends an exhaustive switch: the compiler refuses it while a case is missing. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value ${JSON.stringify(value)}`);
}
