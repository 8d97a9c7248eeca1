import { randomBytes } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { CapstanError, type ErrorDetails, isCapstanError } from "../../src/api/error.js";
import { sameJson, type JsonObject } from "../../src/api/json.js";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import type { Clock, Identity, OperationState, AcceptedRemoval } from "../../src/provider/port.js";
import { CloudFile, type FileUse } from "./file/cloud-file.js";
import { firstImages, listImages, type LocalImage, storeImage } from "./images.js";
import { bootMsOf, changeNode, lifecycleOf, settle } from "./lifecycle.js";
import {
  clearFaults,
  declaredFaults,
  type Fault,
  type FaultyCall,
  isStanding,
  listFaults,
  type RandomFaults,
  type StoredFault,
  storeFault,
  storeRandomFaults,
  takeFaults,
  takesEffect,
  type ArmedFault,
  faultsText,
} from "./faults.js";
import { type LedgerEntry, type LedgerLog, logOf, readLedger } from "./file/ledger.js";
import {
  clearMarks,
  insertResource,
  insertUserData,
  isHidden,
  type LocalKind,
  type LocalResource,
  type LocalScope,
  resourceById,
  resourceByToken,
  resourcesIn,
  setMarks,
  setDying,
  setStarted,
  setStopped,
  setTerminated,
} from "./file/resource.js";
import {
  allocateStatus,
  networkOf,
  refuseGone,
  refuseMarked,
  refuseOverQuota,
  refuseWhileUsed,
} from "./constraints.js";

export type { LocalKind, LocalResource };

const idPrefix: Record<LocalKind, string> = {
  LocalNetwork: "net",
  LocalLoadBalancer: "lb",
  LocalHost: "host",
  LocalTarget: "target",
  LocalVolume: "vol",
};

/** How often a late call looks whether it is let go. */
const latePollMs = 25;

/** What is asked of the cloud, and about what. */
interface Request {
  readonly call: string;
  readonly kind?: LocalKind;
  readonly id?: string;
  readonly who?: Identity;
  /** Of a resource to be made. */
  readonly spec?: JsonObject;
  /** The one name that a listing asks for. */
  readonly name?: string;
  /** Keys of the faults that have delayed it. */
  readonly met?: readonly string[];
}

/** What carries a request out. Rules refuse by throwing, before anything is written. */
type Effect<T> = (at: {
  readonly database: DatabaseSync;
  readonly now: number;
  /** The resource with the request's id or token, if there is one. */
  readonly found: LocalResource | undefined;
  readonly lifecycle: readonly ArmedFault[];
  readonly log: LedgerLog;
}) => T;

interface Outcome<T> {
  readonly fault?: ArmedFault;
  /** A rule of the cloud spoke against it. */
  readonly refusal?: CapstanError;
  readonly answer?: T;
}

/**
 * The simulated cloud: networks, load balancers and hosts in one SQLite file that several processes
 * may use at once. It behaves like EC2 where that is inconvenient: a create answers before the host
 * runs, a token of a terminated host gives that host back, names are not unique, listings can lag, and
 * a network that holds hosts cannot be deleted. Every call and its effect, refusals included, goes
 * into the ledger in the same SQLite transaction as the effect itself.
 *
 * Errors: CLOUD_CORRUPT (file is no cloud of ours), CLOUD_FAILED, CLOUD_THROTTLED, PERMISSION, QUOTA,
 * RESOURCE_GONE, CANCELLED.
 */
export class LocalCloud {
  private readonly file: CloudFile;

  constructor(
    readonly path: string,
    private readonly clock: Clock,
    use?: FileUse,
  ) {
    this.file = new CloudFile(path, clock, use);
  }

  /** Finds or makes a resource by token. Answers as soon as it is recorded; a host then boots, by the user data that it got. */
  create(
    kind: LocalKind,
    who: Identity,
    spec: JsonObject,
    signal?: AbortSignal,
    userData?: string,
  ): Promise<LocalResource> {
    const request: Request = { call: "create", kind, who, spec };
    return this.call(request, signal, ({ database, now, found, lifecycle, log }) => {
      if (found !== undefined) {
        log("found", found);
        return found;
      }
      if (kind === "LocalHost") refuseOverQuota(database, spec);
      const id = `${idPrefix[kind]}-${randomBytes(8).toString("hex")}`;
      const made: LocalResource = {
        id,
        kind,
        who,
        spec,
        state: kind === "LocalHost" ? "pending" : "running",
        status: allocateStatus(database, { kind, id, spec, now }),
        ...lifecycleOf(database, { kind, spec, now }, lifecycle),
      };
      insertResource(database, made);
      if (userData !== undefined) insertUserData(database, id, userData);
      log("created", made, spec);
      return made;
    });
  }

