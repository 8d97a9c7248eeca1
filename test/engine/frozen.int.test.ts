import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type BackendObjects, backendObjects } from "../../src/engine/backend/backend-objects.js";
import { assertFenced, takeOverFrom } from "../scenario/frozen-command.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import { Sandbox, sharedBackend } from "../scenario/sandbox.js";
import { Postgres } from "../support/postgres.js";
import { until } from "../scenario/until.js";
import { scratchFolder } from "../support/scratch.js";

const pair: ScenarioCluster = { machines: { "cp-0": { controlPlane: true }, "worker-0": {} } };
const three: ScenarioCluster = { machines: { ...pair.machines, "worker-1": {} } };
const four: ScenarioCluster = { machines: { ...three.machines, "worker-2": {} } };

describe("a command that is frozen in a pass, and wakes after a person has unlocked its stack", () => {
  const scratch = scratchFolder();
  let postgres: Postgres | undefined;
  let here: Sandbox;
  let there: Sandbox;
  let objects: BackendObjects;

  /** Two machines, each with manifests and a state folder of its own; they share the backend and the cloud. */
  const begin = async (url: string, env: Readonly<Record<string, string>>): Promise<void> => {
    const file = join(scratch.path, "passphrase");
    writeFileSync(file, "a passphrase for tests\n");
    const backend = sharedBackend(url, { ...env, PULUMI_CONFIG_PASSPHRASE_FILE: file });
    const reached = backendObjects(url, env);
    assert.ok(reached !== undefined);
    objects = reached;
    here = await Sandbox.make(pair, { backend });
    there = await Sandbox.make(pair, { backend });
    mkdirSync(there.state);
    symlinkSync(here.cloudFile, there.cloudFile);
  };
  afterEach(async () => {
    await Promise.all([here.close(), there.close(), objects.close()]);
    await postgres?.stop();
    postgres = undefined;
  });

  const backends: Readonly<Record<string, () => Promise<void>>> = {
    "a folder": () => {
      const folder = join(scratch.path, "shared");
      mkdirSync(folder);
      return begin(`${pathToFileURL(folder).href}?metadata=skip`, {});
    },
    PostgreSQL: async () => {
      postgres = await Postgres.start();
      await begin(postgres.url, postgres.env);
    },
  };
  for (const [name, prepare] of Object.entries(backends))
    it(`writes nothing over what was done meanwhile, and says so: ${name}`, async () => {
      await prepare();
      await here.up();
      here.write(three);
      there.write(four);
      await here.cloud.fault("create", "late", { name: "worker-1", ms: 600_000 });
      const end = here.ledgerEnd();
      const frozen = here.startUp();
      await until("worker-1 is made", () => {
        assert.equal(frozen.hasEnded, false, frozen.said);
        return here.ledger(end).some((row) => row.name?.startsWith("worker-1") === true);
      });
      const woken = await takeOverFrom(frozen, { there, objects });
      assert.equal(woken.code, 5, `${woken.stdout}\n${woken.stderr}`);
      assert.match(woken.stderr, /another command took this one's place/);
      await assertFenced(woken, { there });
      const hosts = there.alive().filter(({ kind }) => kind === "LocalHost");
      assert.equal(hosts.length, 4);
      assert.deepEqual(await objects.list(`.pulumi/locks/organization/capstan/${demoStack}`), []);
    });
});
