import { nodeKey } from "../graph/graph.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { KeptSecret, Observed } from "../provider/port.js";
import { hostsInName } from "../records/host-name.js";
import { keptForm, type KnownCluster } from "./clusters.js";
import type { DeletionShare } from "./limits.js";
import { elsewhereText, type ListedCloud, type StackView, wantedKey } from "./stack-view.js";

/** What a provider listed in one cloud, of whatever cluster. */
export interface Listing extends ListedCloud {
  readonly resources: readonly Observed[];
  /** What its store keeps for hosts. */
  readonly secrets?: readonly KeptSecret[];
}

/** What a person has allowed beyond garbage. */
export interface SweepConsent {
  /** "<namespace>/<name>" of clusters that no stack holds and whose end was never recorded. */
  readonly lostClusters: readonly string[];
  /** Resources that may hold data to be kept (whenHostGoes: keep). */
  readonly keptData: boolean;
}

export interface SweepInput {
  readonly nowMs: number;
  /** A resource younger than this may belong to something that is not recorded yet. */
  readonly graceMs: number;
  readonly consent: SweepConsent;
  readonly clusters: readonly KnownCluster[];
  /** Every stack of the backend. */
  readonly views: readonly StackView[];
  readonly listings: readonly Listing[];
}

/**
 * What is to become of a resource: only `sweep` is deleted. `foreign` is somebody else's, `wanted` is in
 * use, `unknown` could be, `busy` is in the hands of a command, and `young` is given time. `lost` is of a cluster whose
 * stack is not here and whose end was never recorded, and `kept` may hold data to keep: both need a person's consent.
 */
export type SweepKind =
  "sweep" | "young" | "wanted" | "busy" | "foreign" | "unknown" | "lost" | "kept";

export interface SweepItem {
  readonly kind: SweepKind;
  readonly provider: string;
  /** Which of the listings shows it, from 0. */
  readonly listing: number;
  readonly resource: Observed;
  /** It is what a store keeps for this host, by its id, and not the host. */
  readonly isSecret?: true;
  readonly reason: string;
}

/** What people call it: "AwsVpc vpc", "secret of AwsInstance cp-0-3b81542a-1". Pure. */
export function sweepName({
  resource: { who },
  isSecret,
}: Pick<SweepItem, "resource" | "isSecret">): string {
  return `${isSecret === true ? "secret of " : ""}${who.kind} ${who.name}`;
}

/**
 * Decides on everything that exists with our marks, in the order of the listings; what is gone is left
 * out. A secret is wanted as long as its host is. Nothing is swept unless its UID is ours (law 5), everything that could want it was read and
 * does not, and its cluster is held by a stack or has an end on record (law 6). Pure.
 */
export function decideSweep(input: SweepInput): SweepItem[] {
  const clusters = new Map(input.clusters.map((one) => [one.clusterUid, one]));
  return input.listings.flatMap((listed, listing) => {
    const { provider, resources, secrets = [] } = listed;
    const there = resources.filter(({ phase }) => phase !== "gone");
    const found = [
      ...there.map((resource) => ({ resource })),
      ...secrets.map((secret) => ({ resource: asResource(secret), isSecret: true as const })),
    ];
    return found.map((one): SweepItem => {
      const cluster = clusters.get(one.resource.who.clusterUid);
      return { provider, listing, ...one, ...decide(one.resource, cluster, { ...input, listed }) };
    });
  });
}

function asResource({ name, who, createdAtMs }: KeptSecret): Observed {
  return omitUndefined<Observed>({
    id: name,
    who,
    phase: "ready",
    spec: {},
    status: {},
    createdAtMs,
  });
}

type Decision = Pick<SweepItem, "kind" | "reason">;

function decide(
  resource: Observed,
  cluster: KnownCluster | undefined,
  input: SweepInput & { readonly listed: Listing },
): Decision {
  if (cluster === undefined) {
    return { kind: "foreign", reason: "no cluster of this backend has its UID" };
  }
  const reasons: readonly (Decision | undefined)[] = [
    whoWants(resource, input.views),
    whatIsUnknown(resource, cluster, input.views),
    whoIsBusy(cluster, input),
    howLost(cluster, input),
    howYoung(resource, input),
    howKept(resource, cluster, input),
  ];
  const keeps = reasons.find((reason) => reason !== undefined);
  return keeps ?? { kind: "sweep", reason: whyGarbage(cluster, input.views) };
}

function whoWants(resource: Observed, views: readonly StackView[]): Decision | undefined {
  const { id, who } = resource;
  const key = wantedKey(who.clusterUid, nodeKey(who.kind, who.name));
  for (const view of views) {
    if (view.kind === "unreadable") continue;
    if (view.ids.has(id)) return { kind: "wanted", reason: `${view.stack} records it` };
    const reason = view.wanted.get(key);
    if (reason !== undefined) return { kind: "wanted", reason };
    if (view.holds?.isCopy(resource) === true) {
      return { kind: "wanted", reason: `${view.stack} has deleted the one of its name: a copy` };
    }
  }
  return undefined;
}

