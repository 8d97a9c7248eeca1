// The simulated AWS: the way of a call through it.

import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { Clock } from "../../../src/provider/port.js";
import { CallLedger, type CallOutcome } from "../core/call-ledger.js";
import { FaultPlan } from "../core/fault-plan.js";
import type { FaultEffect, FaultMoment } from "../core/faults.js";
import type { Change } from "../core/store.js";
import { seededDigits } from "../core/ids.js";
import { VirtualClock } from "../core/virtual-clock.js";
import { Accounts, type AccountsDocument } from "./accounts.js";
import { ApiError, statusOf } from "./protocol/api-error.js";
import { HeldCalls } from "../core/held-calls.js";
import { ownerOf, principalOf } from "./principals.js";
import type { WireAnswer } from "./protocol/envelopes.js";
import { flatOf, Params, type ParamTree } from "./protocol/params.js";
import type { WireObject } from "./protocol/xml.js";
import type { RegionState } from "./region-state.js";
import type { Principal, Scope, SimAction } from "./model/scope.js";
import { services, type SimService } from "./services.js";
import {
  changedSettings,
  defaultSettings,
  type SettingsChange,
  type SimSettings,
} from "./model/settings.js";
import { CallThrottle } from "./throttle.js";

/** A call as it came over the wire. */
export interface SimCall {
  /** By its name among the services: "ec2", "sts", "elasticloadbalancing 2012-06-01". */
  readonly service: string;
  readonly action: string;
  readonly parameters: ParamTree;
  readonly accessKey: string;
  readonly region: string;
}

interface SimMeans {
  readonly clock: Clock;
  /** How much faster its time goes than the clock's. 1 without. */
  readonly speed?: number;
  readonly settings?: SettingsChange;
  /** Where the accounts are kept; in memory without. */
  readonly stateFile?: string;
}

/** A call that is under way. */
interface Course {
  readonly call: SimCall;
  readonly service: SimService;
  readonly action: SimAction;
  readonly principal: Principal;
  readonly region: RegionState;
  readonly seq: number;
  readonly met: readonly FaultEffect[];
}

/** What a call has done. */
interface Effect {
  readonly members: WireObject;
  readonly changes: readonly string[];
}

/** Ends a call without an answer. */
class Cut extends Error {
  constructor(readonly changes: readonly string[]) {
    super("cut");
  }
}

export class SimulatedAws {
  readonly ledger = new CallLedger();
  readonly held = new HeldCalls();
  readonly faults = new FaultPlan();
  readonly accounts: Accounts;
  readonly clock: VirtualClock;
  private throttle = new CallThrottle();
  private requests = 0;
  private current: SimSettings;

  constructor({ clock, speed, settings = {}, stateFile }: SimMeans) {
    this.current = changedSettings(defaultSettings, settings);
    this.accounts = new Accounts(() => this.current, stateFile);
    this.clock = new VirtualClock(clock, speed, this.accounts.lastMs);
  }

  get settings(): SimSettings {
    return this.current;
  }

  change(settings: SettingsChange): void {
    this.current = changedSettings(this.current, settings);
  }

  /** Time passes, and what is due in it happens. */
  advance(ms: number): void {
    this.clock.advance(ms);
    this.settle();
  }

  /** What is due by now happens, everywhere. */
  settle(): void {
    const changed = this.accounts.all().map((region) => region.settle(this.clock.now()));
    if (changed.includes(true)) this.keep();
  }

  /** As new: nothing is there, nothing was asked, nothing is to go wrong. Settings stay. */
  reset(): void {
    this.held.release("cut");
    this.accounts.clear();
    this.ledger.clear();
    this.faults.clear();
    this.throttle = new CallThrottle();
    this.keep();
  }

  /** The accounts and their time, to be put back. */
  snapshot(): AccountsDocument {
    this.settle();
    return this.accounts.snapshot(this.clock.now());
  }

  /**
   * The accounts and their time are as they were. Calls that are held are cut, and nothing is to go wrong; settings stay, and
   * the ledger goes on. Throws for a snapshot of another version, and changes nothing then.
   */
  restore(document: AccountsDocument): void {
    this.held.release("cut");
    this.accounts.restore(document);
    this.clock.set(document.nowMs);
    this.faults.clear();
    this.throttle = new CallThrottle();
    this.keep();
  }