  /** One resource by id, or undefined. Never lags; gone resources have state "terminated". */
  get(id: string, signal?: AbortSignal): Promise<LocalResource | undefined> {
    return this.call({ call: "get", id }, signal, ({ found, log }) => {
      log(found === undefined ? "none" : "found", found ?? { id });
      return found;
    });
  }

  /** The resource that a create with this token would give, or undefined. Never lags. */
  getByToken(
    kind: LocalKind,
    who: Identity,
    signal?: AbortSignal,
  ): Promise<LocalResource | undefined> {
    return this.call({ call: "get", kind, who }, signal, ({ found, log }) => {
      log(found === undefined ? "none" : "found", found ?? { who });
      return found;
    });
  }

  /**
   * What became of what a create or a removal has accepted. A creation's operation is named by the resource that it makes, that of a
   * removal that comes to nothing by the time at which it fails.
   */
  async operation(id: string, signal?: AbortSignal): Promise<OperationState> {
    return this.call({ call: "poll", id }, signal, ({ database, now, log }) => {
      if (id.startsWith(keptPrefix)) return keptState(Number(id.slice(keptPrefix.length)), now);
      const made = resourceById(database, id);
      const state = operationStateOf(made, now);
      log(state.state, made ?? { id });
      return state;
    });
  }

  /** What carries a cluster's marks, oldest first, gone resources included. May lag behind creates. */
  list(scope: LocalScope, signal?: AbortSignal): Promise<LocalResource[]> {
    const request: Request = omitUndefined({ call: "list", name: scope.name });
    return this.call(request, signal, ({ database, now, log }) => {
      const listed = resourcesIn(database, scope, now);
      log(`found ${listed.length}`, request);
      return listed;
    });
  }

  /** Replaces the settable fields. `call` tells a provider's change from a person's in the ledger. */
  update(
    id: string,
    spec: JsonObject,
    signal?: AbortSignal,
    call: "update" | "set" = "update",
  ): Promise<LocalResource> {
    return this.call({ call, id }, signal, ({ database, now, found, log }) => {
      refuseGone(found, call, id);
      database.prepare("UPDATE resources SET spec = ? WHERE id = ?").run(JSON.stringify(spec), id);
      log("updated", found, spec);
      changeNode(database, found, { spec, now });
      return resourceById(database, id) ?? found;
    });
  }

  /** Stops a host that runs: it is there, and does not run until it is started. A fault of `update` meets it. */
  stop(id: string, signal?: AbortSignal): Promise<LocalResource> {
    return this.call({ call: "update", id }, signal, ({ database, found, log }) => {
      refuseGone(found, "stop", id);
      setStopped(database, id);
      log("stopped", found);
      return resourceById(database, id) ?? found;
    });
  }

  /** Starts a host that does not run: it boots, as a new one does. A fault of `update` meets it. */
  start(id: string, signal?: AbortSignal): Promise<LocalResource> {
    return this.call({ call: "update", id }, signal, ({ database, now, found, log }) => {
      refuseGone(found, "start", id);
      setStarted(database, id, now + bootMsOf(database, found.spec));
      log("started", found);
      return resourceById(database, id) ?? found;
    });
  }

  /** Ends a resource. `kill` is what happens behind a provider's back. */
  terminate(
    id: string,
    signal?: AbortSignal,
    call: "terminate" | "kill" = "terminate",
  ): Promise<AcceptedRemoval | undefined> {
    return this.call({ call, id }, signal, ({ database, now, found, lifecycle, log }) => {
      if (found === undefined || found.state === "terminated") {
        log("already gone", found);
        return undefined;
      }
      // Nobody asks a host whether it is still used before its power goes.
      if (call === "terminate" || found.kind !== "LocalHost") refuseWhileUsed(database, found);
      const kept = lifecycle.find(({ mode }) => mode === "keeps");
      if (kept !== undefined) {
        log("kept", found);
        return { operation: `${keptPrefix}${now + kept.ms}` };
      }
      setTerminated(database, id, now);
      log("terminated", found);
      return undefined;
    });
  }

  /** Takes a resource's marks off: it belongs to nobody then, and runs on. */
  disown(id: string, signal?: AbortSignal): Promise<void> {
    return this.call({ call: "disown", id }, signal, ({ database, found, log }) => {
      if (found === undefined || found.state === "terminated") {
        log("already gone", found);
        return;
      }
      clearMarks(database, id);
      log("disowned", found);
    });
  }

  /** Puts marks on a resource that bears none; with the same ones on it already it does nothing. */
  mark(id: string, who: Identity, signal?: AbortSignal): Promise<void> {
    return this.call({ call: "mark", id, who }, signal, ({ database, found, log }) => {
      refuseGone(found, "mark", id);
      if (sameJson(found.who, who)) {
        log("already marked", found);
        return;
      }
      refuseMarked(found);
      setMarks(database, id, who);
      log("marked", { ...found, who });
    });
  }

