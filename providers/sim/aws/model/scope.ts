// What a handler of an action works with.

import { canonicalJson } from "../../../../src/api/json.js";
import type { InstanceFate } from "../../core/faults.js";
import type { Draft } from "../../core/store.js";
import { ApiError, invalidValue } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { WireObject } from "../protocol/xml.js";
import type { SimSettings } from "./settings.js";
import type { RegionTables, TimerKind } from "./tables.js";

/** Who calls. */
export interface Principal {
  readonly arn: string;
  readonly account: string;
  readonly accessKey: string;
  /** Throws the service's error where the action is not allowed on the resource. */
  readonly authorize: (action: string, resource: string) => void;
}

/** One region of one account, at one time, in a draft. */
export interface Scope {
  readonly db: Draft<RegionTables>;
  readonly account: string;
  readonly region: string;
  readonly nowMs: number;
  readonly settings: SimSettings;
  readonly who: Principal;
  /** What instances that the call starts come to. */
  readonly fates: readonly { readonly fate: InstanceFate; readonly ms?: number }[];
  /** So many hexadecimal digits that were not given out before. */
  readonly digits: (length: number) => string;
  /** Makes the session of a role; answers its access key. */
  readonly openSession: (session: NewSession) => string;
}

/** A session of a role that is asked for. */
export interface NewSession {
  readonly roleArn: string;
  readonly name: string;
  readonly expiresAtMs: number;
}

/** Carries an action out: answers what goes into the answer, throws ApiError. Writes to the scope's draft alone. */
export type Handler = (scope: Scope, params: Params) => WireObject;

/** An action of a service. */
export interface SimAction {
  readonly handle: Handler;
  readonly isMutating: boolean;
}

/** The actions of a service from two tables: those that only look, and those that may change something. */
export function actionsOf(
  looks: Readonly<Record<string, Handler>>,
  changes: Readonly<Record<string, Handler>>,
): ReadonlyMap<string, SimAction> {
  const actions = new Map<string, SimAction>();
  for (const [name, handle] of Object.entries(looks))
    actions.set(name, { handle, isMutating: false });
  for (const [name, handle] of Object.entries(changes))
    actions.set(name, { handle, isMutating: true });
  return actions;
}

/** An id as EC2 gives them, e.g. "vpc-0123456789abcdef0". */
export function newId(scope: Scope, prefix: string): string {
  return `${prefix}-${scope.digits(17)}`;
}

/** Makes something happen by itself, after so many milliseconds. */
export function later(scope: Scope, kind: TimerKind, subject: string, ms: number): void {
  const id = `${kind}/${subject}`;
  scope.db.put("timers", { id, atMs: scope.nowMs + ms, kind, subject });
}

/** What would have happened happens no more. */
export function never(scope: Scope, kind: TimerKind, subject: string): void {
  scope.db.remove("timers", `${kind}/${subject}`);
}

/**
 * Makes what a call makes, once for its ClientToken: the same call again is answered with what it made before. Throws
 * IdempotentParameterMismatch for other parameters under a token that was used.
 */
export function onceByToken(
  scope: Scope,
  action: string,
  params: Params,
  make: (clientToken: string | undefined) => string,
): string {
  const token = params.text("ClientToken");
  if (token === undefined || token === "") return make(undefined);
  if (token.length > longestToken) {
    throw invalidValue(`The client token is longer than ${longestToken} characters`);
  }
  const id = `${action}/${token}`;
  const parameters = canonicalJson(params.sentBut("ClientToken", "DryRun"));
  const used = scope.db.get("tokens", id);
  if (used === undefined) {
    const made = make(token);
    scope.db.put("tokens", { id, parameters, made });
    return made;
  }
  // What it asked before was read then.
  params.ignoreAll();
  if (used.parameters === parameters) return used.made;
  throw new ApiError(
    "IdempotentParameterMismatch",
    "The request uses the same client token as a previous, but non-identical request.",
  );
}

const longestToken = 64;
