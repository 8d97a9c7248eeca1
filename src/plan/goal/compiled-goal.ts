import { CapstanError, expectDefined } from "../../api/error.js";
import { type JsonObject, sameJson } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { type AnyObject, type ClusterObject, type Desired, objectsOf } from "../../api/types.js";
import { compileParts, satellitesByObject, templateJudge } from "../../compile/compile.js";
import {
  answersInUse,
  informed,
  isAnsweredElsewhere,
  machineQuestion,
  questionKey,
  questionsOf,
} from "../../compile/lookups.js";
import { keyOf, type ResourceGraph } from "../../graph/graph.js";
import type { InfrastructureProvider, Lookups, Satellite } from "../../provider/port.js";
import { recordedSatellites } from "../../compile/satellites.js";
import type { GoReason } from "../../sets/deletion-order.js";
import type { ExpandedMachine, RecordedMachine } from "../../sets/expanded.js";
import { expandObjects } from "../../sets/expand.js";
import { inNameOrder } from "../../sets/name-order.js";
import { ownerText } from "../../sets/owning-objects.js";
import { type Target, clusterIn } from "../../records/target.js";
import { type KnownExternals, withExternals } from "./externals.js";

/** What a goal comes to, before it is held against state and cloud. */
export interface CompiledGoal {
  readonly cluster: ClusterObject;
  /** In name order. */
  readonly objects: readonly AnyObject[];
  readonly machines: readonly ExpandedMachine[];
  /** Shared infrastructure, without names of later generations when compiled. */
  readonly infrastructure: ResourceGraph;
  /** Whether its names are those of a recorded graph: one that is free is taken as it is. */
  readonly isFrozen: boolean;
  /** Why its set gives up one machine rather than another, by machine; empty of a recorded graph. */
  readonly going: ReadonlyMap<string, GoReason>;
  /** Inputs of each machine's host, by machine; may hold Refs to the infrastructure. */
  readonly hosts: ReadonlyMap<string, JsonObject>;
  /** What lives with each machine's host, by machine; absent: nothing does. */
  readonly satellites?: ReadonlyMap<string, readonly Satellite[]>;
  /** What is used and not ours, pinned: nothing refers to it any more. */
  readonly externals: ResourceGraph;
  /** Answers that it was compiled with; absent: none. */
  readonly lookups?: Lookups;
}

/** What is known beside the objects. */
export interface GoalFacts extends SetMemory {
  /** Answers to what the provider has to look up. */
  readonly lookups?: Lookups;
  /** What is not ours. Without it nobody has looked, and nothing is pinned. */
  readonly externals?: KnownExternals;
}

/** What sets remember of their machines. */
interface SetMemory {
  readonly recorded: readonly RecordedMachine[];
  /** Machines have an age. Milliseconds since the epoch. */
  readonly nowMs: number;
  /** The failure domains of hosts that no record tells of, by machine. */
  readonly foundDomains?: ReadonlyMap<string, string>;
}

/** What objects come to. Pure. Throws INVALID_INPUT for names that clash. */
export function compiled(
  desired: Desired,
  given: InfrastructureProvider,
  { recorded, nowMs, foundDomains, lookups, externals = { pinned: [] } }: GoalFacts,
): CompiledGoal {
  const { cluster } = desired;
  const provider = informed(given, lookups);
  const judge = templateJudge(provider, cluster, foundDomains);
  const { machines: expanded, going } = expandObjects(desired, recorded, judge, nowMs);
  refuseDuplicates(expanded);
  const before = new Map(recorded.map((machine) => [machine.name, machine]));
  const machines = expanded.map((machine) =>
    isAnsweredElsewhere(provider, machine, before.get(machine.name))
      ? omitUndefined<ExpandedMachine>({ ...machine, lookedUp: undefined })
      : machine,
  );
  const questions = questionsOf(
    provider,
    desired,
    machines.map((machine) => ({ by: machine.name, machine })),
  );
  const parts = withExternals(compileParts(provider, cluster, machines), externals);
  return omitUndefined({
    cluster,
    objects: orderedObjects(desired),
    machines: machines.map((machine) => withOwnAnswer(machine, { provider, cluster, lookups })),
    going: new Map(going.map(({ name, reason }) => [name, reason])),
    isFrozen: false,
    ...parts,
    satellites: withTemplatePolicies(parts, machines, { provider, desired }),
    lookups: answersInUse(questions, lookups),
  });
}

