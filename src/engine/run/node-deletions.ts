import { isCapstanError } from "../../api/error.js";
import { type Backoff, backoffMs } from "../../provider/backoff.js";
import type { CallContext } from "../../provider/port.js";
import type { NodeHost, WorkloadCluster } from "./workload-cluster.js";

/** As in Cluster API. Source: docs/cluster-api.md#deletion. */
const defaultTimeoutSeconds = 10;
/** An API server that does not answer holds up a pass, so it is not asked for every Node of it. */
const silenceMs = 30_000;
const againBackoff: Backoff = { firstMs: 500, factor: 2, maxMs: 5_000 };

/** A Node that is to go. */
export interface OwedNode {
  readonly host: NodeHost;
  /** `nodeDeletionTimeoutSeconds` of its Machine; 0: as long as any deletion may take. */
  readonly timeoutSeconds?: number | undefined;
  /** Throws API_SERVER and what a look at the cloud fails with. */
  open(ctx: CallContext): Promise<WorkloadCluster>;
}

/** The Nodes of hosts that are gone. One that stays after all is an eyesore, and no more than that. */
export class NodeDeletions {
  private owed: OwedNode[] = [];
  private silentUntilMs = 0;

  /** Once, since an engine runs: what fails is tried again when none does. */
  async delete(node: OwedNode, ctx: CallContext): Promise<void> {
    const isSilent = ctx.clock.now() < this.silentUntilMs;
    if (!isSilent && (await isDeleted(node, ctx))) return;
    if (!isSilent) this.silentUntilMs = ctx.clock.now() + silenceMs;
    this.owed.push(node);
  }

  /** Those that are left, each for its own time, `timeoutMs` at the most. No engine runs meanwhile. */
  async finish(ctx: CallContext, timeoutMs: number): Promise<void> {
    const sinceMs = ctx.clock.now();
    for (let rounds = 1; this.owed.length > 0; rounds += 1) {
      const left: OwedNode[] = [];
      for (const node of this.owed) {
        const isOver = ctx.clock.now() >= sinceMs + limitMs(node, timeoutMs);
        if (!(await isDeleted(node, ctx)) && !isOver) left.push(node);
      }
      this.owed = left;
      if (left.length > 0) await ctx.clock.sleep(backoffMs(againBackoff, rounds), ctx.signal);
    }
  }
}

function limitMs({ timeoutSeconds = defaultTimeoutSeconds }: OwedNode, mostMs: number): number {
  return timeoutSeconds === 0 ? mostMs : Math.min(timeoutSeconds * 1_000, mostMs);
}

async function isDeleted(node: OwedNode, ctx: CallContext): Promise<boolean> {
  try {
    const cluster = await node.open(ctx);
    await cluster.deleteNode(node.host);
    return true;
  } catch (error) {
    if (!isCapstanError(error)) throw error;
    return false;
  }
}
