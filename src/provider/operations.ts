import type { JsonObject } from "../api/json.js";
import type {
  CallContext,
  Failure,
  Identity,
  Observed,
  Presence,
  ResourceHandler,
} from "./port.js";

/** What is recorded of a resource whose creation the cloud has accepted. */
export interface Accepted {
  readonly id: string;
  readonly who: Identity;
  readonly spec: JsonObject;
  readonly status: JsonObject;
  /** The handle that the create was answered with. */
  readonly operation: string;
}

/** What became of it. */
export type Acceptance =
  /** The cloud is still at it: nothing shows yet. */
  | { readonly kind: "running" }
  /** It ended without making anything. */
  | { readonly kind: "refused"; readonly failure: Failure }
  /** It has ended well; this is what a look after that shows. */
  | { readonly kind: "done"; readonly presence: Presence };

/**
 * What became of a resource that the cloud shows nothing of: its operation tells. That may have ended after the look that
 * showed nothing, so there is another one before anything counts as gone. Throws what `poll` and `locate` throw.
 */
export async function acceptanceOf(
  ctx: CallContext,
  handler: Pick<ResourceHandler, "poll" | "locate">,
  { operation, who, id }: Accepted,
): Promise<Acceptance> {
  const outcome = await handler.poll?.(ctx, operation);
  switch (outcome?.state) {
    case "running":
      return { kind: "running" };
    case "failed":
      return { kind: "refused", failure: outcome.failure };
    case "done":
      return { kind: "done", presence: await handler.locate(ctx, who, id) };
    case undefined:
      return { kind: "done", presence: { found: "none" } };
  }
}

/** Whether a look tells of a resource that the cloud has accepted and then refused: nothing of it was ever there. Pure. */
export function wasRefused({ phase, operation }: Pick<Observed, "phase" | "operation">): boolean {
  return phase === "failed" && operation !== undefined;
}

/** The same as an answer to "does it exist?": pending while it runs, failed where it was refused. Pure. */
export function presenceOf(accepted: Accepted, acceptance: Acceptance): Presence {
  switch (acceptance.kind) {
    case "running":
      return { found: "one", resource: { ...accepted, phase: "pending" } };
    case "refused": {
      const { failure } = acceptance;
      return { found: "one", resource: { ...accepted, phase: "failed", failure } };
    }
    case "done":
      return acceptance.presence;
  }
}
