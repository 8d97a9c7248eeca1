import type { CapstanError } from "../api/error.js";
import type { Inventory } from "./inventory.js";
import type { RunResult } from "./run.js";

/** What became of a plan. */
export type ApplyResult =
  | {
      readonly kind: "done";
      readonly passes: number;
      /** Of a plan that leads to nothing: what two listings showed before its records went. */
      readonly inventory?: Inventory;
    }
  /** It failed, and everything is as it was before. */
  | {
      readonly kind: "rolledBack";
      readonly failure: CapstanError;
      /** The transaction that took it back; it committed the revision of the same number. */
      readonly number: number;
      /**
       * Where it led: to the revision before; to no resource at all, as there was none; or to no record of
       * resources that were there before and still are.
       */
      readonly to: "revision" | "nothing" | "unrecorded";
      readonly inventory: Inventory;
    }
  /** It failed, and something is as `result` says. */
  | {
      readonly kind: "stopped";
      readonly result: Exclude<Extract<RunResult, { kind: "stopped" }>["result"], "rollBack">;
      readonly failure: CapstanError;
      /** Of an incomplete rollback: what it was to take back. */
      readonly cause?: CapstanError;
    };
