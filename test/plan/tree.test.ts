import { planSummary, planTree, verbOf } from "../../src/plan/tree.js";
import type { Plan } from "../../src/plan/plan.js";
import { assertGolden } from "../support/golden.js";
import {
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";
import { PretendEngine } from "../support/pretend-engine.js";

/** What `capstan plan` prints, without colours and column widths. */
function textOf(plan: Plan): string {
  const lines = planTree(plan).map(({ branch, label, kind, detail }) =>
    [`${branch}${label}`, verbOf(kind), detail].filter((part) => part !== "").join("  "),
  );
  return `${[...lines, "", planSummary(plan)].join("\n")}\n`;
}

const quickstart = [
  cluster(),
  machine("cp-0", { controlPlane: "1.34.2", size: "medium" }),
  machineDeployment("workers", 2),
];

/** What is planned for other objects once some run, and perhaps something happened to them. */
async function planAfter(
  objects: readonly Manifest[],
  wanted: readonly Manifest[],
  happens: (engine: PretendEngine) => unknown = () => {},
): Promise<Plan> {
  const engine = new PretendEngine();
  await engine.settle(desiredOf(objects));
  await happens(engine);
  return engine.plan(desiredOf(wanted));
}

describe("the text of a plan", () => {
  const cases: { name: string; given: () => Promise<Plan> }[] = [
    { name: "plan-create", given: () => new PretendEngine().plan(desiredOf(quickstart)) },
    { name: "plan-empty", given: () => planAfter(quickstart, quickstart) },
    {
      name: "plan-in-place",
      given: () =>
        planAfter(quickstart, [
          quickstart[0]!,
          quickstart[1]!,
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
      given: () =>
        planAfter(quickstart, [cluster({ cidr: "10.1.0.0/16" }), ...quickstart.slice(1)]),
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
  for (const { name, given } of cases) {
    it(`${name}.txt`, async () => assertGolden(name, textOf(await given())));
  }
});
