import { keyOf, type NodeKey } from "../../graph/graph.js";
import { type Observation, shownIn } from "../../plan/observation.js";
import type { Observed } from "../../provider/port.js";
import type { Target } from "../../records/target.js";
import { goneHosts, type HostRecords, membersAmong } from "./member-hosts.js";

/** Hosts of a target that the last revision does not have: those that have to join. Pure. */
export function joiningHosts(target: Target, revision: Target | undefined): NodeKey[] {
  const before = new Set(revision?.machines.map(({ host }) => host));
  return target.machines.flatMap(({ host }) => (before.has(host) ? [] : [host]));
}

/**
 * The hosts of a target that run, and of which only their cluster can tell whether they have joined it: those of the last revision had,
 * and one without another member beside it begins the cluster. Pure.
 */
export function hostsToProve(
  { target, records, hostKind }: HostRecords,
  observation: Observation,
): ReadonlyMap<NodeKey, Observed> {
  const gone = goneHosts(observation, records, hostKind);
  const hosts = shownIn(observation).filter(({ who }) => who.kind === hostKind);
  const shown = new Map(hosts.map((one) => [keyOf(one.who), one]));
  return new Map(
    joiningHosts(target, records.revision?.target).flatMap((host) => {
      const observed = shown.get(host);
      if (observed?.phase !== "ready") return [];
      const known = { target, records, hostKind, observed: hosts, gone };
      return membersAmong(known, observed.who.name).hasOtherMember ? [[host, observed]] : [];
    }),
  );
}

/** Hosts that run, where their cluster does not answer: each with what is to be said of it. Pure. */
export function unprovenAmong(running: readonly Observed[]): ReadonlyMap<NodeKey, string> {
  const why = "it runs, and its cluster does not answer whether it has joined";
  return new Map(running.map(({ who }) => [keyOf(who), why]));
}

/** The same look, in which these hosts are on their way: that a cloud runs them is not enough. Pure. */
export function withPending(
  observation: Observation,
  waiting: Pick<ReadonlySet<NodeKey>, "has" | "size">,
): Observation {
  if (waiting.size === 0) return observation;
  const pending = ({ readySinceMs: _since, ...one }: Observed): Observed =>
    waiting.has(keyOf(one.who)) ? { ...one, phase: "pending" } : one;
  const { observedResources, unrecorded } = observation;
  return {
    ...observation,
    observedResources: new Map(
      [...observedResources].map(([key, one]) => [
        key,
        one === "gone" || !waiting.has(key) ? one : { ...one, ...pending(one) },
      ]),
    ),
    unrecorded: unrecorded.map((one) => (waiting.has(keyOf(one.who)) ? pending(one) : one)),
  };
}
