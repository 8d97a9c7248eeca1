import { digestOf } from "../../src/api/digest.js";
import { type JsonObject, sameJson } from "../../src/api/json.js";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import type {
  CallContext,
  CreateContext,
  Found,
  Identity,
  Observed,
  OperationState,
  AcceptedRemoval,
  Phase,
  Presence,
  ResourceHandler,
} from "../../src/provider/port.js";
import { isResizable } from "./field-rules.js";
import { HostPower } from "./power/host-power.js";
import { isDown, standsStill } from "../../src/provider/failure.js";
import { hasFailed, hasPower, isHidden, isStopped } from "./file/resource.js";
import type { LocalCloud, LocalKind, LocalResource } from "./cloud.js";

const answersWithinMs = 10_000;
const answersPollMs = 50;

/** A resource of the local cloud in the port's terms. */
export function observe(resource: LocalResource): Observed {
  const { id, who, spec, status, createdMs, readySinceMs, node } = resource;
  const phase = phaseOf(resource);
  return omitUndefined({
    id,
    who,
    phase,
    failure: standsStill({ phase }) ? resource.failure : undefined,
    spec,
    status,
    createdAtMs: createdMs,
    readySinceMs: phase === "ready" ? readySinceMs : undefined,
    leavesAtMs: spec["spot"] === true && phase !== "gone" ? noticeOf(resource) : undefined,
    node: phase === "gone" || node === undefined ? undefined : { uid: nodeUidOf(id), ...node },
  });
}

/** When the cloud takes a spot host away, if it is to. */
function noticeOf({ diesMs }: LocalResource): number | undefined {
  return Number.isFinite(diesMs) ? diesMs : undefined;
}

/** A Node whose UID nobody has told lives as long as its host, and has one UID. */
function nodeUidOf(host: string): string {
  const digits = digestOf(["node", host], 32);
  return [[0, 8], [8, 12], [12, 16], [16, 20], [20]].map((at) => digits.slice(...at)).join("-");
}

/** A host that runs is ready once its node has joined. */
function phaseOf(resource: LocalResource): Phase {
  const { state, readySinceMs } = resource;
  switch (state) {
    case "pending":
      if (isStopped(resource)) return "stopped";
      return hasFailed(resource) ? "failed" : "pending";
    case "running":
      return readySinceMs === undefined ? "pending" : "ready";
    case "terminated":
      return "gone";
  }
}

/** The calls of one kind. The local cloud treats all kinds alike, so one class serves them. */
export class LocalHandler implements ResourceHandler {
  constructor(
    private readonly cloud: LocalCloud,
    private readonly kind: LocalKind,
    private readonly power = new HostPower(cloud.path),
  ) {}

  /**
   * By id; else by marks; else, since listings lag, by token, as EC2's client-token filter does. What
   * is terminated counts as none there: a create then says whose token was spent.
   */
  async locate(ctx: CallContext, who: Identity, id?: string): Promise<Presence> {
    if (id !== undefined) return presenceOf(await this.marked(id, ctx));
    const { clusterUid, name } = who;
    const marked = await this.cloud.list({ clusterUid, name }, ctx.signal);
    const alive = marked.filter(({ kind, state }) => kind === this.kind && state !== "terminated");
    if (alive.length > 1) return { found: "many", ids: alive.map((resource) => resource.id) };
    if (alive.length === 1) return presenceOf(alive[0]);
    const made = await this.cloud.getByToken(this.kind, who, ctx.signal);
    if (made === undefined || made.state === "terminated") return { found: "none" };
    return { found: "one", resource: asAnswered(made, ctx) };
  }

  async create(ctx: CreateContext, who: Identity, spec: JsonObject): Promise<Observed> {
    const boots = this.kind === "LocalHost" && hasPower(spec);
    const userData = boots ? (await ctx.userData()).text : undefined;
    const made = await this.cloud.create(this.kind, who, spec, ctx.signal, userData);
    const [powered = made] = await this.power.follow([made]);
    const isLoadBalancer = this.kind === "LocalLoadBalancer" && hasPower(spec);
    return asAnswered(isLoadBalancer ? await this.answering(powered, ctx) : powered, ctx);
  }

  /** Where it answers is recorded with it, so it is asked until its process has told; what takes too long is pending. */
  private async answering(made: LocalResource, { clock, signal }: CallContext) {
    const untilMs = clock.now() + answersWithinMs;
    let found = made;
    while (found.status["port"] === undefined && clock.now() < untilMs) {
      await clock.sleep(answersPollMs, signal);
      found = (await this.cloud.everything()).find(({ id }) => id === made.id) ?? made;
    }
    return found;
  }

  async poll(ctx: CallContext, operation: string): Promise<OperationState> {
    return this.cloud.operation(operation, ctx.signal);
  }

  async update(ctx: CallContext, current: Observed, spec: JsonObject): Promise<Observed> {
    const isResized =
      current.spec["size"] !== spec["size"] && (isResizable(current.spec) || isResizable(spec));
    if (this.kind === "LocalHost" && (isDown(current) || isResized)) {
      return observe(await this.resize(ctx, current, spec));
    }
    return observe(await this.cloud.update(current.id, spec, ctx.signal));
  }

  async start(ctx: CallContext, { id }: Observed): Promise<Observed> {
    return observe(await this.cloud.start(id, ctx.signal));
  }

  /** A stop, a change and a start: whoever comes after an interruption goes on with what is missing. */
  private async resize(
    ctx: CallContext,
    current: Observed,
    spec: JsonObject,
  ): Promise<LocalResource> {
    const { signal } = ctx;
    const { id, spec: from } = current;
    if (!isDown(current)) {
      await this.cloud.stop(id, signal);
      await ctx.assertEngineAlive();
    }
    if (!sameJson(from, spec)) {
      await this.cloud.update(id, spec, signal);
      await ctx.assertEngineAlive();
    }
    return this.cloud.start(id, signal);
  }

  async remove(ctx: CallContext, current: Observed): Promise<AcceptedRemoval | undefined> {
    const removal = await this.cloud.terminate(current.id, ctx.signal);
    if (removal === undefined && hasPower(current.spec)) await this.power.cut(current);
    return removal;
  }

  async disown(ctx: CallContext, current: Observed): Promise<void> {
    await this.cloud.disown(current.id, ctx.signal);
  }

  async find(ctx: CallContext, id: string): Promise<Found | undefined> {
    const resource = await this.cloud.get(id, ctx.signal);
    if (resource?.kind !== this.kind) return undefined;
    const { who, ...found } = observe(resource);
    return isMarked(resource) ? { ...found, who } : found;
  }

  async mark(ctx: CallContext, current: Found, who: Identity): Promise<void> {
    await this.cloud.mark(current.id, who, ctx.signal);
  }

  /** What belongs to nobody is not there for anybody of ours. */
  private async marked(id: string, { signal }: CallContext): Promise<LocalResource | undefined> {
    const found = await this.cloud.get(id, signal);
    return found !== undefined && isMarked(found) ? found : undefined;
  }
}

/** With its operation as long as nothing else shows it. */
function asAnswered(made: LocalResource, { clock }: CallContext): Observed {
  const observed = observe(made);
  if (observed.phase === "gone" || !isHidden(made, clock.now())) return observed;
  return { ...observed, phase: "pending", operation: made.id };
}

/** Whether it is anybody's of ours: what was let go has no marks left. */
export function isMarked({ who }: LocalResource): boolean {
  return who.token !== "";
}

function presenceOf(resource: LocalResource | undefined): Presence {
  return resource === undefined ? { found: "none" } : { found: "one", resource: observe(resource) };
}
