import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { ensurePulumi } from "#toolchain";
import { makeProviders, type Providers } from "../../providers/index.js";
import type { JsonObject } from "../../src/api/json.js";
import { Engine } from "../../src/engine/pulumi/engine.js";
import type { HandlerSession, PassOptions } from "../../src/engine/pulumi/engine-options.js";
import { stepwiseSession } from "../../src/engine/run/handler-session.js";
import type { StackState } from "../../src/engine/backend/state.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { systemClock } from "../../src/provider/clock.js";
import type { PassProgram, Registration } from "../../src/transaction/registration.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import { cleanEnv, Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";

const pair: ScenarioCluster = { machines: { "cp-0": { controlPlane: true }, "worker-0": {} } };
const grownGib = 33;

/** Everything that is recorded, word for word, but for the disks of the hosts that `grows` says. */
function programOf(state: StackState, grows: (name: string) => boolean): PassProgram {
  const registrations = state.resources.map((resource): Registration => {
    const { key, type, kind, name, parent, secretInputs, dependsOn } = resource;
    const spec = resource.inputs["spec"] as JsonObject | undefined;
    const grown = kind === "LocalHost" && grows(name);
    const inputs = grown
      ? { ...resource.inputs, spec: { ...spec, diskGib: grownGib } }
      : resource.inputs;
    const base = { key, type, kind, name, inputs, secretInputs, dependsOn };
    return parent === undefined ? base : { ...base, parent };
  });
  return { registrations, stackOutputs: {} };
}

function recordedDisks(state: StackState): unknown[] {
  const hosts = state.resources.filter(({ kind }) => kind === "LocalHost");
  return hosts.map(({ outputs }) => (outputs["spec"] as JsonObject)["diskGib"]).sort();
}

describe("a pass whose state is written", () => {
  let running: Sandbox;
  let sandbox: Sandbox;
  let providers: Providers;
  let kill: AbortController;
  let engine: Engine;
  let session: HandlerSession;

  before(async () => {
    running = await Sandbox.make(pair);
    await running.up();
  });
  after(() => running.close());
  beforeEach(async () => {
    sandbox = running.copy();
    const { bin: pulumi, binDir: pulumiBinDir } = await ensurePulumi();
    const workspace = new Workspace({ stateDir: sandbox.state, pulumiBinDir, env: cleanEnv() });
    providers = makeProviders(sandbox.state, systemClock);
    kill = new AbortController();
    const interruption = { stop: new AbortController().signal, kill: kill.signal };
    engine = new Engine({ pulumi, workspace, providers, interruption });
  });
  afterEach(async () => {
    providers.close();
    await sandbox.close();
  });

  const pass = (program: PassProgram, options: PassOptions) => {
    session = stepwiseSession({
      provider: providers.local,
      clock: systemClock,
      timeoutMs: 30_000,
      assertEngineAlive: () => engine.assertAlive(),
      report: () => {},
    });
    return engine.pass(demoStack, program, session, options);
  };
  const cloudDisks = () =>
    sandbox
      .alive()
      .filter(({ kind }) => kind === "LocalHost")
      .map(({ spec }) => spec["diskGib"])
      .sort();

  /** Grows both hosts, one of which then hangs in the cloud, and kills the engine there. */
  const killAfterOneStep = async (options: PassOptions) => {
    const before = await engine.readState(demoStack);
    await sandbox.cloud.fault("update", "hang", { name: "worker-0" });
    const begun = pass(
      programOf(before, () => true),
      options,
    );
    const isHalfDone = (disks: unknown[]) => isDeepStrictEqual(disks, [20, grownGib]);
    const hangs = () => sandbox.ledger().some(({ effect }) => effect === "refused: hang");
    await until("one host has grown, the other hangs", () => isHalfDone(cloudDisks()) && hangs());
    if (options.checkpoints === "each") {
      await until("the step that ended is recorded", async () =>
        isHalfDone(recordedDisks(await engine.readState(demoStack))),
      );
    }
    kill.abort();
    assert.equal((await begun).code, null);
    // Our own process lives on: the call must not, and to others it has ended as well.
    session.cancelled();
    const locks = new DatabaseSync(join(sandbox.state, "locks.db"));
    locks.exec("UPDATE engines SET identity = json_set(identity, '$.command.started', '1')");
    locks.close();
    return { before, after: await engine.readState(demoStack) };
  };

  it("at the end is recorded as any other", async () => {
    const before = await engine.readState(demoStack);
    const { code, stdout } = await pass(
      programOf(before, () => true),
      { checkpoints: "end" },
    );
    assert.equal(code, 0, stdout);
    assert.deepEqual(recordedDisks(await engine.readState(demoStack)), [grownGib, grownGib]);
    await sandbox.assertSound(demoStack);
  });

  it("at the end records what was done when a step fails", async () => {
    const before = await engine.readState(demoStack);
    await sandbox.cloud.fault("update", "fail", { name: "worker-0" });
    const { code } = await pass(
      programOf(before, () => true),
      { checkpoints: "end" },
    );
    assert.notEqual(code, 0);
    assert.deepEqual(recordedDisks(await engine.readState(demoStack)), [20, grownGib]);
    assert.deepEqual(cloudDisks(), [20, grownGib]);
  });

  it("at the end loses all of itself, and nothing else, to a kill", async () => {
    const { before, after } = await killAfterOneStep({ checkpoints: "end" });
    assert.deepEqual(after, before);
    assert.deepEqual(cloudDisks(), [20, grownGib]);
  });

  it("at each step loses the step that was under way to a kill, and says which", async () => {
    const { after } = await killAfterOneStep({ checkpoints: "each" });
    assert.deepEqual(recordedDisks(after), [20, grownGib]);
    assert.deepEqual(
      after.pending.map(({ type, kind }) => `${type} ${kind}`),
      ["updating LocalHost"],
    );
  });

  it("leaves no debug logs behind", () => {
    assert.equal(statSync(join(sandbox.state, "engine-home", "logs")).isFile(), true);
  });
});
