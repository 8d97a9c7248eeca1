import type { JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { nearestChoice, type VerdictGiver } from "../../provider/alternatives.js";
import { isLost, lossText, stoppedText } from "../../provider/failure.js";
import type { Verdict } from "../../provider/port.js";
import { changesOf, type ChangedField } from "../step.js";
import { hasDrifted, type ObservedResource, type ObservedResources } from "../observation.js";
import { type RecordedResource, recordedSpec } from "../../records/prior-state.js";

/** A recorded resource held against what is wanted. */
export interface Judged {
  readonly resource: RecordedResource;
  readonly gone: boolean;
  /** The cloud is deleting it: it is there, and serves nobody, whichever way a plan goes. */
  readonly deleting: boolean;
  /** Why it cannot serve on, whatever it is like: the cloud says that it never will run. */
  readonly unfit?: string;
  /** It has left its control plane, since its deletion had begun: it serves nobody, whichever way a plan goes. */
  readonly hasLeft?: true;
  /** Why it does not serve on for long, although it runs. */
  readonly leaving?: string;
  readonly verdict: Verdict;
  readonly changes: readonly ChangedField[];
  /** The record differs from the cloud and has to be read again before it is changed. */
  readonly stale: boolean;
  /** An earlier change in place of it was not finished: it is changed, also to what it is already. */
  readonly isUnfinished: boolean;
  /** Why it is to be started; absent: it runs, or never will. */
  readonly stopped?: string;
}

/** Whether it is there, and not on its way out: a member that has left its control plane can only go. Pure. */
export function isAlive({ gone, deleting, hasLeft }: Judged): boolean {
  return !gone && !deleting && hasLeft !== true;
}

/** Whether a resource with this verdict can go on to serve. */
export function canServe(verdict: Verdict): boolean {
  return verdict.kind === "same" || verdict.kind === "inPlace";
}

/** Judges by what the cloud shows; by the record where a resource is gone. Keeps the order. Pure. */
export function judge(
  provider: VerdictGiver,
  recorded: readonly RecordedResource[],
  wanted: JsonObject,
  observedResources: ObservedResources,
): Judged[] {
  return recorded.map((resource) => {
    const observed = observedResources.get(resource.key);
    const record = recordedSpec(resource);
    const current = observed === undefined || observed === "gone" ? record : observed.spec;
    const { asked, verdict } = nearestChoice(provider, resource.kind, current, wanted);
    return {
      resource,
      gone: observed === "gone",
      deleting: observed !== undefined && observed !== "gone" && observed.phase === "deleting",
      ...unfitness(observed, subjectOf(resource)),
      verdict,
      changes: changesOf(verdict, current, asked),
      stale: hasDrifted(observed, record),
      isUnfinished: resource.unfinished || (observed !== "gone" && observed?.halfChanged === true),
      ...stoppedness(observed, subjectOf(resource)),
    };
  });
}

function stoppedness(
  observed: ObservedResource | undefined,
  subject: string,
): Pick<Judged, "stopped"> {
  if (observed === undefined || observed === "gone" || observed.phase !== "stopped") return {};
  return { stopped: stoppedText(subject, observed) };
}

/** What reasons call a resource that is theirs. Pure. */
export function subjectOf({ parent }: Pick<RecordedResource, "parent">): string {
  return parent === undefined ? "it" : "its host";
}

/** Why a host is replaced that runs, and will not for long. Pure. */
export function leavingText(subject: string, leavesAtMs: number): string {
  return `the cloud takes ${subject} away at ${new Date(leavesAtMs).toISOString()}`;
}

/** Why a resource with such a look serves nobody on, or not for long. Pure. */
export function unfitness(
  observed: ObservedResource | undefined,
  subject: string,
): Pick<Judged, "unfit" | "leaving" | "hasLeft"> {
  if (observed === undefined || observed === "gone") return {};
  if (observed.hasLeft === true) {
    return { unfit: `${subject} has left its control plane`, hasLeft: true };
  }
  if (isLost(observed)) return { unfit: lossText(subject, observed) };
  if (observed.unfit !== undefined) return { unfit: observed.unfit };
  return observed.leavesAtMs === undefined
    ? {}
    : { leaving: leavingText(subject, observed.leavesAtMs) };
}

/**
 * The state of a recorded resource as reasons for a successor: it is gone, it never will run, or it does not serve
 * for long. Empty of one that is well. Pure.
 */
export function conditionReasons(
  observed: ObservedResource | undefined,
  subject: string,
): string[] {
  if (observed === "gone") return [goneText(subject)];
  const { unfit, leaving } = unfitness(observed, subject);
  return [unfit, leaving].filter((reason) => reason !== undefined);
}

function goneText(subject: string): string {
  return `${subject} is gone from the cloud`;
}

/** Why a machine gets a new host whose last one is positively gone. */
export const goneReason = goneText("its host");

/** What becomes of a node when a recorded resource goes on to serve it. */
export function serve({ isUnfinished, stopped, changes, stale }: Judged): Served {
  const reasons = [...(isUnfinished ? ["an earlier change did not finish"] : []), stopped];
  const told = reasons.filter((reason) => reason !== undefined);
  return omitUndefined<Served>({
    kind: changes.length + told.length > 0 ? "update" : "same",
    changes,
    reasons: told,
    stale,
    starts: stopped === undefined ? undefined : true,
  });
}

/** What becomes of a node whose recorded resource serves on. */
interface Served {
  readonly kind: "update" | "same";
  readonly changes: readonly ChangedField[];
  readonly reasons: readonly string[];
  readonly stale: boolean;
  /** It stands still, and is started. */
  readonly starts?: true;
}

/** What becomes of a node whose recorded resource must not be replaced: where it cannot follow it stays as it is. */
export function keep(judged: Judged) {
  if (canServe(judged.verdict)) return serve(judged);
  const { stale, resource } = judged;
  return {
    kind: "same" as const,
    changes: [],
    isLeft: true as const,
    reasons: ["somebody else has changed it; it is left as it is"],
    // Registered as it is recorded, so that has to be true.
    stale: stale || resource.unfinished,
  };
}

/** What becomes of a node when the recorded resource cannot follow: by what it is like, by what is wanted, or both. */
export function supersede({ verdict, changes, unfit }: Judged) {
  return {
    kind: verdict.kind === "unsupported" ? ("unsupported" as const) : ("replace" as const),
    changes,
    reasons: [...(unfit === undefined ? [] : [unfit]), ...verdictReasons(verdict)],
    stale: false,
  };
}

function verdictReasons(verdict: Verdict): string[] {
  return verdict.kind === "replace" || verdict.kind === "unsupported" ? [verdict.reason] : [];
}

/**
 * What becomes of a node whose last resource is there no more. Fields that differ are told with it, and no rule about
 * them counts: a successor is made in any case.
 */
export function succeed({ resource, gone, unfit, changes }: Judged) {
  const subject = subjectOf(resource);
  return {
    kind: "replace" as const,
    changes: changes.map(({ reason: _rule, disruptive: _disturbance, ...field }) => field),
    reasons: [gone || unfit === undefined ? goneText(subject) : unfit],
    stale: false,
  };
}
