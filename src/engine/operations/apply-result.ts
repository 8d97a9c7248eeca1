import { counted, wordFor } from "../../api/counted.js";
import type { CapstanError } from "../../api/error.js";
import type { Inventory } from "../run/inventory.js";
import type { RunResult } from "../run/run-options.js";

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
      /** Names of machines of that revision that run on other hosts now: those that they had were gone. */
      readonly onNewHosts: readonly string[];
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

/** ", but for 2 machines on new hosts (web-0, web-1)"; empty when every machine has its host back. Pure. */
export function newHostsText({
  onNewHosts,
}: Pick<Extract<ApplyResult, { kind: "rolledBack" }>, "onNewHosts">): string {
  if (onNewHosts.length === 0) return "";
  const machines = counted(onNewHosts.length, "machine");
  const hosts = wordFor(onNewHosts.length, "a new host", "new hosts");
  return `, but for ${machines} on ${hosts} (${onNewHosts.join(", ")})`;
}
