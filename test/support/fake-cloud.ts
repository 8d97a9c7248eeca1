import { replacingUnseen } from "../../src/provider/unobservable.js";
import { CapstanError } from "../../src/api/error.js";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import { sameJson, type JsonObject } from "../../src/api/json.js";
import { nodeKey } from "../../src/graph/graph.js";
import type {
  CallContext,
  CreateContext,
  Failure,
  Found,
  Identity,
  InfrastructureProvider,
  InventoryScope,
  LookupQuestion,
  Observed,
  OperationState,
  Presence,
  AcceptedRemoval,
  ResourceHandler,
  UserDataTerms,
} from "../../src/provider/port.js";
import { isResizable } from "../../providers/local/field-rules.js";
import type { FakeClock } from "./fake-clock.js";
import { type Activity, type WatchedCall, LawWatch } from "./law-watch.js";
import { type CallFault, CommandProcess } from "./faults.js";
import { type EtcdKnowledge, FakeHosts } from "./fake-hosts.js";
import {
  cloudFailed,
  lost,
  noMedium,
  noQuota,
  noRoom,
  notYetUsable,
  throttled,
} from "./fake-refusals.js";
import { RolloutWatch } from "./rollout-watch.js";

/** How cloud and engine are by nature, for as long as they exist. JSON data. */
export interface WorldTraits {
  /** How long a listing does not show a new resource, milliseconds. */
  readonly listingLagMs: number;
  /** Whether looking for an identity is a listing too; an id always finds. */
  readonly searchesLag: boolean;
  /** Tokens are remembered for ever, as on EC2: a create answers with what its token once made. */
  readonly remembersTokens: boolean;
  /** What somebody deletes leaves a token that leads to it for ever, and the provider says so: of all kinds but hosts. */
  readonly tokensLast?: boolean;
  /** After a failure the engine still does what does not depend on it, as it was under way already. */
  readonly parallel: boolean;
  /** A host with another kubelet or control plane does not serve until it has restarted. */
  readonly restarts?: boolean;
  /** It says when a resource was made, and since when it is ready. */
  readonly tellsTimes?: boolean;
  /** Its hosts run: one begins a cluster, and the others join it by what the cloud keeps for them. */
  readonly joins?: boolean;
  /** It answers a create with an operation; what that makes shows only once it is done. */
  readonly acceptsFirst?: boolean;
  /** How much later than a host what lives with it is ready, milliseconds; absent: all but hosts are at once. */
  readonly attachMs?: number;
  /** It accepts a deletion, and shows what goes for so long. */
  readonly removalMs?: number;
  /** Inputs of hosts that it does not show. */
  readonly hides?: readonly string[];
  /** Its name, which it tells whoever asks which cloud it is; absent: it cannot tell. */
  readonly name?: string;
}

export const plainWorld: WorldTraits = {
  listingLagMs: 0,
  searchesLag: false,
  remembersTokens: true,
  parallel: false,
};

export const timing = { listingLagMs: 1_000, longestCallMs: 3_000 };
const bootMs = 60;
/** How long an operation takes: less than a call may, whoever asked for it. */
const operationMs = 900;
/** After its caller died: sooner than the longest call. */
const lateMs = 2_000;

/** Whose what was let go is. */
export const nobody: Identity = { cluster: "", clusterUid: "", kind: "", name: "", token: "" };

interface Stored {
  readonly observed: Observed;
  readonly madeAtMs: number;
  /** When it leaves the pending phase, and for which. */
  readonly boot: { readonly atMs: number; readonly phase: Observed["phase"] };
  /** What it was answered with goes on until then; nothing shows it before. */
  readonly acceptedUntilMs?: number;
  /** Why that fails: then nothing ever shows. */
  readonly rejected?: Failure;
  /** Until when it shows although its deletion is accepted. */
  readonly goesUntilMs?: number;
}

/** A change that somebody asks for. */
interface Asked {
  readonly call: WatchedCall["call"];
  readonly id: string;
  readonly who: Identity;
  readonly spec?: JsonObject;
}

