import { timeText } from "../../api/time-text.js";
import { assertNever } from "../../api/error.js";
import type { NodeKey } from "../../graph/graph.js";
import type { DeletionHook } from "./deletion-terms.js";
import type { DrainBlocker } from "./eviction-round.js";

/** What a host waits for before it goes; `sinceMs`: milliseconds since the epoch. */
export type DeletionStage = { readonly sinceMs: number } & (
  | { readonly kind: "preDrainHook" | "preTerminateHook"; readonly hooks: readonly DeletionHook[] }
  | { readonly kind: "draining"; readonly blockers: readonly DrainBlocker[] }
  | { readonly kind: "detachingVolumes"; readonly volumes: readonly string[] }
);

/** A host that waits. */
export interface DeletionWait {
  readonly key: NodeKey;
  readonly stage: DeletionStage;
}

/** As many as fit into a line that people read. */
const mostNamed = 3;

/** "2 pods have to go first since 2026-11-25T13:23:07Z: default/a (is ending), default/b (...)". Pure. */
export function stageText(stage: DeletionStage): string {
  const since = `since ${timeText(stage.sinceMs)}`;
  switch (stage.kind) {
    case "preDrainHook":
    case "preTerminateHook": {
      const named = stage.hooks.map(({ name, owner }) =>
        owner === "" ? name : `${name} (owner ${owner})`,
      );
      return `held by ${named.join(", ")} ${since}`;
    }
    case "draining": {
      const named = stage.blockers.map(({ pod, why }) => `${pod} (${why})`);
      const count = named.length === 1 ? "1 pod has" : `${named.length} pods have`;
      return `${count} to go first ${since}: ${fewOf(named)}`;
    }
    case "detachingVolumes": {
      const { volumes } = stage;
      const count = volumes.length === 1 ? "1 volume has" : `${volumes.length} volumes have`;
      return `${count} to be detached first ${since}: ${fewOf(volumes)}`;
    }
    default:
      return assertNever(stage);
  }
}

/** "LocalHost/web-1: 1 pod has to go first ...; LocalHost/web-2: ...", host by host. Pure. */
export function waitsText(waits: readonly DeletionWait[]): string {
  return waits.map(({ key, stage }) => `${key}: ${stageText(stage)}`).join("; ");
}

function fewOf(names: readonly string[]): string {
  const more = names.length > mostNamed ? [`${names.length - mostNamed} more`] : [];
  return [...names.slice(0, mostNamed), ...more].join(", ");
}