  /** Ends a host by itself at a time, milliseconds since the epoch; a spot host tells of it from now on. Throws RESOURCE_GONE. */
  takeAway(id: string, atMs: number): Promise<void> {
    return this.call({ call: "reclaim", id }, undefined, ({ database, found, log }) => {
      refuseGone(found, "take away", id);
      setDying(database, id, atMs);
      log("to be taken away", found, { atMs });
    });
  }

  /** Everything as it is, oldest first: for people and judges. No call: no fault, no ledger entry. */
  everything(): Promise<LocalResource[]> {
    return this.file.write((database) => {
      settle(database, this.clock.now());
      return resourcesIn(database, {});
    });
  }

  /** The name of the newest image of a family. No call: no fault, no ledger entry. Throws NOT_FOUND. */
  async newestImage(family: string): Promise<string> {
    const newest = (await this.images()).findLast((image) => image.family === family);
    if (newest !== undefined) return newest.name;
    throw new CapstanError({
      code: "NOT_FOUND",
      source: "cloud",
      message: `local cloud: there is no image of family ${family}`,
      hint: "capstan local image lists those that there are, and adds others",
    });
  }

  /** Every image, oldest first: those that the cloud comes with, then those that people have added. */
  async images(): Promise<readonly LocalImage[]> {
    return [...firstImages, ...(await this.file.read(listImages))];
  }

  /** Adds the newest image of a family. A name that is there already is only made the newest one. */
  addImage(image: LocalImage): Promise<void> {
    return this.file.write((database) => storeImage(database, image));
  }

  /** Makes a network that bears nobody's marks, as somebody else would: one that clusters can use. */
  makeNetwork(cidr: string): Promise<LocalResource> {
    const kind = "LocalNetwork";
    const who = { cluster: "", clusterUid: "", kind, name: "", token: "" };
    return this.call({ call: "make" }, undefined, ({ database, now, lifecycle, log }) => {
      const id = `${idPrefix[kind]}-${randomBytes(8).toString("hex")}`;
      const spec = { cidr };
      const status = allocateStatus(database, { kind, id, spec, now });
      const lives = lifecycleOf(database, { kind, spec, now }, lifecycle);
      const made: LocalResource = { id, kind, who, spec, state: "running", status, ...lives };
      insertResource(database, made);
      log("created", made, spec);
      return made;
    });
  }

  /**
   * The id of this cloud: minted with its file, or when a file of an older layout is first opened. None for
   * who only reads where there is no file.
   */
  async id(): Promise<string | undefined> {
    if (!this.file.mayBe) return undefined;
    return this.file.read((database) =>
      String(database.prepare("SELECT value FROM meta WHERE key = 'id'").get()?.["value"]),
    );
  }

  /** The ledger from `afterSeq` on, in order. */
  ledger(afterSeq = 0): Promise<LedgerEntry[]> {
    return this.file.read((database) => readLedger(database, afterSeq));
  }

  /** Makes coming calls go wrong; see docs/local-cloud.md. */
  addFault(fault: Fault): Promise<void> {
    return this.file.write((database) => storeFault(database, fault));
  }

  /** Makes coming calls go wrong as a seed has it: the n-th call from now always meets the same. */
  addRandomFaults(random: RandomFaults): Promise<void> {
    return this.file.write((database) => storeRandomFaults(database, random));
  }

  /** The faults that were added and are not used up, oldest first. */
  faults(): Promise<StoredFault[]> {
    return this.file.read(listFaults);
  }

  /** Forgets all added faults. What specs declare stays. */
  clearFaults(): Promise<void> {
    return this.file.write(clearFaults);
  }

  close(): void {
    this.file.close();
  }

  /** One call as a cloud's user sees it: faults, effect and ledger entry, then the answer. */
  private async call<T>(
    request: Request,
    signal: AbortSignal | undefined,
    effect: Effect<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    const { fault, refusal, answer } = await this.file.write((database) =>
      this.carryOut(database, request, effect),
    );
    if (fault?.mode === "late") {
      await this.untilItsTime(fault, signal);
      const met = [...(request.met ?? []), fault.key];
      return this.call({ ...request, met }, signal, effect);
    }
    if (fault?.mode === "hang" || fault?.mode === "hangAfter") {
      await this.clock.sleep(fault.ms, signal);
    }
    if (fault !== undefined) throw faultError(request.call, fault);
    if (refusal !== undefined) throw refusal;
    return answer as T;
  }

  /** A late call is carried out when its time is over, or its fault is forgotten. */
  private async untilItsTime(
    { key, ms }: ArmedFault,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const deadline = this.clock.now() + ms;
    while (this.clock.now() < deadline) {
      if (!(await this.file.read((database) => isStanding(database, key)))) return;
      await this.clock.sleep(Math.min(latePollMs, deadline - this.clock.now()), signal);
    }
  }