/** A call of a dead command, before it takes effect. */
interface LateCall {
  readonly dueMs: number;
  readonly effect: () => unknown;
  /** What was alive when it was asked for, and how many calls had taken effect. */
  readonly alive: readonly Observed[];
  readonly calls: number;
  readonly etcd: EtcdKnowledge;
}

/** A cloud in memory that knows nothing of what uses it. Its clock moves only when somebody waits. */
export class FakeCloud {
  readonly calls: WatchedCall[] = [];
  readonly watch = new LawWatch();
  readonly rollouts = new RolloutWatch();
  readonly hosts = new FakeHosts(this.watch, () => this.clock.now());
  activity: Activity = "recovery";
  passes = 0;
  /** What it calls itself: with another name the credentials lead elsewhere. */
  name: string | undefined;
  /** Why hosts that fail do; absent: they do not say. */
  failure: Failure | undefined;
  /** Answers what a call is refused with, if it is. */
  refusal: (asked: Pick<Asked, "call" | "who" | "spec">) => CapstanError | undefined = () =>
    undefined;
  /** There is no room for medium hosts that may be of another size. */
  isFull = false;
  /** Whether there is room for a host of such a spec. */
  hasRoomFor: (spec: JsonObject) => boolean = ({ size, otherSizes }) =>
    !this.isFull || size !== "medium" || otherSizes === undefined;
  /** What the newest image of a family is called; absent: its first one. */
  readonly newestImages = new Map<string, string>();
  /** Every question that somebody has asked. */
  readonly questions: LookupQuestion[] = [];
  /** Ids of hosts that a change has stopped and not started again: nothing else is wrong with them. */
  readonly halfChanged = new Set<string>();
  private readonly stored = new Map<string, Stored>();
  /** What went without a plan: those, hosts apart, are made again under their names (ADR 2). */
  private readonly unplanned = new Set<string>();
  /** When removals that were accepted are refused, by their operations. */
  private readonly refusedRemovals = new Map<string, number>();
  private late: LateCall[] = [];
  /** The one that takes effect right now. */
  private lateNow: LateCall | undefined;
  private nextId = 1;

  constructor(
    /** The provider's pure parts: another release of it may take their place. */
    public parts: InfrastructureProvider,
    private readonly clock: FakeClock,
    readonly traits: WorldTraits = plainWorld,
  ) {
    this.name = traits.name;
  }

  /** The provider that one command uses. */
  providerFor(process: CommandProcess): InfrastructureProvider {
    const { parts } = this;
    const { name, apiVersion, clusterSpec, machineSpec, hostKind, keyInputs, userData } = parts;
    const { olderVersions = [], failureDomains } = parts;
    const handlers = [...parts.handlers.keys()].map((kind): [string, ResourceHandler] => [
      kind,
      {
        locate: (_ctx, who, id) => this.locate(process, who, id),
        create: (ctx, who, spec) => this.create(process, ctx, who, spec),
        poll: (_ctx, operation) => this.poll(process, operation),
        update: (_ctx, current, spec) => this.update(process, current, spec),
        start: (_ctx, current) => this.start(process, current),
        remove: (_ctx, current) => this.removeOrAccept(process, current),
        disown: (_ctx, current) => this.disown(process, current),
        find: (_ctx, id) => this.find(process, id),
        mark: (_ctx, current, who) => this.mark(process, current, who),
        unobservable: kind === hostKind ? (this.traits.hides ?? []) : [],
        ...(this.traits.tokensLast === true && kind !== hostKind && { tokensLast: true as const }),
      },
    ]);
    return replacingUnseen({
      name,
      apiVersion,
      clusterSpec,
      machineSpec,
      olderVersions,
      hostKind,
      ...(keyInputs !== undefined && { keyInputs }),
      ...(failureDomains !== undefined && { failureDomains }),
      ...(userData !== undefined && { userData: this.termsFor(process, userData) }),
      apiEndpoints: (infrastructure: readonly Observed[], clusterSpec: JsonObject) =>
        parts.apiEndpoints?.(infrastructure, clusterSpec) ?? [],
      timing,
      ...(parts.resolve !== undefined && {
        resolve: (_ctx: CallContext, question: LookupQuestion) => this.answer(process, question),
      }),
      ...(parts.leftovers !== undefined && { leftovers: parts.leftovers }),
      ...(parts.removeLeftover !== undefined && { removeLeftover: parts.removeLeftover }),
      ...(parts.lookupInputs !== undefined && { lookupInputs: parts.lookupInputs }),
      handlers: new Map(handlers),
      compile: (...args) => parts.compile(...args),
      verdict: (...args) => parts.verdict(...args),
      alternatives: (host: JsonObject) => parts.alternatives?.(host) ?? [],
      generationInputs: (...args) => parts.generationInputs(...args),
      inventory: (_ctx: CallContext, scope: InventoryScope) => this.list(process, scope),
      ...(this.name !== undefined && {
        identity: () => Promise.resolve({ account: this.name ?? "" }),
      }),
    });
  }

