import type { JsonObject } from "../../src/api/json.js";
import type {
  CallContext,
  Identity,
  Observed,
  Presence,
  ResourceHandler,
} from "../../src/provider/port.js";
import type { LocalCloud, LocalKind, LocalResource } from "./cloud.js";

/** A resource of the local cloud in the port's terms. */
export function observe(resource: LocalResource): Observed {
  const phases = { pending: "pending", running: "ready", terminated: "gone" } as const;
  return {
    id: resource.id,
    who: resource.who,
    phase: phases[resource.state],
    spec: resource.spec,
    status: resource.status,
  };
}

/** The calls of one kind. The local cloud treats all kinds alike, so one class serves them. */
export class LocalHandler implements ResourceHandler {
  constructor(
    private readonly cloud: LocalCloud,
    private readonly kind: LocalKind,
  ) {}

  async locate(ctx: CallContext, who: Identity, id?: string): Promise<Presence> {
    if (id !== undefined) {
      const resource = await this.cloud.get(id, ctx.signal);
      return resource === undefined
        ? { found: "none" }
        : { found: "one", resource: observe(resource) };
    }
    const { clusterUid, name } = who;
    const marked = await this.cloud.list({ clusterUid, name }, ctx.signal);
    const same = marked.filter(
      (resource) => resource.kind === this.kind && resource.state !== "terminated",
    );
    const [first, ...others] = same;
    if (first === undefined) return { found: "none" };
    if (others.length > 0) return { found: "many", ids: same.map(({ id: one }) => one) };
    return { found: "one", resource: observe(first) };
  }

  async create(ctx: CallContext, who: Identity, spec: JsonObject): Promise<Observed> {
    return observe(await this.cloud.create(this.kind, who, spec, ctx.signal));
  }

  async update(ctx: CallContext, current: Observed, spec: JsonObject): Promise<Observed> {
    return observe(await this.cloud.update(current.id, spec, ctx.signal));
  }

  async remove(ctx: CallContext, current: Observed): Promise<void> {
    await this.cloud.terminate(current.id, ctx.signal);
  }
}