  /** Writes the accounts to their file, if they have one. */
  keep(): void {
    this.accounts.keep(this.clock.now());
  }

  /** Carries a call out. undefined: there is no answer, the connection is to be cut. */
  async call(call: SimCall): Promise<WireAnswer | undefined> {
    const service = services.get(call.service);
    const requestId = this.nextRequestId();
    if (service === undefined) return unknownService(call, requestId);
    const { settings } = this;
    const owner = this.accounts.sessionOf(call.accessKey) ?? ownerOf(call.accessKey, settings);
    const { account = settings.account } = owner ?? {};
    const action = service.actions.get(call.action);
    const isDry = isDryRun(call);
    const isMutating = action?.isMutating === true && !isDry;
    const name = `${service.prefix}:${call.action}`;
    const sent = flatOf(call.parameters);
    const place = `${account}/${call.region}`;
    const isAdmitted =
      !settings.throttle ||
      this.throttle.admits({ place, action: name, isMutating }, settings.rates, this.clock.now());
    // A fault of a call is to meet the call itself, not the question whether it would go well.
    const met =
      isAdmitted && !isDry
        ? this.faults.meet({
            action: name,
            isMutating,
            accessKey: call.accessKey,
            parameters: sent,
          })
        : [];
    const seq = this.ledger.begin(
      omitUndefined({
        atMs: this.clock.now(),
        requestId,
        action: name,
        parameters: withoutSecrets(sent, service.secret),
        accessKey: call.accessKey,
        account,
        region: call.region,
        isMutating,
        faults: met.map(faultText),
        principal: owner?.principal,
      }),
    );
    try {
      if (!isAdmitted) throw tooMany(service);
      if (owner === undefined) throw unknownKey(service);
      if ((owner.expiresAtMs ?? Infinity) <= this.clock.now()) throw expired(service);
      if (action === undefined) throw unknownAction(call.action, service);
      const principal = principalOf(call.accessKey, owner, service.denial);
      const region = this.accounts.region(account, call.region);
      const course = { call, service, action, principal, region, seq, met };
      const { members, changes } = await this.carryOut(course);
      const answer = service.envelope.answer(call.action, members, requestId);
      return this.end(seq, answer, { changes, isLost: false });
    } catch (error) {
      if (error instanceof Cut)
        return this.end(seq, undefined, { changes: error.changes, isLost: true });
      if (!(error instanceof ApiError)) throw error;
      const answer = service.envelope.error(error, requestId);
      const { code, message } = error;
      return this.end(seq, answer, { changes: [], isLost: false, code, message });
    }
  }

  private end(
    seq: number,
    answer: WireAnswer | undefined,
    outcome: Omit<CallOutcome, "status">,
  ): WireAnswer | undefined {
    this.ledger.end(seq, { status: answer?.status ?? 0, ...outcome });
    return answer;
  }

  private async carryOut(course: Course): Promise<Effect> {
    await this.meet(course, "before", []);
    const refused = course.met.find((effect) => effect.kind === "refuse");
    if (refused !== undefined) {
      const { code, message = `${code} by order`, status = statusOf(code) } = refused;
      throw new ApiError(code, message, status);
    }
    this.settle();
    const effect = this.effectOf(course);
    await this.meet(course, "after", effect.changes);
    return effect;
  }

  /** What goes wrong at this moment of a call: it waits, is held, or is cut. */
  private async meet(
    { met, seq, call }: Course,
    when: FaultMoment,
    changes: readonly string[],
  ): Promise<void> {
    for (const effect of met) {
      if (effect.kind === "delay" && when === "before") await this.clock.sleep(effect.ms);
      if (effect.kind === "hold" && effect.when === when) {
        const how = await this.held.hold({ seq, action: call.action, when });
        if (how === "cut") throw new Cut(changes);
      }
      if (effect.kind === "cut" && effect.when === when) throw new Cut(changes);
    }
  }