  /** Milliseconds since the epoch. */
  get nowMs(): number {
    return this.clock.now();
  }

  /** Everything that is alive, oldest first, whoever it belongs to. */
  alive(): Observed[] {
    return this.all().filter(({ phase }) => phase !== "gone");
  }

  /** Whether something that it has accepted is still on its way, and shows nowhere. */
  get hasOperations(): boolean {
    return [...this.stored.values()].some(
      ({ acceptedUntilMs = 0 }) => this.clock.now() < acceptedUntilMs,
    );
  }

  /**
   * So long after that nobody gets back by a token what no listing shows: what was refused after it was accepted, and
   * what is gone, hosts apart.
   */
  forgetUnlisted(): void {
    for (const [id, { rejected, observed }] of this.stored) {
      if (rejected !== undefined) this.stored.delete(id);
      else if (observed.phase === "gone") this.unplanned.add(id);
    }
  }

  /** Whether it has accepted a resource and then refused it: to whoever has recorded it, one that failed. */
  hasRejected(id: string): boolean {
    return this.stored.get(id)?.rejected !== undefined;
  }

  get(id: string): Observed | undefined {
    const stored = this.stored.get(id);
    return stored === undefined ? undefined : this.now(stored);
  }

  /** Ends a resource behind everybody's back. */
  kill(id: string): void {
    if (this.traits.tokensLast !== true) this.unplanned.add(id);
    this.put(id, { phase: "gone" });
  }

  /** Somebody takes our marks off, or gives them back: of whom they tell. */
  bears(id: string, who: Identity): void {
    this.put(id, { who });
  }

  /** Stops a host behind everybody's back: it stands, and can be started. */
  halt(id: string): void {
    if (this.get(id)?.phase === "ready") this.put(id, { phase: "stopped" });
  }

  /** Says that it will end a host, in a while that no history lasts. */
  announce(id: string): void {
    this.put(id, { leavesAtMs: this.clock.now() + 24 * 3_600_000 });
  }

  /** Ends every host that neither runs nor fails, and never will. */
  endStuck(isMeant: (one: Observed) => boolean = () => true): void {
    for (const [id, { boot, observed }] of this.stored) {
      if (boot.atMs === Number.POSITIVE_INFINITY && isMeant(observed)) this.kill(id);
    }
  }

  /** Stops a host for good: it looks as if it were about to run. */
  stall(id: string): void {
    this.put(id, { phase: "pending" });
    const boot = { atMs: Number.POSITIVE_INFINITY, phase: "ready" as const };
    this.stored.set(id, { ...this.stored.get(id)!, boot });
  }

  /** Changes fields of a resource behind everybody's back. */
  drift(id: string, fields: JsonObject): void {
    const current = this.get(id);
    if (current !== undefined) this.put(id, { spec: { ...current.spec, ...fields } });
  }

  /** What it says about itself becomes another thing behind everybody's back. */
  restate(id: string, status: JsonObject): void {
    this.put(id, { status });
  }

  /** Puts a resource there that nobody of ours made. */
  plant(who: Identity, spec: JsonObject): Observed {
    return this.store(who, spec, { atMs: 0, phase: "ready" });
  }

  private async answer(process: CommandProcess, question: LookupQuestion): Promise<JsonObject> {
    this.questions.push(question);
    const family =
      question.kind === "machine" ? String(question.providerSpec["imageFamily"]) : "none";
    const image = await this.looking(
      process,
      `family ${family}`,
      () => this.newestImages.get(family) ?? `${family}-1`,
    );
    if (image === undefined) throw cloudFailed(`look up family ${family}`);
    return { image };
  }

