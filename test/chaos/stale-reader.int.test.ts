import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Deployment } from "../scenario/ledger-judge.js";
import { letBoot, stopOutsideOf } from "../scenario/cloud-faults.js";
import { demoStack, type ScenarioCluster } from "../scenario/manifests.js";
import { signalAll } from "../scenario/process-tree.js";
import { S3Server } from "../scenario/s3-server.js";
import { Sandbox, sharedBackend } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { programOf } from "../support/mutant.js";
import { scratchFolder } from "../support/scratch.js";
import { makeMutant } from "./mutants.js";
import { patient } from "./patience.js";
import { removeFolder } from "../support/folders.js";

const two: ScenarioCluster = {
  machines: { "cp-0": { controlPlane: true }, "worker-0": {} },
};
const three: ScenarioCluster = { machines: { ...two.machines, "worker-1": {} } };

/**
 * A command stands still between two passes, when its engine holds no lock, and another machine changes the stack
 * meanwhile. What it had read of the records is void then.
 */
describe("a command that goes on with records that others have written since", () => {
  const scratch = scratchFolder();
  let server: S3Server;
  let here: Sandbox;
  let there: Sandbox;

  before(async () => {
    server = await S3Server.start();
  });
  after(() => server.close());
  afterEach(async () => {
    await Promise.all([here.close(), there.close()]);
  });

  const machine = async (program: object): Promise<Sandbox> => {
    const passphrase = join(scratch.path, "passphrase");
    writeFileSync(passphrase, "a passphrase for tests\n");
    const env = { ...backend.env, PULUMI_CONFIG_PASSPHRASE_FILE: passphrase };
    return Sandbox.make(two, { backend: sharedBackend(backend.url, env), ...program });
  };
  let backend: { readonly url: string; readonly env: Readonly<Record<string, string>> };

  /** Answers how the command ends that stood still, and how many hosts the other one's change has left. */
  const standStill = async (program: object) => {
    backend = server.makeBackend();
    here = await machine(program);
    there = await machine({});
    // One cloud for both, as a cloud is, and one passphrase.
    await here.cloud.fault("create", "neverBoots", { name: "cp-0" });
    mkdirSync(there.state);
    symlinkSync(here.cloudFile, there.cloudFile);
    const first = here.startUp();
    const waits = () => {
      assert.equal(first.hasEnded, false, first.said);
      return first.said.includes("waiting for 1 host");
    };
    await until("it waits for its host", waits, patient(120_000));
    await stopOutsideOf([here.cloudFile], [...first.descendants, first.pid]);
    letBoot(here.cloudFile);
    there.write(three);
    await there.up();
    first.signal("SIGCONT");
    signalAll(first.leftovers, "SIGCONT");
    const { code } = await first.finished;
    const removed = here.mutations(0).filter(({ call }) => call === "terminate");
    return { code, removed: removed.map(({ name }) => name), said: first.said };
  };

  it("is refused, and the other one's change stays", async () => {
    const { code, removed, said } = await standStill({});
    assert.equal(code, 5, said);
    assert.match(said, /somebody else has changed it since this command looked at it/);
    assert.deepEqual(removed, []);
    const deployment: Deployment = await there.deployment(demoStack);
    assert.ok((deployment.resources ?? []).length > 0);
    await there.assertSound(demoStack);
    await there.plan(0);
  });

  it("is seen where nobody asks: it takes what the other one has made", async () => {
    const folder = makeMutant("staleReader");
    try {
      const { removed, said } = await standStill({ program: programOf(folder) });
      assert.match(removed.join(), /worker-1-/, said);
    } finally {
      removeFolder(folder);
    }
  });
});
