import { type SetCounts, sumOf } from "../../src/sets/counts.js";
import { maxSurgeOf, minAvailableOf } from "../../src/sets/fenceposts.js";
import type { Profile } from "../../src/api/set-profile.js";
import { rolloutSteps, setsWithoutCreation } from "../../src/sets/rollout.js";
import { findNewSet } from "../../src/sets/template.js";
import {
  countsOfGiven,
  type GivenMachineDeployment,
  type GivenMachineSet,
} from "./machine-sets.js";

export interface ReplayGiven {
  readonly machineDeployment: GivenMachineDeployment;
  readonly machineSets: readonly (GivenMachineSet & { readonly machines: readonly string[] })[];
  readonly lastMachineNumber: number;
  readonly schedule: readonly ScheduledRun[];
}

interface ScheduledRun {
  readonly step: number;
  readonly iteration: number;
  /** md, user, a MachineSet or a Machine. */
  readonly run: string;
  readonly delete?: string;
}

export interface ReplayWant {
  readonly invariants?: Readonly<Record<string, number | null>>;
}

interface ReplayedSet {
  readonly name: string;
  readonly templateVersion: string;
  readonly createdAt: { readonly createdAtMs?: number };
  replicas: number;
  /** As its controller reported last. */
  existing: number;
  available: number;
  creationDisabled: boolean;
  machines: { readonly name: string; deleting: boolean }[];
}

type TraceEntry = Readonly<Record<string, unknown>>;

/**
 * The schedule of a case, run against a model of controllers and machines. The deployment's decisions
 * are the product's; MachineSets and Machines are the stand-ins that the vectors' notes describe.
 */
export class Replay {
  readonly #given: ReplayGiven;
  readonly #profile: Profile;
  readonly #sets: ReplayedSet[];
  #lastMachineNumber: number;
  #status: { readonly replicas: number; readonly availableReplicas: number };

