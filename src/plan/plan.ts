import { CapstanError } from "../api/error.js";
import {
  type AnyObject,
  clusterNameOf,
  type Desired,
  isControlPlane,
  stackNameOf,
} from "../api/types.js";
import { compileParts, templateJudge } from "../compile/compile.js";
import { type GraphNode, keyOf, nodeKey, type NodeKey } from "../graph/graph.js";
import type { InfrastructureProvider, Observed } from "../provider/port.js";
import { type ExpandedMachine, expandMachines, type MachineOwner } from "../sets/expand.js";
import { decideHost, type HostDecision, machineKey, spendIncarnations } from "./hosts.js";
import { type InfrastructureDecision, planInfrastructure } from "./infrastructure.js";
import type { FieldChange, Sightings, Step } from "./step.js";
import {
  cloudResources,
  type PriorState,
  type RecordedResource,
  type Spent,
  type Target,
  targetDigest,
  type TargetMachine,
} from "./target.js";

/** What the plan is made from. Everything that is not a pure function of it is in here. */
export interface PlanInput {
  readonly desired: Desired;
  readonly provider: InfrastructureProvider;
  readonly prior: PriorState;
  readonly sightings: Sightings;
  /** Alive or gone resources with the cluster's marks that the state does not know. */
  readonly strangers: readonly Observed[];
  /** Used when the state holds no transaction yet. */
  readonly newClusterUid: string;
  readonly nowMs: number;
  readonly owner: string;
}

/** What becomes of one machine, for people. */
export interface MachineChange {
  readonly machine: string;
  readonly owner?: MachineOwner;
  readonly kind: "same" | "create" | "update" | "replace" | "delete";
  readonly changes: readonly FieldChange[];
  readonly reason: string;
}

/** What becomes of one resource of the shared infrastructure, for people. */
export interface InfrastructureChange {
  readonly key: NodeKey;
  readonly kind: "same" | "create" | "update" | "replace" | "delete";
  readonly changes: readonly FieldChange[];
  readonly reason: string;
}

export interface PlannedTransaction {
  readonly number: number;
  readonly clusterUid: string;
  readonly owner: string;
  readonly startedAtMs: number;
  readonly spent: Spent;
}

/** The same value is printed, and applied. JSON data. */
export interface Plan {
  readonly cluster: string;
  readonly stack: string;
  readonly provider: string;
  /** Number of the last committed revision; 0 for none. */
  readonly fromRevision: number;
  readonly transaction: PlannedTransaction;
  readonly target: Target;
  readonly targetDigest: string;
  /** Creations and updates in dependency order, then deletions. */
  readonly steps: readonly Step[];
  /** Records to read again from the cloud before the first pass. */
  readonly stale: readonly NodeKey[];
  /** An earlier transaction did not get to its end. */
  readonly resumes: boolean;
  readonly infrastructure: readonly InfrastructureChange[];
  readonly machines: readonly MachineChange[];
  /** Owned resources alive in the cloud that neither state nor target knows. */
  readonly strangers: readonly string[];
  /** Nothing to do: state, cloud and objects agree. */
  readonly empty: boolean;
}

/**
 * Compiles the desired objects and holds them against state and cloud. Pure: the same input gives
 * the same plan. Throws UNSUPPORTED_CHANGE (all of them at once), INVALID_INPUT (names that clash),
 * GRAPH_CYCLE.
 */
export function makePlan(input: PlanInput): Plan {
  const { desired, provider, prior, sightings } = input;
  const machines = expandMachines(
    desired,
    prior.transaction?.target.machines ?? [],
    templateJudge(provider, desired.cluster),
  );
  refuseDuplicates(machines);
  const parts = compileParts(provider, desired.cluster, machines);
  const recorded = cloudResources(prior);
  const infrastructure = planInfrastructure(
    provider,
    parts.infrastructure,
    recorded.filter(({ kind }) => kind !== provider.hostKind),
    sightings,
  );
  const spent = prior.transaction?.spent ?? {};
  const decided = machines.map((machine) => {
    const referenced = infrastructure.rename(parts.hosts.get(machine.name) ?? {});
    const decision = decideHost(provider, {
      machine: machine.name,
      wanted: infrastructure.resolve(referenced),
      referenced,
      recorded: hostsOf(machine.name, provider, recorded),
      sightings,
      spent,
      ...plannedHost(input, machine.name),
    });
    return { machine, decision, spec: referenced };
  });
  refuseUnsupported(infrastructure.decisions, decided);
  const target = targetOf(input, infrastructure.decisions, decided);
  return assemble(input, target, infrastructure.decisions, decided);
}

interface DecidedHost {
  readonly machine: ExpandedMachine;
  readonly decision: HostDecision;
  readonly spec: GraphNode["spec"];
}

