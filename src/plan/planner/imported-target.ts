import { domainOfHost, withoutDomain } from "../../api/failure-domains.js";
import { type JsonObject, sameJson } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { MachineObject } from "../../api/types.js";
import { compileParts, generationHash, templateJudge } from "../../compile/compile.js";
import { answersInUse, informed, questionsOf } from "../../compile/lookups.js";
import { policiesOf, underPolicy } from "../../compile/update-policy.js";
import { type GraphNode, nodeKey } from "../../graph/graph.js";
import { nearestChoice } from "../../provider/alternatives.js";
import { machineSpecOf, memberOfHostField } from "../../provider/host-spec.js";
import { asKnown, unobservableOf } from "../../provider/unobservable.js";
import type { Found, InfrastructureProvider, Lookups, Verdict } from "../../provider/port.js";
import { cloudResources, type PriorState } from "../../records/prior-state.js";
import {
  clusterIn,
  desiredIn,
  inTargetOrder,
  machineKey,
  type Target,
} from "../../records/target.js";
import { expandObjects } from "../../sets/expand.js";
import type { ExpandedMachine, RecordedMachine } from "../../sets/expanded.js";
import { inNameOrder } from "../../sets/name-order.js";
import { orderedObjects } from "../goal/compiled-goal.js";
import type { ObservedResources } from "../observation.js";
import { changesShown } from "../changes/secret-values.js";
import { shownValue } from "../changes/tree.js";
import { secretInputsOf } from "../../provider/secret-fields.js";
import { RefusedChange } from "../refused-change.js";
import { type ChangedField, changesOf } from "../step.js";
import { planInfrastructure } from "../decisions/infrastructure.js";
import { withExternals } from "../goal/externals.js";

// A host that was there before is held against what the manifests want of its machine. Pure.

interface ImportQuestion {
  /** As the manifests have it. */
  readonly object: MachineObject;
  readonly found: Found;
  /** What is recorded and committed: nothing else of it is touched. */
  readonly target: Target;
  readonly prior: PriorState;
  readonly observedResources: ObservedResources;
  readonly provider: InfrastructureProvider;
  readonly nowMs: number;
  /** Answers to what the manifests ask; those that are recorded without. */
  readonly lookups?: Lookups;
}

/** What the records come to with the host, and what a later `up` changes of it in place. */
interface ImportedTarget {
  readonly target: Target;
  readonly later: readonly ChangedField[];
}

/**
 * The recorded target with the machine and its host, both as they were found. Throws RefusedChange, naming every
 * field with both values, for a host that cannot become in place what the manifests want.
 */
export function targetWithImported(asked: ImportQuestion): ImportedTarget {
  const { object, target, prior } = asked;
  const provider = informed(asked.provider, asked.lookups ?? target.lookups);
  const question = { ...asked, provider };
  const asWanted = wantedMachine(question);
  const { referenced, resolved } = wantedInputs(asWanted, question);
  const found = asKnown(question.found, unobservableOf(provider, provider.hostKind), resolved);
  const policy = policiesOf([...target.objects, object])(asWanted);
  const judging = underPolicy(provider, policy);
  const { asked: nearest, verdict } = nearestChoice(
    judging,
    provider.hostKind,
    found.spec,
    resolved,
  );
  const secret = new Set(secretInputsOf(provider, provider.hostKind));
  const later = changesShown(changesOf(verdict, found.spec, nearest), secret);
  if (verdict.kind !== "same" && verdict.kind !== "inPlace") {
    throw refusedFields(asWanted, found, { verdict, later });
  }
  const isSame = verdict.kind === "same";
  const asIs = machineSpecOf(found.spec, provider);
  const isPlaced = asWanted.failureDomain !== undefined && provider.failureDomains !== undefined;
  const foundSpec = isPlaced ? withoutDomain(asIs, provider.failureDomains.field) : asIs;
  const machine = isSame ? asWanted : { ...asWanted, spec: foundSpec };
  const spec = asFoundWithRefs(found.spec, { referenced, resolved });
  const desired = desiredIn(target);
  const recordedObject = isSame ? object : { ...object, spec: machine.spec };
  const generation = `${machine.name}-${generationHash(provider, provider.hostKind, spec)}`;
  const incarnation = (prior.transaction?.spent[generation] ?? 0) + 1;
  const host: GraphNode = {
    kind: provider.hostKind,
    name: `${generation}-${incarnation}`,
    type: "resource",
    parent: machineKey(machine.name),
    spec,
    dependsOn: target.machines.filter(({ controlPlane }) => controlPlane).map((one) => one.host),
  };
  const alone = {
    machines: [recordedObject],
    machineSets: [],
    machineDeployments: [],
    drainRules: [],
    healthChecks: [],
  };
  const placed = [{ by: `Machine ${machine.name}`, machine }];
  const asks = questionsOf(provider, { cluster: desired.cluster, ...alone }, placed);
  const machines = [
    ...target.machines,
    { ...machine, controlPlane: false, host: nodeKey(host.kind, host.name) },
  ].sort((left, right) => inNameOrder(left.name, right.name));
  const component: GraphNode = {
    kind: "Machine",
    name: machine.name,
    type: "component",
    spec: {},
    dependsOn: [],
  };
  const answers = { ...answersInUse(asks, asked.lookups), ...target.lookups };
  return {
    later,
    target: omitUndefined({
      ...target,
      lookups: Object.keys(answers).length === 0 ? undefined : answers,
      objects: orderedObjects({ ...desired, machines: [...desired.machines, recordedObject] }),
      machines,
      nodes: inTargetOrder([...target.nodes, component, host], machines),
    }),
  };
}

