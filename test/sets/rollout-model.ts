import assert from "node:assert/strict";
import fc from "fast-check";
import { sumOf } from "../../src/sets/counts.js";
import type { DeletePolicy } from "../../src/sets/deletion-order.js";
import { maxSurgeOf, minAvailableOf, type RolloutBounds } from "../../src/sets/fenceposts.js";
import { changeMembers } from "../../src/sets/membership.js";
import { deleteMachineAnnotation } from "../../src/api/delete-marks.js";
import type { Profile } from "../../src/api/set-profile.js";
import { planRollout, type RolloutPlan } from "../../src/sets/rollout.js";

/** What can happen to a deployment between two rounds. Numbers pick one of what is there. */
export type Happening =
  | { readonly kind: "nothing" }
  | { readonly kind: "scale"; readonly replicas: number }
  /** A template that may have been there before: going back is an edit like any other. */
  | { readonly kind: "template"; readonly template: number }
  | { readonly kind: "machineFails"; readonly pick: number }
  | { readonly kind: "machineRecovers"; readonly pick: number }
  | { readonly kind: "userDeletes"; readonly pick: number }
  | { readonly kind: "userMarks"; readonly pick: number };

export interface Story {
  readonly profile: Profile;
  readonly policy: DeletePolicy;
  readonly bounds: RolloutBounds;
  /** What happens before each round, and how many machines come up and go in the meantime. */
  readonly rounds: readonly {
    readonly happening: Happening;
    readonly comeUp: number;
    readonly go: number;
  }[];
}

interface ModelMachine {
  readonly name: string;
  readonly createdAtMs: number;
  ready: boolean;
  deleting: boolean;
  annotations: Record<string, string>;
}

interface ModelSet {
  readonly name: string;
  readonly template: number;
  readonly createdAtMs: number;
  replicas: number;
  machines: ModelMachine[];
}

const minuteMs = 60_000;

/** A deployment, its sets and its machines, with the product's decisions and a cloud that takes its time. */
export class RolloutModel {
  readonly profile: Profile;
  readonly policy: DeletePolicy;
  bounds: RolloutBounds;
  sets: ModelSet[] = [];
  #template = 0;
  #nowMs = 0;
  #made = 0;

  constructor({ profile, policy, bounds }: Story) {
    this.profile = profile;
    // MachineDeployments of v1alpha1 cannot ask for a policy.
    this.policy = profile === "v1alpha1" ? "Random" : policy;
    this.bounds = bounds;
    this.round();
    this.comeUp(Infinity);
  }

  get machines(): ModelMachine[] {
    return this.sets.flatMap(({ machines }) => machines);
  }

  get available(): number {
    return this.machines.filter(({ ready, deleting }) => ready && !deleting).length;
  }

  /** Machines as the profile counts them against the surge limit. */
  get total(): number {
    return this.profile === "modern"
      ? sumOf(this.sets, ({ replicas, machines }) => Math.max(replicas, machines.length))
      : sumOf(this.sets, ({ replicas }) => replicas);
  }

  get newSet(): ModelSet | undefined {
    return this.sets.find(({ template }) => template === this.#template);
  }

  /** Only machines of the present template, as many as wanted, all of them available. */
  get hasConverged(): boolean {
    const { newSet } = this;
    return (
      newSet?.replicas === this.bounds.replicas &&
      this.machines.length === newSet.machines.length &&
      this.available === this.bounds.replicas &&
      this.sets.every((set) => set === newSet || set.replicas === 0)
    );
  }

  observe() {
    const staying = this.machines.filter(({ deleting }) => !deleting).map(({ name }) => name);
    return { total: this.total, available: this.available, staying: new Set(staying) };
  }

  /** Decides, scales, makes and deletes, and holds it to the bounds. */
  round(): RolloutPlan {
    this.#nowMs += minuteMs;
    this.#ensureNewSet();
    const before = this.observe();
    const plan = planRollout({
      deployment: this.bounds,
      sets: this.sets.map((set) => ({
        ...set,
        isNew: set === this.newSet,
        machines: set.machines.map((machine) => ({ ...machine, available: machine.ready })),
      })),
      profile: this.profile,
    });
    for (const set of this.sets) set.replicas = plan.scale.get(set.name) ?? set.replicas;
    this.#holdToSurge(before.total);
    for (const set of this.sets) this.#changeMembers(set, plan);
    this.#holdToSurge(before.total);
    this.#holdToAvailability(before, plan);
    return plan;
  }

  happen(happening: Happening): void {
    switch (happening.kind) {
      case "nothing":
        return;
      case "scale":
        this.bounds = { ...this.bounds, replicas: happening.replicas };
        return;
      case "template":
        this.#template = happening.template;
        return;
      default: {
        const { machines } = this;
        const machine = machines[happening.pick % Math.max(machines.length, 1)];
        if (machine !== undefined) this.#happenTo(machine, happening.kind);
      }
    }
  }

  /** So many machines that stay become ready, oldest first. */
  comeUp(count: number): void {
    const waiting = this.machines.filter(({ ready, deleting }) => !ready && !deleting);
    for (const machine of waiting.slice(0, count)) machine.ready = true;
  }

  /** So many machines that are being deleted are gone. */
  go(count: number): void {
    const going = new Set(this.machines.filter(({ deleting }) => deleting).slice(0, count));
    for (const set of this.sets) set.machines = set.machines.filter((one) => !going.has(one));
  }

  /** New machines come up, old ones that are broken stay so, and deletions end. */
  settle(): void {
    this.go(Infinity);
    for (const machine of this.newSet?.machines ?? []) machine.ready = true;
  }

  #happenTo(
    machine: ModelMachine,
    kind: Exclude<Happening["kind"], "nothing" | "scale" | "template">,
  ) {
    switch (kind) {
      case "machineFails":
        machine.ready = false;
        return;
      case "machineRecovers":
        machine.ready = true;
        return;
      case "userDeletes":
        machine.deleting = true;
        return;
      case "userMarks":
        machine.annotations = { [deleteMachineAnnotation[this.profile]]: "yes" };
    }
  }

