import type { Plan } from "../../src/plan/plan.js";
import type { PlanReport } from "../../src/report/report.js";
import {
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "./manifests.js";
import { FakeEngine } from "./fake-engine.js";

export const quickstart: readonly [Manifest, Manifest, Manifest] = [
  cluster(),
  machine("cp-0", { controlPlane: "1.34.2", size: "medium" }),
  machineDeployment("workers", 2),
];

/** What is planned for other objects once some run, and perhaps something happened to them. */
export async function planAfter(
  objects: readonly Manifest[],
  wanted: readonly Manifest[],
  happens: (engine: FakeEngine) => unknown = () => {},
): Promise<Plan> {
  const engine = new FakeEngine();
  await engine.settle(desiredOf(objects));
  await happens(engine);
  return engine.plan(desiredOf(wanted));
}

/** A plan of every kind there is, by the name of its golden text. */
export const samplePlans: readonly { name: string; given: () => Promise<Plan> }[] = [
  { name: "plan-create", given: () => new FakeEngine().plan(desiredOf(quickstart)) },
  { name: "plan-empty", given: () => planAfter(quickstart, quickstart) },
  {
    name: "plan-in-place",
    given: () =>
      planAfter(quickstart, [
        quickstart[0],
        quickstart[1],
        machineDeployment("workers", 2, { diskGib: 40, tags: { team: "a" } }),
      ]),
  },
  {
    name: "plan-replace-set",
    given: () =>
      planAfter(quickstart, [
        ...quickstart.slice(0, 2),
        machineDeployment("workers", 3, { size: "large" }),
      ]),
  },
  {
    name: "plan-replace-network",
    given: () => planAfter(quickstart, [cluster({ cidr: "10.1.0.0/16" }), ...quickstart.slice(1)]),
  },
  {
    name: "plan-scale-and-remove",
    given: () =>
      planAfter(
        [cluster(), machine("a"), machine("b"), machineSet("db", 11)],
        [cluster(), machine("b"), machineSet("db", 9)],
      ),
  },
  {
    name: "plan-heal",
    given: () =>
      planAfter(quickstart, quickstart, (engine) => {
        engine.cloud.kill(engine.hosts()[0]?.id ?? "");
        engine.cloud.drift(engine.hosts()[0]?.id ?? "", { kubelet: "1.30.0" });
      }),
  },
  {
    name: "plan-left-over",
    given: () => {
      const smaller = [cluster(), machine("b")];
      return planAfter([...smaller, machine("a")], smaller, (engine) =>
        engine.up(desiredOf(smaller), [{ at: "call", number: 0, what: "killBefore" }]),
      );
    },
  },
];

/** Everything a plan can be about at once: a newer control plane, replacement, scaling, removal. */
export function mixedPlan(): Promise<Plan> {
  return planAfter(
    [...quickstart, machineSet("db", 9), machine("old")],
    [
      cluster(),
      machine("cp-0", { controlPlane: "1.35.0", kubelet: "1.35.0", size: "medium" }),
      machineDeployment("workers", 6, { size: "large" }),
      machineSet("db", 3),
    ],
  );
}

/** The first stage of an upgrade over two minor versions. */
export function stagedPlan(): Promise<Plan> {
  const at = (version: string) => [
    cluster(),
    machine("cp-0", { controlPlane: version, kubelet: version }),
    machineDeployment("workers", 2, { kubelet: version }),
  ];
  return planAfter(at("1.33.6"), at("1.35.0"));
}

/** The creation of a cluster with so many workers. */
export function largePlan(workers: number): Promise<Plan> {
  const objects = [quickstart[0], quickstart[1], machineDeployment("workers", workers)];
  return new FakeEngine().plan(desiredOf(objects));
}

/** The same machines with an update that no other one has: none of them can be put together. */
export function unalike(plan: Plan): Plan {
  return {
    ...plan,
    machines: plan.machines.map((change, index) => ({
      ...change,
      kind: "update",
      changes: [{ path: "tags.serial", from: `old-${index}`, to: `new-${index}` }],
    })),
  };
}

/** Text that would be markup, a mention, or an end of something, if it were let through. */
export const hostile =
  "</code></details>--><script>alert(1)</script> | `x` ``` @octocat \"' &amp; \u202egnp.exe\n# title\n```\n[x](javascript:1)";

/** A plan that carries such text wherever text from elsewhere can be. */
export async function hostilePlan(): Promise<Plan> {
  const plan = await mixedPlan();
  const id = { cluster: hostile, clusterUid: "u", kind: "LocalHost", name: hostile, token: "t" };
  return {
    ...plan,
    provider: hostile,
    open: { number: 7, direction: "forward", goal: { kind: "up" }, by: hostile },
    machines: plan.machines.map((change) => ({
      ...change,
      changes: [{ path: `tags["${hostile}"]`, from: hostile, to: { [hostile]: [hostile] } }],
      reason: hostile,
    })),
    undo: plan.undo.map((one) => ({ ...one, class: "compensable", reason: hostile })),
    orphaned: [{ id: hostile, who: id }],
    unrecorded: [hostile],
  };
}

/** What a run that found these plans reports. */
export function reportOf(...plans: readonly Plan[]): PlanReport {
  return {
    release: "1.2.3",
    manifests: "-f clusters/prod",
    plans,
    destroyed: [],
  };
}
