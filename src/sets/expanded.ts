import type { DomainOffer } from "../api/failure-domains.js";
import type { JsonObject } from "../api/json.js";
import type { MachineOffers } from "../api/provider-specs.js";
import type {
  MachineSpec,
  MachineDeploymentObject,
  MachineSetObject,
  MachineObject,
} from "../api/types.js";
import type { Annotations } from "../api/update-policy.js";
import type { GoReason } from "./deletion-order.js";

/** A Machine of a pass: written by a user, or derived from a set. */
export interface ExpandedMachine {
  /** Unique within the cluster. */
  readonly name: string;
  readonly spec: MachineSpec;
  /** The set that wants it; absent for Machines that users wrote. */
  readonly owner?: MachineOwner;
  /** Where Capstan has placed it; absent where its spec says so itself, and where nothing is offered. */
  readonly failureDomain?: string;
  /** What was looked up for it, where that is not what counts for its spec now. */
  readonly lookedUp?: JsonObject;
}

export interface MachineOwner {
  readonly machineSet: string;
  /** The MachineDeployment above the set, if any. */
  readonly machineDeployment?: string;
  /** Counts from 0 within the set. */
  readonly ordinal: number;
}

/** A Machine of the records, with what is known of its host. */
export interface RecordedMachine extends ExpandedMachine {
  /** No host of it exists, or the one that there is will never run; one that serves without. */
  readonly missing?: "host" | "health";
  /** Somebody deleted it: it goes, and its name stays taken until it is gone. */
  readonly discarded?: boolean;
  /** What its own object, in an API server, is annotated with to go before others. */
  readonly deleteMarks?: Annotations;
  /** When its host was made, milliseconds since the epoch. */
  readonly createdAtMs?: number;
  /** Where its host is, or is to be; whoever has chosen that. Absent where nothing is offered. */
  readonly failureDomain?: string;
}

/** A Machine that its set gives up, and why it rather than another. */
export interface GoingMachine {
  readonly name: string;
  readonly reason: GoReason;
}

/** What some objects come to, beside the machines that there are. */
export interface Expanded {
  readonly machines: readonly ExpandedMachine[];
  /** Of sets that have too many; what no set asks for at all is not among them. */
  readonly going: readonly GoingMachine[];
}

/** What expansion has to ask the provider, decided by src/compile. Both calls are pure. */
export interface TemplateJudge {
  /** What the versions that Machines leave out are chosen from. */
  readonly offers: MachineOffers;
  /** Over what Machines are spread that do not say where they are to be; absent: over nothing. */
  readonly domains?: DomainOffer;
  /** Where hosts are that no record tells of, by machine. */
  readonly foundDomains?: ReadonlyMap<string, string>;
  /** Short hash of what cannot change in place; names new MachineSets. */
  hash(deployment: ResolvedMachineDeployment): string;
  /** Whether a machine can follow the deployment's present template without being replaced. */
  canFollow(deployment: ResolvedMachineDeployment, machine: ExpandedMachine): boolean;
}

type WithTemplate<O extends MachineSetObject | MachineDeploymentObject> = Omit<O, "spec"> & {
  readonly spec: Omit<O["spec"], "template"> & {
    readonly template: Omit<O["spec"]["template"], "spec"> & { readonly spec: MachineSpec };
  };
};

type ResolvedMachine = Omit<MachineObject, "spec"> & { readonly spec: MachineSpec };

export type ResolvedMachineSet = WithTemplate<MachineSetObject>;

export type ResolvedMachineDeployment = WithTemplate<MachineDeploymentObject>;

/** Desired objects with every Machine's versions chosen. */
export interface ResolvedDesired {
  readonly machines: readonly ResolvedMachine[];
  readonly machineSets: readonly ResolvedMachineSet[];
  readonly machineDeployments: readonly ResolvedMachineDeployment[];
}
