import { omitUndefined } from "../api/omit-undefined.js";
import type { NodeKey } from "../graph/graph.js";
import type { IgnoredDrift, RemainingPlan } from "../plan/plan.js";
import type { Observation, PresentResource, ObservedResource } from "../plan/observation.js";
import {
  cloudResources,
  type PriorState,
  recordedIdentity,
  type RecordedResource,
  recordedSpec,
  recordedStatus,
} from "../records/prior-state.js";
import { isQuiet } from "../plan/step.js";
import { isDown } from "../provider/failure.js";
import { type DriftItem, type DriftReport, isOfTime } from "./classify.js";
import { driftText } from "./fields.js";
import { ailmentText } from "./health.js";
import type { JudgedItem } from "./judge.js";
import { expiringText } from "./renewal.js";

/**
 * How a planner, and the run that applies its plan, see the cloud: the same at every observation of one
 * transaction. Data; `filtered` applies it.
 */
export interface DriftFilter {
  /** What is left as it is; in the report's order. Extra resources by id, all others by key. */
  readonly hidden: readonly HiddenDrift[];
  /** Why hosts that may well run are to be replaced. */
  readonly unfit: ReadonlyMap<NodeKey, string>;
}

/** A finding that nobody acts on, and why. */
interface HiddenDrift extends IgnoredDrift {
  readonly class: DriftItem["class"];
  readonly id?: string;
}

/** Shows everything as it is. */
export const noFilter: DriftFilter = { hidden: [], unfit: new Map() };

/**
 * Shows what is to be corrected as it is, hosts that a policy replaces as unfit, and everything else as
 * it is recorded, so that a plan does not touch it. What `asked` has steps for is shown as it is: a
 * change that somebody asks for is not held back by drift. Pure.
 */
export function driftFilterOf(
  items: readonly JudgedItem[],
  asked: RemainingPlan | undefined,
): DriftFilter {
  const isAsked = askedOf(asked);
  const isDisturbed = askedOf(
    asked && { ...asked, steps: asked.steps.filter((step) => !isQuiet(step)) },
  );
  const isHealedWithChange = (one: JudgedItem) => waitsItsTurn(one) && isDisturbed(one);
  return {
    hidden: items.filter(isOurs).flatMap((one) => (isAsked(one) ? [] : hiddenOf(one))),
    unfit: new Map(
      items
        .filter(
          (one) =>
            isHealed(one) ||
            (isAsked(one) ? isHealedWithChange(one) : one.decision.kind === "replace"),
        )
        .map(({ item }) => [item.key, unfitText(item)]),
    ),
  };
}

/**
 * Hides all drift, so that a plan shows what somebody asked for and nothing else. `released`: what loses our marks by it, also without a
 * record. Pure.
 */
export function filterOfAllDrift(
  { items }: DriftReport,
  released: ReadonlySet<NodeKey> = new Set(),
): DriftFilter {
  return {
    hidden: items
      .filter(({ external, class: found, key }) => {
        return external !== true && !(found === "extra" && released.has(key));
      })
      .map((item) => hiddenAs("report", item)),
    unfit: new Map(),
  };
}

/** Whether a finding with this decision is shown otherwise than it is. Pure. */
export function isFiltered(one: JudgedItem): boolean {
  return isOurs(one) && (one.decision.kind !== "correct" || isHealed(one));
}

/** A host that the cloud has nothing against, and that is to go all the same. */
function isHealed({ item, decision }: JudgedItem): boolean {
  return isOfTime(item) && decision.kind === "correct";
}

/** One that only waits for its turn gets its new host with a change of it that somebody asks for: as it is it would hold that up. */
function waitsItsTurn({ item, decision }: JudgedItem): boolean {
  return item.class === "unhealthy" && decision.kind === "overBudget" && decision.allowed > 0;
}

/** The resources that a filter shows as they are recorded: also their Nodes stay as they are. Pure. */
export function hiddenIn({ hidden }: DriftFilter = noFilter): ReadonlySet<NodeKey> {
  return new Set(hidden.map(({ key }) => key));
}

/** What a plan that is made with a filter leaves as it is. Pure. */
export function ignoredDriftOf(driftFilter: DriftFilter): IgnoredDrift[] {
  return driftFilter.hidden.map(({ key, because }) => ({ key, because }));
}

/** What the cloud shows, as a filter lets it be seen. Pure. */
export function filtered(
  driftFilter: DriftFilter,
  observation: Observation,
  state: PriorState,
): Observation {
  const { hidden, unfit } = driftFilter;
  if (hidden.length === 0 && unfit.size === 0) return observation;
  const extras = new Set(hidden.filter((one) => one.class === "extra").map(({ id }) => id));
  const masked = new Set(hidden.filter((one) => one.class !== "extra").map(({ key }) => key));
  const recorded = new Map(cloudResources(state).map((record) => [record.key, record]));
  const shown = ([key, observed]: [NodeKey, ObservedResource]): [NodeKey, ObservedResource] => {
    const record = recorded.get(key);
    const reason = unfit.get(key);
    if (record === undefined) return [key, observed];
    if (masked.has(key)) return [key, asRecorded(record, observed)];
    if (reason === undefined || observed === "gone") return [key, observed];
    return [key, { ...observed, spec: recordedSpec(record), unfit: reason, missing: "health" }];
  };
  return {
    ...observation,
    observedResources: new Map([...observation.observedResources].map(shown)),
    unrecorded: observation.unrecorded.filter(({ id }) => !extras.has(id)),
  };
}

/** Nothing that is not ours is in the records that a filter shows. */
function isOurs({ item }: JudgedItem): boolean {
  return item.external !== true;
}

function hiddenOf({ item, decision: { kind } }: JudgedItem): HiddenDrift[] {
  return kind === "correct" || kind === "replace" ? [] : [hiddenAs(kind, item)];
}

/**
 * A resource as if nothing had happened to it: it runs, and has for a while. Of what the cloud shows nothing comes through but
 * what is named here, so that nothing it may ever tell makes a plan act on what is to be left alone.
 */
function asRecorded(record: RecordedResource, observed: ObservedResource): PresentResource {
  const spec = recordedSpec(record);
  if (observed !== "gone" && !isDown(observed)) {
    const { id, who, phase, status, createdAtMs, readySinceMs, node } = observed;
    return omitUndefined({ id, who, phase, spec, status, createdAtMs, readySinceMs, node });
  }
  return {
    id: record.id ?? "",
    who: recordedIdentity(record),
    phase: "ready",
    spec,
    status: recordedStatus(record),
    readySinceMs: 0,
    missing: "health",
  };
}

function hiddenAs(because: IgnoredDrift["because"], item: DriftItem): HiddenDrift {
  const { key, class: found, id } = item;
  return omitUndefined({ key, class: found, because, id });
}

function unfitText(item: JudgedItem["item"]): string {
  if (item.class === "unhealthy") return ailmentText(item.ailment);
  if (item.class === "expiring") return expiringText(item.expiry);
  const fields = "fields" in item ? `: ${driftText(item.fields)}` : "";
  return `it drifted${fields}; its drift policy asks for a new host`;
}

/**
 * What a plan that sees no drift has steps for, and what would stand in the way of these: where it
 * changes the control plane, members that only wait for their turn, as quorum counts on them; where
 * something that machines share goes, what an apply that broke off has left on it.
 */
function askedOf(asked: RemainingPlan | undefined): (one: JudgedItem) => boolean {
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
