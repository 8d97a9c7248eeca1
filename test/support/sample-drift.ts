import { driftAnnotations } from "../../src/api/drift-policy.js";
import type { JudgedDrift } from "../../src/drift/judge.js";
import type { DriftedCluster, DriftRun } from "../../src/report/drift-report.js";
import {
  change,
  drifts,
  hostOf,
  judged,
  kill,
  type DriftSetup,
  reportOn,
  running,
  desiredWith,
} from "../drift/drifting.js";
import { annotated, cluster, machine, machineSet, type Manifest } from "./manifests.js";
import type { FakeEngine } from "./fake-engine.js";

// Drift as every format has to show it.

const { maxUnhealthy, maxInFlight, freeze } = driftAnnotations;

async function drifted(
  objects: readonly Manifest[],
  given: (engine: FakeEngine) => void,
  request: DriftSetup = {},
): Promise<DriftedCluster> {
  const desired = desiredWith(...objects);
  const engine = await running(desired);
  given(engine);
  return named(judged(await reportOn(engine), desired, request));
}

function named(found: JudgedDrift): DriftedCluster {
  return {
    cluster: found.report.cluster,
    stack: "default.prod",
    provider: "local",
    revision: 1,
    judged: found,
  };
}

const nothing = () => drifted([], () => {});

/** Every class that a look can tell, and every decision about it. */
const mixed = () =>
  drifted(
    [
      annotated({ [maxUnhealthy]: "60%", [maxInFlight]: "2" }, cluster()),
      drifts("ignore", machine("a")),
      drifts("report", machine("b")),
      drifts("replace", machine("c")),
      machineSet("set", 4),
    ],
    (engine) => {
      change(engine, "a", { tags: { by: "hand" } });
      change(engine, "cp", { size: "large" });
      change(engine, "c", { kubelet: "1.33.0" });
      const { who, spec } = hostOf(engine, "b");
      engine.cloud.plant({ ...who, name: "old-0123abcd-0", token: "t" }, spec);
      engine.cloud.plant(hostOf(engine, "set-3").who, spec);
      for (const { id, who: whose } of engine.alive()) {
        if (whose.kind === "LocalNetwork") engine.cloud.drift(id, { bootMs: 7 });
      }
      change(engine, "set-1", { tags: { by: "hand" } });
      kill(engine, "b", "set-0");
    },
  );

/** Two of three workers gone, and a time after which that is believed. */
const frozen = (more: DriftSetup = {}) =>
  drifted([annotated({ [freeze]: "30m" }, cluster())], (engine) => kill(engine, "a", "b"), more);

const thawed = () =>
  drifted([annotated({ [freeze]: "0s" }, cluster())], (engine) => kill(engine, "a", "b"));

async function unreadable(): Promise<DriftedCluster> {
  const desired = desiredWith();
  const engine = await running(desired);
  const report = await reportOn(engine, [{ at: "look", number: 0, what: "failForGood" }]);
  return { ...named(judged(report, desired)), openTransaction: 2 };
}

/** Text from the cloud that would be markup, break a line or never end. */
const hostile = () =>
  drifted([], (engine) =>
    change(engine, "a", {
      tags: { "</details>\n```": "@somebody #1 <img src=x>", long: "x".repeat(2_000) },
    }),
  );

export const sampleDrifts: readonly {
  readonly name: string;
  readonly given: () => Promise<DriftedCluster>;
}[] = [
  { name: "none", given: nothing },
  { name: "mixed", given: mixed },
  { name: "frozen", given: frozen },
  { name: "thawed", given: thawed },
  { name: "unreadable", given: unreadable },
  { name: "hostile", given: hostile },
];

export function runOf(...clusters: readonly DriftedCluster[]): DriftRun {
  return { release: "0.0.0", clusters };
}