  constructor(given: ReplayGiven, profile: Profile) {
    this.#given = given;
    this.#profile = profile;
    this.#sets = given.machineSets.map((set) => {
      const { name, replicas, existing, available, ...createdAt } = countsOfGiven(set);
      return {
        name,
        templateVersion: set.templateVersion ?? "",
        createdAt,
        replicas,
        existing,
        available,
        creationDisabled: false,
        machines: set.machines.map((machine) => ({ name: machine, deleting: false })),
      };
    });
    this.#lastMachineNumber = given.lastMachineNumber;
    this.#status = this.#sums();
  }

  /** Trace, final state and invariants, in the shape in which a case wants them. */
  answer(want: ReplayWant) {
    const limits = want.invariants ?? {};
    const trace = this.#given.schedule.flatMap((run) => this.#run(run, limits));
    return { trace, final: this.#final(), invariants: this.#invariants(limits) };
  }

  #run(run: ScheduledRun, limits: Readonly<Record<string, number | null>>): TraceEntry[] {
    const entry = { step: run.step, run: run.run };
    if (run.run === "md") return [{ ...entry, ...this.#runDeployment(limits) }];
    if (run.run === "user") {
      this.#markForDeletion(run.delete);
      return [];
    }
    const set = this.#sets.find(({ name }) => name === run.run);
    const effect = set === undefined ? this.#runMachine(run.run) : this.#runSet(set);
    return effect === undefined ? [] : [{ ...entry, ...effect }];
  }

  #runDeployment(limits: Readonly<Record<string, number | null>>): TraceEntry {
    const { spec: bounds } = this.#given.machineDeployment;
    const created = this.#ensureNewSet();
    const newSet = this.#newSet();
    if (newSet === undefined) throw new Error("has no MachineSet of its own template");
    const oldSets = this.#sets.filter((set) => set !== newSet);
    const before = new Map(this.#sets.map(({ name, replicas }) => [name, replicas]));
    const steps = rolloutSteps({
      bounds,
      newSet: countsOf(newSet),
      oldSets: oldSets.map(countsOf),
      profile: this.#profile,
    });
    for (const { set: name, to } of steps) {
      for (const set of this.#sets) if (set.name === name) set.replicas = to;
    }
    const disabled = setsWithoutCreation(bounds, oldSets);
    for (const set of this.#sets) set.creationDisabled = disabled.includes(set.name);
    this.#status = this.#sums();
    const tolerated = this.#breach(limits);
    return {
      machineDeploymentStatus: this.#status,
      machineSetsCreated: created,
      scaled: this.#sets
        .map(({ name, replicas }) => ({
          machineSet: name,
          from: before.get(name) ?? 0,
          to: replicas,
        }))
        .filter(({ from, to }) => from !== to),
      specReplicas: this.#bySet(({ replicas }) => replicas),
      statusReplicas: this.#bySet(({ existing }) => existing),
      availableReplicas: this.#bySet(({ available }) => available),
      ...(tolerated !== undefined && { tolerated }),
      ...(bounds.strategy?.type === "OnDelete" && { machineCreationDisabled: disabled }),
    };
  }

  #newSet(): ReplayedSet | undefined {
    const template = (version: string) => ({ spec: { version } });
    const found = findNewSet(
      template(this.#given.machineDeployment.templateVersion ?? ""),
      this.#sets.map(({ name, createdAt, replicas, templateVersion }) => ({
        name,
        uid: name,
        ...createdAt,
        replicas,
        template: template(templateVersion),
      })),
      this.#profile,
    );
    return this.#sets.find(({ name }) => name === found?.name);
  }

  #ensureNewSet(): string[] {
    if (this.#newSet() !== undefined) return [];
    const name = `ms${this.#sets.length + 1}`;
    this.#sets.push({
      name,
      templateVersion: this.#given.machineDeployment.templateVersion ?? "",
      createdAt: {},
      replicas: 0,
      existing: 0,
      available: 0,
      creationDisabled: false,
      machines: [],
    });
    return [name];
  }

  #runSet(set: ReplayedSet): TraceEntry | undefined {
    const missing = set.replicas - set.machines.length;
    let effect: TraceEntry | undefined;
    if (missing > 0 && !set.creationDisabled) {
      const first = this.#lastMachineNumber + 1;
      const created = Array.from({ length: missing }, (_, index) => `m${first + index}`);
      this.#lastMachineNumber += missing;
      set.machines.push(...created.map((name) => ({ name, deleting: false })));
      effect = { machinesCreated: created };
    }
    if (missing < 0) {
      set.machines.sort((left, right) => numberOf(left.name) - numberOf(right.name));
      const deleted = set.machines.splice(0, -missing);
      effect = { machinesDeleted: deleted.map(({ name }) => name) };
    }
    set.existing = set.machines.length;
    set.available = set.machines.length;
    return effect;
  }

  #runMachine(name: string): TraceEntry | undefined {
    for (const set of this.#sets) {
      const gone = set.machines.find((machine) => machine.name === name && machine.deleting);
      if (gone === undefined) continue;
      set.machines = set.machines.filter((machine) => machine !== gone);
      return { machineGone: name };
    }
    return undefined;
  }

  #markForDeletion(name: string | undefined): void {
    for (const { machines } of this.#sets) {
      for (const machine of machines) if (machine.name === name) machine.deleting = true;
    }
  }

  /** A bound that does not hold now: named where the case tolerates it, an error otherwise. */
  #breach(limits: Readonly<Record<string, number | null>>): string | undefined {
    const { bounds, total } = this.#measured();
    const broken = [
      {
        limit: "availableAtLeast",
        name: "maxUnavailable",
        is: this.#status.availableReplicas < bounds.least,
      },
      { limit: "totalAtMost", name: "maxSurge", is: total > bounds.most },
    ].filter(({ limit, is }) => is && limit in limits);
    const forbidden = broken.find(({ limit }) => limits[limit] !== null);
    if (forbidden !== undefined) throw new Error(`breaks ${forbidden.name} on the way`);
    return broken[0]?.name;
  }

  #measured() {
    const { spec } = this.#given.machineDeployment;
    return {
      bounds: { least: minAvailableOf(spec), most: spec.replicas + maxSurgeOf(spec) },
      total: sumOf(this.#sets, ({ replicas, existing }) => Math.max(replicas, existing)),
    };
  }

  #invariants(limits: Readonly<Record<string, number | null>>) {
    const { bounds } = this.#measured();
    const iterations = Math.max(0, ...this.#given.schedule.map(({ iteration }) => iteration));
    const allowed = limits["convergesWithinIterations"] ?? 0;
    const ours: Readonly<Record<string, number>> = {
      convergesWithinIterations: Math.max(iterations, allowed),
      iterationsUsed: iterations,
      availableAtLeast: bounds.least,
      totalAtMost: bounds.most,
    };
    return Object.fromEntries(
      Object.entries(limits).map(([name, limit]) => [name, limit === null ? null : ours[name]]),
    );
  }

  #final() {
    return {
      machineDeploymentStatus: this.#status,
      machineSets: this.#sets.map(({ name, replicas, existing, available, machines }) => ({
        name,
        specReplicas: replicas,
        statusReplicas: existing,
        availableReplicas: available,
        machines: machines.map((machine) => machine.name),
      })),
    };
  }

  #bySet(count: (set: ReplayedSet) => number): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#sets.map((set) => [set.name, count(set)]));
  }

  #sums() {
    return {
      replicas: sumOf(this.#sets, ({ existing }) => existing),
      availableReplicas: sumOf(this.#sets, ({ available }) => available),
    };
  }
}

function countsOf({ name, createdAt, replicas, existing, available }: ReplayedSet): SetCounts {
  return { name, ...createdAt, replicas, existing, available };
}

function numberOf(machine: string): number {
  return Number(machine.replace(/\D/g, ""));
}
