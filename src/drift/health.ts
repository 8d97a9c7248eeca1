import { timeText } from "../api/time-text.js";
import {
  defaultNodeStartupTimeoutSeconds,
  parseUnhealthyRange,
} from "../api/machine-health-check.js";
import { selectorMatches } from "../api/label-selector.js";
import { skipRemediationAnnotation } from "../api/machine-annotations.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { AnyObject, MachineHealthCheckObject } from "../api/types.js";
import type { NodeKey } from "../graph/graph.js";
import { asNodesTell, type Observation, type ObservedResource } from "../plan/observation.js";
import { hostMachines, type MachineAnnotations } from "../records/host-machine.js";
import { cloudResources, isOpen, type PriorState } from "../records/prior-state.js";
import type { TargetMachine } from "../records/target.js";
import { scaled } from "../sets/fenceposts.js";
import { inNameOrder } from "../sets/name-order.js";
import { hostReadiness, isServing } from "../workload/node-readiness.js";

/** Why a machine is unhealthy, by the first check by name that says so. JSON data. */
export type Ailment = {
  readonly check: string;
  /** Since when, milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly timeoutSeconds: number;
} & (
  | { readonly kind: "condition"; readonly type: string; readonly status: string }
  /** Its host runs, and its cluster has no Node of it. */
  | { readonly kind: "noNode" }
);

/** What one check finds among its machines. */
export interface CheckedHealth {
  readonly check: string;
  /** Machines that it looks at. */
  readonly expected: number;
  /** Those with a Node and none of the conditions, however long these have lasted. */
  readonly healthy: number;
  /** How many more may become unhealthy, and unhealthy ones are replaced all the same. */
  readonly allowed: number;
  /** Whether any may be replaced now: neither too many nor too few are unhealthy. */
  readonly isAllowed: boolean;
}

export interface MachineHealth {
  readonly checks: readonly CheckedHealth[];
  /** By host. */
  readonly unhealthy: ReadonlyMap<NodeKey, Ailment>;
  /**
   * Machines that some check does not find healthy, whether for long enough or not, and members of the control plane whose Node is
   * not ready, whoever looks at them; one may stand here twice.
   */
  readonly ailing: readonly Pick<TargetMachine, "name" | "controlPlane">[];
  /** When the next machine becomes unhealthy if nothing changes, milliseconds since the epoch. */
  readonly nextMs?: number;
}

/** What health is judged by. */
export interface HealthRules {
  /** Those that say what is wanted now. */
  readonly objects: readonly AnyObject[];
  readonly nowMs: number;
  /** What the Machines of an API server are annotated with. */
  readonly liveAnnotations?: MachineAnnotations | undefined;
}

/** A machine that some check may look at. */
interface Patient {
  readonly machine: Pick<TargetMachine, "name" | "controlPlane" | "host">;
  readonly labels: Readonly<Record<string, string>>;
  /** As its Node tells; absent where nobody knows. */
  readonly seen?: ObservedResource | undefined;
}

/** Nothing in it: a machine is not healthy, and no host of it is to be replaced for that by a check. */
type Diagnosis = "healthy" | { readonly ailments: readonly Ailment[] };

const noHealth: MachineHealth = { checks: [], unhealthy: new Map(), ailing: [] };

/**
 * Which machines are unhealthy by the MachineHealthChecks of their cluster. While a transaction is open, whose machines are its
 * business, those alone are that it waits for: members of the control plane, and what it has changed itself. Nothing is said of a cluster whose API server does not answer, nor of Machines that are annotated to be let alone. Pure. Source: docs/cluster-api.md#health-checks.
 */
export function healthOf(
  state: PriorState,
  observation: Pick<Observation, "observedResources" | "nodes">,
  { objects, nowMs, liveAnnotations }: HealthRules,
): MachineHealth {
  const checks = objects.filter((one) => one.kind === "MachineHealthCheck");
  const { transaction } = state;
  if (checks.length === 0 || transaction === undefined) return noHealth;
  const isSilent = transaction.keys !== undefined && observation.nodes === undefined;
  if (isSilent) return noHealth;
  const observed = asNodesTell({ ...observation, unrecorded: [], listed: 0 });
  const machineOf = hostMachines({ ...transaction.target, objects }, state, {
    live: liveAnnotations,
  });
  const machines = standingHosts(state);
  const patients = machines.flatMap((machine): Patient[] => {
    const { labels = {}, annotations = {} } = machineOf(machine.host) ?? {};
    const isLetAlone = skipRemediationAnnotation in annotations;
    return isLetAlone ? [] : [{ machine, labels, seen: observed.get(machine.host) }];
  });
  const hasNode = (host: NodeKey) => observation.nodes?.has(host) ?? true;
  const found = checks
    .toSorted((one, other) => inNameOrder(one.metadata.name, other.metadata.name))
    .map((check) => examined(check, patients, observation.nodes));
  // The word of a check that may act counts before that of one that may not.
  const inOrder = found.toSorted(
    (one, other) => Number(other.health.isAllowed) - Number(one.health.isAllowed),
  );
  const isJudged = judgedHosts(state);
  const ailments = inOrder.flatMap((one) => one.ailments).filter(([host]) => isJudged(host));
  const due = ailments.filter(([, ailment]) => dueMs(ailment) < nowMs);
  const later = ailments.map(([, ailment]) => dueMs(ailment)).filter((ms) => ms >= nowMs);
  return omitUndefined({
    checks: found.map(({ health }) => health),
    // The first one of each host counts.
    unhealthy: new Map(due.toReversed()),
    ailing: [
      ...found.flatMap(({ ailing }) => ailing),
      ...machines
        .filter(
          ({ controlPlane, host }) =>
            controlPlane && !(hasNode(host) && hostReadiness(observed.get(host)).ready),
        )
        .map(nameOf),
    ],
    nextMs: later.length === 0 ? undefined : Math.min(...later) + 1_000,
  });
}

