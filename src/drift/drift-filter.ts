import type { JsonObject } from "../api/json.js";
import type { NodeKey } from "../graph/graph.js";
import type { Plan, IgnoredDrift } from "../plan/plan.js";
import type { Observation, PresentResource, ObservedResource } from "../plan/observation.js";
import {
  cloudResources,
  type PriorState,
  recordedIdentity,
  type RecordedResource,
  recordedSpec,
} from "../records/prior-state.js";
import type { DriftReport } from "./classify.js";
import { driftText } from "./fields.js";
import type { DriftDecision, JudgedDrift, JudgedItem } from "./judge.js";

/** How a planner sees the cloud: drift that is ignored is left out. */
export interface DriftFilter {
  /** Pure; the same at every observation of one run. */
  apply(observation: Observation, state: PriorState): Observation;
  /** What it hides; in the report's order. */
  readonly ignoredDrift: readonly IgnoredDrift[];
}

/** Shows everything as it is. */
export const noFilter: DriftFilter = { apply: (observation) => observation, ignoredDrift: [] };

/**
 * Shows what is to be corrected as it is, hosts that a policy replaces as unfit, and everything else as
 * it is recorded, so that a plan does not touch it. What `asked` has steps for is shown as it is: a
 * change that somebody asks for is not held back by drift. Pure.
 */
export function driftFilterOf({ items }: JudgedDrift, asked?: Plan): DriftFilter {
  const isAsked = askedOf(asked);
  const hidden = items.filter((one) => isIgnored(one.decision) && !isAsked(one));
  const unfit = items.filter((one) => one.decision.kind === "replace" && !isAsked(one));
  return filterHiding(
    hidden.map(({ item, decision }) => ({ ...item, because: decision.kind })),
    new Map(unfit.map(({ item }) => [item.key, unfitText(item)])),
  );
}

/** A plan that was made with a filter, with what the filter hides. Pure. */
export function withIgnoredDrift(plan: Plan, { ignoredDrift }: DriftFilter): Plan {
  return ignoredDrift.length === 0 ? plan : { ...plan, ignoredDrift };
}

/** Hides all drift, so that a plan shows what somebody asked for and nothing else. Pure. */
export function filterOfAllDrift({ items }: DriftReport): DriftFilter {
  return filterHiding(
    items.map((item) => ({ ...item, because: "report" })),
    new Map(),
  );
}

/** Shows everything as it is recorded, and nothing else: for what changes records alone. */
export const recordedOnly: DriftFilter = {
  apply: (observation, state) => ({
    ...observation,
    observedResources: new Map(
      cloudResources(state).map((record) => [record.key, asRecorded(record, "gone")]),
    ),
    unrecorded: [],
  }),
  ignoredDrift: [],
};

/** Of whatever class: only what is put up with is hidden. */
interface Hidden {
  readonly key: NodeKey;
  readonly class: string;
  readonly id?: string;
  readonly because: DriftDecision["kind"];
}

function filterHiding(hidden: readonly Hidden[], unfit: ReadonlyMap<NodeKey, string>): DriftFilter {
  const extras = new Set(hidden.filter((one) => one.class === "extra").map(({ id }) => id));
  const masked = new Set(hidden.filter((one) => one.class !== "extra").map(({ key }) => key));
  const ignoredDrift = hidden.flatMap(({ key, because }) =>
    because === "correct" || because === "replace" ? [] : [{ key, because }],
  );
  if (hidden.length === 0 && unfit.size === 0) return noFilter;
  const see = (observation: Observation, state: PriorState): Observation => {
    const records = new Map(cloudResources(state).map((record) => [record.key, record]));
    const observedResources = [...observation.observedResources].map(
      ([key, observed]): [NodeKey, ObservedResource] => {
        const record = records.get(key);
        const reason = unfit.get(key);
        if (record === undefined) return [key, observed];
        if (masked.has(key)) return [key, asRecorded(record, observed)];
        if (reason === undefined || observed === "gone") return [key, observed];
        return [key, { ...observed, spec: recordedSpec(record), unfit: reason }];
      },
    );
    return {
      ...observation,
      observedResources: new Map(observedResources),
      unrecorded: observation.unrecorded.filter(({ id }) => !extras.has(id)),
    };
  };
  return { apply: see, ignoredDrift };
}

function isIgnored({ kind }: DriftDecision): boolean {
  return kind !== "correct" && kind !== "replace";
}

/** A resource as if nothing had happened to it: it runs, and has for a while. */
function asRecorded(record: RecordedResource, observed: ObservedResource): PresentResource {
  const spec = recordedSpec(record);
  if (observed !== "gone" && observed.phase !== "failed") return { ...observed, spec };
  return {
    id: record.id ?? "",
    who: recordedIdentity(record),
    phase: "ready",
    spec,
    status: (record.outputs["status"] ?? {}) as JsonObject,
    readySinceMs: 0,
    missing: "health",
  };
}

function unfitText(item: JudgedItem["item"]): string {
  const fields = "fields" in item ? `: ${driftText(item.fields)}` : "";
  return `it drifted${fields}; its drift policy asks for a new host`;
}

/**
 * What a plan that sees no drift has steps for, and what would stand in the way of these: where it
 * changes the control plane, members that only wait for their turn, as quorum counts on them; where
 * something that machines share goes, what an apply that broke off has left on it.
 */
function askedOf(asked: Plan | undefined): (one: JudgedItem) => boolean {
  if (asked === undefined) return () => false;
  const keys = new Set(asked.steps.map(({ key }) => key));
  const changesMembers = [...asked.target.machines, ...asked.leaving].some(
    ({ controlPlane, host }) => controlPlane && keys.has(host),
  );
  const takesAway = asked.infrastructure.some(
    ({ kind }) => kind === "replace" || kind === "delete",
  );
  return ({ item, decision }) =>
    keys.has(item.key) ||
    (takesAway && item.class === "extra") ||
    (changesMembers && decision.kind === "overBudget" && item.machine?.controlPlane === true);
}
