import { domainOffer, domainOfHost } from "../../api/failure-domains.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { providerValue } from "../../api/types.js";
import type { MachinePlace } from "../../compile/compile.js";
import { isAnsweredElsewhere, machineQuestion, questionKey } from "../../compile/lookups.js";
import { type NodeKey, nodeKey } from "../../graph/graph.js";
import { isDown } from "../../provider/failure.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import type { RecordedMachine } from "../../sets/expanded.js";
import { clusterIn, machineKey, type Target, type TargetMachine } from "../../records/target.js";
import { cloudResources, knownMachines, knownSpecs } from "../../records/prior-state.js";
import type { PlanInput } from "../plan-input.js";
import type { ObservedResource } from "../observation.js";

/**
 * What sets and deployments go on from: the machines of the last transaction, whether it came to its end
 * or not, after those of earlier ones that still have a host. So a goal in the middle of a rollout finds
 * everything that is there. Pure.
 */
export function recordedMachines(input: PlanInput): RecordedMachine[] {
  const { prior, observedResources, planGoal, provider } = input;
  const asked = planGoal.kind === "objects" ? planGoal : undefined;
  const discarded = new Set(asked?.discarded);
  const hosts = hostsByMachine(input);
  const domainOf = knownDomains(input, hosts);
  const latest = answeredIn(prior.transaction?.target, provider);
  const names = new Set(latest.map(({ name }) => name));
  const committed = new Map(
    answeredIn(prior.revision?.target, provider).map((machine) => [machine.name, machine]),
  );
  const earlier = [...knownMachines(prior).values()]
    .filter(({ name }) => !names.has(name) && (hosts.get(machineKey(name)) ?? []).length > 0)
    .map((machine) => committed.get(machine.name) ?? machine);
  return [...earlier, ...latest].map((machine) => {
    const alive = hosts.get(machineKey(machine.name)) ?? [];
    const seen = alive.map((key) => observedResources.get(key)).find((one) => one !== undefined);
    const isFound = alive.length > 0 || isUnrecorded(machine, input);
    const createdAtMs = seen === "gone" ? undefined : seen?.createdAtMs;
    const { name, spec } = machine;
    const placed = omitUndefined<MachinePlace>({ spec, failureDomain: domainOf(name) });
    return omitUndefined({
      ...machine,
      missing: isFound ? lackOf(seen) : "host",
      discarded: discarded.has(machine.name) ? true : undefined,
      deleteMarks: asked?.deleteMarks?.[machine.name],
      createdAtMs,
      failureDomain: placed.failureDomain,
      lookedUp: isAnsweredElsewhere(provider, placed, machine) ? undefined : machine.lookedUp,
    });
  });
}

/** The machines of a target, each with the answer that it was made with. */
function answeredIn(target: Target | undefined, provider: InfrastructureProvider): TargetMachine[] {
  if (target === undefined) return [];
  const { lookups, machines } = target;
  if (lookups === undefined) return [...machines];
  const cluster = clusterIn(target);
  return machines.map((machine) => {
    const question = machineQuestion(provider, cluster, machine);
    const answer = question && lookups[questionKey(question)];
    return omitUndefined({ ...machine, lookedUp: machine.lookedUp ?? answer });
  });
}

/**
 * Where each machine is to stay as long as that is offered: where the host is that served at the last revision, if it
 * is there; else where the machine was placed last. Of machines that named their domain, and of records of other times,
 * the inputs of the host tell. Nothing where nothing is offered.
 */
function knownDomains(
  { prior, provider, planGoal }: PlanInput,
  hosts: ReadonlyMap<NodeKey, readonly NodeKey[]>,
): (machine: string) => string | undefined {
  const { failureDomains } = provider;
  if (planGoal.kind !== "objects" || failureDomains === undefined) return () => undefined;
  const offer = domainOffer(provider, providerValue(planGoal.desired.cluster.spec));
  if (offer === undefined) return () => undefined;
  const specs = knownSpecs(prior);
  const domainIn = (machine: TargetMachine | undefined) =>
    machine &&
    (machine.failureDomain ?? domainOfHost(failureDomains, specs.get(machine.host) ?? {}));
  const served = new Map(prior.revision?.target.machines.map((one) => [one.name, one]));
  const known = knownMachines(prior);
  return (name) => {
    const before = served.get(name);
    const isAlive = before !== undefined && hosts.get(machineKey(name))?.includes(before.host);
    const domains = [isAlive === true ? domainIn(before) : undefined, domainIn(known.get(name))];
    return domains.find((one) => offer.domains.includes(one ?? "")) ?? domains.at(-1);
  };
}

function lackOf(seen: ObservedResource | undefined): RecordedMachine["missing"] {
  if (seen === undefined || seen === "gone") return undefined;
  return isDown(seen) ? "health" : seen.missing;
}

/** Recorded hosts that are not gone, by the component that they belong to. */
function hostsByMachine({
  prior,
  provider,
  observedResources,
}: PlanInput): Map<NodeKey, NodeKey[]> {
  const hosts = new Map<NodeKey, NodeKey[]>();
  for (const { key, kind, parent, deleting } of cloudResources(prior)) {
    if (kind !== provider.hostKind || parent === undefined || deleting) continue;
    if (observedResources.get(key) === "gone") continue;
    hosts.set(parent, [...(hosts.get(parent) ?? []), key]);
  }
  return hosts;
}

/** An engine was killed while it made the host, or forgot it. */
function isUnrecorded({ host }: TargetMachine, { prior, unrecorded }: PlanInput): boolean {
  return (
    prior.pending.some(({ key, type }) => key === host && type === "creating") ||
    unrecorded.some(({ who, phase }) => phase !== "gone" && nodeKey(who.kind, who.name) === host)
  );
}