/**
 * That no stack records a resource is known only once every stack was read: one that cannot be may be a
 * renamed or a copied one, whose cluster is noted under another name. A state that is older than the cloud does not know what was
 * made since.
 */
function whatIsUnknown(
  resource: Observed,
  cluster: KnownCluster,
  views: readonly StackView[],
): Decision | undefined {
  const { who } = resource;
  const unknown = (reason: string): Decision => ({ kind: "unknown", reason });
  if (who.cluster !== cluster.cluster) {
    return unknown(`it carries the UID of ${cluster.cluster} under the name ${who.cluster}`);
  }
  if (cluster.movedAway) return unknown("its cluster was last changed through another backend");
  const unread = views.find((view) => view.kind === "unreadable");
  if (unread !== undefined) return unknown(`${unread.stack} may record it and cannot be read`);
  const older = views.find((view) => view.kind === "read" && view.holds?.isNewer(resource));
  return (
    older && unknown(`it was made after all that ${older.stack} tells, whose state is an older one`)
  );
}

/** A cluster that somebody works on, or that is recorded in another cloud than the one that was listed. */
function whoIsBusy(
  { stacks }: KnownCluster,
  { views, listed }: { readonly views: readonly StackView[]; readonly listed: Listing },
): Decision | undefined {
  for (const view of views) {
    if (view.kind === "unreadable" || !stacks.includes(view.stack)) continue;
    const isOfProvider = view.holds?.provider === listed.provider;
    const reason = view.busy ?? (isOfProvider ? elsewhereText(view, [listed]) : undefined);
    if (reason !== undefined) return { kind: "busy", reason };
  }
  return undefined;
}

function howYoung({ createdAtMs }: Observed, { nowMs, graceMs }: SweepInput): Decision | undefined {
  if (graceMs === 0) return undefined;
  if (createdAtMs === undefined) {
    return { kind: "young", reason: "the cloud does not tell its age" };
  }
  // Whatever is no number is not old enough either.
  if (nowMs - createdAtMs >= graceMs) return undefined;
  return { kind: "young", reason: `it is younger than ${graceMs / 60_000} min` };
}

/** Clusters that no stack holds and whose end was never recorded: a stack file is lost, or `pulumi stack rm` took it. Pure. */
export function lostAmong(
  clusters: readonly KnownCluster[],
  views: readonly StackView[],
): KnownCluster[] {
  return clusters.filter((one) => !one.hasEnded && !isHeld(one, views));
}

/** Why a resource of a lost cluster stays: no user has named that cluster. Pure. */
export function howLost(
  cluster: KnownCluster,
  { views, consent }: SweepInput,
): Decision | undefined {
  if (lostAmong([cluster], views).length === 0) return undefined;
  if (consent.lostClusters.includes(cluster.cluster)) return undefined;
  return { kind: "lost", reason: "no stack holds its cluster, whose end was never recorded" };
}

/** Of a dependent resource that no note speaks of, only a person can tell whether it is to be kept. Pure. */
export function howKept(
  { who: { kind, name } }: Observed,
  { keeps }: KnownCluster,
  { consent }: SweepInput,
): Decision | undefined {
  const forms = hostsInName(name).map((host) => keptForm(kind, name.slice(`${host}-`.length)));
  if (consent.keptData || !forms.some((form) => keeps?.includes(form) ?? true)) return undefined;
  return { kind: "kept", reason: "it may hold data to keep (whenHostGoes: keep)" };
}

function whyGarbage(cluster: KnownCluster, views: readonly StackView[]): string {
  if (isHeld(cluster, views)) return `${cluster.stacks.join(", ")} neither records nor wants it`;
  return cluster.hasEnded
    ? "its cluster has ended"
    : "no stack holds its cluster, and --lost-cluster names it";
}

function isHeld({ clusterUid }: KnownCluster, views: readonly StackView[]): boolean {
  return views.some((view) => view.kind === "read" && view.holds?.clusterUid === clusterUid);
}

/**
 * What a second look at the same listings makes of a first one: something is swept only if both say
 * so. What the first look has seen wanted may have been unrecorded since by its rightful owner. Pure.
 */
export function confirmed(
  first: readonly SweepItem[],
  second: readonly SweepItem[],
): readonly SweepItem[] {
  return first.map((item, index) => (item.kind === "sweep" ? (second[index] ?? item) : item));
}

export function shareOf(items: readonly SweepItem[]): DeletionShare {
  return {
    toDelete: items.filter(({ kind }) => kind === "sweep").length,
    owned: items.filter(({ kind }) => kind !== "foreign").length,
  };
}