  private async locate(process: CommandProcess, who: Identity, id?: string): Promise<Presence> {
    const presence = await this.looking(process, `${who.kind} ${who.name}`, (): Presence => {
      const stored = id === undefined ? undefined : this.stored.get(id);
      const one = stored === undefined || this.isHidden(stored) ? undefined : this.seen(stored);
      if (one?.who.clusterUid === "") return { found: "none" };
      if (one !== undefined) return { found: "one", resource: one };
      const searched = this.traits.searchesLag ? this.listable() : this.shown();
      const [first, ...others] = searched.filter(
        ({ phase, who: found }) =>
          phase !== "gone" && (sameJson(found, who) || found.token === who.token),
      );
      if (first === undefined || id !== undefined) return { found: "none" };
      if (others.length === 0) return { found: "one", resource: first };
      return { found: "many", ids: [first, ...others].map((some) => some.id) };
    });
    const answer = presence ?? { found: "unknown", reason: "the cloud does not answer" };
    this.watch.answered(who, answer);
    return answer;
  }

  private async list(process: CommandProcess, scope: InventoryScope): Promise<Observed[]> {
    const all = await this.looking(process, "the listing", () =>
      this.listable()
        .filter(({ who }) => who.cluster === scope.cluster)
        .filter(({ who }) => [undefined, who.clusterUid].includes(scope.clusterUid)),
    );
    if (all === undefined) throw cloudFailed("list resources");
    this.watch.listed(all);
    return all;
  }

  /** What a look answers; undefined when the cloud cannot say. */
  private async looking<T>(process: CommandProcess, what: string, answer: () => T) {
    await process.gate();
    this.catchUp();
    switch (process.nextLook(what)) {
      case undefined:
        return answer();
      case "unknown":
      case "unknownForGood":
        return undefined;
      case "throttle":
        throw throttled();
      case "failForGood":
        throw cloudFailed(`look for ${what}`);
    }
  }

  private termsFor(process: CommandProcess, terms: UserDataTerms): UserDataTerms {
    if (this.traits.joins !== true) return terms;
    const run = this.hosts.terms(terms, (what, effect) => this.keeping(process, what, effect));
    return {
      ...run,
      markLeft: async (_ctx, { id }) => {
        await this.keeping(process, `mark ${id}`, () => {
          this.hosts.marked.add(id);
          this.put(id, { phase: "failed", hasLeft: true });
        });
      },
    };
  }

  private async create(
    process: CommandProcess,
    ctx: CreateContext,
    who: Identity,
    spec: JsonObject,
  ): Promise<Observed> {
    const { kind, token } = who;
    const runs = this.traits.joins === true && kind === this.parts.hostKind;
    const does = runs ? this.hosts.firstStartOf(await ctx.userData()) : undefined;
    return this.changing(process, { call: "create", who, id: "new", spec }, () => {
      const isWithoutRoom = kind === this.parts.hostKind && !this.hasRoomFor(spec);
      if (isWithoutRoom && this.traits.acceptsFirst !== true) {
        throw new CapstanError({ code: "CAPACITY", source: "cloud", message: noMedium });
      }
      const users = [spec["networkId"], spec["loadBalancerId"], spec["hostId"]].filter(
        (id) => id !== undefined,
      );
      const missing = users.filter((id) => !this.alive().some((one) => one.id === id));
      if (missing.length > 0) throw cloudFailed(`create ${who.name}: no ${missing.join()}`);
      const host = this.stored.get(String(spec["hostId"]));
      if (host !== undefined && this.isHidden(host)) throw notYetUsable(host.observed.id);
      const isHost = kind === this.parts.hostKind;
      const isRemembered = ({ id, phase }: Observed) =>
        phase !== "gone" || isHost || !this.unplanned.has(id);
      const twin = this.all().find((one) => one.who.token === token && isRemembered(one));
      if (twin !== undefined) {
        if (this.traits.remembersTokens) return this.asAnswered(twin);
        this.watch.blame("law 3: one host", `the token of ${who.name} is used twice`);
      }
      const boot = isHost ? this.bootOf(process) : this.readyLater(spec);
      const made = this.store(who, spec, boot, isWithoutRoom ? noRoom : noQuota);
      if (does !== undefined) this.hosts.made(made, does, this.alive());
      return this.asAnswered(made);
    });
  }

