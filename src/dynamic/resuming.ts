import { omitUndefined } from "../api/omit-undefined.js";
import { nodeKey, type NodeKey } from "../graph/graph.js";
import { standsStill } from "../provider/failure.js";
import type { Observed } from "../provider/port.js";
import { updatedByProperty } from "../records/open-updates.js";
import { phaseProperty, type Properties } from "./protocol.js";
import { whoOf } from "./recorded.js";

// An engine may be killed between the calls of one change in place, as between a stop and a start. What records say of that, and
// when a resource is updated that may have all its wanted inputs. Source: docs/adr/0056.

/** Changes in place of one transaction, in one engine run. */
export interface PlannedUpdates {
  /** The transaction's number: what is recorded of a resource once its change is finished. */
  readonly by: number;
  readonly keys: ReadonlySet<NodeKey>;
}

/** What tells an engine run which changes in place to go on with. */
export interface ResumingRun {
  readonly mode: "stepwise" | "inline" | "records";
  /** What the plan changes in place in this engine run; absent under a plain `pulumi`, which goes by the records alone. */
  readonly changing?: PlannedUpdates;
}

/**
 * Whether a resource is to be updated that is recorded with all its wanted inputs. Under our own commands the plan says so; a plain
 * `pulumi` updates what the last refresh has shown as failed and its program still registers. Pure.
 */
export function mayResume({ mode, changing }: ResumingRun, kind: string, recorded: Properties) {
  // It is recorded of what stands still alone.
  if (mode === "inline") return recorded[phaseProperty] !== undefined;
  return changing?.keys.has(nodeKey(kind, whoOf(recorded).name)) === true;
}

/**
 * Whether an update has to change a resource that has all of its wanted spec: its last change may lack one call alone, a start.
 * `marks`: of an update; undefined: no update is under way. Pure.
 */
export function isLeftStopped(
  resource: Pick<Observed, "phase">,
  marks: Properties | undefined,
): boolean {
  return marks !== undefined && standsStill(resource);
}

/** What a record says of its changes in place, as long as no further one of them is finished. Pure. */
export function marksIn(recorded: Properties): Properties {
  return omitUndefined({ [updatedByProperty]: recorded[updatedByProperty] });
}

/** What a record says of them once it was read again. Pure. */
export function marksOfRead(
  { mode }: ResumingRun,
  recorded: Properties,
  observed: Observed,
): Properties {
  const phase = mode === "inline" && standsStill(observed) ? observed.phase : undefined;
  return omitUndefined({ ...marksIn(recorded), [phaseProperty]: phase });
}

/** What a record says of them once an update is finished. Pure. */
export function marksOfUpdate(
  { changing }: ResumingRun,
  kind: string,
  recorded: Properties,
): Properties {
  const isPlanned = changing?.keys.has(nodeKey(kind, whoOf(recorded).name)) === true;
  return isPlanned ? { [updatedByProperty]: changing.by } : marksIn(recorded);
}
