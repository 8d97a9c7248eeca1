import semver from "semver";
import { CapstanError } from "../../api/error.js";
import { sameJson } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { minorOf } from "../../api/versions.js";
import { compileParts } from "../../compile/compile.js";
import { informed } from "../../compile/lookups.js";
import { keyOf, nodeKey, type NodeKey } from "../../graph/graph.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import type { ExpandedMachine } from "../../sets/expanded.js";
import { canServe } from "../decisions/verdicts.js";
import type { Observation } from "../observation.js";
import {
  cloudResources,
  type PriorState,
  recordedIdentity,
  recordedSpec,
} from "../../records/prior-state.js";
import type { PassedPoint, PointOfNoReturn, TransactionRecord } from "../../records/transaction.js";
import { type Target, type TargetMachine, clusterIn } from "../../records/target.js";

// Whether an open transaction is past what cannot be taken back. What that is, its plan has said: see undo.ts.

/**
 * Points of no return by version: an API server of a newer minor version writes objects that older ones cannot
 * read, and no member goes back to an older one. Hosts of the target whose control plane is newer than any of the
 * committed revision, or than its own machine's there, in name order. Pure. docs/upgrades.md#what-is-refused.
 */
export function versionPoints(
  provider: InfrastructureProvider,
  target: Target,
  from: Target | undefined,
): Extract<PointOfNoReturn, { kind: "version" }>[] {
  const newest = newestMinor(from);
  if (newest === -Infinity) return [];
  const before = new Map(from?.machines.map((machine) => [machine.name, machine]));
  const isRaised = (machine: TargetMachine) => {
    const own = before.get(machine.name);
    const least = own?.controlPlane === true ? controlPlaneMinor(own) : newest;
    return controlPlaneMinor(machine) > least;
  };
  return target.machines.filter(isRaised).map((machine) => ({
    kind: "version",
    machine: machine.name,
    host: machine.host,
    version: machine.spec.versions.controlPlane ?? "",
    fields: versionFields(machine, target, provider),
  }));
}

/** The resources that a point of no return is told by. Pure. */
export function hostsOfPoint(point: PointOfNoReturn | PassedPoint): readonly NodeKey[] {
  return point.kind === "quorum" ? point.members : [point.host];
}

/** What tells how far an open transaction has come. */
interface PassedQuestion extends Pick<
  Observation,
  "observedResources" | "unrecorded" | "unjoinedMembers"
> {
  readonly provider: InfrastructureProvider;
  readonly prior: PriorState;
}

/**
 * With what the open transaction is past its points of no return: those of transactions that it took the
 * place of, and those of its own plan that the cloud shows done. The cloud's word counts, not the
 * record's: an engine may have been killed between the two. Pure.
 */
export function passedPoints(question: PassedQuestion): PassedPoint[] {
  const { transaction, revision } = question.prior;
  if (transaction === undefined || transaction.number === revision?.number) return [];
  const before = transaction.crossed ?? [];
  const now = pointsOf(question.provider, question.prior).flatMap((point) =>
    arrived(point, transaction.target, question),
  );
  const hosts = new Set(now.flatMap(hostsOfPoint));
  return [...before.filter((one) => !hostsOfPoint(one).every((host) => hosts.has(host))), ...now];
}

/**
 * New hosts that close the way back once their API servers serve: their cluster can tell whether they have joined it. A
 * host of the last revision is changed in place, and is a member whatever it runs. Pure.
 */
export function newMembersOfPoints(
  provider: InfrastructureProvider,
  prior: PriorState,
): readonly NodeKey[] {
  const { transaction, revision } = prior;
  if (transaction === undefined || transaction.number === revision?.number) return [];
  const before = new Set(revision?.target.machines.map(({ host }) => host));
  return pointsOf(provider, prior).flatMap((point) =>
    point.kind === "version" && !before.has(point.host) ? [point.host] : [],
  );
}

/** What the plan of the open transaction said; of an early release's, as far as versions tell. */
function pointsOf(
  provider: InfrastructureProvider,
  { transaction, revision }: PriorState,
): readonly PointOfNoReturn[] {
  if (transaction === undefined || transaction.direction === "back") return [];
  const { pointsOfNoReturn, target } = transaction;
  return pointsOfNoReturn ?? versionPoints(provider, target, revision?.target);
}

