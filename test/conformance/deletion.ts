import { isJsonObject, type Json, type JsonObject } from "../../src/api/json.js";
import {
  type DeletePolicy,
  type DeletionCandidate,
  isMachineHealthy,
  selectForDeletion,
} from "../../src/sets/deletion-order.js";
import type { Profile } from "../../src/api/set-profile.js";
import { instantOf, timeOf } from "./machine-sets.js";

interface GivenMachine {
  readonly name: string;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string | null;
  readonly annotations?: Readonly<Record<string, string>> | null;
  readonly nodeRef?: object | null;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[] | null;
  readonly status?: {
    readonly errorReason?: string | null;
    readonly errorMessage?: string | null;
  } | null;
}

export interface DeletionGiven {
  readonly now: string;
  readonly deletePolicy?: string;
  readonly deletionOrder?: string;
  readonly deleteCountRequested: number;
  readonly machines: readonly GivenMachine[];
}

/**
 * The choice: in order, and, for cases that leave ties open, what is chosen whatever the tie. A
 * machine is tied when it matters whether its name is made the first or the last of all.
 */
export function chooseForDeletion(given: DeletionGiven, profile: Profile) {
  const named = (mark: string, which: string) => (name: string) =>
    name === which ? `${mark}${name}` : name;
  const isChosen = (mark: string, name: string) =>
    chosen(given, profile, named(mark, name)).includes(`${mark}${name}`);
  const names = given.machines.map(({ name }) => name);
  const always = names.filter((name) => isChosen("\uffff", name));
  const tied = names.filter((name) => !always.includes(name) && isChosen("\u0000", name));
  const inOrder = chosen(given, profile, (name) => name);
  return {
    delete: inOrder,
    deleteCount: inOrder.length,
    alwaysDeleted: always.sort(),
    tied: { pick: inOrder.length - always.length, from: tied.sort() },
  };
}

/** A case lists in some order what has none; ours is by name. */
export function withTiesByName(want: JsonObject): JsonObject {
  const { alwaysDeleted, tied } = want;
  const sorted = (names: Json | undefined) =>
    Array.isArray(names) ? names.map(String).sort() : names;
  return Object.fromEntries(
    Object.entries({
      ...want,
      alwaysDeleted: sorted(alwaysDeleted),
      tied: isJsonObject(tied) ? { ...tied, from: sorted(tied["from"]) } : tied,
    }).filter((entry): entry is [string, Json] => entry[1] !== undefined),
  );
}

export function machineHealthy({ machine }: { readonly machine: GivenMachine }) {
  return { healthy: isMachineHealthy(healthOf(machine)) };
}

function chosen(
  given: DeletionGiven,
  profile: Profile,
  nameOf: (name: string) => string,
): string[] {
  const policy = policyOf(given);
  const machines = given.machines.map((machine) => ({
    ...candidateOf(machine),
    name: nameOf(machine.name),
  }));
  return selectForDeletion({
    profile,
    ...(policy !== undefined && { policy }),
    count: given.deleteCountRequested,
    machines,
    nowMs: instantOf(given.now),
  }).map(({ name }) => name);
}

function policyOf({ deletePolicy, deletionOrder }: DeletionGiven): DeletePolicy | undefined {
  const policy = deletePolicy ?? deletionOrder ?? "";
  switch (policy) {
    case "":
      return undefined;
    case "Random":
    case "Newest":
    case "Oldest":
      return policy;
    default:
      throw new Error(`delete policy ${policy} is not known`);
  }
}

function candidateOf(machine: GivenMachine): DeletionCandidate {
  const { name, creationTimestamp, deletionTimestamp, annotations, status } = machine;
  const { errorReason, errorMessage } = status ?? {};
  return {
    name,
    ...timeOf(creationTimestamp),
    deleting: deletionTimestamp !== null && deletionTimestamp !== undefined,
    annotations: annotations ?? {},
    ...(typeof errorReason === "string" && { errorReason }),
    ...(typeof errorMessage === "string" && { errorMessage }),
    healthy: isMachineHealthy(healthOf(machine)),
  };
}

function healthOf({ nodeRef, conditions }: GivenMachine) {
  return { hasNode: nodeRef !== null && nodeRef !== undefined, conditions: conditions ?? [] };
}
