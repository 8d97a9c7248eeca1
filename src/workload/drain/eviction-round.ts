import type { PodVerdict } from "./pod-verdict.js";

/** A pod with what was decided about it. */
export interface JudgedPod {
  readonly namespace: string;
  readonly name: string;
  readonly isBeingDeleted: boolean;
  readonly verdict: Exclude<PodVerdict, { kind: "error" }>;
}

/** What one round of a drain does; pods by namespace and name. */
interface EvictionRound<P extends JudgedPod> {
  /** They stay, and go with their node. */
  readonly ignored: readonly P[];
  readonly evict: readonly P[];
  /** They were evicted already, or somebody else deletes them. */
  readonly leaving: readonly P[];
  /** They have to end by themselves. */
  readonly awaited: readonly P[];
  /** Of higher orders. */
  readonly evictLater: readonly P[];
  readonly awaitedLater: readonly P[];
}

/** Only the lowest order among those that have to go is handled; nothing is left to do where no list but `ignored` holds any. Pure. */
export function evictionRound<P extends JudgedPod>(pods: readonly P[]): EvictionRound<P> {
  const sorted = pods.toSorted(byName);
  const going = sorted.filter(({ verdict }) => verdict.kind !== "skip");
  const now = Math.min(...going.map(orderOf));
  const due = going.filter((pod) => orderOf(pod) === now);
  const later = going.filter((pod) => orderOf(pod) !== now);
  const toDrain = due.filter(({ verdict }) => verdict.kind === "drain");
  return {
    ignored: sorted.filter(({ verdict }) => verdict.kind === "skip"),
    evict: toDrain.filter(({ isBeingDeleted }) => !isBeingDeleted),
    leaving: toDrain.filter(({ isBeingDeleted }) => isBeingDeleted),
    awaited: due.filter(({ verdict }) => verdict.kind === "wait"),
    evictLater: later.filter(({ verdict }) => verdict.kind === "drain"),
    awaitedLater: later.filter(({ verdict }) => verdict.kind === "wait"),
  };
}

/** What an API server says to an eviction. */
export type EvictionAnswer =
  | { readonly kind: "accepted" }
  /** There is no such pod any more. */
  | { readonly kind: "gone" }
  /** It is asked again in a later round. */
  | { readonly kind: "refused"; readonly reason: RefusalReason; readonly text: string };

export type RefusalReason =
  /** A budget allows no disruption now. */
  "too-many-requests" | "namespace-terminating" | "other-error";

/** How a round has ended. */
interface RoundOutcome<P extends JudgedPod> extends Pick<
  EvictionRound<P>,
  "ignored" | "leaving" | "awaited" | "evictLater" | "awaitedLater"
> {
  readonly gone: readonly P[];
  readonly refused: readonly {
    readonly pod: P;
    readonly reason: RefusalReason;
    readonly text: string;
  }[];
}

/** With the answers to its evictions; one without counts as a refusal. Pure. */
export function outcomeOf<P extends JudgedPod>(
  { evict, ...round }: EvictionRound<P>,
  answers: ReadonlyMap<P, EvictionAnswer>,
): RoundOutcome<P> {
  const none: EvictionAnswer = { kind: "refused", reason: "other-error", text: "no answer" };
  const answered = evict.map((pod) => ({ pod, answer: answers.get(pod) ?? none }));
  const withAnswer = (kind: EvictionAnswer["kind"]) =>
    answered.filter(({ answer }) => answer.kind === kind).map(({ pod }) => pod);
  return {
    ...round,
    leaving: [...round.leaving, ...withAnswer("accepted")].sort(byName),
    gone: withAnswer("gone"),
    refused: answered.flatMap(({ pod, answer }) =>
      answer.kind === "refused" ? [{ pod, reason: answer.reason, text: answer.text }] : [],
    ),
  };
}

/** A pod that keeps its node from being drained, and why. */
export interface DrainBlocker {
  /** "<namespace>/<name>". */
  readonly pod: string;
  /** "is ending", or what an API server said. */
  readonly why: string;
}

/** What a round of a drain has found. */
export interface DrainLook {
  /** When the Node was told to take no more pods, milliseconds since the epoch; absent: nobody has written it down. */
  readonly sinceMs?: number;
  /** Who is still in the way; none: the Node is drained. */
  readonly blockers: readonly DrainBlocker[];
}

/** What is still in the way, those first that do not go by themselves. None: the node is drained. Pure. */
export function blockersAfter<P extends JudgedPod>(outcome: RoundOutcome<P>): DrainBlocker[] {
  const { refused, awaited, leaving, evictLater, awaitedLater } = outcome;
  const named = (pods: readonly P[], why: string) =>
    pods.map(({ namespace, name }) => ({ pod: `${namespace}/${name}`, why }));
  return [
    ...refused.map(({ pod, text }) => ({ pod: `${pod.namespace}/${pod.name}`, why: text })),
    ...named(awaited, "has to complete"),
    ...named(leaving, "is ending"),
    ...named([...evictLater, ...awaitedLater], "goes after others"),
  ];
}

function orderOf({ verdict }: JudgedPod): number {
  return verdict.kind === "skip" ? 0 : verdict.order;
}

function byName(one: JudgedPod, other: JudgedPod): number {
  if (one.namespace !== other.namespace) return one.namespace < other.namespace ? -1 : 1;
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
}
