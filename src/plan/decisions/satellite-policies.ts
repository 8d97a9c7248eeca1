import { findServed } from "../../api/served-versions.js";
import { type Desired, providerValue } from "../../api/types.js";
import { satellitesByObject } from "../../compile/compile.js";
import { informed } from "../../compile/lookups.js";
import { type GraphNode, type NodeKey, nodeName } from "../../graph/graph.js";
import type { InfrastructureProvider, Satellite } from "../../provider/port.js";
import { machineNameOf } from "../../records/host-name.js";
import type { TargetMachine } from "../../records/target.js";
import type { MachineOwner } from "../../sets/expanded.js";
import { ownerText } from "../../sets/owning-objects.js";
import type { CompiledGoal } from "../goal/compiled-goal.js";
import type { PlanInput } from "../plan-input.js";
import { isGenerationOf } from "./infrastructure.js";

// What manifests say of data when its host goes. They are asked for what they want now, whatever a host was made with.

/** What lives with hosts, as manifests tell it. */
export interface SatellitePolicies {
  /** Of every machine and every object that machines come from. */
  readonly all: () => readonly Satellite[];
  /**
   * Of one machine, or of the object that it comes from, where a set may ask for fewer; empty where no manifest speaks of it. `recorded`: whose it
   * is as far as records tell, whatever it is called; its name tells where they do not.
   */
  readonly of: (machine: string, recorded?: RecordedMachine) => readonly Satellite[];
}

type RecordedMachine = Pick<TargetMachine, "owner">;

interface ToldIn {
  readonly desired: Desired;
  /** Who knows the answers to what it looks up. */
  readonly provider: InfrastructureProvider;
}

/**
 * What manifests tell of what lives with hosts: also of machines that a set has too many of. `satellites`: of machines that are compiled already;
 * objects are compiled when somebody asks. Pure.
 */
export function satellitePolicies(
  { satellites = new Map<string, readonly Satellite[]>() }: Pick<CompiledGoal, "satellites">,
  { provider, desired }: ToldIn,
): SatellitePolicies {
  let compiled: ReturnType<typeof satellitesByObject> | undefined;
  const byObject = () => (compiled ??= satellitesByObject(provider, desired));
  const ofObject = (machine: string, recorded?: RecordedMachine) => {
    const own = byObject().get(`Machine ${machine}`);
    const { owner } = recorded ?? { owner: ownerNamed(machine, desired) };
    return own ?? (owner && byObject().get(ownerText(owner)));
  };
  return {
    all: () => [...satellites.values(), ...byObject().values()].flat(),
    of: (machine, recorded) => satellites.get(machine) ?? ofObject(machine, recorded) ?? [],
  };
}

/**
 * What counts of data whose host goes with a change: the objects that it leads to, or manifests that were named with it. Undefined: neither, and
 * what is recorded counts. Pure.
 */
export function policiesToldTo(
  input: Pick<PlanInput, "planGoal" | "provider" | "told" | "prior">,
  compiledGoal: CompiledGoal,
): SatellitePolicies | undefined {
  const { planGoal, provider, told } = input;
  if (planGoal.kind === "objects")
    return satellitePolicies(compiledGoal, { ...planGoal, provider });
  return told !== undefined && isServedBy(provider, told) ? policiesIn(told, input) : undefined;
}

/** The same of what no record tells of, where everything goes: the manifests that led to what there is. Pure. */
export function policiesBefore(
  input: Pick<PlanInput, "provider" | "ledBy" | "prior">,
): SatellitePolicies | undefined {
  return input.ledBy && policiesIn(input.ledBy, input);
}

function policiesIn(
  desired: Desired,
  { provider, prior: { transaction } }: Pick<PlanInput, "provider" | "prior">,
): SatellitePolicies {
  const answering = informed(provider, transaction?.target.lookups);
  return satellitePolicies({}, { desired, provider: answering });
}

/** Manifests of another provider tell nothing of what this one has made. */
function isServedBy(provider: InfrastructureProvider, { cluster }: Desired): boolean {
  return findServed([provider], providerValue(cluster.spec)["apiVersion"]) !== undefined;
}

/**
 * Whether a satellite, in whatever generation, outlives its host. Where no manifest tells of it for its machine, what was wanted is unknown:
 * it stays if the manifests say of any machine what becomes of one under that name, whatever they say there. Pure.
 */
export function isFoundToStay(
  satellite: Pick<Satellite, "kind" | "name">,
  machine: string,
  { all, of }: SatellitePolicies,
): boolean {
  const isIt = (one: Satellite) => isGenerationOf(one, satellite);
  const own = of(machine).filter(isIt);
  return own.length > 0 ? staysIn(own) : all().some(isIt);
}

/** Whether manifests say now of a satellite whose host goes that it stays, whatever was said when that was made. Pure. */
export function isToldToStay(
  { kind, name, host }: Pick<GraphNode, "kind" | "name"> & { readonly host?: NodeKey | undefined },
  { of }: SatellitePolicies,
  recorded: ReadonlyMap<string, RecordedMachine>,
): boolean {
  if (host === undefined) return false;
  const own = { kind, name: name.slice(`${nodeName(host)}-`.length) };
  const machine = machineNameOf(nodeName(host));
  const told = of(machine, recorded.get(machine));
  return staysIn(told.filter((one) => isGenerationOf(one, own)));
}

function staysIn(told: readonly Satellite[]): boolean {
  return told.some(({ whenHostGoes }) => whenHostGoes === "keep");
}

/**
 * The set that a machine's name is of; undefined for none: one that these manifests hold, whatever that is called. Else sets of deployments are
 * told by their names, whether or not these manifests hold the deployment: the next ones may. Pure.
 */
export function ownerNamed(
  machine: string,
  { machineSets }: Pick<Desired, "machineSets">,
): MachineOwner | undefined {
  const [, machineSet = "", number = ""] = /^(.+)-(\d+)$/.exec(machine) ?? [];
  const ordinal = Number(number);
  if (machineSets.some(({ metadata }) => metadata.name === machineSet)) {
    return { machineSet, ordinal };
  }
  const [, machineDeployment] = /^(.+)-[0-9a-f]{8}(?:-r\d+)?$/.exec(machineSet) ?? [];
  return machineDeployment === undefined ? undefined : { machineSet, machineDeployment, ordinal };
}