  private asAnswered(made: Observed): Observed {
    const stored = this.stored.get(made.id);
    if (stored === undefined || !this.isHidden(stored) || made.phase === "gone") return made;
    return { ...made, phase: "pending", operation: made.id };
  }

  private async poll(process: CommandProcess, operation: string): Promise<OperationState> {
    const answer = await this.looking(process, operation, (): OperationState => {
      const refusedAtMs = this.refusedRemovals.get(operation);
      if (refusedAtMs !== undefined) {
        return this.clock.now() < refusedAtMs
          ? { state: "running" }
          : { state: "failed", failure: { reason: "something still used it" } };
      }
      const { acceptedUntilMs = 0, rejected } = this.stored.get(operation) ?? {};
      if (this.clock.now() < acceptedUntilMs) return { state: "running" };
      return rejected === undefined ? { state: "done" } : { state: "failed", failure: rejected };
    });
    if (answer === undefined) throw cloudFailed(`look for ${operation}`);
    return answer;
  }

  private isHidden({ acceptedUntilMs = 0, rejected }: Stored): boolean {
    return rejected !== undefined || this.clock.now() < acceptedUntilMs;
  }

  /** A call to what keeps secrets: its process dies at it, or it is refused for a while. */
  private async keeping<T>(process: CommandProcess, what: string, effect: () => T): Promise<T> {
    await process.gate();
    this.catchUp();
    const fault = process.nextCall(what);
    if (isKill(fault)) return this.dying(process, fault, effect);
    if (fault === "throttle") throw throttled();
    return effect();
  }

  /** The process dies at a call, which takes effect before that, afterwards, or never. */
  private dying(process: CommandProcess, how: Kill, effect: () => unknown): Promise<never> {
    if (how === "killAfter") effect();
    if (how === "killLate") {
      const dueMs = this.clock.now() + lateMs;
      const alive = this.alive();
      const etcd = this.hosts.knowledge(alive);
      this.late.push({ dueMs, effect, alive, etcd, calls: this.calls.length });
    }
    return process.die();
  }

  private async update(process: CommandProcess, current: Observed, spec: JsonObject) {
    const isStopped = this.halfChanged.has(current.id);
    const resizes = isStopped || isResizable(current.spec) || isResizable(spec);
    return current.who.kind === this.parts.hostKind && resizes
      ? this.resize(process, current, spec)
      : this.change(process, current, spec);
  }

  /** A call each to stop a host, to change it and to start it; one that is stopped already goes on from there. */
  private async resize(process: CommandProcess, current: Observed, spec: JsonObject) {
    const { id, who, phase } = current;
    const isStopped = phase === "failed" || phase === "stopped";
    if (!isStopped && sameJson(current.spec["size"] ?? null, spec["size"] ?? null)) {
      return this.change(process, current, spec);
    }
    const asked = { call: "update" as const, who, id, spec };
    // A stop changes no field.
    const stop = { ...asked, spec: current.spec };
    if (!isStopped) await this.changing(process, stop, () => this.stopForChange(id));
    if (!sameJson(this.get(id)?.spec ?? {}, spec)) await this.change(process, current, spec);
    return this.changing(process, asked, () => {
      if (this.get(id)?.phase === "gone") throw cloudFailed(`start ${id}: it is gone`);
      this.halfChanged.delete(id);
      return this.restart(id, this.traits.restarts === false ? new CommandProcess() : process);
    });
  }

  private start(process: CommandProcess, { id, who, spec }: Observed): Promise<Observed> {
    return this.changing(process, { call: "update", who, id, spec }, () => {
      if (this.get(id)?.phase !== "stopped") throw cloudFailed(`start ${id}: it is not stopped`);
      return this.restart(id, process);
    });
  }