/**
 * What is to outlive hosts, by the templates as they are now: a policy is no part of what a machine was made with, as its hooks and timeouts are
 * none. What was said to be kept when it was made is kept.
 */
function withTemplatePolicies(
  { satellites }: Pick<CompiledGoal, "satellites">,
  machines: readonly ExpandedMachine[],
  { provider, desired }: { readonly provider: InfrastructureProvider; readonly desired: Desired },
): CompiledGoal["satellites"] {
  const ownerOf = new Map(machines.map(({ name, owner }) => [name, owner && ownerText(owner)]));
  const isOwned = [...(satellites?.keys() ?? [])].some((name) => ownerOf.get(name) !== undefined);
  if (satellites === undefined || !isOwned) return satellites;
  const byObject = satellitesByObject(provider, desired);
  return new Map(
    [...satellites].map(([name, own]) => {
      const told = byObject.get(ownerOf.get(name) ?? "") ?? [];
      const isKept = (one: Satellite) =>
        told.some(
          (two) => two.whenHostGoes === "keep" && two.kind === one.kind && two.name === one.name,
        );
      return [name, own.map((one) => (isKept(one) ? { ...one, whenHostGoes: "keep" } : one))];
    }),
  );
}

/** The answer that a machine was made with stands beside it only while another one counts for its spec. */
function withOwnAnswer(
  machine: ExpandedMachine,
  {
    provider,
    cluster,
    lookups = {},
  }: {
    readonly provider: InfrastructureProvider;
    readonly cluster: ClusterObject;
    readonly lookups: Lookups | undefined;
  },
): ExpandedMachine {
  const { lookedUp, ...rest } = machine;
  if (lookedUp === undefined) return machine;
  const question = machineQuestion(provider, cluster, machine);
  const present = question === undefined ? lookedUp : lookups[questionKey(question)];
  return sameJson(present ?? null, lookedUp) ? rest : machine;
}

/** What is asked for, in the order in which a target holds it. Pure. */
export function orderedObjects(desired: Desired): AnyObject[] {
  return objectsOf(desired).sort((left, right) => inNameOrder(objectKey(left), objectKey(right)));
}

/** A recorded graph as it was frozen, whatever this release would compile today (architecture section 6). Pure. */
export function frozen(target: Target, provider: InfrastructureProvider): CompiledGoal {
  const nodes = new Map(target.nodes.map((node) => [keyOf(node), node]));
  return omitUndefined({
    cluster: clusterIn(target),
    objects: target.objects,
    machines: target.machines.map(({ host: _host, controlPlane: _member, ...machine }) => machine),
    going: new Map(),
    isFrozen: true,
    // What has outlived its host is by itself, until nobody wants it any more.
    infrastructure: target.nodes.filter(
      ({ type, kind, host }) =>
        type === "resource" &&
        kind !== provider.hostKind &&
        (host === undefined || !nodes.has(host)),
    ),
    satellites: recordedSatellites(target.nodes, target.machines, provider.hostKind),
    hosts: new Map(
      target.machines.map(({ name, host }) => [name, expectDefined(nodes.get(host), host).spec]),
    ),
    externals: target.externals ?? [],
    lookups: target.lookups,
  });
}

function refuseDuplicates(machines: readonly ExpandedMachine[]): void {
  const seen = new Set<string>();
  const duplicates = machines.filter(({ name }) => seen.has(name) || !seen.add(name));
  if (duplicates.length === 0) return;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: duplicates
      .map(({ name }) => `cannot name a Machine ${name}: a Machine and a set both use that name`)
      .join("\n"),
    hint: "rename the Machine or the set",
  });
}

function objectKey(object: AnyObject): string {
  return `${object.kind}/${object.metadata.namespace}/${object.metadata.name}`;
}
