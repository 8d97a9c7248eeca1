import type { Desired } from "../../api/types.js";
import { templateSatellites } from "../../compile/compile.js";
import { type GraphNode, type NodeKey, nodeName } from "../../graph/graph.js";
import type { InfrastructureProvider, Satellite } from "../../provider/port.js";
import { machineNameOf } from "../../records/host-name.js";
import type { TargetMachine } from "../../records/target.js";
import type { MachineOwner } from "../../sets/expanded.js";
import { ownerText } from "../../sets/owning-objects.js";
import type { CompiledGoal } from "../goal/compiled-goal.js";
import { isGenerationOf } from "./infrastructure.js";

// What manifests say of data when its host goes. They are asked for what they want now, whatever a host was made with.

/** What lives with hosts, as manifests tell it. */
export interface SatellitePolicies {
  /** Of every machine and every template. */
  readonly all: () => readonly Satellite[];
  /**
   * Of one machine, or of its set's template where the set asks for fewer; empty where no manifest speaks of it. `recorded`: whose it is as far
   * as records tell, whatever it is called; its name tells where they do not.
   */
  readonly of: (machine: string, recorded?: RecordedMachine) => readonly Satellite[];
}

type RecordedMachine = Pick<TargetMachine, "owner">;

interface ToldIn {
  readonly desired: Desired;
  /** Who knows the answers to what it looks up. */
  readonly provider: InfrastructureProvider;
}

/** What manifests tell of what lives with hosts: also of machines that a set has too many of. Templates are compiled when somebody asks. Pure. */
export function satellitePolicies(
  { satellites = new Map<string, readonly Satellite[]>() }: Pick<CompiledGoal, "satellites">,
  { provider, desired }: ToldIn,
): SatellitePolicies {
  let compiled: ReturnType<typeof templateSatellites> | undefined;
  const templates = () => (compiled ??= templateSatellites(provider, desired));
  const ofTemplate = (machine: string, recorded?: RecordedMachine) => {
    const { owner } = recorded ?? { owner: ownerNamed(machine, desired) };
    return owner && templates().get(ownerText(owner));
  };
  return {
    all: () => [...satellites.values(), ...templates().values()].flat(),
    of: (machine, recorded) => satellites.get(machine) ?? ofTemplate(machine, recorded) ?? [],
  };
}

/**
 * Whether a satellite, in whatever generation, outlives its host. Where nothing tells of it for its machine nobody knows
 * what was wanted: data that the manifests keep anywhere else under that name is then not deleted here. Pure.
 */
export function isFoundToStay(
  satellite: Pick<Satellite, "kind" | "name">,
  machine: string,
  { all, of }: SatellitePolicies,
): boolean {
  const isIt = (one: Satellite) => isGenerationOf(one, satellite);
  const own = of(machine).filter(isIt);
  return staysIn(own.length > 0 ? own : all().filter(isIt));
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