function arrived(point: PointOfNoReturn, target: Target, question: PassedQuestion): PassedPoint[] {
  switch (point.kind) {
    case "version": {
      const { machine, host, version, fields } = point;
      const seen = aliveAs(host, question);
      const wanted = target.nodes.find((node) => keyOf(node) === host)?.spec ?? {};
      // Where no field carries the version, a host has it by being there.
      const has =
        fields.length === 0 ||
        fields.some((field) => sameJson(seen?.spec[field] ?? null, wanted[field] ?? null));
      return seen !== undefined && has && mayHaveServed(host, question)
        ? [{ kind: "version", machine, host, version }]
        : [];
    }
    case "data": {
      const seen = aliveAs(point.host, question);
      const has = Object.entries(point.fields).some(([field, value]) =>
        sameJson(seen?.spec[field] ?? null, value),
      );
      return seen !== undefined && has ? [point] : [];
    }
    case "quorum": {
      const left = point.members.filter((host) => aliveAs(host, question) !== undefined).length;
      return left < point.needed ? [{ ...point, left }] : [];
    }
  }
}

/** Whether the API server of a new member may have served: its cluster does not say that the member has not joined it. Pure. */
export function mayHaveServed(
  host: NodeKey,
  { unjoinedMembers }: Pick<PassedQuestion, "unjoinedMembers">,
): boolean {
  return unjoinedMembers?.has(host) !== true;
}

/** Whether an open transaction can be taken back. */
export type WayBack =
  | { readonly kind: "free" }
  /** It is past its point of no return. At least one. */
  | { readonly kind: "closed"; readonly crossed: readonly PassedPoint[] }
  /** The records do not say whether it is past one of these, and the cloud was not asked. At least one. */
  | { readonly kind: "unknown"; readonly points: readonly PointOfNoReturn[] };

/**
 * What is known of the way back of an open transaction: with a look at the cloud for certain, from the
 * records alone only that it is closed, or that nothing can have closed it. Pure.
 */
export function wayBackOf(
  provider: InfrastructureProvider | undefined,
  prior: PriorState,
  seen?: Pick<PassedQuestion, "observedResources" | "unrecorded" | "unjoinedMembers">,
): WayBack {
  const { transaction } = prior;
  if (transaction === undefined || transaction.direction === "back") return { kind: "free" };
  const passed =
    provider === undefined
      ? (transaction.crossed ?? [])
      : passedPoints({ provider, prior, ...(seen ?? recordedSight(provider, prior)) });
  if (passed.length > 0) return { kind: "closed", crossed: passed };
  const points =
    provider === undefined ? (transaction.pointsOfNoReturn ?? []) : pointsOf(provider, prior);
  const isCertain = points.length === 0 || (seen !== undefined && provider !== undefined);
  return isCertain ? { kind: "free" } : { kind: "unknown", points };
}

/** The records do not say whether a new member has served. */
function recordedSight(provider: InfrastructureProvider, prior: PriorState) {
  return {
    observedResources: asRecorded(prior),
    unrecorded: [],
    unjoinedMembers: new Set(newMembersOfPoints(provider, prior)),
  };
}

/** What the cloud would show if it were as it is recorded. Pure. */
export function asRecorded(prior: PriorState): Observation["observedResources"] {
  return new Map(
    cloudResources(prior).map((resource) => [
      resource.key,
      {
        id: resource.id ?? "",
        who: recordedIdentity(resource),
        phase: "ready",
        spec: recordedSpec(resource),
        status: {},
      },
    ]),
  );
}

/** What a provider makes different for another version of the control plane. */
function versionFields(
  { name, spec, failureDomain }: TargetMachine,
  target: Target,
  provider: InfrastructureProvider,
): string[] {
  const hostAt = (controlPlane: string | undefined) => {
    const versions =
      controlPlane === undefined ? spec.versions : { ...spec.versions, controlPlane };
    const machine: ExpandedMachine = omitUndefined({
      name,
      spec: { ...spec, versions },
      failureDomain,
    });
    const knowing = informed(provider, target.lookups);
    return compileParts(knowing, clusterIn(target), [machine]).hosts.get(name) ?? {};
  };
  const [present, other] = [
    hostAt(spec.versions.controlPlane),
    hostAt(semver.inc(spec.versions.controlPlane ?? "", "patch") ?? undefined),
  ];
  return Object.keys(present).filter(
    (field) => !sameJson(present[field] ?? null, other[field] ?? null),
  );
}