/** Versions that the manifests leave out are those that run. */
function wantedMachine({
  object,
  found,
  target,
  provider,
  nowMs,
}: ImportQuestion): ExpandedMachine {
  const cluster = clusterIn(target);
  const none = { machineSets: [], machineDeployments: [], drainRules: [], healthChecks: [] };
  const alone = { cluster, machines: [object], ...none };
  const running = runningMachine(object.metadata.name, found, provider);
  const recorded = [running, ...target.machines];
  const { machines } = expandObjects(alone, recorded, templateJudge(provider, cluster), nowMs);
  const [machine] = machines;
  if (machine === undefined) throw new Error("an object of its own is a machine");
  return machine;
}

/** The machine as its host tells of it: what places a machine keeps it there. */
function runningMachine(
  name: string,
  { spec }: Found,
  provider: InfrastructureProvider,
): RecordedMachine {
  const { failureDomains } = provider;
  return omitUndefined({
    name,
    spec: machineSpecOf(spec, provider),
    failureDomain: failureDomains && domainOfHost(failureDomains, spec),
  });
}

/** What a host of the machine is made with, on the infrastructure that is recorded. */
function wantedInputs(
  machine: ExpandedMachine,
  { target, prior, observedResources, provider }: ImportQuestion,
): { readonly referenced: JsonObject; readonly resolved: JsonObject } {
  const cluster = clusterIn(target);
  const parts = withExternals(compileParts(provider, cluster, [...target.machines, machine]), {
    pinned: target.externals ?? [],
  });
  const infrastructure = planInfrastructure(
    provider,
    { infrastructure: parts.infrastructure, isFrozen: false },
    {
      recorded: cloudResources(prior).filter(({ kind }) => kind !== provider.hostKind),
      unrecorded: [],
      observedResources,
      mayReplace: () => false,
      used: new Set(),
      committed: new Set(),
      replacesFailed: () => false,
    },
  );
  const referenced = infrastructure.rename(parts.hosts.get(machine.name) ?? {});
  return { referenced, resolved: infrastructure.resolve(referenced) };
}

/** With Refs where the value that they stand for is the one that was found. */
function asFoundWithRefs(
  found: JsonObject,
  { referenced, resolved }: ReturnType<typeof wantedInputs>,
): JsonObject {
  return Object.fromEntries(
    Object.entries(found).map(([field, value]) => {
      const wanted = referenced[field];
      const isIt = wanted !== undefined && sameJson(value, resolved[field] ?? null);
      return [field, isIt ? wanted : value];
    }),
  );
}

function refusedFields(
  machine: ExpandedMachine,
  { id }: Found,
  {
    verdict,
    later,
  }: {
    readonly verdict: Exclude<Verdict, { kind: "same" | "inPlace" }>;
    later: readonly ChangedField[];
  },
): RefusedChange {
  const decisive =
    verdict.reasons === undefined ? later : later.filter(({ reason }) => reason !== undefined);
  return new RefusedChange(
    decisive.map(({ path, from, to, reason = verdict.reason }) => ({
      subject: `Machine ${machine.name}`,
      reason: `${path} of ${id} is ${shownValue(from, path)}, and the manifests say ${shownValue(to, path)} (${reason})`,
      machine: { name: machine.name },
      member: memberOfHostField(path),
    })),
    "nothing was changed; write into the manifests what the host is, or give them another host",
    undefined,
    "import",
  );
}