function targetOf(
  { desired, provider }: PlanInput,
  infrastructure: readonly InfrastructureDecision[],
  hosts: readonly DecidedHost[],
): Target {
  const machines: TargetMachine[] = hosts
    .map(({ machine, decision }) => ({
      ...machine,
      controlPlane: isControlPlane(machine.spec),
      host: nodeKey(provider.hostKind, decision.name),
    }))
    .sort((left, right) => inNameOrder(left.name, right.name));
  const controlPlane = machines.filter((machine) => machine.controlPlane).map(({ host }) => host);
  const byMachine = new Map(hosts.map((host) => [host.machine.name, host]));
  const hostNodes = machines.flatMap((machine): GraphNode[] => {
    const { decision, spec } = byMachine.get(machine.name) as DecidedHost;
    return [
      { kind: "Machine", name: machine.name, type: "component", spec: {}, dependsOn: [] },
      {
        kind: provider.hostKind,
        name: decision.name,
        type: "resource",
        parent: machineKey(machine.name),
        spec,
        // Workers join a control plane that answers: it comes first, and goes last.
        dependsOn: machine.controlPlane ? [] : controlPlane,
      },
    ];
  });
  const { cluster, machineDeployments, machineSets } = desired;
  const objects: AnyObject[] = [cluster, ...machineDeployments, ...machineSets, ...desired.machines];
  return {
    cluster: clusterNameOf(cluster),
    provider: provider.name,
    objects: objects.sort((left, right) => inNameOrder(objectKey(left), objectKey(right))),
    machines,
    nodes: [...infrastructure.map(({ node }) => node), ...hostNodes],
  };
}

function assemble(
  input: PlanInput,
  target: Target,
  infrastructure: readonly InfrastructureDecision[],
  hosts: readonly DecidedHost[],
): Plan {
  const { prior, provider, desired } = input;
  const digest = targetDigest(target);
  const targetKeys = new Set(target.nodes.map(keyOf));
  const doomed = cloudResources(prior).filter(
    ({ key, deleting }) => deleting || !targetKeys.has(key),
  );
  const steps = [
    ...infrastructure.flatMap((one) => stepOf(keyOf(one.node), one)),
    ...hosts.flatMap(({ decision }) => stepOf(nodeKey(provider.hostKind, decision.name), decision)),
    ...doomed.map((resource) => deletionOf(resource, target, input.sightings)),
  ];
  const last = prior.transaction;
  const resumes = last !== undefined && last.number !== prior.revision?.number;
  const sameTarget = last !== undefined && targetDigest(last.target) === digest;
  const continues = last !== undefined && sameTarget && (resumes || steps.length === 0);
  return {
    cluster: clusterNameOf(desired.cluster),
    stack: stackNameOf(desired.cluster),
    provider: provider.name,
    fromRevision: prior.revision?.number ?? 0,
    transaction: {
      number: continues ? last.number : (last?.number ?? 0) + 1,
      clusterUid: last?.clusterUid ?? input.newClusterUid,
      owner: last?.owner ?? input.owner,
      startedAtMs: continues ? last.startedAtMs : input.nowMs,
      spent: spendIncarnations(
        last?.spent ?? {},
        hosts.map(({ decision }) => decision.name),
      ),
    },
    target,
    targetDigest: digest,
    steps,
    stale: staleKeys(infrastructure, hosts, provider),
    resumes,
    infrastructure: [
      ...infrastructure.map((one) => ({ ...shown(one), key: keyOf(one.node) })),
      ...removedInfrastructure(doomed, infrastructure, provider),
    ],
    machines: machineChanges(hosts, prior, target),
    strangers: input.strangers
      .filter(({ phase, who }) => phase !== "gone" && !targetKeys.has(nodeKey(who.kind, who.name)))
      .map(({ id, who }) => `${who.kind} ${who.name} (${id})`),
    empty: continues && !resumes && prior.pending.length === 0,
  };
}

type Decision = Pick<InfrastructureDecision | HostDecision, "kind" | "changes" | "reason">;

function stepOf(key: NodeKey, { kind, changes, reason }: Decision): Step[] {
  switch (kind) {
    case "same":
      return [];
    case "update":
      return [{ kind: "update", key, changes, reason }];
    default:
      return [{ kind: "create", key, reason }];
  }
}