  private stopForChange(id: string): void {
    const from = this.get(id);
    if (from === undefined || from.phase === "gone") throw cloudFailed(`stop ${id}: it is gone`);
    if (from.phase === "ready" && this.traits.joins === true) {
      this.hosts.changes(from, this.alive());
      this.hosts.disturbs(from, this.alive());
    }
    this.halfChanged.add(id);
    this.put(id, { phase: "failed" });
  }

  private change(process: CommandProcess, { id, who }: Observed, spec: JsonObject) {
    return this.changing(process, { call: "update", who, id, spec }, () => {
      const from = this.get(id);
      if (from?.phase === "gone") throw cloudFailed(`update ${id}: it is gone`);
      if (from?.phase === "ready" && this.restartsFor(from.spec, spec)) {
        this.hosts.changes(from, this.alive());
      }
      if (from?.phase === "ready" && this.disturbs(who, from.spec, spec)) {
        this.hosts.disturbs(from, this.alive());
      }
      this.put(id, { spec });
      return this.restartsFor(from?.spec ?? {}, spec)
        ? this.restart(id, process)
        : this.put(id, {});
    });
  }

  private async remove(process: CommandProcess, { id, who }: Observed): Promise<void> {
    // Asked for again while it goes: nothing that the ledger of a cloud would show.
    if (this.isGoing(this.stored.get(id))) return process.gate();
    return this.changing(process, { call: "delete", who, id }, () => {
      // What it has accepted and does not show yet uses it as well, and so does what is still going.
      const isUser = ({ phase, spec, who: { kind, token } }: Observed) =>
        phase !== "gone" &&
        (spec["networkId"] === id ||
          (spec["hostId"] === id && kind !== "LocalVolume" && token !== ""));
      const users = [...this.stored.values()].map((one) => this.seen(one)).filter(isUser);
      if (users.length > 0) {
        throw cloudFailed(`delete ${id}: ${users.map(({ who: { name } }) => name).join()} use it`);
      }
      this.hosts.goes(this.get(id)!, this.alive());
      if (this.activity === "recovery") this.unplanned.add(id);
      this.put(id, { phase: "gone" });
      this.goesOn(id);
    });
  }

  /** One that accepts first tells of a refusal once the removal's operation has ended. */
  private async removeOrAccept(
    process: CommandProcess,
    current: Observed,
  ): Promise<AcceptedRemoval | undefined> {
    try {
      await this.remove(process, current);
      return undefined;
    } catch (error) {
      const isPlain = error instanceof CapstanError && error.code === "CLOUD_FAILED";
      if (this.traits.acceptsFirst !== true || !isPlain || error.ambiguous) throw error;
      const operation = `removal ${this.refusedRemovals.size + 1} of ${current.id}`;
      this.refusedRemovals.set(operation, this.clock.now() + operationMs);
      return { operation };
    }
  }

  private goesOn(id: string): void {
    const { removalMs = 0 } = this.traits;
    const stored = this.stored.get(id);
    if (stored === undefined) return;
    const goesUntilMs = this.clock.now() - this.lateSinceMs + removalMs;
    this.stored.set(id, { ...stored, goesUntilMs });
  }

  private disown(process: CommandProcess, { id, who, spec }: Observed): Promise<void> {
    return this.changing(process, { call: "forget", who, id }, () => {
      const host = this.get(String(spec["hostId"]));
      if (host !== undefined && host.phase !== "gone" && this.watch.isGoing(host)) {
        this.watch.blame("order", `${who.name} is let go while ${host.who.name} may still stay`);
      }
      this.put(id, { who: nobody });
    });
  }

  private async find(process: CommandProcess, id: string): Promise<Found | undefined> {
    const answer = await this.looking(process, id, () => ({ one: this.get(id) }));
    if (answer === undefined) throw cloudFailed(`look for ${id}`);
    if (answer.one === undefined) return undefined;
    const { who, ...found } = answer.one;
    return who.clusterUid === "" ? found : { ...found, who };
  }

  private mark(process: CommandProcess, { id }: Found, who: Identity): Promise<void> {
    return this.changing(process, { call: "import", who, id }, () => {
      const marked = this.get(id)?.who;
      if (marked?.clusterUid !== "" && !sameJson(marked ?? null, who)) {
        throw cloudFailed(`mark ${id}: it is somebody's`);
      }
      this.put(id, { who });
    });
  }