  /** What the call does, at once: all of it or, where it is refused, nothing. */
  private effectOf({ call, service, action, principal, region, met }: Course): Effect {
    const params = new Params(call.parameters);
    const name = `${service.prefix}:${call.action}`;
    const place = { region: region.region, account: region.account };
    principal.authorize(name, service.resourceOf(call.action, flatOf(call.parameters), place));
    const isDry = service.prefix === "ec2" && params.flag("DryRun") === true;
    const work = (scope: Scope) => {
      const members = action.handle(scope, params);
      const [unread] = params.unread();
      if (unread !== undefined) {
        const message = `The simulator does not know the parameter ${unread}`;
        throw new ApiError("UnknownParameter", message);
      }
      if (!isDry) return members;
      // What a refused call has done is undone.
      const message = "Request would have succeeded, but DryRun flag is set.";
      throw new ApiError("DryRunOperation", message);
    };
    const fates = met.flatMap((effect) => (effect.kind === "fate" ? [effect] : []));
    const openSession = this.accounts.openSession.bind(this.accounts);
    const own = { who: principal, fates, openSession };
    const nowMs = this.clock.now();
    if (!action.isMutating) {
      const lagMs =
        service.lags && call.action.startsWith("Describe") ? this.settings.describeLagMs : 0;
      return { members: region.look(nowMs, lagMs, own, work), changes: [] };
    }
    const { result, changes } = region.change(nowMs, own, work);
    if (changes.length > 0) this.keep();
    return { members: result, changes: changes.flatMap(changeText) };
  }

  private nextRequestId(): string {
    this.requests += 1;
    const digits = seededDigits(this.settings.seed, `request ${this.requests}`, 32);
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }
}

/** EC2 checks rights and parameters then, and changes nothing. */
function isDryRun({ service, parameters }: SimCall): boolean {
  return service === "ec2" && flatOf(parameters)["DryRun"] === "true";
}

function unknownService({ service }: SimCall, requestId: string): WireAnswer | undefined {
  const error = new ApiError("InvalidAction", `The simulator has no service ${service}`);
  return services.get("sts")?.envelope.error(error, requestId);
}

function unknownKey({ prefix }: SimService): ApiError {
  if (prefix === "ec2") {
    return new ApiError(
      "AuthFailure",
      "AWS was not able to validate the provided access credentials",
    );
  }
  return new ApiError(
    prefix === "sts" || prefix === "elasticloadbalancing"
      ? "InvalidClientTokenId"
      : "UnrecognizedClientException",
    "The security token included in the request is invalid.",
  );
}

/** More calls than there are tokens for. */
function tooMany({ prefix }: SimService): ApiError {
  return prefix === "ec2"
    ? new ApiError("RequestLimitExceeded", "Request limit exceeded.")
    : new ApiError("Throttling", "Rate exceeded");
}

/** The session of a role is over. */
function expired({ prefix, isJson }: SimService): ApiError {
  if (prefix === "ec2") return new ApiError("RequestExpired", "Request has expired.");
  const name = isJson === true ? "ExpiredTokenException" : "ExpiredToken";
  return new ApiError(name, "The security token included in the request is expired", 403);
}

function unknownAction(action: string, { isJson }: SimService): ApiError {
  if (isJson === true)
    return new ApiError("UnknownOperationException", `The simulator does not have ${action}`);
  return new ApiError("InvalidAction", `The action ${action} is not valid for this web service.`);
}

/** Of what is secret only how long it is. */
function withoutSecrets(sent: Readonly<Record<string, string>>, secret: RegExp | undefined) {
  if (secret === undefined) return sent;
  const entries = Object.entries(sent).map(([name, value]) => [
    name,
    secret.test(name) ? `(${value.length} characters)` : value,
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}

function faultText(effect: FaultEffect): string {
  switch (effect.kind) {
    case "refuse":
      return `refuse ${effect.code}`;
    case "cut":
    case "hold":
      return `${effect.kind} ${effect.when}`;
    case "delay":
      return `delay ${effect.ms}`;
    case "fate":
      return `fate ${effect.fate}`;
  }
}

/** "+ vpcs vpc-1": timers and tokens are nobody's business. */
function changeText({ table, id, before, after }: Change): string[] {
  if (table === "timers" || table === "tokens") return [];
  if (after === undefined && before === undefined) return [];
  const sign = before === undefined ? "+" : after === undefined ? "-" : "~";
  return [`${sign} ${table} ${id}`];
}
