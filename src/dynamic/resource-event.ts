import type { ErrorCode } from "../api/error.js";

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
  /** Of a failure: the same call may go well later without any change. */
  readonly retryable?: boolean;
}
