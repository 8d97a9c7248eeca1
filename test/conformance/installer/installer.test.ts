import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { caseOutcome } from "../run.js";
import {
  type Counterpart,
  createCounterparts,
  deleteCounterparts,
  faultsOf,
} from "./counterparts.js";
import { InstallerCourse } from "./installer-course.js";
import { created } from "./create.js";
import { deleted } from "./delete.js";
import { clusterOf, type GivenCluster } from "./given-objects.js";
import { installerDeviations, splitDeviations } from "./installer-deviations.js";
import { InstallerWorld } from "./installer-world.js";
import { failureOf } from "./outcome.js";

const file = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), "utf8");

const prod: GivenCluster = {
  namespace: "default",
  name: "prod",
  machines: [{ name: "cp-0", versions: { controlPlane: "1.10.1" } }, { name: "node-0" }],
};

interface Ended {
  readonly error: boolean;
  readonly failsInPhase: string | null;
}

/** "bootstrap Apply" as a case gives it. */
function givenFault(name: string) {
  const [on = "", ...call] = name.split(" ");
  return { on, call: call.join(" ") };
}

/** What the counterpart of a fault comes to: its phase, or nothing where there is none. */
function expectedOf(counterpart: Counterpart): Ended {
  const failsInPhase = counterpart.kind === "step" ? counterpart.phase : null;
  return { error: failsInPhase !== null, failsInPhase };
}

