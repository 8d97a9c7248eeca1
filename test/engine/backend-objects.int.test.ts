import assert from "node:assert/strict";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { S3 } from "@aws-sdk/client-s3";
import { Client } from "pg";
import { ensurePulumi } from "#toolchain";
import { type BackendObjects, backendObjects } from "../../src/engine/backend/backend-objects.js";
import { storedStacks } from "../../src/engine/backend/stored-stacks.js";
import { Moto } from "../provider/ec2/moto.js";
import { Command, type Outcome } from "../scenario/command.js";
import { S3Server } from "../scenario/s3-server.js";
import { cleanEnv, repository } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { failsWith } from "../support/errors.js";
import { Postgres } from "../support/postgres.js";
import { scratchFolder } from "../support/scratch.js";
import { TcpRelay } from "../support/tcp-relay.js";

/** A backend that both sides open by one URL and one environment. */
interface Place {
  readonly url: string;
  readonly env: NodeJS.ProcessEnv;
}

const locks = ".pulumi/locks/organization/small/dev";
const lock = { pid: 4711, username: "somebody", hostname: "elsewhere" };
const lockText = JSON.stringify({ ...lock, timestamp: "2026-11-23T12:00:00Z" });

/** Waits for the one lock there. */
async function heldLock(
  objects: BackendObjects,
  folder: string,
  engine: Command,
): Promise<{ key: string; pid: number }> {
  let found: readonly string[] = [];
  await until("the engine has its lock", async () => {
    assert.ok(!engine.hasEnded, engine.said);
    found = await objects.list(folder);
    return found.some((key) => key.endsWith(".json"));
  });
  const [key = ""] = found;
  const { pid } = JSON.parse((await objects.read(key)) ?? "{}") as { pid: number };
  return { key, pid };
}

