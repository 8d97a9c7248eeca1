import type { ErrorCode } from "../api/error.js";
import { isJsonObject } from "../api/json.js";
import type {
  AcceptedRemoval,
  CallContext,
  Failure,
  Observed,
  OperationState,
  ResourceHandler,
} from "../provider/port.js";

/** A removal that the cloud has accepted, with the calls that tell what becomes of it. */
interface TrackedRemoval extends AcceptedRemoval {
  readonly handler: Pick<ResourceHandler, "poll">;
}

/**
 * What a command has asked the cloud to remove, and the cloud has accepted: it may refuse it afterwards, as where something still uses
 * the resource. Kept from one engine run to the next. Another command does not know of it and asks again.
 */
export class Removals {
  private readonly accepted = new Map<string, TrackedRemoval>();

  /** `answer`: of the call; one without an operation says nothing of what may follow. */
  note({ id }: Pick<Observed, "id">, handler: ResourceHandler, answer: unknown): void {
    const operation = isJsonObject(answer) ? answer["operation"] : undefined;
    if (typeof operation === "string") this.accepted.set(id, { operation, handler });
    else this.accepted.delete(id);
  }

  /** What became of a removal that was asked for before; undefined where it has to be asked for again. Tells of a refusal once. */
  async outcome(
    ctx: CallContext,
    { id }: Pick<Observed, "id">,
  ): Promise<Exclude<OperationState, { readonly state: "done" }> | undefined> {
    const state = await this.stateOf(ctx, id);
    if (state?.state !== "running") this.accepted.delete(id);
    return state?.state === "done" ? undefined : state;
  }

  /** Whether the cloud has refused any of them by now. */
  async isAnyRefused(ctx: CallContext): Promise<boolean> {
    for (const id of this.accepted.keys()) {
      if ((await this.stateOf(ctx, id))?.state === "failed") return true;
    }
    return false;
  }

  /** Of what nobody can tell the next attempt will. */
  private async stateOf(ctx: CallContext, id: string): Promise<OperationState | undefined> {
    const { handler, operation } = this.accepted.get(id) ?? {};
    if (operation === undefined) return undefined;
    const state = await handler?.poll?.(ctx, operation).catch(() => undefined);
    // What has ended well is not asked about again.
    if (state?.state === "done") this.accepted.delete(id);
    return state;
  }
}

/** What may pass by itself. */
const passing: ReadonlySet<ErrorCode> = new Set(["IN_USE", "NOT_YET_USABLE", "CLOUD_THROTTLED"]);

/** Whether a removal that was refused so may go well later; one without a code may, too. Pure. */
export function mayPass({ code }: Failure): boolean {
  return code === undefined || passing.has(code);
}