  /** A call that changes something: not done, done late or unheard on a fault. */
  private async changing<T>(process: CommandProcess, asked: Asked, change: () => T): Promise<T> {
    await process.gate();
    this.catchUp();
    const refused = this.refusal(asked);
    if (refused !== undefined) throw refused;
    const effect = this.recorded(asked, change);
    const { kind, name } = asked.who;
    const fault = process.nextCall(`${kind} ${name}`);
    if (isKill(fault)) return this.dying(process, fault, effect);
    switch (fault) {
      case undefined:
        return effect();
      case "loseAnswer":
        effect();
        throw lost(asked.call);
      case "throttle":
        throw throttled();
      case "fail":
      case "failForGood":
        throw cloudFailed(`${asked.call} ${name}`);
      case "interrupt":
        process.interrupt();
        return effect();
    }
  }

  /** Asking is what the laws are about; only what has an effect is counted as a call. */
  private recorded<T>({ call, who, id, ...rest }: Asked, change: () => T): () => T {
    const { activity: during, passes: pass } = this;
    const about = { call, key: nodeKey(who.kind, who.name), id, during, pass, ...rest };
    this.watch.changes(about, who, this.get(id)?.who ?? who);
    return () => {
      const known = this.stored.size;
      const before = this.aliveButForAccidents();
      const result = change();
      const isNew = this.stored.size > known;
      if (call === "create" && !isNew) return result;
      const isLate = this.lateNow !== undefined && { isLate: true as const };
      const done = { ...about, ...(isNew && { id: (result as Observed).id }), ...isLate };
      this.calls.push(done);
      this.rollouts.happened({ call: done, before, after: this.aliveButForAccidents() });
      return result;
    };
  }

  /** What is alive; to a late call without the accidents that came after it was asked for. */
  private aliveButForAccidents(): Observed[] {
    if (this.lateNow === undefined) return this.alive();
    const since = this.calls.slice(this.lateNow.calls);
    const untouched = this.lateNow.alive.filter(({ id }) => !since.some((call) => call.id === id));
    const others = this.alive().filter(({ id }) => !untouched.some((one) => one.id === id));
    return [...untouched, ...others];
  }

  /** How long ago what is done right now happened. */
  private get lateSinceMs(): number {
    return this.lateNow === undefined ? 0 : this.clock.now() - this.lateNow.dueMs;
  }

  private bootOf(process: CommandProcess): Stored["boot"] {
    const atMs = this.clock.now() - this.lateSinceMs + bootMs;
    switch (process.nextBoot()) {
      case undefined:
        return { atMs, phase: "ready" };
      case "never":
        return { atMs: Number.POSITIVE_INFINITY, phase: "ready" };
      case "fails":
        return { atMs, phase: "failed" };
      case "dies":
        return { atMs, phase: "gone" };
    }
  }

  /** What lives with a host names it. */
  private readyLater({ hostId }: JsonObject): Stored["boot"] {
    const { attachMs } = this.traits;
    const isLate = attachMs !== undefined && hostId !== undefined;
    return { atMs: isLate ? this.clock.now() + bootMs + attachMs : 0, phase: "ready" };
  }

  private restartsFor(from: JsonObject, to: JsonObject): boolean {
    const isOther = (field: string) => !sameJson(from[field] ?? null, to[field] ?? null);
    return this.traits.restarts === true && ["kubelet", "controlPlane"].some(isOther);
  }

  /** What runs on hosts of a cloud that runs any restarts with them. */
  private disturbs({ kind }: Identity, from: JsonObject, to: JsonObject): boolean {
    const isOther = (field: string) => !sameJson(from[field] ?? null, to[field] ?? null);
    const restarting = ["kubelet", "controlPlane", "containerRuntime"];
    return this.traits.joins === true && kind === this.parts.hostKind && restarting.some(isOther);
  }

  private restart(id: string, process: CommandProcess): Observed {
    const stored = this.stored.get(id);
    if (stored !== undefined) this.stored.set(id, { ...stored, boot: this.bootOf(process) });
    return this.put(id, { phase: "pending" });
  }

