import { messageOf } from "../../api/error.js";
import type { ControllerSettings } from "../../controller/build-controller.js";
import type { LogLevel } from "../../controller/log-levels.js";
import { type CommandContext, type GlobalOptions, noticeTo } from "../context.js";
import type { ManifestOptions } from "../manifest-options.js";
import { markedLines } from "../marked-lines.js";
import type { ConnectionFlags } from "./install.js";

/** What becomes of clusters that manifests no longer hold. */
export interface PruneFlags {
  /** They are deleted. */
  readonly prune?: boolean;
  /** Minutes that one has to be missing first. */
  readonly grace: number;
  /** Per cent of all clusters that may be missing. */
  readonly maxShare: number;
}

export interface WatchOptions extends GlobalOptions, ManifestOptions, ConnectionFlags, PruneFlags {
  /** Seconds between two looks for drift. */
  readonly period: number;
  /** Engine processes at the same time. */
  readonly engines: number;
  /** Clusters that are worked on at the same time. */
  readonly concurrency: number;
  readonly timeout: number;
  readonly deadline: number;
  /** Those that objects of an API server may use; all but local without. */
  readonly providers?: readonly string[];
  /** Namespace of the Lease. */
  readonly leaseNamespace: string;
  /** Where metrics and probes are served; nowhere without. */
  readonly metricsAddress?: string;
  /** Also series for each cluster. */
  readonly clusterMetrics?: boolean;
  readonly logLevel: LogLevel;
}

/** What the flags, and the command that has them, mean to a controller. */
export function controllerSettings(
  { period, engines, concurrency, timeout, deadline }: WatchOptions,
  context: CommandContext,
): ControllerSettings {
  const { clock, by, interruption, terminal } = context;
  return {
    clock,
    by,
    interruption,
    engines,
    concurrency,
    periodMs: period * 1_000,
    timeoutMs: timeout * 1_000,
    deadlineMs: deadline * 1_000,
    notice: noticeTo(context),
    onListingFailure: (provider, error) =>
      terminal.error(markedLines(`cannot list ${provider}: `, messageOf(error))),
    newUuid: () => context.newClusterUid(),
  };
}