  #ensureNewSet(): void {
    if (this.newSet !== undefined) return;
    const name = `set-${this.#template}`;
    this.sets.push({
      name,
      template: this.#template,
      createdAtMs: this.#nowMs,
      replicas: 0,
      machines: [],
    });
  }

  #changeMembers(set: ModelSet, plan: RolloutPlan): void {
    const change = changeMembers({
      profile: this.profile,
      policy: this.policy,
      replicas: set.replicas,
      machines: set.machines.map((machine) => ({ ...machine, available: machine.ready })),
      noCreation: plan.noCreation.includes(set.name),
      nowMs: this.#nowMs,
    });
    if (change.kind === "create") {
      for (let count = 0; count < change.count; count += 1) {
        this.#made += 1;
        const name = `machine-${this.#made}`;
        const createdAtMs = this.#nowMs - 1;
        set.machines.push({ name, createdAtMs, ready: false, deleting: false, annotations: {} });
      }
    }
    if (change.kind === "delete") {
      for (const machine of set.machines) {
        if (change.names.includes(machine.name)) machine.deleting = true;
      }
    }
  }

  /** A round never adds machines beyond desired and surge; after an edit there may be more already. */
  #holdToSurge(before: number): void {
    const limit = this.bounds.replicas + maxSurgeOf(this.bounds);
    const most = Math.max(limit, before);
    assert.ok(this.total <= most, `${this.total} machines, ${limit} allowed, ${before} before`);
  }

  /**
   * A round never takes availability below the minimum, or lower than it is. A machine that a user
   * marked goes first, and is the user's choice where the decision relies on unavailable machines
   * going first: everywhere in v1alpha1, and today when the new set shrinks or a deadlock is broken.
   */
  #holdToAvailability(before: ReturnType<RolloutModel["observe"]>, { steps }: RolloutPlan): void {
    if (this.bounds.strategy?.type === "OnDelete") return;
    const relies =
      this.profile === "v1alpha1" || steps.some(({ reason: { kind } }) => trusting.includes(kind));
    const chosen = this.machines.filter(
      ({ name, deleting, annotations }) =>
        deleting && before.staying.has(name) && Object.keys(annotations).length > 0,
    );
    const least =
      Math.min(before.available, minAvailableOf(this.bounds)) - (relies ? chosen.length : 0);
    assert.ok(this.available >= least, `${this.available} available, at least ${least} have to be`);
  }
}

const trusting: readonly string[] = ["alignToDesiredReplicas", "unblockDeadlock"];

const percent = fc.integer({ min: 0, max: 120 }).map((value) => `${value}%`);
const amount = fc.oneof(fc.integer({ min: 0, max: 6 }), percent);
const pick = fc.nat({ max: 50 });

const happenings: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ kind: "nothing" as const }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("scale" as const), replicas: fc.nat({ max: 14 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("template" as const), template: fc.nat({ max: 4 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "machineFails" as const,
        "machineFails" as const,
        "machineRecovers" as const,
        "userDeletes" as const,
        "userMarks" as const,
      ),
      pick,
    }),
  },
);

export function stories(type: "RollingUpdate" | "OnDelete" = "RollingUpdate"): fc.Arbitrary<Story> {
  return fc.record({
    profile: fc.constantFrom("v1alpha1" as const, "modern" as const),
    policy: fc.constantFrom("Random" as const, "Newest" as const, "Oldest" as const),
    bounds: fc.record({
      replicas: fc.nat({ max: 14 }),
      strategy: fc.record({
        type: fc.constant(type),
        rollingUpdate: fc.record({ maxSurge: amount, maxUnavailable: amount }),
      }),
    }),
    rounds: fc.array(
      fc.record({
        happening: happenings,
        comeUp: fc.nat({ max: 6 }),
        go: fc.nat({ max: 6 }),
      }),
      { maxLength: 25, size: "max" },
    ),
  });
}

/** Tells a story to its end; every round is held to the bounds. */
export function tell(story: Story): RolloutModel {
  const model = new RolloutModel(story);
  for (const { happening, comeUp, go } of story.rounds) {
    model.happen(happening);
    model.comeUp(comeUp);
    model.go(go);
    model.round();
  }
  return model;
}

/**
 * Rounds OnDelete that take more machines than there are above the deployment's replicas, counted as the
 * profile counts them: today a machine that is being deleted holds its place until it is gone, since the
 * new set makes it again. Source: Cluster API core/reconcilers/machinedeployment/
 * machinedeployment_rollout_ondelete.go, reconcileOldMachineSetsOnDelete (spec.replicas of all sets);
 * docs/rollouts.md.
 */
export function lostOnDelete(story: Story): string[] {
  const model = new RolloutModel(story);
  const standing = () => model.machines.filter(({ deleting }) => !deleting).length;
  return story.rounds.flatMap(({ happening, comeUp, go }) => {
    model.happen(happening);
    model.comeUp(comeUp);
    model.go(go);
    const before = standing();
    const counted = model.profile === "modern" ? model.machines.length : before;
    model.round();
    const lost = before - standing();
    const surplus = Math.max(counted - model.bounds.replicas, 0);
    return lost <= surplus ? [] : [`${lost} of ${before} lost, ${surplus} too many`];
  });
}
