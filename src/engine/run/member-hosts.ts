import type { Observation } from "../../plan/observation.js";
import { isHostOf } from "../../records/host-name.js";
import type { Observed } from "../../provider/port.js";
import { knownMachines, type PriorState } from "../../records/prior-state.js";
import { machineOfKey, type Target } from "../../records/target.js";

/** The hosts of a cluster, as they are wanted and recorded. */
export interface HostRecords {
  readonly target: Target;
  readonly records: PriorState;
  readonly hostKind: string;
}

interface KnownHosts extends HostRecords {
  readonly observed: readonly Observed[];
  /** Recorded ones that are positively gone, by name, also where a cloud does not list them any more. */
  readonly gone: ReadonlySet<string>;
}

/** What records and cloud say of the control plane that a new host of this name would join. */
export interface MemberHosts {
  /** Another member has a host, in whatever phase but gone. */
  readonly hasOtherMember: boolean;
  /** A revision with a control plane was committed, or a worker has a host. */
  readonly hasRun: boolean;
}

/**
 * A host that is recorded or shown counts; one whose machine nobody knows counts as a member, since to join in vain
 * does less harm than a second cluster. Pure. Source: docs/adr/0020.
 */
export function membersAmong(known: KnownHosts, self: string): MemberHosts {
  const { records, hostKind, observed } = known;
  const listedGone = observed.filter(({ phase }) => phase === "gone").map(({ who }) => who.name);
  const gone = new Set([...known.gone, ...listedGone]);
  const shown = observed.filter(({ who }) => who.kind === hostKind).map(({ who }) => who.name);
  const recorded = records.resources.filter(({ kind }) => kind === hostKind);
  const names = [...shown, ...recorded.map(({ name }) => name)];
  const hosts = [...new Set(names)].filter((name) => name !== self && !gone.has(name));
  const members = hosts.filter(memberJudge(known));
  return {
    hasOtherMember: members.length > 0,
    hasRun:
      members.length < hosts.length ||
      records.revision?.target.machines.some(({ controlPlane }) => controlPlane) === true,
  };
}

/** Tells of hosts, by their names, whether they are members: one whose machine nobody knows counts as one. Pure. */
export function memberJudge({ target, records, hostKind }: HostRecords): (host: string) => boolean {
  const machines = [...knownMachines(records).values(), ...target.machines];
  const recorded = records.resources.filter(({ kind }) => kind === hostKind);
  const machineOf = new Map(
    recorded.map(({ name, parent }) => [name, parent && machineOfKey(parent)]),
  );
  return (host) => {
    const owner = machineOf.get(host);
    const named = machines.filter(({ name }) =>
      owner === undefined ? isHostOf(name, host) : name === owner,
    );
    return named.length === 0 || named.some(({ controlPlane }) => controlPlane);
  };
}

/** Names of recorded hosts that a look has found to be gone. Pure. */
export function goneHosts(
  { observedResources }: Pick<Observation, "observedResources">,
  { resources }: PriorState,
  hostKind: string,
): ReadonlySet<string> {
  const hosts = resources.filter(({ kind }) => kind === hostKind);
  const gone = hosts.filter(({ key }) => observedResources.get(key) === "gone");
  return new Set(gone.map(({ name }) => name));
}
