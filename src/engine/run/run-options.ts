import type { CapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { DriftFilter } from "../../drift/drift-filter.js";
import type { Clock, InfrastructureProvider } from "../../provider/port.js";
import type { MachineAnnotations } from "../../records/host-machine.js";
import type { Action, StopResult } from "../../transaction/lifecycle.js";
import type { StackState } from "../backend/state.js";
import type { StackEngine } from "../pulumi/engine.js";
import type { Inventory } from "./inventory.js";
import type { WithoutRoom } from "./late-refusals.js";
import type { Observation } from "./observe.js";
import type { RunEvent } from "./run-event.js";
import type { KeySource } from "./run-keys.js";
import type { OpenWorkload } from "./workload-cluster.js";

export interface RunOptions {
  readonly engine: StackEngine;
  readonly provider: InfrastructureProvider;
  readonly clock: Clock;
  /** How long hosts may take to become ready, and deletions to take effect, milliseconds. */
  readonly timeoutMs: number;
  readonly onFailure: "rollBack" | "keep";
  /** The drift filter that the plan was made with; none without. */
  readonly driftFilter?: DriftFilter;
  readonly stop: AbortSignal;
  /** How to ask a cluster's own API server for tokens, where hosts join it; absent: records alone change, and no cluster is asked. */
  readonly openWorkload?: OpenWorkload;
  /** Where the keys of a cluster come from that has none recorded; absent: it gets none. */
  readonly keys?: KeySource | undefined;
  /** As what the command was refused hosts for want of room after they were accepted; absent: as nothing. */
  readonly withoutRoom?: WithoutRoom | undefined;
  /** What Machines are annotated with now, where an API server holds them, or manifests were named; absent: what is recorded counts. */
  readonly liveAnnotations?: MachineAnnotations | undefined;
  readonly report: (event: RunEvent) => void;
  /** What the commit stands for, done while the transaction is open: it may happen again. */
  readonly beforeCommit?: () => Promise<void>;
  /** Told of every look at the cloud, with the records it was held against. */
  readonly onObservation?: (state: StackState, observation: Observation) => void;
}

/** How a run ended that was not interrupted. */
export type RunResult =
  | { readonly kind: "done"; readonly passes: number; readonly inventory?: Inventory }
  | {
      readonly kind: "stopped";
      readonly result: StopResult | "rollBack";
      readonly reason: string;
      /** What the last action failed with, if one did. */
      readonly failure?: CapstanError;
      readonly state: StackState;
    };

/** The result of a run that ends before its change does. Pure. */
export function stoppedBy(
  action: Extract<Action, { kind: "stop" | "rollBack" }>,
  state: StackState,
  failure: CapstanError | undefined,
): RunResult {
  const { kind, reason } = action;
  const result = kind === "stop" ? action.result : kind;
  return omitUndefined({ kind: "stopped", result, reason, state, failure });
}
