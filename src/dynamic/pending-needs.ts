import { CapstanError } from "../api/error.js";
import { keyOf, type NodeKey, nodeKind, nodeName } from "../graph/graph.js";
import { failureReason } from "../provider/failure.js";
import type { Accepted } from "../provider/operations.js";
import type { CallContext, Failure, Observed, ResourceHandler } from "../provider/port.js";

/** A resource that a cloud has accepted and not finished; without an operation its phase tells what becomes of it. */
export type PendingResource = Omit<Accepted, "operation"> & Partial<Pick<Accepted, "operation">>;

/** The code of the failure, CLOUD_FAILED without: a resource was not made, for the cloud has refused what it is made after. */
export class NeedRefused extends CapstanError {
  constructor(
    readonly key: NodeKey,
    readonly failure: Failure,
  ) {
    super({
      code: failure.code ?? "CLOUD_FAILED",
      source: "cloud",
      subject: nodeName(key),
      message: `the cloud accepted ${nodeKind(key)} ${nodeName(key)} and then refused it: ${failureReason(failure)}`,
    });
  }
}

/**
 * What resources of one engine run are made after, as long as the cloud may still refuse it: clouds accept a resource and say
 * up to minutes later that there is no room for it.
 */
export class PendingNeeds {
  private readonly pending = new Map<NodeKey, PendingResource>();

  /** `needs`: what each resource of the engine run is made after. `recorded`: what earlier engine runs have left pending. */
  constructor(
    private readonly handlers: ReadonlyMap<string, ResourceHandler>,
    private readonly context: CallContext,
    private readonly needs: ReadonlyMap<NodeKey, readonly NodeKey[]>,
    recorded: readonly PendingResource[] = [],
  ) {
    for (const resource of recorded) this.add(resource);
  }

  /** A resource whose creation the cloud has accepted. */
  made(resource: Observed): void {
    if (resource.phase === "pending") this.add(resource);
  }

  /**
   * Throws NeedRefused where the cloud has refused what a resource is made after. What has no operation is looked at only
   * once an attempt has failed: until then nothing speaks against it.
   */
  async check(key: NodeKey, attempt: "first" | "again"): Promise<void> {
    for (const need of this.needs.get(key) ?? []) {
      const pending = this.pending.get(need);
      if (pending === undefined || (attempt === "first" && !pending.operation)) continue;
      const failure = await this.failureOf(need, pending);
      if (failure !== undefined) throw new NeedRefused(need, failure);
    }
  }

  private add(resource: PendingResource): void {
    this.pending.set(keyOf(resource.who), resource);
  }

  /** Of what nobody can tell the attempt itself will. */
  private async failureOf(
    need: NodeKey,
    { who, id, operation }: PendingResource,
  ): Promise<Failure | undefined> {
    const handler = this.handlers.get(who.kind);
    if (operation !== undefined && handler?.poll !== undefined) {
      const outcome = await handler.poll(this.context, operation).catch(() => undefined);
      if (outcome?.state === "done") this.pending.delete(need);
      return outcome?.state === "failed" ? outcome.failure : undefined;
    }
    const presence = await handler?.locate(this.context, who, id).catch(() => undefined);
    if (presence?.found !== "one") return undefined;
    const { phase, failure = unexplained } = presence.resource;
    if (phase === "ready") this.pending.delete(need);
    return phase === "failed" ? failure : undefined;
  }
}

const unexplained: Failure = { reason: "the cloud does not say why" };