/**
 * The machines of the last transaction, each with the host that it has: that of the revision as long as its successor is in no record.
 * What an open transaction is still to make is not among them. Pure.
 */
export function standingHosts(state: PriorState): TargetMachine[] {
  const machines = state.transaction?.target.machines ?? [];
  if (!isOpen(state)) return [...machines];
  const recorded = new Set(cloudResources(state).map(({ key }) => key));
  const before = new Map(state.revision?.target.machines.map(({ name, host }) => [name, host]));
  return machines.flatMap((machine) => {
    const hosts = [machine.host, before.get(machine.name)];
    const host = hosts.find((one) => one !== undefined && recorded.has(one));
    return host === undefined ? [] : [{ ...machine, host }];
  });
}

function judgedHosts(state: PriorState): (host: NodeKey) => boolean {
  if (!isOpen(state)) return () => true;
  const { target, touched = [] } = state.transaction ?? {};
  const own = new Set(touched);
  const judged = (target?.machines ?? []).filter(
    ({ controlPlane, host }) => controlPlane || own.has(host),
  );
  const hosts = new Set(judged.map(({ host }) => host));
  return (host) => hosts.has(host);
}

function nameOf({ name, controlPlane }: Patient["machine"]): MachineHealth["ailing"][number] {
  return { name, controlPlane };
}

function dueMs({ sinceMs, timeoutSeconds }: Ailment): number {
  return sinceMs + timeoutSeconds * 1_000;
}

interface Examined {
  readonly health: CheckedHealth;
  readonly ailments: readonly (readonly [NodeKey, Ailment])[];
  readonly ailing: MachineHealth["ailing"];
}

function examined(
  { metadata, spec }: MachineHealthCheckObject,
  patients: readonly Patient[],
  nodes: Observation["nodes"],
): Examined {
  const own = patients.filter(({ labels }) => selectorMatches(spec.selector, labels));
  const found = own.flatMap((patient) => {
    const diagnosis = diagnosisOf(patient, { check: metadata.name, spec, nodes });
    return diagnosis === "healthy" ? [] : [{ patient, ...diagnosis }];
  });
  return {
    health: {
      check: metadata.name,
      expected: own.length,
      healthy: own.length - found.length,
      ...triggerOf(spec, own.length, found.length),
    },
    ailments: found.flatMap(({ patient, ailments }) =>
      ailments.map((ailment) => [patient.machine.host, ailment] as const),
    ),
    ailing: found.map(({ patient }) => nameOf(patient.machine)),
  };
}

/** Whether so many of these machines may be unhealthy, and how many more. */
function triggerOf(
  { remediation: { triggerIf = {} } = {} }: MachineHealthCheckObject["spec"],
  expected: number,
  unhealthy: number,
): Pick<CheckedHealth, "allowed" | "isAllowed"> {
  const range = parseUnhealthyRange(triggerIf.unhealthyInRange ?? "");
  const bound = scaled(triggerIf.unhealthyLessThanOrEqualTo ?? "100%", expected, Math.floor) ?? 0;
  const [least, most] = range ?? [0, bound];
  const isAllowed = unhealthy >= least && unhealthy <= most;
  return { isAllowed, allowed: isAllowed ? most - unhealthy : 0 };
}

/** What is wrong with a machine. What nobody knows is not healthy, and nothing is done about it. */
function diagnosisOf(
  { machine: { host }, seen }: Patient,
  {
    check,
    spec,
    nodes,
  }: {
    readonly check: string;
    readonly spec: MachineHealthCheckObject["spec"];
    readonly nodes: Observation["nodes"];
  },
): Diagnosis {
  const { nodeStartupTimeoutSeconds, unhealthyNodeConditions = [] } = spec.checks ?? {};
  // A host that is gone or failed has drifted, and that is what is done about it.
  if (!isServing(seen)) return { ailments: [] };
  if (nodes !== undefined && !nodes.has(host)) {
    const timeoutSeconds = nodeStartupTimeoutSeconds ?? defaultNodeStartupTimeoutSeconds;
    const sinceMs = seen.readySinceMs ?? seen.createdAtMs;
    if (timeoutSeconds === 0 || sinceMs === undefined) return { ailments: [] };
    return { ailments: [{ kind: "noNode", check, sinceMs, timeoutSeconds }] };
  }
  const { conditions = [] } = seen.node ?? {};
  const met = unhealthyNodeConditions.flatMap((unhealthy) => {
    const told = conditions.find(({ type }) => type === unhealthy.type);
    return told?.status === unhealthy.status ? [{ unhealthy, since: told.lastTransitionTime }] : [];
  });
  if (met.length === 0) return "healthy";
  const ailments = met.flatMap(({ unhealthy, since }): Ailment[] =>
    since === undefined
      ? []
      : [{ kind: "condition", check, sinceMs: Date.parse(since), ...unhealthy }],
  );
  return { ailments: ailments.toSorted((one, other) => dueMs(one) - dueMs(other)) };
}

/** "MachineHealthCheck workers: its Node says Ready=Unknown since 2026-05-04T10:11:12Z, which may last 300 s". Pure. */
export function ailmentText(ailment: Ailment): string {
  const { check, sinceMs, timeoutSeconds } = ailment;
  const since = timeText(sinceMs);
  const what =
    ailment.kind === "condition"
      ? `its Node says ${ailment.type}=${ailment.status} since ${since}`
      : `it runs without its Node since ${since}`;
  return `MachineHealthCheck ${check}: ${what}, which may last ${timeoutSeconds} s`;
}
