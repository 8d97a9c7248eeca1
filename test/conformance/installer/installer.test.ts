import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { caseOutcome } from "../run.js";
import {
  type Counterpart,
  createCounterparts,
  deleteCounterparts,
  faultOf,
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
      course.startOver(faultOf(deleteCounterparts["bootstrap CreateMachines"]));
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
    assert.equal((await caseOutcome({ ...about, want: { error: false } })).kind, "failed");
  });

  it("fails a case that wants what a listed deviation is not from, and a fault that nobody knows", async () => {
    const given = { operation: "create", clusters: [prod], faults: [] } as const;
    const about = { id: "other", profile: "v1alpha1" } as const;
    const bootstrapCluster = { everCreated: false, existsAfterwards: false };
    const other = await caseOutcome({
      ...about,
      given: { ...given },
      want: { bootstrapCluster },
    } as never);
    assert.match(
      JSON.stringify(other),
      /bootstrapCluster\.everCreated is false.*deviation is from true/,
    );
    const faults = [{ on: "target", call: "Vanish" }];
    const unknown = await caseOutcome({
      ...about,
      given: { ...given, faults },
      want: { error: true },
    } as never);
    assert.match(JSON.stringify(unknown), /a fault at target Vanish is not covered yet/);
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
