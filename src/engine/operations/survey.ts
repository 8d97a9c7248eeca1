import type { NodeReports } from "../run/node-reports.js";
import { counted } from "../../api/counted.js";
import { CapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { Annotations } from "../../api/update-policy.js";
import { clusterNameOf, type Desired, stackNameOf } from "../../api/types.js";
import { noFilter, type DriftFilter } from "../../drift/drift-filter.js";
import type { JudgedDrift } from "../../drift/judge.js";
import {
  type PlanDriftRules,
  type PlanRequest,
  planWithDrift,
} from "../../drift/plan-with-drift.js";
import { BadInput } from "../../manifest/bad-input.js";
import type { Manifests } from "../../manifest/desired.js";
import {
  afterAdoption,
  asManifestsTell,
  type FoundCluster,
  foundTarget,
} from "../../plan/decisions/adoption.js";
import { checkImmutable } from "../../plan/refusals/immutable.js";
import { makePlan } from "../../plan/planner/make-plan.js";
import type { Plan } from "../../plan/plan.js";
import type { PlanGoal, RemovalConsent } from "../../plan/plan-input.js";
import { openRecordsRequest, type PriorState } from "../../records/prior-state.js";
import { makerOf, type OwnerMark } from "../../records/cluster-uid.js";
import { desiredIn, type Target } from "../../records/target.js";
import { changesRecordsOnly } from "../../records/transaction.js";
import type { OwnerMove } from "../../sets/moves.js";
import type {
  CallContext,
  InfrastructureProvider,
  Lookups,
  Observed,
} from "../../provider/port.js";
import { isAdopting } from "./adopt.js";
import { findFacts, type FoundFacts } from "./found-facts.js";
import { withFindings } from "./findings.js";
import { type Observation, reading } from "../run/observe.js";
import { withPlaces } from "./placed-refusal.js";
import { planOpenRequest } from "./records-only.js";
import { refuseProgramValues } from "./program-values.js";
import { refuseForeign, refuseNonOwner, type StackState } from "../backend/state.js";

interface SurveyInput {
  readonly desired: Desired;
  /** Where members of the objects were written. */
  readonly positionOf: Manifests["positionOf"];
  readonly provider: InfrastructureProvider;
  readonly state: StackState;
  readonly context: CallContext;
  /**
   * Take over what the cloud holds of this cluster although the state knows nothing of it; given as
   * the UID that it has, nothing of another one.
   */
  readonly adopt: boolean | string;
  /** Mints a cluster UID, with the mark of its owner; called once, for a cluster without state. */
  newClusterUid(): string;
  /** Of whoever works here; undefined where it cannot be told. Called where the cloud holds what the state does not know. */
  readonly ownerMark: () => OwnerMark | undefined;
  /** Random text; called once, used for a cluster without state. */
  newDigestKey(): string;
  readonly owner: string;
  /** What the caller wants to do, as a refusal says it; "change" without. */
  readonly verb?: "plan";
  /** Who asks: "<user>@<host>". */
  readonly by: string;
  /** How long the transaction may take, milliseconds. */
  readonly deadlineMs: number;
  /** Stages of an upgrade that the same command has brought about; none without. */
  readonly stagesBefore?: number;
  /** Derived Machines that somebody deleted. */
  readonly discarded?: readonly string[];
  /** Machines that get another owner; none without. */
  readonly moves?: readonly OwnerMove[];
  /** Delete marks on the objects of derived Machines, by their names. */
  readonly deleteMarks?: Readonly<Record<string, Annotations>>;
  /** A recorded graph to keep to for now, instead of what the objects say. */
  readonly instead?: Target;
  /** What may be lost that the Cluster does not allow to lose itself; nothing without. */
  readonly removal?: RemovalConsent;
  /** Keys are given, to be recorded where none are. */
  readonly givesKeys?: boolean;
  /** What was looked up is looked up again. */
  readonly refreshLookups?: boolean;
  /** Answers of a saved plan: they count, whatever is recorded. */
  readonly answers?: Lookups;
  /** What drift the plan leaves as it is. */
  readonly driftRules: PlanDriftRules;
  readonly nodeReports: NodeReports;
  /** Etcd is asked whatever the plan does: somebody shows how it is. */
  readonly asksEtcd?: boolean;
}

/** A plan, the observation that it was made from, and the drift filter in between. */
export interface Survey {
  readonly plan: Plan;
  /** Of an adoption: what the same objects lead to behind it. */
  readonly then?: Plan;
  readonly observation: Observation;
  /** What drifted, and what is to become of it; absent of an adoption, which has no records yet to tell it by. */
  readonly judged?: JudgedDrift;
  /** For the run that applies the plan. */
  readonly driftFilter: DriftFilter;
}

/**
 * State and cloud looked at together, and the plan that follows. Changes nothing. Throws BadInput
 * for changes that cannot be made, NOT_OWNER, AMBIGUOUS_OWNER, and what `look` and `makePlan` throw.
 */
export async function survey(input: SurveyInput): Promise<Survey> {
  const { desired, provider, state, context } = input;
  if (input.instead === undefined) refuseProgramValues(desired, state);
  if (input.instead === undefined) refuseImmutable(desired, state, input.positionOf);
  refuseForeign(state, stackNameOf(desired.cluster));
  refuseNonOwner(state, input.owner, input.verb ?? "change");
  const cluster = clusterNameOf(desired.cluster);
  const known = state.transaction?.clusterUid;
  const scope = known === undefined ? { cluster } : { cluster, clusterUid: known };
  const looked = { provider, records: state, context, asksEtcd: input.asksEtcd ?? false };
  const observation = await input.nodeReports.observe(scope, looked);
  await refuseEarlierLife(observation, input);
  if (goesOnWithRequest(input)) {
    const { clock, signal: stop } = context;
    return { ...planOpenRequest(state, observation, { ...input, clock, stop }), observation };
  }
  const facts = input.instead === undefined ? await factsFor(input) : {};
  const lostUid = known === undefined ? adoptedUid(input, observation.unrecorded) : undefined;
  const request = {
    provider,
    nowMs: context.clock.now(),
    owner: input.owner,
    by: input.by,
    deadlineMs: input.deadlineMs,
    newDigestKey: input.newDigestKey(),
    newClusterUid: known ?? lostUid ?? input.newClusterUid(),
    removal: input.removal ?? {},
    givesKeys: input.givesKeys ?? false,
    ...facts,
  };
  if (lostUid !== undefined || isAdopting(state)) {
    return {
      ...surveyFound(input, { observation, request }),
      observation,
      driftFilter: noFilter,
    };
  }
  const found = withPlaces(desired, input.positionOf, () =>
    planWithDrift(
      {
        ...request,
        planGoal: planGoalOf(input),
        goal: omitUndefined({ kind: "up", moves: input.moves }),
        prior: state,
        stagesBefore: input.stagesBefore ?? 0,
      },
      omitUndefined({ ...observation, externals: facts.externals }),
      input.driftRules,
    ),
  );
  const plan = await withFindings(found.plan, {
    ...looked,
    observation,
    reports: input.nodeReports,
  });
  return { ...found, plan, observation };
}

function factsFor(input: SurveyInput): Promise<FoundFacts> {
  const { desired, positionOf, provider, state: prior, context, refreshLookups, answers } = input;
  const refresh = refreshLookups ?? false;
  return findFacts(
    omitUndefined({ desired, positionOf, provider, prior, context, refresh, answers }),
  );
}

/**
 * Law 12: that everything is gone may mean that the state is of an earlier life of the cluster, as one from a backup.
 * What would be made then, another life has already. Throws NOT_OWNER, AMBIGUOUS_OWNER, and what the listing fails with.
 */
async function refuseEarlierLife(
  { observedResources }: Observation,
  { desired, provider, state, context, ownerMark }: SurveyInput,
): Promise<void> {
  const seen = [...observedResources.values()];
  if (seen.length === 0 || seen.some((one) => one !== "gone")) return;
  const cluster = clusterNameOf(desired.cluster);
  const listed = await reading(context, () => provider.inventory(context, { cluster }));
  const others = listed.filter(
    ({ phase, who }) => phase !== "gone" && who.clusterUid !== state.transaction?.clusterUid,
  );
  if (others.length === 0) return;
  const maker = otherMaker(others, ownerMark());
  throw new CapstanError({
    code: maker === undefined ? "AMBIGUOUS_OWNER" : "NOT_OWNER",
    source: "user",
    subject: cluster,
    message: `cannot change ${cluster}: all that its state records is gone, and the cloud holds ${counted(others.length, "resource")} of another life of it: the state is that of an earlier one${maker ?? ""}`,
    hint: "bring the newest state back; if there is none, capstan destroy gives this one up and leaves the other life alone, and capstan up --adopt takes that over; nothing was changed",
  });
}

/** Whether a plan only changes records, so that what the objects want comes behind it. Pure. */
export function comesFirst({ transaction: { goal } }: Pick<Plan, "transaction">): boolean {
  return changesRecordsOnly(goal);
}

/**
 * A request that changes records alone is finished, once begun, as a transaction of its own: a change behind it that is taken back does not
 * take it along. The manifests may have gone another way since: they have no Machine any more that was imported, or one again that was
 * forgotten. Then what they want takes its place. Adoptions are planned with what comes behind them.
 */
export function goesOnWithRequest({ desired, state, instead }: SurveyInput): boolean {
  const goal = openRecordsRequest(state);
  const isWanted = (machine: string) =>
    desired.machines.some(({ metadata }) => metadata.name === machine);
  if (instead !== undefined || goal === undefined) return false;
  if (goal.kind === "import") return isWanted(goal.machine);
  return goal.kind === "forget" && !isWanted(goal.machine);
}

/** What all plans of one survey have in common. */
type PlanContext = Omit<PlanRequest, "planGoal" | "goal" | "prior">;

/**
 * What is there comes into the records first, as it is; what the objects want of it comes behind that,
 * planned from the records as they will be. One that was begun is finished before anything else.
 */
function surveyFound(
  { desired, state, positionOf }: SurveyInput,
  { observation, request }: { readonly observation: Observation; readonly request: PlanContext },
): Pick<Survey, "plan" | "then"> {
  const { plan, found } = planAdoption(...adoptionAsked(desired, { state, observation, request }));
  const then = withPlaces(desired, positionOf, () =>
    makePlan({
      planGoal: { kind: "objects", desired },
      goal: { kind: "up" },
      ...request,
      ...afterAdoption(plan, found),
      unrecorded: goneAmong(observation.unrecorded),
    }),
  );
  return omitUndefined({ plan, then: then.empty ? undefined : then });
}

/** What an adoption is planned from: one that was begun is finished as it was asked for, whatever is wanted behind it. */
export function adoptionAsked(
  desired: Desired,
  about: Parameters<typeof planAdoption>[1],
): Parameters<typeof planAdoption> {
  const { state, request } = about;
  const { target } = state.transaction ?? {};
  if (target === undefined) return [desired, about];
  const lookups = { ...request.lookups, ...target.lookups };
  return [desiredIn(target), { ...about, request: { ...request, lookups } }];
}

/**
 * The plan that gives a record to everything that is alive of one life of the cluster, and what that is. Throws
 * SEVERAL_FOUND. Pure.
 */
export function planAdoption(
  desired: Desired,
  about: {
    readonly state: PriorState;
    readonly observation: Observation;
    readonly request: PlanContext;
  },
): { readonly plan: Plan; readonly found: readonly Observed[] } {
  const { state, observation, request } = about;
  const { provider, nowMs, newClusterUid } = request;
  const recorded = [...observation.observedResources.values()].filter((one) => one !== "gone");
  const alive = [...recorded, ...observation.unrecorded].filter(
    ({ phase, who }) => phase !== "gone" && who.clusterUid === newClusterUid,
  );
  refuseSeveral(alive);
  const { lookups, externals } = request;
  const cluster: FoundCluster = omitUndefined({
    desired,
    provider,
    nowMs,
    lookups,
    externals,
    found: alive,
  });
  const found = asManifestsTell(cluster);
  const target = foundTarget({ ...cluster, found });
  const plan = makePlan({
    planGoal: { kind: "recorded", target },
    goal: { kind: "adopt" },
    prior: state,
    ...observation,
    ...request,
  });
  return { plan, found };
}

/** Throws SEVERAL_FOUND naming all that carry one identity: whose record each is to have nobody can tell. */
function refuseSeveral(found: readonly Observed[]): void {
  const nameOf = ({ who }: Observed) => `${who.kind} ${who.name}`;
  const names = [...new Set(found.map(nameOf))];
  const several = names
    .map((name) => [name, found.filter((one) => nameOf(one) === name)] as const)
    .filter(([, alike]) => alike.length > 1);
  if (several.length === 0) return;
  throw new CapstanError({
    code: "SEVERAL_FOUND",
    source: "cloud",
    message: several
      .map(
        ([name, alike]) =>
          `cannot adopt ${name}: ${alike.map(({ id }) => id).join(", ")} are marked as it`,
      )
      .join("\n"),
    hint: "look at them and remove all but one of each by hand; nothing was changed",
  });
}

function goneAmong(unrecorded: readonly Observed[]): Observed[] {
  return unrecorded.filter(({ phase }) => phase === "gone");
}

function planGoalOf({ desired, discarded, deleteMarks, instead }: SurveyInput): PlanGoal {
  if (instead !== undefined) return { kind: "recorded", target: instead };
  return omitUndefined({ kind: "objects" as const, desired, discarded, deleteMarks });
}

/** Throws BadInput naming every field that cannot change while its object lives. */
export function refuseImmutable(
  desired: Desired,
  { transaction }: PriorState,
  positionOf: Manifests["positionOf"],
): void {
  const violations = checkImmutable(desired, transaction?.target);
  if (violations.length === 0) return;
  throw new BadInput(
    violations.map(({ object, violation: { path, ...violation } }) => ({
      ...violation,
      severity: "error",
      position: positionOf(object, path) ?? { file: "-", line: 1, column: 1 },
      subject: `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`,
      path: path.join("."),
    })),
  );
}

/** For people: that all of these are of clusters that somebody else has made; undefined where that cannot be told. */
function otherMaker(found: readonly Observed[], own: OwnerMark | undefined): string | undefined {
  const makers = [...new Set(found.map(({ who }) => makerOf(who.clusterUid)))];
  if (own === undefined || makers.some((maker) => maker === undefined || maker === own)) return;
  const which = makers.length === 1 ? "another owner" : "other owners";
  return `, made by ${which} (mark ${makers.join(", ")}; here clusters are made with ${own})`;
}

/**
 * Without state, resources that carry the cluster's name belong to somebody else, whom their marks tell, or to
 * somebody's lost state: a person has to say which. Throws NOT_OWNER for the first, AMBIGUOUS_OWNER.
 */
export function adoptedUid(
  input: Pick<SurveyInput, "desired" | "adopt" | "ownerMark">,
  unrecorded: readonly Observed[],
): string | undefined {
  const alive = unrecorded.filter(({ phase }) => phase !== "gone");
  const uids = [...new Set(alive.map(({ who }) => who.clusterUid))];
  const [only] = uids;
  if (only === undefined) return undefined;
  if (uids.length === 1 && [true, only].includes(input.adopt)) return only;
  const cluster = clusterNameOf(input.desired.cluster);
  const maker = otherMaker(alive, input.ownerMark());
  throw new CapstanError({
    code: maker === undefined ? "AMBIGUOUS_OWNER" : "NOT_OWNER",
    source: "user",
    subject: cluster,
    message: `cannot create ${cluster}: the cloud holds ${counted(alive.length, "resource")} of ${uids.length === 1 ? "a cluster" : `${uids.length} clusters`} of that name, and this state knows none of them${maker ?? ""}`,
    hint:
      uids.length === 1
        ? `use the state that they belong to, or take them over: with --adopt, or in an API server by the Cluster's annotations capstan.dev/cluster-uid=${only} and capstan.dev/bound-to=<its metadata.uid>`
        : "use the states that they belong to; nothing was changed",
  });
}