describe("the phases of the old installer", () => {
  it("law 3: up and move fail where their counterpart does, orphan nothing, and go on or away", async () => {
    for (const [name, counterpart] of Object.entries(createCounterparts)) {
      const ended = await created({ clusters: [prod], faults: [givenFault(name)] });
      const { error, failsInPhase } = ended as Ended;
      assert.deepEqual({ error, failsInPhase }, expectedOf(counterpart), name);
    }
  });

  it("law 3: move and destroy fail where their counterpart does, orphan nothing, and go on", async () => {
    for (const [name, counterpart] of Object.entries(deleteCounterparts)) {
      const ended = await deleted({ targetObjects: [], faults: [givenFault(name)] });
      const { error, failsInPhase } = ended as Ended;
      assert.deepEqual({ error, failsInPhase }, expectedOf(counterpart), name);
    }
  });

  it("a move whose manifests cannot be written says so, and leaves the cluster to its controller", async () => {
    const course = new InstallerCourse();
    const world = new InstallerWorld([clusterOf(prod)], course);
    try {
      const [cluster] = world.clusters;
      assert.ok(cluster !== undefined);
      await world.up(cluster);
      await world.moveToServer(cluster);
      const counterpart = deleteCounterparts["bootstrap CreateMachines"];
      assert.ok(counterpart !== undefined);
      course.startOver(faultsOf([counterpart]));
      const failure = await failureOf(() => world.moveToFiles(cluster));
      assert.match(failure?.message ?? "", /^cannot write .*default\.prod\.yaml: EEXIST/);
      assert.equal(cluster.engine.prior.transaction?.owner, "uid-of-the-server");
      assert.deepEqual(world.held(), []);
    } finally {
      world.close();
    }
  });

  it("a plan of workers alone is no error, which is a listed deviation", async () => {
    const given = { operation: "splitControlPlane", machines: [{ name: "node-0" }] };
    const about = { id: "none", profile: "v1alpha1", given } as const;
    const { kind } = await caseOutcome({ ...about, want: { error: true } });
    assert.equal(kind, "passed");
    // Where a case wants what the product does there is no deviation.
    const same = await caseOutcome({ ...about, want: { error: false } });
    assert.deepEqual(same, { kind: "passed", deviations: [] });
    assert.equal((await caseOutcome({ ...about, want: { error: "none" } })).kind, "failed");
  });

  it("fails a case that wants what a listed deviation is not from, and a fault that nobody knows", async () => {
    const given = { operation: "create", clusters: [prod], faults: [] } as const;
    const about = { id: "other", profile: "v1alpha1" } as const;
    const bootstrapCluster = { everCreated: "twice", existsAfterwards: false };
    const other = await caseOutcome({
      ...about,
      given: { ...given },
      want: { bootstrapCluster },
    } as never);
    assert.match(
      JSON.stringify(other),
      /bootstrapCluster\.everCreated is .*twice.*deviation is from true/,
    );
    const faults = [{ on: "target", call: "Vanish" }];
    const unknown = await caseOutcome({
      ...about,
      given: { ...given, faults },
      want: { error: true },
    } as never);
    assert.match(JSON.stringify(unknown), /a fault at target Vanish is not covered yet/);
  });

  it("holds what is left and where against a case in any order, also where a deviation is listed", async () => {
    const given = {
      operation: "create",
      bootstrapContextNamespace: "foo",
      clusters: [{ ...prod, namespace: "" }],
      faults: [],
    };
    const target = { clusters: { foo: ["prod"] }, namespacesEnsured: ["foo"] };
    const wanted = (...names: string[]) => ({ target: { ...target, machines: { foo: names } } });
    const about = { id: "order", profile: "v1alpha1", given } as const;
    const outcome = await caseOutcome({ ...about, want: wanted("node-0", "cp-0") } as never);
    assert.equal(outcome.kind, "passed", JSON.stringify(outcome));
    const other = await caseOutcome({ ...about, want: wanted("node-0", "cp-1") } as never);
    assert.equal(other.kind, "failed");
  });

  it("names all kinds that fail to be deleted together, those that are never deleted apart", async () => {
    const joint: readonly (readonly [readonly string[], readonly string[]])[] = [
      [
        ["DeleteMachines", "DeleteClusters"],
        ["Machine", "Cluster"],
      ],
      [
        ["DeleteMachineDeployments", "DeleteMachineSets"],
        ["MachineDeployment", "MachineSet"],
      ],
      [
        ["DeleteMachineClasses", "DeleteClusters"],
        ["MachineClass", "Cluster"],
      ],
    ];
    for (const [calls, failedDeletions] of joint) {
      const outcome = await caseOutcome({
        id: calls.join(),
        profile: "v1alpha1",
        given: {
          operation: "delete",
          targetObjects: [],
          faults: calls.map((call) => ({ on: "bootstrap", call })),
        },
        want: { error: true, failsInPhase: "delete-objects", failedDeletions },
      } as never);
      assert.equal(outcome.kind, "passed", `${calls.join()}: ${JSON.stringify(outcome)}`);
    }
  });

  it("asks a target that applies nothing only where the old installer applied something else than add-ons", async () => {
    const given = { operation: "create", clusters: [prod] };
    const faults = [{ on: "target", call: "Apply" }];
    const ask = (more: object, failsInPhase: string) =>
      caseOutcome({
        id: failsInPhase,
        profile: "v1alpha1",
        given: { ...given, faults, ...more },
        want: { error: true, failsInPhase },
      } as never);
    assert.deepEqual(await ask({}, "pivot"), { kind: "passed", deviations: [] });
    const ofAddons = await ask({ addonComponents: "text" }, "apply-addons");
    assert.equal(ofAddons.kind, "passed", JSON.stringify(ofAddons));
    assert.equal(ofAddons.deviations.length, 1);
  });

  it("docs/conformance.md tells of each phase and lists every deviation", () => {
    const docs = file("docs/conformance.md").replaceAll(/\s+/g, " ");
    const { notes } = JSON.parse(file("test/vectors/clusterdeployer-faults.json")) as {
      readonly notes: readonly string[];
    };
    const phases = notes
      .filter((note) => note.startsWith("Phases of"))
      .flatMap(
        (note) =>
          note
            .replaceAll(/\([^)]*\)/g, "")
            .split(":")[1]
            ?.split(";") ?? [],
      )
      .map((phase) => phase.trim().replace(/ .*$/, "").replace(/\.$/, ""));
    assert.ok(phases.length > 15, phases.join());
    for (const phase of phases) assert.ok(docs.includes(phase), `the phase ${phase}`);
    for (const { reason } of [...installerDeviations, ...splitDeviations]) {
      assert.ok(docs.includes(reason), `the deviation "${reason}"`);
    }
  });
});
