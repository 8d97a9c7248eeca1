import assert from "node:assert/strict";
import fc from "fast-check";
import { templateJudge } from "../../src/compile/compile.js";
import { expandMachines } from "../../src/sets/expand.js";
import type { ExpandedMachine, RecordedMachine } from "../../src/sets/expanded.js";
import { assertLaw } from "../support/laws.js";
import {
  cluster,
  desiredOf,
  localProvider,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";

const zones = ["local-a", "local-b", "local-c"] as const;

/** What is wanted: nobody names a zone. */
interface Wish {
  readonly domains: readonly string[];
  readonly members: number;
  readonly workers: number;
  readonly set: number;
  readonly deployment: number;
  /** The template of the deployment. */
  readonly size: string;
}

type Event =
  | { readonly kind: "wish"; readonly change: Partial<Wish> }
  /** The host of one machine is gone. */
  | { readonly kind: "lose"; readonly which: number }
  /** Somebody deletes a machine of a set. */
  | { readonly kind: "discard"; readonly which: number };

const offered = fc.shuffledSubarray([...zones], { minLength: 1 });
const sizes = ["small", "medium", "large"];

const first: fc.Arbitrary<Wish> = fc.record({
  domains: offered,
  members: fc.integer({ min: 1, max: 5 }),
  workers: fc.nat({ max: 4 }),
  set: fc.nat({ max: 7 }),
  deployment: fc.nat({ max: 8 }),
  size: fc.constantFrom(...sizes),
});

const wishes: readonly fc.Arbitrary<Partial<Wish>>[] = [
  fc.record({ domains: offered }),
  fc.record({ members: fc.integer({ min: 1, max: 7 }) }),
  fc.record({ workers: fc.nat({ max: 6 }) }),
  fc.record({ set: fc.nat({ max: 7 }) }),
  fc.record({ set: fc.nat({ max: 7 }), deployment: fc.nat({ max: 8 }) }),
  fc.record({ size: fc.constantFrom(...sizes) }),
];

/** Members and workers that users wrote only come: who takes one away decides himself which. */
const events: fc.Arbitrary<Event> = fc.oneof(
  ...wishes.map((wish) => wish.map((change): Event => ({ kind: "wish", change }))),
  fc.record({ kind: fc.constantFrom("lose" as const, "discard" as const), which: fc.nat() }),
);

const lives = fc.record({
  first,
  events: fc.array(events, { minLength: 8, maxLength: 14, size: "max" }),
});

function objectsOf({ domains, members, workers, set, deployment, size }: Wish): Manifest[] {
  const named = (prefix: string, count: number, shape: object) =>
    Array.from({ length: count }, (_, index) => machine(`${prefix}-${index}`, shape));
  return [
    ...named("cp", members, { controlPlane: "1.34.2" }),
    ...named("db", workers, {}),
    machineSet("set", set),
    machineDeployment("web", deployment, { size }),
    cluster({ failureDomains: domains }),
  ];
}

function expand(objects: readonly Manifest[], recorded: readonly RecordedMachine[]) {
  const desired = desiredOf(objects);
  return expandMachines(desired, recorded, templateJudge(localProvider(), desired.cluster));
}

function wishAfter(wish: Wish, event: Event): Wish {
  if (event.kind !== "wish") return wish;
  const { members = 0, workers = 0 } = event.change;
  return {
    ...wish,
    ...event.change,
    members: Math.max(wish.members, members),
    workers: Math.max(wish.workers, workers),
  };
}

function recordedAfter(machines: readonly ExpandedMachine[], event: Event): RecordedMachine[] {
  const { kind } = event;
  if (kind === "wish") return [...machines];
  const chosen = machines.filter(({ owner }) => kind === "lose" || owner !== undefined);
  const name = chosen[event.which % Math.max(chosen.length, 1)]?.name;
  return machines.map((one): RecordedMachine => {
    if (one.name !== name) return one;
    return kind === "lose" ? { ...one, missing: "host" } : { ...one, discarded: true };
  });
}

function groupOf({ name, owner }: ExpandedMachine): string {
  return owner?.machineDeployment ?? owner?.machineSet ?? name.replace(/-\d+$/, "");
}

/** How many more machines the fullest of the domains has than the emptiest. */
function spreadOf(machines: readonly ExpandedMachine[], domains: readonly string[]): number {
  const counts = domains.map(
    (domain) => machines.filter(({ failureDomain }) => failureDomain === domain).length,
  );
  return Math.max(...counts) - Math.min(...counts);
}

const groups = ["cp", "db", "set", "web"];

/** Calls back before and after each event. */
function live(
  { first: begun, events: course }: { first: Wish; events: Event[] },
  check: (step: {
    readonly before: readonly RecordedMachine[];
    readonly after: readonly ExpandedMachine[];
    readonly wish: Wish;
    readonly event: Event;
  }) => void,
): void {
  let wish = begun;
  let after: readonly ExpandedMachine[] = [];
  for (const event of [{ kind: "wish", change: {} } as const, ...course]) {
    wish = wishAfter(wish, event);
    const before = recordedAfter(after, event);
    after = expand(objectsOf(wish), before);
    check({ before, after, wish, event });
  }
}

describe("laws of failure domains", () => {
  it("leave no machine without a domain, and put none where nothing is offered", () => {
    const property = fc.property(lives, (life) => {
      live(life, ({ after, wish: { domains } }) => {
        for (const { name, failureDomain = "none" } of after) {
          assert.ok(domains.includes(failureDomain), `${name} is in ${failureDomain}`);
        }
      });
    });
    assertLaw(property, 40);
  });

  it("move nobody whose domain is offered, also when its host is replaced", () => {
    const property = fc.property(lives, (life) => {
      live(life, ({ before, after, wish: { domains } }) => {
        for (const { name, failureDomain = "" } of before) {
          const now = after.find((one) => one.name === name);
          if (now === undefined || !domains.includes(failureDomain)) continue;
          assert.equal(now.failureDomain, failureDomain, name);
        }
      });
    });
    assertLaw(property, 40);
  });

  it("keep each group as spread as it was, or within one machine", () => {
    const property = fc.property(lives, (life) => {
      live(life, ({ before, after, wish: { domains } }) => {
        for (const group of groups) {
          const isOf = (one: ExpandedMachine) => groupOf(one) === group;
          const known = spreadOf(before.filter(isOf), domains);
          const now = spreadOf(after.filter(isOf), domains);
          assert.ok(now <= Math.max(1, known), `${group} was ${known} apart and is ${now}`);
        }
      });
    });
    assertLaw(property, 100);
  });

  it("end a rollout as spread as a creation, whatever domains there were before", () => {
    const property = fc.property(lives, (life) => {
      live(life, ({ before, after, wish: { domains } }) => {
        const workers = after.filter((one) => groupOf(one) === "web");
        const sets = new Set(before.map(({ owner }) => owner?.machineSet));
        if (workers.some(({ owner }) => sets.has(owner?.machineSet))) return;
        assert.ok(spreadOf(workers, domains) <= 1);
      });
    });
    assertLaw(property, 40);
  });

  it("are the same for the same, in whatever order objects and records come", () => {
    const property = fc.property(lives, (life) => {
      live(life, ({ before, after, wish }) => {
        const placed = (machines: readonly ExpandedMachine[]) =>
          new Map(machines.map(({ name, failureDomain }) => [name, failureDomain]));
        const turned = expand(objectsOf(wish).toReversed(), before.toReversed());
        assert.deepEqual(placed(turned), placed(after));
      });
    });
    assertLaw(property, 25);
  });

  it("let a set keep its machines when domains come and go", () => {
    const property = fc.property(lives, offered, (life, domains) => {
      live(life, ({ after, wish }) => {
        const names = (machines: readonly ExpandedMachine[]) => machines.map(({ name }) => name);
        assert.deepEqual(names(expand(objectsOf({ ...wish, domains }), after)), names(after));
      });
    });
    assertLaw(property, 25);
  });
});