function aliveAs(host: NodeKey, { observedResources, unrecorded, prior }: PassedQuestion) {
  const observed = observedResources.get(host);
  if (observed !== undefined) {
    return observed === "gone" || observed.phase === "deleting" ? undefined : observed;
  }
  const uid = prior.transaction?.clusterUid;
  return unrecorded.find(
    ({ who, phase }) =>
      phase !== "gone" &&
      phase !== "deleting" &&
      who.clusterUid === uid &&
      nodeKey(who.kind, who.name) === host,
  );
}

/** "1.35" of "1.35.0". */
function minorText(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}

/**
 * What an open transaction has passed that a target would take back; without a provider, as far as
 * versions tell. Pure.
 */
export function takenBackBy(
  target: Target,
  passed: readonly PassedPoint[],
  provider?: InfrastructureProvider,
): PassedPoint[] {
  return passed.filter((one) => takesBack(target, one, provider));
}

function takesBack(
  target: Target,
  passed: PassedPoint,
  provider: InfrastructureProvider | undefined,
): boolean {
  switch (passed.kind) {
    case "version": {
      const minor = minorOf(passed.version) ?? -Infinity;
      const same = target.machines.find(({ name }) => name === passed.machine);
      const isOlder = same !== undefined && controlPlaneMinor(same) < minor;
      return newestMinor(target) < minor || isOlder;
    }
    case "data": {
      const same = target.machines.find(({ name }) => name === passed.machine);
      const key = same?.host ?? passed.host;
      const node = target.nodes.find((wanted) => keyOf(wanted) === key);
      if (node === undefined || provider === undefined) return false;
      const now = { ...node.spec, ...passed.fields };
      return !canServe(provider.verdict(node.kind, now, node.spec));
    }
    case "quorum":
      return target.nodes.length > 0;
  }
}

/** Throws NOT_REVERSIBLE for a target that takes back what an open transaction has passed. */
export function refuseTakingBack(
  target: Target,
  passed: readonly PassedPoint[],
  { provider, transaction }: { provider: InfrastructureProvider; transaction?: TransactionRecord },
): void {
  const taken = takenBackBy(target, passed, provider);
  if (taken.length === 0) return;
  throw new CapstanError({
    code: "NOT_REVERSIBLE",
    source: "user",
    subject: target.cluster,
    message: taken.map(takenBackText).join("\n"),
    hint: `nothing was changed; ${onwardText(taken, transaction)}`,
  });
}

function takenBackText(one: PassedPoint): string {
  switch (one.kind) {
    case "version":
      return `cannot take Machine ${one.machine} back: its control plane is ${one.version} already, which an open transaction has brought it to`;
    case "data":
      return `cannot take ${one.host} back: an open transaction has changed ${Object.keys(one.fields).join(", ")} already; ${one.reason}`;
    case "quorum":
      return `cannot bring the control plane back: ${passedText(one)}, and what it stored with it`;
  }
}

/** What there is to do beyond a point of no return. Pure. */
export function onwardText(
  passed: readonly PassedPoint[],
  transaction?: TransactionRecord,
): string {
  const [first] = passed;
  if (first?.kind === "quorum") {
    return "capstan destroy finishes the destroy that was begun; after it capstan up makes a new cluster";
  }
  if (first?.kind === "version") {
    return `go on with a control plane of ${minorText(first.version)} or newer, of any patch`;
  }
  return `go on with the manifests of transaction ${transaction?.number ?? 0} until it is committed`;
}

/** "LocalHost/cp-0-7ca2dcf0-1 has a control plane of 1.35.0 already". Pure. */
export function passedText(one: PassedPoint): string {
  switch (one.kind) {
    case "version":
      return `${one.host} has a control plane of ${one.version} already`;
    case "data":
      return `${one.host} has ${Object.keys(one.fields).join(", ")} changed already`;
    case "quorum":
      return one.members.length === 1
        ? "the only control-plane host is gone"
        : `the control plane has lost its quorum (${one.left} of ${one.members.length} members are left)`;
  }
}

function newestMinor(target: Target | undefined): number {
  return Math.max(...(target?.machines ?? []).map(controlPlaneMinor));
}

function controlPlaneMinor({ controlPlane, spec }: TargetMachine): number {
  return (controlPlane ? minorOf(spec.versions.controlPlane ?? "") : undefined) ?? -Infinity;
}