  private carryOut<T>(database: DatabaseSync, request: Request, effect: Effect<T>): Outcome<T> {
    const now = this.clock.now();
    settle(database, now);
    const found = subjectOf(database, request, now);
    const { call } = request;
    const faults = faultsOf(database, request, found);
    const text = faultsText(faults);
    const log = logOf(database, omitUndefined({ call, atMs: now, fault: text }));
    const { answer: fault, lifecycle } = faults;
    if (fault !== undefined && !takesEffect(fault.mode)) {
      log(fault.mode === "late" ? "delayed" : `refused: ${fault.mode}`, found ?? request);
      return { fault };
    }
    try {
      const answer = effect({ database, now, found, lifecycle, log });
      return omitUndefined({ answer, fault });
    } catch (error) {
      if (!isCapstanError(error)) throw error;
      log(`refused: ${error.code}`, found ?? request);
      return omitUndefined({ refusal: error, fault });
    }
  }
}

/** What is accepted and does not show yet answers to its token alone. */
function subjectOf(
  database: DatabaseSync,
  { id, kind, who }: Request,
  now: number,
): LocalResource | undefined {
  if (id !== undefined) {
    const found = resourceById(database, id);
    return found === undefined || isHidden(found, now) ? undefined : found;
  }
  if (kind === undefined || who === undefined) return undefined;
  return resourceByToken(database, kind, who.token);
}

const keptPrefix = "keeps-until-";

function keptState(untilMs: number, now: number): OperationState {
  if (now < untilMs) return { state: "running" };
  const reason = "local cloud: accepted, and then something still used it (keeps, by fault)";
  return { state: "failed", failure: { code: "IN_USE", reason } };
}

function operationStateOf(made: LocalResource | undefined, now: number): OperationState {
  if (made === undefined) return { state: "done" };
  if (now < (made.acceptedUntilMs ?? 0)) return { state: "running" };
  const { rejection } = made;
  return rejection === undefined ? { state: "done" } : { state: "failed", failure: rejection };
}

/** What goes wrong with a request: added faults, then those of its own spec and of its network's. */
function faultsOf(database: DatabaseSync, request: Request, found: LocalResource | undefined) {
  // What bears no marks yet is called what it is to be called.
  const who = request.who ?? found?.who;
  const token = who?.token;
  const spec = found?.spec ?? request.spec;
  const name = who?.name ?? request.name;
  const network = spec === undefined ? undefined : networkOf(database, spec);
  const declared = [
    ...(token === undefined || spec === undefined ? [] : declaredFaults({ token, spec })),
    ...(network === undefined
      ? []
      : declaredFaults({ token: network.who.token, spec: network.spec })),
  ];
  const about: FaultyCall = omitUndefined({
    call: request.call,
    isHost: (found?.kind ?? request.kind) === "LocalHost",
    makesNew: request.call === "create" && found === undefined,
    met: request.met ?? [],
    name,
  });
  return takeFaults(database, about, declared);
}

const forget = "capstan local fault --clear forgets the faults that were set";

/** What the cloud says by itself of what it refuses; of other faults it tells the call alone. */
function refusalOf(
  call: string,
  mode: ArmedFault["mode"],
): Pick<ErrorDetails, "code" | "message" | "hint"> | undefined {
  switch (mode) {
    case "quota":
      return { code: "QUOTA", message: "a quota is exhausted", hint: forget };
    case "noRoom":
      return {
        code: "CAPACITY",
        message: "there is no room for a host of this size",
        hint: `name otherSizes, or ${forget}`,
      };
    case "deny":
      return { code: "PERMISSION", message: `the credentials may not ${call}`, hint: forget };
    case "unusable":
      return { code: "NOT_YET_USABLE", message: "what the host needs cannot be used yet" };
    default:
      return undefined;
  }
}

function faultError(call: string, { mode, ms }: ArmedFault): CapstanError {
  const refusal = refusalOf(call, mode);
  if (refusal !== undefined) {
    const message = `local cloud: ${refusal.message} (${mode}, by fault)`;
    return new CapstanError({ ...refusal, source: "cloud", message });
  }
  const lost = mode === "lose" || mode === "hang" || mode === "hangAfter";
  const details: ErrorDetails = {
    code: mode === "throttle" ? "CLOUD_THROTTLED" : "CLOUD_FAILED",
    source: "cloud",
    message: `local cloud: ${call} ${lost ? "gave no answer" : `failed (${mode}, by fault)`}`,
    retryable: mode === "throttle",
    ambiguous: lost,
  };
  return new CapstanError(ms > 0 && !lost ? { ...details, retryAfterMs: ms } : details);
}
