import semver from "semver";
import { CapstanError } from "../api/error.js";
import { sameJson } from "../api/json.js";
import { minorOf } from "../api/versions.js";
import { compileParts } from "../compile/compile.js";
import { keyOf, nodeKey, type NodeKey } from "../graph/graph.js";
import type { InfrastructureProvider, Observed } from "../provider/port.js";
import type { Sightings } from "./step.js";
import {
  cloudResources,
  type Crossed,
  type PriorState,
  recordedIdentity,
  recordedSpec,
  type Target,
  type TargetMachine,
} from "./target.js";
import { clusterIn } from "./wanted.js";

// The point of no return: an API server of a newer minor version writes objects that older ones cannot
// read. Source: reference/cluster-api.md 4 (kubeadm takes no control plane back).

/**
 * Hosts of the target whose control plane is of a newer minor version than any of the committed
 * revision. In name order. Pure.
 */
export function crossingHosts(target: Target, from: Target | undefined): NodeKey[] {
  return crossingMachines(target, from).map(({ host }) => host);
}

function crossingMachines(target: Target, from: Target | undefined): TargetMachine[] {
  const newest = newestMinor(from);
  if (newest === -Infinity) return [];
  return target.machines.filter((machine) => controlPlaneMinor(machine) > newest);
}

/** What tells how far an open transaction has come. */
export interface CrossingQuestion {
  readonly provider: InfrastructureProvider;
  readonly prior: PriorState;
  readonly sightings: Sightings;
  readonly strangers: readonly Observed[];
}

/**
 * With which machines the open transaction is beyond its point of no return: those of transactions that
 * it took the place of, and those whose hosts the cloud shows as only the newer version has them. The
 * cloud's word counts, not the record's: an engine may have been killed between the two. Pure.
 */
export function crossedBy(question: CrossingQuestion): Crossed[] {
  const { transaction, revision } = question.prior;
  if (transaction === undefined || transaction.number === revision?.number) return [];
  const before = transaction.crossed ?? [];
  const now =
    transaction.direction === "back"
      ? []
      : crossingMachines(transaction.target, revision?.target)
          .filter((machine) => hasArrived(machine, transaction.target, question))
          .map(({ name, host, spec }) => ({
            machine: name,
            host,
            version: spec.versions.controlPlane ?? "",
          }));
  const hosts = new Set(now.map(({ host }) => host));
  return [...before.filter(({ host }) => !hosts.has(host)), ...now];
}

/** Whether an open transaction can be taken back. */
export type WayBack =
  | { readonly kind: "free" }
  /** It is past its point of no return. At least one. */
  | { readonly kind: "closed"; readonly crossed: readonly Crossed[] }
  /** The records do not say whether one of these has crossed, and the cloud was not asked. At least one. */
  | { readonly kind: "unknown"; readonly crossing: readonly NodeKey[] };

/**
 * What is known of the way back of an open transaction: with a look at the cloud for certain, from the
 * records alone only that it is closed, or that nothing can have closed it. Pure.
 */
export function wayBackOf(
  provider: InfrastructureProvider | undefined,
  prior: PriorState,
  seen?: Pick<CrossingQuestion, "sightings" | "strangers">,
): WayBack {
  const { transaction, revision } = prior;
  if (transaction === undefined || transaction.direction === "back") return { kind: "free" };
  const question = { prior, ...(seen ?? { sightings: asRecorded(prior), strangers: [] }) };
  const crossed =
    provider === undefined ? (transaction.crossed ?? []) : crossedBy({ provider, ...question });
  if (crossed.length > 0) return { kind: "closed", crossed };
  const crossing = crossingHosts(transaction.target, revision?.target);
  const isCertain = crossing.length === 0 || (seen !== undefined && provider !== undefined);
  return isCertain ? { kind: "free" } : { kind: "unknown", crossing };
}

/** What the cloud would show if it were as it is recorded. */
function asRecorded(prior: PriorState): Sightings {
  return new Map(
    cloudResources(prior).map((resource) => [
      resource.key,
      {
        ...{ id: resource.id ?? "", who: recordedIdentity(resource), phase: "ready" },
        ...{ spec: recordedSpec(resource), status: {} },
      },
    ]),
  );
}

/** Told by the fields that carry the version; where none does, a host has by being there. */
function hasArrived(machine: TargetMachine, target: Target, question: CrossingQuestion): boolean {
  const seen = aliveAs(machine.host, question);
  if (seen === undefined) return false;
  const wanted = target.nodes.find((node) => keyOf(node) === machine.host)?.spec ?? {};
  const fields = versionFields(machine, target, question.provider);
  return (
    fields.length === 0 ||
    fields.some((field) => sameJson(seen.spec[field] ?? null, wanted[field] ?? null))
  );
}

/** What a provider makes different for another version of the control plane. */
function versionFields(
  { name, spec }: TargetMachine,
  target: Target,
  provider: InfrastructureProvider,
): string[] {
  const hostAt = (controlPlane: string | undefined) => {
    const versions = { ...spec.versions, ...(controlPlane !== undefined && { controlPlane }) };
    const machine = { name, spec: { ...spec, versions } };
    return compileParts(provider, clusterIn(target), [machine]).hosts.get(name) ?? {};
  };
  const [present, other] = [
    hostAt(spec.versions.controlPlane),
    hostAt(semver.inc(spec.versions.controlPlane ?? "", "patch") ?? undefined),
  ];
  return Object.keys(present).filter(
    (field) => !sameJson(present[field] ?? null, other[field] ?? null),
  );
}

function aliveAs(host: NodeKey, { sightings, strangers, prior }: CrossingQuestion) {
  const sighting = sightings.get(host);
  if (sighting !== undefined) return sighting === "gone" ? undefined : sighting;
  const uid = prior.transaction?.clusterUid;
  return strangers.find(
    ({ who, phase }) =>
      phase !== "gone" && who.clusterUid === uid && nodeKey(who.kind, who.name) === host,
  );
}

/** "1.35" of "1.35.0". */
export function minorText(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}

/** With what an open transaction has crossed that a target would take back. Pure. */
export function takenBackBy(target: Target, crossed: readonly Crossed[]): Crossed[] {
  const newest = newestMinor(target);
  return crossed.filter(({ machine, version }) => {
    const minor = minorOf(version) ?? -Infinity;
    const same = target.machines.find(({ name }) => name === machine);
    return newest < minor || (same !== undefined && controlPlaneMinor(same) < minor);
  });
}

/** Throws NOT_REVERSIBLE for a target that takes back what an open transaction has crossed with. */
export function refuseTakingBack(target: Target, crossed: readonly Crossed[]): void {
  const taken = takenBackBy(target, crossed);
  if (taken.length === 0) return;
  throw new CapstanError({
    code: "NOT_REVERSIBLE",
    source: "user",
    subject: target.cluster,
    message: taken
      .map(
        ({ machine, version }) =>
          `cannot take Machine ${machine} back: its control plane is ${version} already, which an open transaction has brought it to`,
      )
      .join("\n"),
    hint: `nothing was changed; go on with a control plane of ${minorText(taken[0]?.version ?? "")} or newer, of any patch`,
  });
}

function newestMinor(target: Target | undefined): number {
  return Math.max(...(target?.machines ?? []).map(controlPlaneMinor));
}

function controlPlaneMinor({ controlPlane, spec }: TargetMachine): number {
  return (controlPlane ? minorOf(spec.versions.controlPlane ?? "") : undefined) ?? -Infinity;
}