function deletionOf(resource: RecordedResource, target: Target, sightings: Sightings): Step {
  const machine = resource.parent?.replace(/^Machine\//, "");
  const successor = target.machines.find(({ name }) => name === machine);
  const gone = sightings.get(resource.key) === "gone";
  const reason = gone
    ? "it is gone from the cloud; only its record is left"
    : successor !== undefined
      ? `${successor.host} serves instead`
      : "nothing asks for it any more";
  return { kind: "delete", key: resource.key, reason };
}

function staleKeys(
  infrastructure: readonly InfrastructureDecision[],
  hosts: readonly DecidedHost[],
  provider: InfrastructureProvider,
): NodeKey[] {
  return [
    ...infrastructure.filter(({ stale }) => stale).map(({ node }) => keyOf(node)),
    ...hosts
      .filter(({ decision }) => decision.stale)
      .map(({ decision }) => nodeKey(provider.hostKind, decision.name)),
  ];
}

function machineChanges(
  hosts: readonly DecidedHost[],
  prior: PriorState,
  target: Target,
): MachineChange[] {
  const kept = hosts.map(({ machine, decision }) => ({
    machine: machine.name,
    ...(machine.owner !== undefined && { owner: machine.owner }),
    ...shown(decision),
  }));
  const wanted = new Set(target.machines.map(({ name }) => name));
  const recorded = new Set(
    prior.resources.filter(({ kind }) => kind === "Machine").map(({ name }) => name),
  );
  const removed = (prior.transaction?.target.machines ?? [])
    .filter(({ name }) => recorded.has(name))
    .concat(recordedOnly(recorded, prior))
    .filter(({ name }) => !wanted.has(name))
    .map(({ name, owner }) => ({
      machine: name,
      ...(owner !== undefined && { owner }),
      kind: "delete" as const,
      changes: [],
      reason: "nothing asks for it any more",
    }));
  return [...kept, ...removed].sort((left, right) => inNameOrder(left.machine, right.machine));
}

/** Machines in the state that the last transaction no longer had: the committed revision knows them. */
function recordedOnly(recorded: ReadonlySet<string>, prior: PriorState): TargetMachine[] {
  const last = new Set(prior.transaction?.target.machines.map(({ name }) => name));
  return (prior.revision?.target.machines ?? []).filter(
    ({ name }) => recorded.has(name) && !last.has(name),
  );
}

function removedInfrastructure(
  doomed: readonly RecordedResource[],
  decisions: readonly InfrastructureDecision[],
  provider: InfrastructureProvider,
): InfrastructureChange[] {
  const replaced = decisions.some(({ kind }) => kind === "replace");
  return doomed
    .filter(({ kind }) => kind !== provider.hostKind)
    .map(({ key }) => ({
      key,
      kind: "delete",
      changes: [],
      reason: replaced ? "its successor serves instead" : "nothing asks for it any more",
    }));
}

function shown({ kind, changes, reason }: Decision) {
  return { kind: kind === "unsupported" ? ("same" as const) : kind, changes, reason };
}

function hostsOf(
  machine: string,
  provider: InfrastructureProvider,
  recorded: readonly RecordedResource[],
): RecordedResource[] {
  return recorded.filter(
    ({ kind, parent, deleting }) =>
      kind === provider.hostKind && parent === machineKey(machine) && !deleting,
  );
}

/** The host that an unfinished transaction planned, unless the cloud shows that it lived and died. */
function plannedHost({ prior, strangers }: PlanInput, machine: string) {
  const last = prior.transaction;
  if (last === undefined || last.number === prior.revision?.number) return {};
  const key = last.target.machines.find(({ name }) => name === machine)?.host;
  const node = last.target.nodes.find((one) => keyOf(one) === key);
  if (node === undefined) return {};
  const died = strangers.some(({ who, phase }) => who.name === node.name && phase === "gone");
  return died ? {} : { planned: { name: node.name, spec: node.spec } };
}

function refuseDuplicates(machines: readonly ExpandedMachine[]): void {
  const seen = new Set<string>();
  const twins = machines.filter(({ name }) => seen.has(name) || !seen.add(name));
  if (twins.length === 0) return;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: twins
      .map(({ name }) => `cannot name a Machine ${name}: a Machine and a set both use that name`)
      .join("\n"),
    hint: "rename the Machine or the set",
  });
}

function refuseUnsupported(
  infrastructure: readonly InfrastructureDecision[],
  hosts: readonly DecidedHost[],
): void {
  const problems = [
    ...infrastructure
      .filter(({ kind }) => kind === "unsupported")
      .map(({ node, reason }) => `cannot change ${node.kind} ${node.name}: ${reason}`),
    ...hosts
      .filter(({ decision }) => decision.kind === "unsupported")
      .map(({ machine, decision }) => `cannot change Machine ${machine.name}: ${decision.reason}`),
  ];
  if (problems.length === 0) return;
  throw new CapstanError({
    code: "UNSUPPORTED_CHANGE",
    source: "user",
    message: problems.join("\n"),
    hint: "take the change back, or delete and recreate the object",
  });
}

function objectKey(object: AnyObject): string {
  return `${object.kind}/${object.metadata.namespace}/${object.metadata.name}`;
}

/** "workers-2" before "workers-10"; the same everywhere, whatever the machine's locale. */
export function inNameOrder(left: string, right: string): number {
  return left.localeCompare(right, "en", { numeric: true });
}