describe("objects that Pulumi and Capstan both see", () => {
  const scratch = scratchFolder();
  let postgres: Postgres;
  let moto: Moto;
  let motoUrl: (bucket: string) => string;

  before(async () => {
    [postgres, moto] = await Promise.all([Postgres.start(), Moto.start()]);
    const { AWS_ENDPOINT_URL: endpoint = "", AWS_REGION: region = "" } = moto.env;
    const credentials = { accessKeyId: "moto", secretAccessKey: "moto" };
    const s3 = new S3({ region, endpoint, credentials, forcePathStyle: true });
    await s3.createBucket({
      Bucket: "states",
      CreateBucketConfiguration: { LocationConstraint: "eu-north-1" },
    });
    s3.destroy();
    const server = `endpoint=${endpoint.replace("http://", "")}&disableSSL=true&s3ForcePathStyle=true`;
    motoUrl = (bucket) => `s3://${bucket}?region=${region}&${server}`;
  });
  after(() => Promise.all([postgres.stop(), moto.stop()]));

  const motoEnv = { AWS_ACCESS_KEY_ID: "moto", AWS_SECRET_ACCESS_KEY: "moto" };

  const opened = (place: Place): BackendObjects => {
    const objects = backendObjects(place.url, place.env);
    assert.ok(objects !== undefined);
    return objects;
  };

  /** Pulumi in a small project, which is made anew for each test, and whose program does not end. */
  const start = async (place: Place, ...args: string[]): Promise<Command> => {
    const { bin, binDir } = await ensurePulumi();
    const cwd = join(scratch.path, "project");
    if (!existsSync(cwd)) {
      mkdirSync(cwd);
      writeFileSync(join(cwd, "Pulumi.yaml"), "name: small\nruntime: nodejs\n");
      writeFileSync(join(cwd, "package.json"), '{"main": "index.js"}\n');
      writeFileSync(join(cwd, "index.js"), "setInterval(() => {}, 1_000);\n");
      symlinkSync(join(repository, "node_modules"), join(cwd, "node_modules"));
    }
    const env = {
      ...cleanEnv(),
      ...place.env,
      PATH: [binDir, dirname(process.execPath), process.env["PATH"]].join(delimiter),
      PULUMI_BACKEND_URL: place.url,
      PULUMI_HOME: join(scratch.path, "home"),
      PULUMI_CONFIG_PASSPHRASE: "a passphrase for tests",
      PULUMI_SKIP_UPDATE_CHECK: "1",
    };
    return new Command(bin, [...args, "--non-interactive"], { cwd, env });
  };

  const pulumi = async (place: Place, ...args: string[]): Promise<Outcome> =>
    (await start(place, ...args)).finished;

  const succeeds = async (place: Place, ...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await pulumi(place, ...args);
    assert.equal(code, 0, stdout + stderr);
    return stdout;
  };

  const refusedBy = async (place: Place): Promise<string> => {
    const { code, stdout, stderr } = await pulumi(place, "refresh", "--yes", "--stack", "dev");
    assert.notEqual(code, 0);
    return stdout + stderr;
  };

  const places: readonly { name: string; isFenced: boolean; place: () => Promise<Place> }[] = [
    {
      name: "a folder",
      isFenced: true,
      place: async () => ({ url: `${pathToFileURL(scratch.path).href}?metadata=skip`, env: {} }),
    },
    {
      name: "PostgreSQL, with a table of its own",
      isFenced: true,
      place: async () => ({ url: `${postgres.url}&table=small_states`, env: postgres.env }),
    },
    {
      name: "a bucket of moto, under a path of it",
      isFenced: false,
      place: async () => ({ url: motoUrl("states/team"), env: motoEnv }),
    },
  ];
  for (const { name, isFenced, place: placeOf } of places) {
    it(`are the same: ${name}`, async () => {
      const place = await placeOf();
      const objects = opened(place);
      assert.deepEqual(await objects.list(locks), []);
      await succeeds(place, "stack", "init", "dev");
      const stack = ".pulumi/stacks/small/dev.json";
      const stacks = (await storedStacks(objects, "small")) ?? [];
      assert.ok(stacks.includes("dev"), stacks.join());
      const { version, checkpoint } = JSON.parse((await objects.read(stack)) ?? "") as {
        version: number;
        checkpoint: { stack: string };
      };
      assert.deepEqual([version, checkpoint.stack], [3, "organization/small/dev"]);

      const key = `${locks}/0123.json`;
      await objects.write(key, lockText);
      assert.match(
        await refusedBy(place),
        /locked by 1 lock.*0123\.json.*: created by somebody@elsewhere \(pid 4711\) at 2026-11-23T12:00:00Z/s,
      );
      assert.deepEqual(await objects.list(locks), [key]);
      assert.equal(await objects.read(key), lockText);
      await objects.remove(key);
      await objects.remove(key);
      assert.equal(await objects.read(key), undefined);
      assert.deepEqual(await objects.list(locks), []);
      await succeeds(place, "refresh", "--yes", "--stack", "dev");
      await objects.close();
    });

    it(`lets an engine write until its permit is withdrawn, as far as it can: ${name}`, async () => {
      const place = await placeOf();
      const objects = opened(place);
      const folder = ".capstan/permits/small/dev";
      const permits = ["one", "two"].map((id) => `${folder}/0000-${id}`);
      await succeeds(place, "stack", "init", "first");
      const granted = await Promise.all(permits.map((one) => objects.permits.grant(one)));
      const through = (index: number): Place => ({ ...place, url: granted[index] ?? "" });
      const stacks = async () => (await storedStacks(objects, "small")) ?? [];
      await succeeds(through(0), "stack", "init", "second");
      assert.match((await stacks()).join(), /first.*second/);
      for (const stack of ["first", "second"]) {
        await succeeds(through(0), "stack", "export", "--stack", stack);
      }
      await objects.permits.withdraw(permits[0] ?? "");
      assert.deepEqual(await Promise.all(permits.map((one) => objects.permits.isGranted(one))), [
        false,
        true,
      ]);
      if (isFenced) {
        const { code } = await pulumi(through(0), "stack", "init", "third");
        assert.notEqual(code, 0);
        assert.deepEqual(
          (await stacks()).filter((one) => one === "third"),
          [],
        );
      }
      await succeeds(through(1), "stack", "init", "fourth");
      // Without any permit, as a plain pulumi comes.
      await succeeds(place, "stack", "rm", "--yes", "--stack", "fourth");
      assert.ok((await stacks()).includes("second"));
      for (const one of permits) await objects.permits.forget(one);
      assert.deepEqual(await objects.permits.list(folder), []);
      await objects.permits.withdraw(permits[1] ?? "");
      assert.equal(await objects.permits.isGranted(permits[1] ?? ""), false);
      await objects.close();
    });

    it(`has the lock of an engine that runs: ${name}`, async () => {
      const place = await placeOf();
      const objects = opened(place);
      await succeeds(place, "stack", "init", "held");
      const folder = ".pulumi/locks/organization/small/held";
      const engine = await start(place, "up", "--yes", "--skip-preview", "--stack", "held");
      const held = await heldLock(objects, folder, engine);
      await engine.killTree();
      assert.equal(held.pid, engine.pid);
      assert.deepEqual(await objects.list(folder), [held.key], "a killed engine leaves it");
      await objects.remove(held.key);
      await succeeds(place, "refresh", "--yes", "--stack", "held");
      await objects.close();
    });
  }

  it("are none in PostgreSQL before anybody has written one; whoever writes makes Pulumi's table", async () => {
    const place = { url: `${postgres.urlWithPassword}&table=first_states`, env: {} };
    const [objects, others] = [opened(place), opened(place)];
    const key = ".capstan/engines/one.json";
    assert.deepEqual(
      [await objects.list(".capstan/engines"), await objects.read(key)],
      [[], undefined],
    );
    await objects.remove(key);
    await Promise.all([objects.write(key, "{}"), others.write(`${key}.json`, "\\%_ é 🐢\n\u0001")]);
    assert.deepEqual(await others.list(".capstan/engines"), [key, `${key}.json`]);
    assert.equal(await objects.read(`${key}.json`), "\\%_ é 🐢\n\u0001");
    assert.deepEqual(await objects.list(".capstan/engine_"), [], "a folder is no pattern");
    await Promise.all([objects.close(), others.close()]);
    assert.equal(await objects.read(key), "{}", "a closed one connects anew");
    await objects.close();
    await succeeds(place, "stack", "ls");
  });

  it("of PostgreSQL say who was not let in, without the password", async () => {
    const wrong = postgres.urlWithPassword.replace(postgres.password, "geheim");
    const objects = opened({ url: wrong, env: {} });
    await assert.rejects(objects.list(locks), (error) => {
      assert.ok(!`${String(error)} ${(error as { hint?: string }).hint}`.includes("geheim"));
      return failsWith("BAD_STATE", /owner:\*\*\*@127.*password authentication failed/)(error);
    });
    await objects.close();
  });

  it("of PostgreSQL are found without TLS where it is only preferred", async () => {
    const { env } = postgres;
    const preferring = opened({ url: postgres.url.replace("disable", "prefer"), env });
    assert.deepEqual(await preferring.list("nowhere"), []);
    const requiring = opened({ url: postgres.url.replace("disable", "require"), env });
    await assert.rejects(requiring.list("nowhere"), failsWith("BAD_STATE", /does not support SSL/));
    await Promise.all([preferring.close(), requiring.close()]);
  });

  it("of PostgreSQL are found again after its connections have ended", async () => {
    const objects = opened({ url: postgres.url, env: postgres.env });
    await objects.write("a/b", "text");
    const behind = new Client(postgres.urlWithPassword);
    await behind.connect();
    const ours = "FROM pg_stat_activity WHERE application_name = 'capstan'";
    await behind.query(`SELECT pg_terminate_backend(pid) ${ours}`);
    await until("the server has ended them", async () => {
      const { rowCount } = await behind.query(`SELECT pid ${ours}`);
      return rowCount === 0;
    });
    await behind.end();
    assert.equal(await objects.read("a/b"), "text");
    await objects.close();
  });

  it("of PostgreSQL are left in time when the way there is lost", async () => {
    const relay = await TcpRelay.to(Number(new URL(postgres.url).port));
    const { port } = new URL(postgres.url);
    const url = postgres.url.replace(port, String(relay.port));
    const objects = opened({ url: url.replace("owner@", `owner:${postgres.password}@`), env: {} });
    assert.deepEqual(await objects.list("nowhere"), []);
    assert.equal(relay.lose(), 1);
    await objects.close();
    relay.stop();
  });

  it("of a bucket that is not there are an error, not none", async () => {
    const objects = opened({ url: motoUrl("nobodys"), env: motoEnv });
    await assert.rejects(objects.list("a"), failsWith("BAD_STATE", /s3:\/\/nobodys.*bucket/));
    await assert.rejects(objects.read("a/b"), failsWith("BAD_STATE", /bucket/));
    await objects.close();
  });

  it("of the tests' own bucket server are the same", async () => {
    const server = await S3Server.start();
    const objects = opened(server.makeBackend());
    await objects.write("a/b", "text é");
    await objects.write("a/c/d", "deeper");
    assert.deepEqual([await objects.list("a"), await objects.read("a/b")], [["a/b"], "text é"]);
    await objects.remove("a/b");
    assert.equal(await objects.read("a/b"), undefined);
    await objects.close();
    await server.close();
  });
});
