import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BackendObjects, backendObjects } from "../../src/engine/backend/backend-objects.js";
import { stopOutsideOf } from "../scenario/cloud-faults.js";
import { demoStack, type ScenarioCluster } from "../scenario/manifests.js";
import { isAlive } from "../scenario/process-tree.js";
import { S3Server } from "../scenario/s3-server.js";
import { type Sandbox, sharedBackend, type StateBackend } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { WatchRig, watchArguments } from "../scenario/watch-rig.js";
import { ApiServer } from "../support/api-server.js";
import { Postgres } from "../support/postgres.js";
import { scratchFolder } from "../support/scratch.js";

const three: ScenarioCluster = {
  machines: { "cp-0": { controlPlane: true }, "worker-0": {}, "worker-1": {} },
};

interface Served {
  readonly backend: StateBackend;
  readonly stop: () => Promise<unknown>;
}

const backends: Readonly<Record<string, () => Promise<Served>>> = {
  "on PostgreSQL": async () => {
    const postgres = await Postgres.start();
    return { backend: sharedBackend(postgres.url, postgres.env), stop: () => postgres.stop() };
  },
  "on S3": async () => {
    const server = await S3Server.start();
    return { backend: server.makeBackend(), stop: () => server.close() };
  },
};

describe("a leader that is frozen in a pass, with another one on another machine", () => {
  const scratch = scratchFolder();
  let server: ApiServer;
  let rig: WatchRig;
  let there: Sandbox;
  let objects: BackendObjects;
  let served: Served;

  const start = async (serve: () => Promise<Served>): Promise<void> => {
    served = await serve();
    const { url, env } = served.backend;
    const passphrase = join(scratch.path, "passphrase");
    writeFileSync(passphrase, "a passphrase for tests\n");
    const withKey = { ...env, PULUMI_CONFIG_PASSPHRASE_FILE: passphrase };
    rig = await WatchRig.start(three, { server, backend: sharedBackend(url, withKey) });
    there = await rig.elsewhere();
    const reached = backendObjects(url, env);
    assert.ok(reached !== undefined);
    objects = reached;
  };
  before(async () => {
    server = await ApiServer.start();
  });
  after(() => server.stop());
  afterEach(async () => {
    await objects.close();
    await there.close();
    await rig.stop();
    await served.stop();
  });

  /** What is noted of the one engine that runs: all that another machine can know of it. */
  const note = async (): Promise<string> => {
    const [key = "", ...more] = await objects.list(`.capstan/engines/capstan/${demoStack}`);
    assert.deepEqual(more, []);
    return (await objects.read(key)) ?? "";
  };
  const checkpoint = () => objects.read(`.pulumi/stacks/capstan/${demoStack}.json`);

  for (const [where, serve] of Object.entries(backends)) {
    it(`has no engine any more when that one leads, and writes nothing when it wakes, ${where}`, async () => {
      await start(serve);
      const { sandbox } = rig;
      await sandbox.cloud.fault("create", "hangAfter", { name: "worker-1" });
      const first = await rig.watchLeading();
      const second = there.start("watch", ...watchArguments);
      await rig.applyManifests();
      await until(
        "the host of worker-1 is being made",
        () =>
          sandbox
            .ledger()
            .some(({ call, name }) => call === "create" && name?.startsWith("worker-1")),
        240_000,
      );
      await stopOutsideOf([sandbox.cloudFile], [first.pid]);
      const text = await note();
      const { identity, term } = JSON.parse(text) as NotedHere;
      assert.ok(isAlive(identity.pid) && term.transition === 0, text);
      let outlived = false;
      second.whenSaid('"leads"', () => (outlived = isAlive(identity.pid)));
      await until("its engine is ended", () => !isAlive(identity.pid));
      await rig.untilRunning("demo", 3);
      await until("the other one leads", () => second.said.includes('"leads"'));
      assert.ok(!outlived, "its engine was ended in time");
      await there.assertSound(demoStack);
      const settled = await checkpoint();
      process.kill(first.pid, "SIGCONT");
      // It follows once all that it did as leader has ended.
      const follows = /leads no more[^]*"follows"/;
      await until("it has seen that it leads no more", () => follows.test(first.said));
      assert.equal(await checkpoint(), settled);
      await rig.untilRunning("demo", 3);
      await there.assertSound(demoStack);
    });
  }
});

interface NotedHere {
  readonly identity: { readonly pid: number };
  readonly term: { readonly transition: number };
}
