import type { ErrorCode } from "../api/error.js";
import type { NodeKey } from "../graph/graph.js";
import type { Failure } from "../provider/port.js";

/** What happens to one resource in an engine run. */
export interface ResourceEvent {
  readonly operation: "create" | "adopt" | "import" | "update" | "delete" | "forget" | "read";
  /** waiting: the cloud refuses it for now, and it is tried again. */
  readonly state: "started" | "waiting" | "done" | "failed";
  readonly kind: string;
  readonly name: string;
  readonly id?: string;
  readonly message?: string;
  /** What to do about a failure. */
  readonly hint?: string;
  /** Of what failed or waits. */
  readonly code?: ErrorCode;
  /** Of a create that was not made: the cloud has refused what it is made after, and that is what has failed. */
  readonly refused?: { readonly key: NodeKey; readonly failure: Failure };
  /** Of a failure: the same call may go well later without any change. */
  readonly retryable?: boolean;
}