  private store(
    who: Identity,
    spec: JsonObject,
    boot: Stored["boot"],
    refusal = noQuota,
  ): Observed {
    const number = this.nextId++;
    const id = `${who.kind}-${number}`;
    const status = { address: `10.0.0.${number}` };
    const observed: Observed = { id, who, phase: "pending", spec, status };
    const madeAtMs = this.clock.now() - this.lateSinceMs;
    const stored = { observed, madeAtMs, boot, ...this.acceptance(madeAtMs, boot, refusal) };
    this.stored.set(id, stored);
    return this.now(stored);
  }

  /** A host that would fail, or that there is no room for, does so before it ever shows. */
  private acceptance(madeAtMs: number, boot: Stored["boot"], refusal: Failure): Partial<Stored> {
    if (this.traits.acceptsFirst !== true) return {};
    const acceptedUntilMs = madeAtMs + operationMs;
    const atMs = boot.atMs + operationMs;
    return boot.phase === "failed" || refusal === noRoom
      ? { acceptedUntilMs, rejected: refusal, boot: { atMs: acceptedUntilMs, phase: "gone" } }
      : { acceptedUntilMs, boot: { ...boot, atMs } };
  }

  private put(id: string, change: Partial<Observed>): Observed {
    const stored = this.stored.get(id);
    if (stored === undefined) throw cloudFailed(`change ${id}: there is no such resource`);
    const changed = { ...stored, observed: { ...stored.observed, ...change } };
    this.stored.set(id, changed);
    return this.now(changed);
  }

  /** What listings show by now. */
  private listable(): Observed[] {
    const shownMs = this.clock.now() - this.traits.listingLagMs;
    return this.shown(({ madeAtMs }) => madeAtMs <= shownMs);
  }

  private shown(isListed: (stored: Stored) => boolean = () => true): Observed[] {
    const shown = [...this.stored.values()].filter((one) => isListed(one) && !this.isHidden(one));
    return shown.map((stored) => this.seen(stored));
  }

  private isGoing(stored: Stored | undefined): boolean {
    return this.clock.now() < (stored?.goesUntilMs ?? 0);
  }

  /** What a provider is shown: to the judges what is to go is gone once that is accepted. */
  private seen(stored: Stored): Observed {
    const now = this.now(stored);
    return this.isGoing(stored) ? { ...now, phase: "deleting" } : now;
  }

  private all(): Observed[] {
    return [...this.stored.values()].map((stored) => this.now(stored));
  }

  private now({ observed, boot, madeAtMs }: Stored): Observed {
    const booted = observed.phase === "pending" && this.clock.now() >= boot.atMs;
    const phase = booted ? boot.phase : observed.phase;
    const failure = phase === "failed" ? this.failure : undefined;
    const spec = this.shownOf(observed);
    const shown: Observed = omitUndefined({ ...observed, phase, failure, spec });
    if (this.traits.tellsTimes !== true) return shown;
    const readySinceMs = phase === "ready" ? boot.atMs : undefined;
    return omitUndefined({ ...shown, createdAtMs: madeAtMs, readySinceMs });
  }

  /** All inputs of a resource, those too that the cloud does not show. */
  truth(id: string): JsonObject | undefined {
    return this.stored.get(id)?.observed.spec;
  }

  private shownOf({ spec, who }: Observed): JsonObject {
    const { hides = [] } = this.traits;
    if (who.kind !== this.parts.hostKind || hides.length === 0) return spec;
    return Object.fromEntries(Object.entries(spec).filter(([field]) => !hides.includes(field)));
  }

  /** Lets what dead commands last asked for take effect. One that the cloud refuses by then has none. */
  private catchUp(): void {
    const due = this.late.filter(({ dueMs }) => dueMs <= this.clock.now());
    this.late = this.late.filter((one) => !due.includes(one));
    for (const call of due) {
      this.lateNow = call;
      try {
        this.hosts.knowing(call.etcd, call.effect);
      } catch (error) {
        if (!(error instanceof CapstanError)) throw error;
      }
    }
    this.lateNow = undefined;
  }
}

type Kill = "killBefore" | "killAfter" | "killLate";

function isKill(fault: CallFault | undefined): fault is Kill {
  return fault === "killBefore" || fault === "killAfter" || fault === "killLate";
}
