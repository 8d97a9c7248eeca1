import { messageOf } from "../api/error.js";
import { isJsonObject, sameJson, type JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { type NodeKey, nodeKey } from "../graph/graph.js";
import {
  type Acceptance,
  acceptanceOf,
  type Accepted,
  presenceOf,
} from "../provider/operations.js";
import { type VerdictGiver, nearestChoice } from "../provider/alternatives.js";
import type {
  CallContext,
  CloudIdentity,
  Found,
  Identity,
  InfrastructureProvider,
  Observed,
  Presence,
  ResourceHandler,
} from "../provider/port.js";
import type { Identifying } from "../provider/same-cloud.js";
import { usableWithinMsOf } from "../provider/timing.js";
import { failureOf, kindOfFailure, mayBeAskedAgain } from "./call-failures.js";
import {
  cloudProperty,
  isKept,
  type DynamicResource,
  type Properties,
  providerProperty,
  providerText,
  UnfinishedResource,
} from "./protocol.js";
import type { ResourceEvent } from "./resource-event.js";
import {
  cannotImport,
  cannotLetGo,
  neverRuns,
  notOurs,
  refusedLater,
  replacedByItself,
  resourceGone,
  tokenSpent,
  unknownPresence,
  unsupportedChange,
} from "./resource-refusals.js";
import { FindOrCreate } from "./find-or-create.js";
import { createContextOf } from "./create-context.js";
import type { HostBootstrapper } from "./host-bootstrapper.js";
import { InPlaceChange } from "./in-place-change.js";
import { Patience } from "./patience.js";
import type { PendingNeeds } from "./pending-needs.js";
import { Postponed, type Postponement } from "./postponed.js";
import { mayPass, Removals } from "./removals.js";
import { isGone, oneOf } from "./presence.js";
import {
  acceptedIn,
  type Asked,
  operationOf,
  recordedWho,
  specOf,
  statusOf,
  whoOf,
} from "./recorded.js";
import type { ResumingRun } from "./resuming.js";
import { isLeftStopped, marksIn, marksOfRead, marksOfUpdate, mayResume } from "./resuming.js";
import { SessionCloud } from "./session-cloud.js";
import { isDown } from "../provider/failure.js";
import { asKnown } from "../provider/unobservable.js";
import { holdsUnknown } from "../api/unknown.js";

/** How the handlers of one engine run behave. */
export interface BridgeRuntime extends ResumingRun {
  readonly context: CallContext;
  /**
   * `stepwise`: create and update return once the cloud has accepted; who runs the passes waits.
   * `inline`: they wait until the resource is ready, at most `readyTimeoutMs`.
   * `records`: no resource is made, changed or deleted, only ownership tags are: create finds or imports what is there, update takes it
   * as it is, delete releases it or forgets its record.
   */
  readonly mode: "stepwise" | "inline" | "records";
  readonly readyTimeoutMs: number;
  /** Ids that creations of this engine run have answered with: kept by the bridge itself. */
  readonly served?: Set<string>;
  /** Ids that are recorded twice: when the one that Pulumi has replaced goes, the resource stays. */
  readonly recordedTwice?: ReadonlySet<string>;
  /** What is let go: its marks are taken off, and it stays. */
  readonly letGo?: ReadonlySet<NodeKey>;
  /** Ids of what was there before: it gets our marks instead of being created. */
  readonly imports?: ReadonlyMap<NodeKey, string>;
  /** Which cloud this engine run is with; without it each resource asks for itself. */
  readonly cloud?: SessionCloud;
  /** What was asked to be removed by this command; absent: this engine run is the first. */
  readonly removals?: Removals;
  /** Who waits for deletions between engine runs; without it each deletion waits until the resource is gone. */
  readonly postponement?: Postponement;
  /** What resources of this engine run are made after while the cloud may still refuse it; absent: each is waited for before. */
  readonly needs?: PendingNeeds;
  /** As what earlier hosts of the same machines were refused for want of room after they were accepted, by host. */
  readonly withoutRoom?: ReadonlyMap<NodeKey, readonly JsonObject[]>;
  /** What hosts are given beside their inputs; without it there is no user data to be had. */
  readonly bootstrap?: HostBootstrapper;
  /** Told what happens to each resource, for progress output. */
  report?(event: ResourceEvent): void;
}

/**
 * Serves one kind of cloud resource to Pulumi. Adds to the provider's plain calls what must hold
 * for every provider: find-or-create by identity, adoption, resumption, the ownership check before
 * each deletion, and an error protocol that never lets a resource out of sight.
 */
export class CloudResource implements DynamicResource {
  private readonly session: SessionCloud;
  /** The one cloud of this engine run, once it was compared. */
  private cloud: CloudIdentity | undefined;
  private readonly patience: Patience;
  private readonly creation: FindOrCreate;
  private readonly changes: InPlaceChange;
  private readonly toldWaiting = new Set<string>();
  private readonly removals: Removals;

  constructor(
    private readonly provider: Identifying & VerdictGiver & Pick<InfrastructureProvider, "timing">,
    private readonly kind: string,
    private readonly handler: ResourceHandler,
    private readonly runtime: BridgeRuntime,
  ) {
    this.session = runtime.cloud ?? new SessionCloud();
    this.removals = runtime.removals ?? new Removals();
    this.patience = new Patience(runtime.context, handler, {
      readyTimeoutMs: runtime.readyTimeoutMs,
      usableWithinMs: usableWithinMsOf(provider),
    });
    this.changes = new InPlaceChange(kind, handler, {
      context: runtime.context,
      patience: this.patience,
      isAs: (resource, spec) => this.nearest(resource.spec, spec).verdict.kind === "same",
      present: ({ who, id, spec }) => this.present({ who, id, spec }, "update"),
      known: (resource, spec) => this.known(resource, spec),
      waits: (name, error) => this.waits("update", name, error),
    });
    this.creation = new FindOrCreate(provider, kind, handler, {
      context: runtime.context,
      patience: this.patience,
      locate: (who) => this.locate(who),
      adopted: (presence, who) => {
        const found = oneOf(presence, `${kind} ${who.name}`);
        this.mustBeOurs(found, who, "adopt");
        return found;
      },
      unfinished: (resource, asked, error) => {
        const outputs = this.outputsOf(this.known(resource, asked));
        return new UnfinishedResource(resource.id, outputs, error);
      },
      needsStand: async (who, attempt) => {
        await runtime.needs?.check(nodeKey(kind, who.name), attempt);
      },
      withoutRoom: (who) => runtime.withoutRoom?.get(nodeKey(kind, who.name)) ?? [],
      waits: (name, error, remedy) => this.waits("create", name, error, remedy),
    });
  }

  /** Pure. Identity and spec must be there; everything else was validated before compilation. */
  async check(_olds: Properties, news: Properties) {
    const failures = ["who", "spec"]
      .filter((property) => !isJsonObject(news[property]) && !holdsUnknown(news[property]))
      .map((property) => ({ property, reason: `${this.kind} needs an object "${property}"` }));
    return { inputs: news, failures };
  }

  /**
   * Pure and local: wanted inputs against recorded outputs, but for the cloud, which no input names. A host that an interrupted
   * change has left stopped may have all its wanted inputs, and is to be updated all the same. Never asks for a replacement: a new
   * generation is a new resource with a name of its own, decided in the plan (architecture section 3).
   */
  async diff(_id: string, olds: Properties, news: Properties) {
    if (!sameJson(olds["who"], news["who"])) return { changes: true, paths: ["who"] };
    const { verdict } = this.nearest(specOf(olds), specOf(news));
    if (verdict.kind === "same") {
      return { changes: mayResume(this.runtime, this.kind, olds), paths: [] };
    }
    return { changes: true, paths: verdict.paths.map((path) => `spec.${path}`) };
  }

  async create(inputs: Properties) {
    const who = whoOf(inputs);
    const id = this.runtime.imports?.get(nodeKey(this.kind, who.name));
    if (id !== undefined) return this.import(id, who, specOf(inputs));
    if (this.runtime.mode === "records") return this.adopt(who, specOf(inputs));
    return this.reported("create", who.name, async () => {
      await this.mustBeSameCloud(who.name);
      const asked = specOf(inputs);
      const context = createContextOf(this.runtime.context, this.runtime.bootstrap, who);
      const resource = this.known(await this.creation.run(context, who, asked), asked);
      this.runtime.served?.add(resource.id);
      this.runtime.needs?.made(resource);
      const finished = await this.finish(resource, asked);
      return { id: finished.id, outs: this.outputsOf(finished) };
    });
  }

  /** As the cloud shows it. Throws RESOURCE_GONE for what is not there: an adoption makes nothing. */
  private async adopt(who: Identity, asked: JsonObject, id?: string) {
    return this.reported("adopt", who.name, async () => {
      const found = await this.present(omitUndefined({ who, id, spec: asked }), "adopt");
      return { id: found.id, outs: this.outputsOf(found) };
    });
  }

  /**
   * What was there before becomes ours, as it is. Every attempt looks first whose it is: an earlier one may have put
   * our marks on, and somebody else theirs. Throws RESOURCE_GONE and NOT_OURS.
   */
  private async import(id: string, who: Identity, asked: JsonObject) {
    return this.reported("import", who.name, async () => {
      await this.mustBeSameCloud(who.name);
      const deadline = this.patience.deadline();
      const waits = (error: unknown) => this.waits("import", who.name, error);
      for (let looks = 1; ; looks += 1) {
        const found = await this.patience.changing(deadline, () => this.marked(id, who), waits);
        if (found.who !== undefined) {
          return { id, outs: this.outputsOf(this.known({ ...found, who }, asked)) };
        }
        await this.patience.pause(looks, deadline, `the marks of ${this.kind} ${who.name} to show`);
      }
    });
  }

  /** As it was found, with marks put on what bore none: the next look shows them. */
  private async marked(id: string, who: Identity): Promise<Found> {
    const { handler, kind, runtime } = this;
    if (handler.find === undefined || handler.mark === undefined) throw cannotImport(kind, who, id);
    const found = await handler.find(runtime.context, id);
    if (found === undefined || found.phase === "gone") throw resourceGone(kind, who, id);
    if (found.who === undefined) await handler.mark(runtime.context, found, who);
    else this.mustBeOurs({ id, who: found.who }, who, "import");
    return found;
  }

  async read(id: string, props: Properties): ReturnType<DynamicResource["read"]> {
    const recorded = recordedWho(props);
    await this.mustBeSameCloud(recorded.name, props);
    const presence = await this.locate(recorded, id, props);
    if (presence.found === "none" || isGone(presence)) return {};
    const seen = oneOf(presence, `${this.kind} ${id}`);
    const known = isJsonObject(props["spec"]) ? this.known(seen, specOf(props)) : seen;
    const operation = operationOf(props);
    // What it was answered with once is no difference.
    const resource: Observed = operation === undefined ? known : { ...known, operation };
    const { who, spec } = resource;
    const { [cloudProperty]: cloud, ...shown } = this.outputsOf(resource);
    const outputs = { ...shown, ...marksOfRead(this.runtime, props, resource) };
    // A record of an older release gets it with its next change: reading alone is to show no difference.
    const isTold = cloud !== undefined && (props[cloudProperty] !== undefined || !("who" in props));
    return {
      id: resource.id,
      props: isTold ? { ...outputs, [cloudProperty]: cloud } : outputs,
      inputs: { who, spec },
    };
  }

  async update(
    id: string,
    olds: Properties,
    news: Properties,
  ): ReturnType<DynamicResource["update"]> {
    const who = whoOf(news);
    if (this.runtime.mode === "records") return this.adopt(who, specOf(olds), id);
    return this.reported("update", who.name, async () => {
      await this.mustBeSameCloud(who.name, olds);
      const asked = { who, id, spec: specOf(olds) };
      const current = await this.present(asked, "update", whoOf(olds), olds);
      const finished = await this.finish(current, specOf(news), marksIn(olds));
      return {
        outs: { ...this.outputsOf(finished), ...marksOfUpdate(this.runtime, this.kind, olds) },
      };
    });
  }

  async delete(id: string, props: Properties) {
    const who = whoOf(props);
    if (this.runtime.recordedTwice?.has(id) === true) return;
    if (this.isLetGo(who, props)) return this.letGo(id, who, props);
    if (this.runtime.mode === "records") return;
    await this.reported("delete", who.name, async () => {
      // Find-or-create gives a resource to its own successor: what serves now must not be deleted.
      if (this.runtime.served?.has(id) === true) throw replacedByItself(this.kind, who, id);
      await this.mustBeSameCloud(who.name, props);
      const { bootstrap, context, postponement } = this.runtime;
      const deadline = this.patience.deadline();
      for (let looks = 1; ; looks += 1) {
        const presence = await this.locate(who, id);
        if (presence.found !== "none" && !isGone(presence)) {
          const current = oneOf(presence, `${this.kind} ${who.name}`);
          if (isSuccessor(current.who, who)) return { id };
          this.mustBeOurs(current, who, "delete");
          await this.remove(current, deadline);
        } else if (await this.isNothingLeft(id, who, props)) {
          await bootstrap?.forget(context, { who, status: statusOf(props) });
          postponement?.progressed();
          return { id };
        }
        // One look at least: what is gone at once needs no second engine run.
        if (looks > 1 && postponement?.isOver() === true) throw new Postponed(this.kind, who);
        await this.patience.pause(looks, deadline, `${this.kind} ${who.name} to go away`);
      }
    });
  }

  /** Until the cloud has accepted it. Throws `Postponed` where somebody else waits for a refusal to end. */
  private async remove(current: Observed, deadline: number): Promise<void> {
    const { bootstrap, context, postponement } = this.runtime;
    const { who } = current;
    const remove = async () => {
      const asked = await this.removals.outcome(context, current);
      if (asked?.state === "running") return;
      if (asked !== undefined)
        throw refusedLater("removal", this.kind, who, asked.failure, mayPass(asked.failure));
      await bootstrap?.release(context, current);
      this.removals.note(current, this.handler, await this.handler.remove(context, current));
    };
    const waits = (error: unknown) => this.waits("delete", who.name, error);
    const giveUpAt = Math.min(deadline, postponement?.endsAt() ?? deadline);
    try {
      await this.patience.changing(giveUpAt, remove, waits);
    } catch (error) {
      if (postponement === undefined || !mayBeAskedAgain(error)) throw error;
      waits(error);
      throw new Postponed(this.kind, who, error);
    }
  }

  /** Under our own commands the transaction says so; a plain `pulumi` deletes what nobody has planned, too. */
  private isLetGo({ name }: Identity, props: Properties): boolean {
    const { letGo, mode } = this.runtime;
    if (mode === "inline") return isKept(props);
    return letGo?.has(nodeKey(this.kind, name)) === true;
  }

  /** Every attempt looks first whose it is: once our marks are off, anybody may have put theirs on. */
  private async letGo(id: string, who: Identity, props: Properties): Promise<void> {
    const { handler, runtime } = this;
    const marked = async () => {
      const presence = await this.locate(who, id);
      if (presence.found === "none" || isGone(presence)) return undefined;
      const current = oneOf(presence, `${this.kind} ${who.name}`);
      return sameJson(current.who, who) ? current : undefined;
    };
    const disown = async () => {
      const current = await marked();
      if (current === undefined) return;
      if (handler.disown === undefined) throw cannotLetGo(this.kind, current);
      await handler.disown(runtime.context, current);
    };
    await this.reported("forget", who.name, async () => {
      await this.mustBeSameCloud(who.name, props);
      const deadline = this.patience.deadline();
      const waits = (error: unknown) => this.waits("forget", who.name, error);
      for (let looks = 1; ; looks += 1) {
        await this.patience.changing(deadline, disown, waits);
        if ((await marked()) === undefined) return { id };
        await this.patience.pause(
          looks,
          deadline,
          `the marks of ${this.kind} ${who.name} to go away`,
        );
      }
    });
  }

  /**
   * Brings an existing resource to the wanted spec and, inline, waits until it is ready. An update also changes a resource that
   * failed and has all of its spec: one that was killed may lack its last call alone, a start. Only an update has `marks`.
   */
  private async finish(
    resource: Observed,
    spec: JsonObject,
    marks?: Properties,
  ): Promise<Observed> {
    let current = resource;
    try {
      if (current.phase === "gone") throw tokenSpent(this.kind, current);
      const { asked, verdict } = this.nearest(current.spec, spec);
      const isStopped = isLeftStopped(current, marks);
      if (verdict.kind === "inPlace" || (verdict.kind === "same" && isStopped)) {
        current = await this.changes.run(current, asked);
      } else if (verdict.kind !== "same") {
        throw unsupportedChange(this.kind, current, verdict.reason);
      }
      return this.runtime.mode === "inline" ? await this.waitUntilReady(current) : current;
    } catch (error) {
      throw new UnfinishedResource(resource.id, { ...this.outputsOf(current), ...marks }, error);
    }
  }

  /** As the cloud shows it now, if it is there and has these marks. Throws RESOURCE_GONE and NOT_OURS. */
  private async present(
    { who, id, spec }: Asked & { readonly id?: string },
    verb: string,
    marks = who,
    recorded: Properties = {},
  ): Promise<Observed> {
    const presence = await this.locate(who, id, recorded);
    if (presence.found === "none" || isGone(presence)) throw resourceGone(this.kind, who, id);
    const found = this.known(oneOf(presence, `${this.kind} ${who.name}`), spec);
    this.mustBeOurs(found, marks, verb);
    return found;
  }

  private async waitUntilReady(resource: Observed): Promise<Observed> {
    const deadline = this.patience.deadline();
    const recorded = this.outputsOf(resource);
    let current = resource;
    for (let looks = 1; current.phase === "pending"; looks += 1) {
      await this.patience.pause(
        looks,
        deadline,
        `${this.kind} ${current.who.name} to become ready`,
      );
      const presence = await this.locate(current.who, current.id, recorded);
      if (presence.found === "none") throw resourceGone(this.kind, current.who, current.id);
      current = oneOf(presence, `${this.kind} ${current.who.name}`);
    }
    if (current.phase === "gone" || current.phase === "deleting")
      throw resourceGone(this.kind, current.who, current.id);
    if (isDown(current)) throw neverRuns(this.kind, current);
    return this.known(current, resource.spec);
  }

  /** `recorded`: what is recorded of it, so that what the cloud has accepted and does not show is no less there. */
  private async locate(who: Identity, id?: string, recorded: Properties = {}): Promise<Presence> {
    const { context } = this.runtime;
    const presence = await this.patience.asking(() => this.handler.locate(context, who, id));
    if (presence.found === "unknown") throw unknownPresence(this.kind, who, presence.reason);
    const accepted = id === undefined ? undefined : acceptedIn(id, who, recorded);
    if (presence.found !== "none" || accepted === undefined) return presence;
    const later = presenceOf(accepted, await this.acceptance(accepted));
    if (later.found === "unknown") throw unknownPresence(this.kind, who, later.reason);
    return later;
  }

  /** Of what does not show: whether the cloud is no longer making it, and has not made it meanwhile. */
  private async isNothingLeft(id: string, who: Identity, recorded: Properties): Promise<boolean> {
    const accepted = acceptedIn(id, who, recorded);
    if (accepted === undefined) return true;
    const acceptance = await this.acceptance(accepted);
    if (acceptance.kind !== "done") return acceptance.kind === "refused";
    return acceptance.presence.found === "none" || isGone(acceptance.presence);
  }

  private acceptance(accepted: Accepted): Promise<Acceptance> {
    const { context } = this.runtime;
    return this.patience.asking(() => acceptanceOf(context, this.handler, accepted));
  }

  /** A host that was made where there was room stays what it is. */
  private nearest(current: JsonObject, wanted: JsonObject) {
    return nearestChoice(this.provider, this.kind, current, wanted);
  }

  /** Told once for each reason: who waits for minutes wants to know at once what for. */
  private waits(
    operation: ResourceEvent["operation"],
    name: string,
    error: unknown,
    remedy = "",
  ): void {
    const message = `${messageOf(error)}${remedy}`;
    const about = `${operation} ${name}: ${message}`;
    if (this.toldWaiting.has(about)) return;
    this.toldWaiting.add(about);
    const { code } = kindOfFailure(error);
    this.runtime.report?.({ operation, state: "waiting", kind: this.kind, name, message, code });
  }

  /** Law 12: nothing is looked for, made or concluded in another cloud than the recorded one. */
  private async mustBeSameCloud(name: string, recorded: Properties = {}): Promise<void> {
    const { context } = this.runtime;
    const about = { subject: `${this.kind} ${name}`, recorded: recorded[cloudProperty] };
    this.cloud = await this.patience.asking(() =>
      this.session.compared(this.provider, context, about),
    );
  }

  /** Law 5: what does not carry this cluster's mark is never changed or deleted. */
  private mustBeOurs(found: Pick<Observed, "id" | "who">, who: Identity, verb: string): void {
    if (!sameJson(found.who, who)) throw notOurs(this.kind, who, found, verb);
  }

  /** What the cloud cannot show is as it was asked for, or as it is recorded. */
  private known(resource: Observed, spec: JsonObject): Observed {
    return asKnown(resource, this.handler.unobservable ?? [], spec);
  }

  private outputsOf(resource: Observed): Properties {
    return omitUndefined({
      who: resource.who,
      spec: resource.spec,
      status: resource.status,
      operation: resource.operation,
      [cloudProperty]: this.cloud,
      [providerProperty]: providerText(this.kind),
    });
  }

  private postponed(about: Omit<ResourceEvent, "state">, { refusal }: Postponed): void {
    const why = refusal === undefined ? {} : failureOf(refusal);
    this.runtime.postponement?.tell({ ...about, state: "waiting", ...why });
  }

  private async reported<T extends { readonly id?: string; readonly outs?: Properties }>(
    operation: ResourceEvent["operation"],
    name: string,
    work: () => Promise<T>,
  ): Promise<T> {
    const about = { operation, kind: this.kind, name };
    this.runtime.report?.({ ...about, state: "started" });
    try {
      const result = await work();
      const id = result.id === "" ? undefined : result.id;
      this.runtime.report?.(omitUndefined({ ...about, state: "done", id }));
      return result;
    } catch (error) {
      if (error instanceof Postponed) this.postponed(about, error);
      else this.runtime.report?.({ ...about, state: "failed", ...failureOf(error) });
      throw error;
    }
  }
}

/**
 * What is one by its nature, as a target is its instance's at a port, is made again under another name of the same cluster: it is
 * that one's by then, and nothing is left of this one.
 */
function isSuccessor(found: Identity, who: Identity): boolean {
  const { cluster, clusterUid, kind, token } = who;
  const isKin = found.clusterUid === clusterUid && found.cluster === cluster;
  return isKin && found.kind === kind && found.token !== token;
}
