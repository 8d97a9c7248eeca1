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

function running(objects: readonly Manifest[]): PretendEngine {
  const engine = new PretendEngine();
  engine.settle(desiredOf(objects));
  return engine;
}

describe("the text of a plan", () => {
  const cases: { name: string; given: () => Plan }[] = [
    { name: "plan-create", given: () => new PretendEngine().plan(desiredOf(quickstart)) },
    { name: "plan-empty", given: () => running(quickstart).plan(desiredOf(quickstart)) },
    {
      name: "plan-in-place",
      given: () =>
        running(quickstart).plan(
          desiredOf([
            quickstart[0]!,
            quickstart[1]!,
            machineDeployment("workers", 2, { diskGib: 40, tags: { team: "a" } }),
          ]),
        ),
    },
    {
      name: "plan-replace-set",
      given: () =>
        running(quickstart).plan(
          desiredOf([
            ...quickstart.slice(0, 2),
            machineDeployment("workers", 3, { size: "large" }),
          ]),
        ),
    },
    {
      name: "plan-replace-network",
      given: () =>
        running(quickstart).plan(
          desiredOf([cluster({ cidr: "10.1.0.0/16" }), ...quickstart.slice(1)]),
        ),
    },
    {
      name: "plan-scale-and-remove",
      given: () => {
        const before = [cluster(), machine("a"), machine("b"), machineSet("db", 11)];
        return running(before).plan(desiredOf([cluster(), machine("b"), machineSet("db", 9)]));
      },
    },
    {
      name: "plan-heal",
      given: () => {
        const engine = running(quickstart);
        engine.kill(engine.hosts()[0]?.id ?? "");
        engine.drift(engine.hosts()[0]?.id ?? "", { kubelet: "1.30.0" });
        return engine.plan(desiredOf(quickstart));
      },
    },
    {
      name: "plan-left-over",
      given: () => {
        const engine = running([cluster(), machine("a"), machine("b")]);
        const smaller = desiredOf([cluster(), machine("b")]);
        engine.apply(engine.plan(smaller), { afterCalls: 0, lastCall: "notMade" });
        return engine.plan(smaller);
      },
    },
  ];
  for (const { name, given } of cases) {
    it(`${name}.txt`, () => assertGolden(name, textOf(given())));
  }
});
