import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LocalCloud, type LocalKind } from "../../../providers/local/cloud.js";
import { cloudSchemaVersion } from "../../../providers/local/file/tables.js";
import type { CapstanError } from "../../../src/api/error.js";
import type { JsonObject } from "../../../src/api/json.js";
import type { Identity } from "../../../src/provider/port.js";
import { SmallDisk } from "../../scenario/small-disk.js";
import { failsWith } from "../../support/errors.js";
import { FakeClock } from "../../support/fake-clock.js";
import { scratchFolder } from "../../support/scratch.js";

function who(kind: LocalKind, name: string, uid = "uid-1"): Identity {
  return { cluster: "default/prod", clusterUid: uid, kind, name, token: `token-${uid}-${name}` };
}

describe("the local cloud", () => {
  const scratch = scratchFolder();
  let clock: FakeClock;
  let cloud: LocalCloud;
  let networkId: string;

  beforeEach(async () => {
    clock = new FakeClock();
    cloud = new LocalCloud(join(scratch.path, "cloud.db"), clock);
    const made = await cloud.create("LocalNetwork", who("LocalNetwork", "network"), {
      cidr: "10.4.0.0/16",
      bootMs: 300,
    });
    networkId = made.id;
  });
  afterEach(() => cloud.close());

  const host = (name: string, spec: JsonObject = {}) =>
    cloud.create("LocalHost", who("LocalHost", name), { networkId, zone: "a", ...spec });

  it("is in files that the user alone may read, also where an older release made them", () => {
    const modes = () =>
      readdirSync(scratch.path).map((name) => statSync(join(scratch.path, name)).mode & 0o777);
    assert.deepEqual([...new Set(modes())], [0o600]);
    const path = join(scratch.path, "cloud.db");
    chmodSync(path, 0o644);
    return withAnother(path, async (again) => {
      await again.list({});
      assert.deepEqual([...new Set(modes())], [0o600]);
    });
  });

  /** Another process's. */
  const withAnother = async (path: string, work: (again: LocalCloud) => Promise<void>) => {
    const again = new LocalCloud(path, clock);
    try {
      await work(again);
    } finally {
      again.close();
    }
  };

  describe("hosts", () => {
    it("run once their boot time has passed, not before", async () => {
      const made = await host("h");
      assert.deepEqual([made.state, made.readyMs - made.createdMs], ["pending", 300]);
      clock.advance(299);
      assert.equal((await cloud.get(made.id))?.state, "pending");
      clock.advance(1);
      assert.equal((await cloud.get(made.id))?.state, "running");
    });

    it("may have a boot time of their own", async () => {
      assert.equal((await host("h", { bootMs: 0 })).readyMs, clock.now());
      assert.equal((await cloud.list({ name: "h" }))[0]?.state, "running");
    });

    it("get addresses of their network that are never used twice", async () => {
      const first = await host("a");
      assert.deepEqual(first.status, {
        address: "10.4.0.10",
        providerId: `local:///a/${first.id}`,
      });
      await cloud.terminate(first.id);
      assert.equal((await host("b")).status["address"], "10.4.0.11");
    });

    it("need a network that exists", async () => {
      const spec = { networkId: "net-0" };
      await assert.rejects(host("h", spec), failsWith("CLOUD_FAILED", /net-0 does not exist/));
      assert.equal((await cloud.list({ name: "h" })).length, 0);
    });

    it("take new settings while they live, and none afterwards", async () => {
      const { id } = await host("h");
      assert.deepEqual((await cloud.update(id, { networkId, diskGib: 9 })).spec["diskGib"], 9);
      await cloud.terminate(id);
      await assert.rejects(cloud.update(id, { networkId }), failsWith("RESOURCE_GONE"));
    });

    it("stay visible as terminated; ending one again is no error", async () => {
      const { id } = await host("h");
      await cloud.terminate(id, undefined, "kill");
      await cloud.terminate(id);
      assert.equal((await cloud.get(id))?.state, "terminated");
      assert.equal(await cloud.get("host-0"), undefined);
    });
  });

  describe("tokens", () => {
    it("find the resource that they made, with its first settings", async () => {
      const made = await host("h", { diskGib: 20 });
      const again = await host("h", { diskGib: 99 });
      assert.deepEqual([again.id, again.spec["diskGib"]], [made.id, 20]);
    });

    it("of a terminated host give that host back, as EC2 does", async () => {
      const made = await host("h");
      await cloud.terminate(made.id);
      const again = await host("h");
      assert.deepEqual([again.id, again.state], [made.id, "terminated"]);
    });

    it("of a terminated load balancer are free again", async () => {
      const make = () =>
        cloud.create("LocalLoadBalancer", who("LocalLoadBalancer", "api"), { networkId });
      const first = await make();
      await cloud.terminate(first.id);
      assert.notEqual((await make()).id, first.id);
    });

    it("do not make names unique: another life of the cluster has its own", async () => {
      await host("h");
      await cloud.create("LocalHost", who("LocalHost", "h", "uid-2"), { networkId, zone: "a" });
      assert.equal((await cloud.list({ name: "h" })).length, 2);
      assert.equal((await cloud.list({ name: "h", clusterUid: "uid-2" })).length, 1);
      assert.equal((await cloud.list({ cluster: "default/other" })).length, 0);
    });
  });

  describe("limits", () => {
    it("a network in use cannot be deleted, and can once it is empty", async () => {
      const { id } = await host("h");
      const inUse = (by: string) =>
        failsWith("IN_USE", new RegExp(`still used \\(in its way: ${by}\\)$`));
      await assert.rejects(cloud.terminate(networkId), inUse(id));
      const others = [await host("i"), await host("j"), await host("k")];
      await assert.rejects(cloud.terminate(networkId), inUse(`${id}, .+, .+ and 1 more`));
      for (const other of others) await cloud.terminate(other.id);
      assert.equal((await cloud.get(networkId))?.state, "running");
      await cloud.terminate(id);
      await cloud.terminate(networkId);
      assert.equal((await cloud.get(networkId))?.state, "terminated");
    });

    it("the quota counts hosts that live, and not what is found again", async () => {
      await cloud.update(networkId, { cidr: "10.4.0.0/16", machineQuota: 2 });
      const [first] = [await host("a"), await host("b")];
      await assert.rejects(host("c"), failsWith("QUOTA", /quota of 2 machines/));
      assert.equal((await host("a")).id, first.id);
      await cloud.terminate(first.id);
      assert.equal((await host("c")).state, "pending");
    });
  });

  describe("faults", () => {
    const cases = [
      { mode: "fail", code: "CLOUD_FAILED", flags: [false, false], made: 0 },
      { mode: "throttle", code: "CLOUD_THROTTLED", flags: [true, false], made: 0 },
      { mode: "lose", code: "CLOUD_FAILED", flags: [false, true], made: 1 },
      { mode: "hang", code: "CLOUD_FAILED", flags: [false, true], made: 0 },
      { mode: "hangAfter", code: "CLOUD_FAILED", flags: [false, true], made: 1 },
    ] as const;
    for (const { mode, code, flags, made } of cases) {
      it(`${mode}: ${code}, ${made === 1 ? "takes effect" : "has no effect"}, once`, async () => {
        await cloud.addFault({ call: "create", mode, times: 1 });
        await assert.rejects(host("h"), (error: { retryable: boolean; ambiguous: boolean }) => {
          assert.deepEqual([error.retryable, error.ambiguous], flags);
          return failsWith(code)(error);
        });
        assert.equal((await cloud.list({ name: "h" })).length, made);
        assert.equal((await host("h")).state === "terminated", false);
        assert.equal((await cloud.list({ name: "h" })).length, 1);
      });
    }

    it("hanging calls hang for minutes unless they are given up", async () => {
      await cloud.addFault({ call: "get", mode: "hang", times: 2 });
      await assert.rejects(cloud.get(networkId));
      assert.ok((clock.slept.at(-1) ?? 0) >= 60_000);
      const reason = new Error("given up");
      const manual = new LocalCloud(cloud.path, new FakeClock(0, "manual"));
      const abort = new AbortController();
      const hanging = manual.get(networkId, abort.signal);
      setTimeout(() => abort.abort(reason), 20);
      await assert.rejects(hanging, reason);
      manual.close();
    });

    it("hit only names that begin so, in the order they were set, as often as asked", async () => {
      await cloud.addFault({ call: "create", mode: "fail", name: "web", times: 2 });
      await host("db");
      await assert.rejects(host("web-1"));
      await assert.rejects(host("web-2"));
      await host("web-3");
      await cloud.addFault({ call: "list", mode: "fail", times: 5 });
      await cloud.clearFaults();
      assert.equal((await cloud.list({})).length, 3);
    });

    it("are made for each call that a provider makes", async () => {
      const { id } = await host("h");
      const calls = {
        get: () => cloud.get(id),
        list: () => cloud.list({}),
        update: () => cloud.update(id, { networkId }),
        terminate: () => cloud.terminate(id),
      } as const;
      for (const [call, make] of Object.entries(calls)) {
        await cloud.addFault({ call: call as keyof typeof calls, mode: "fail", times: 1 });
        await assert.rejects(make(), failsWith("CLOUD_FAILED"), call);
      }
      assert.equal((await cloud.get(id))?.state, "pending");
    });
  });

  describe("the ledger", () => {
    it("tells every call and its effect in order, boots at the time they happened", async () => {
      const made = await host("h");
      clock.advance(1_000);
      await cloud.list({});
      await cloud.terminate(made.id, undefined, "kill");
      const entries = await cloud.ledger();
      assert.deepEqual(
        entries.map(({ call, effect, name }) => [call, effect, name]),
        [
          ["create", "created", "network"],
          ["create", "created", "h"],
          ["boot", "running", "h"],
          ["list", "found 2", null],
          ["kill", "terminated", "h"],
        ],
      );
      assert.equal(entries[2]?.atMs, made.readyMs);
      assert.deepEqual(
        entries.map(({ seq }) => seq),
        [1, 2, 3, 4, 5],
      );
      assert.deepEqual(
        (await cloud.ledger(4)).map(({ call }) => call),
        ["kill"],
      );
    });

    it("can be neither altered nor shortened by anybody", async () => {
      await host("h");
      const database = new DatabaseSync(cloud.path);
      assert.throws(() => database.exec("UPDATE ledger SET effect = 'x'"), /append-only/);
      assert.throws(() => database.exec("DELETE FROM ledger"), /append-only/);
      database.close();
      assert.equal((await cloud.ledger()).length, 2);
    });

    it("says what a refused call was refused for", async () => {
      await cloud.addFault({ call: "create", mode: "throttle", times: 1 });
      await assert.rejects(host("h"));
      assert.equal((await cloud.ledger()).at(-1)?.effect, "refused: throttle");
    });
  });

  it("keeps everything when the process ends", async () => {
    const { id } = await host("h");
    cloud.close();
    const later = new LocalCloud(cloud.path, clock);
    assert.equal((await later.get(id))?.who.name, "h");
    assert.equal((await later.ledger()).length, 3);
    later.close();
  });

  it("gives up before the call when it was interrupted before", async () => {
    const reason = new Error("interrupted");
    await assert.rejects(cloud.get(networkId, AbortSignal.abort(reason)), reason);
  });
});

describe("a file of an older layout", () => {
  const scratch = scratchFolder();
  const layout6 = `DROP TABLE user_data;`;
  const layout5 = `${layout6} DROP INDEX resources_by_host; DROP INDEX resources_accepted;
    ALTER TABLE resources DROP COLUMN accepted_until_ms; ALTER TABLE resources DROP COLUMN rejection;`;
  const layout4 = `${layout5} ALTER TABLE resources DROP COLUMN failure;`;
  const layout3 = `${layout4} DROP TABLE meta;`;
  const layout2 = `${layout3} DROP VIEW hosts; CREATE VIEW hosts AS SELECT id FROM resources;
    DROP INDEX resources_joining; ALTER TABLE resources DROP COLUMN joins_ms;
    ALTER TABLE resources DROP COLUMN ready_since_ms; ALTER TABLE resources DROP COLUMN node;`;
  const layout1 = `${layout2} ALTER TABLE faults DROP COLUMN exact; ALTER TABLE faults DROP COLUMN skip;`;
  const network = who("LocalNetwork", "network");

  for (const [layout, sql] of [layout1, layout2, layout3, layout4, layout5, layout6].map(
    (text, index) => [index + 1, text] as const,
  )) {
    it(`${layout} is brought to the present one and keeps what it holds`, async () => {
      const path = join(scratch.path, "cloud.db");
      const clock = new FakeClock();
      const written = new LocalCloud(path, clock);
      await written.addFault({ call: "get", mode: "fail" });
      const { id: networkId } = await written.create("LocalNetwork", network, {
        cidr: "10.4.0.0/16",
      });
      const { id } = await written.create("LocalHost", who("LocalHost", "h"), {
        networkId,
        bootMs: 5,
      });
      clock.advance(10);
      await written.list({});
      written.close();
      const old = new DatabaseSync(path);
      old.exec(sql);
      old.exec(`PRAGMA user_version = ${layout}`);
      old.close();
      const cloud = new LocalCloud(path, clock);
      await assert.rejects(cloud.get(id), failsWith("CLOUD_FAILED"));
      await cloud.addFault({ call: "get", mode: "fail", skip: 1 });
      const host = await cloud.get(id);
      assert.deepEqual([host?.state, host?.readySinceMs], ["running", host?.readyMs]);
      cloud.close();
      const columns = (of: string) => {
        const database = new DatabaseSync(path, { readOnly: true });
        const names = database
          .prepare(`SELECT name FROM pragma_table_info(?) ORDER BY name`)
          .all(of);
        database.close();
        return names;
      };
      const upgraded = ["resources", "faults", "hosts"].map(columns);
      rmSync(path);
      const fresh = new LocalCloud(path, clock);
      await fresh.list({});
      fresh.close();
      assert.deepEqual(upgraded, ["resources", "faults", "hosts"].map(columns));
    });
  }
});

describe("the id of a local cloud", () => {
  const scratch = scratchFolder();

  it("is its file's: every process agrees, two files never do, and asking is no call", async () => {
    const clock = new FakeClock();
    const files = ["one.db", "one.db", "two.db"].map((name) => join(scratch.path, name));
    const clouds = files.map((path) => new LocalCloud(path, clock));
    const [first = "", again, other] = await Promise.all(clouds.map((cloud) => cloud.id()));
    assert.match(first, /^[0-9a-f]{16}$/);
    assert.equal(again, first);
    assert.notEqual(other, first);
    assert.deepEqual(await clouds[0]?.ledger(), []);
    for (const cloud of clouds) cloud.close();
  });

  it("is minted when a file of an older layout is first opened, and stays", async () => {
    const path = join(scratch.path, "cloud.db");
    const clock = new FakeClock();
    const written = new LocalCloud(path, clock);
    await written.list({});
    written.close();
    const old = new DatabaseSync(path);
    old.exec(`DROP TABLE user_data; ALTER TABLE resources DROP COLUMN failure; DROP TABLE meta;
      PRAGMA user_version = 3`);
    old.close();
    const ids: string[] = [];
    for (let opened = 0; opened < 2; opened += 1) {
      const cloud = new LocalCloud(path, clock);
      ids.push((await cloud.id()) ?? "");
      cloud.close();
    }
    assert.equal(ids[0], ids[1]);
  });
});

describe("a file that is no local cloud", () => {
  const scratch = scratchFolder();
  const digest = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

  const foreign = (path: string, sql: string): void => {
    const database = new DatabaseSync(path);
    database.exec(sql);
    database.close();
  };
  const cases: { name: string; make: (path: string) => void; want: RegExp }[] = [
    { name: "text", make: (path) => writeFileSync(path, "not a database\n".repeat(99)), want: /./ },
    {
      name: "a damaged database",
      make: (path) => {
        foreign(path, "CREATE TABLE t (x); INSERT INTO t VALUES (1)");
        const bytes = readFileSync(path);
        bytes.fill(0xff, 100, 3_000);
        writeFileSync(path, bytes);
      },
      want: /./,
    },
    {
      name: "a database of something else",
      make: (path) => foreign(path, "CREATE TABLE t (x)"),
      want: /something else/,
    },
    {
      name: "a newer layout",
      make: (path) =>
        foreign(path, `CREATE TABLE t (x); PRAGMA user_version = ${cloudSchemaVersion + 1}`),
      want: new RegExp(`newer release \\(layout ${cloudSchemaVersion + 1}\\)`),
    },
  ];
  for (const { name, make, want } of cases) {
    it(`is refused with its path and left as it is: ${name}`, async () => {
      const path = join(scratch.path, "cloud.db");
      make(path);
      const before = digest(path);
      const cloud = new LocalCloud(path, new FakeClock());
      await assert.rejects(cloud.list({}), (error: Error) => {
        assert.ok(error.message.includes(path));
        assert.match(error.message, want);
        return failsWith("CLOUD_CORRUPT")(error);
      });
      cloud.close();
      assert.equal(digest(path), before, "its bytes have changed");
    });
  }
});

describe("a local cloud whose file cannot be used now", () => {
  const scratch = scratchFolder();

  it("answers that it is busy, again and again until it is not", async () => {
    const path = join(scratch.path, "cloud.db");
    const clock = new FakeClock();
    const cloud = new LocalCloud(path, clock);
    await cloud.list({});
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const made = cloud.create("LocalNetwork", who("LocalNetwork", "n"), { cidr: "10.4.0.0/16" });
    await assert.rejects(made, (error) => {
      assert.ok(failsWith("CLOUD_FAILED", /cannot use \S+cloud\.db: another process keeps/)(error));
      const { retryable, ambiguous } = error as CapstanError;
      return retryable && !ambiguous;
    });
    other.close();
    assert.deepEqual(await cloud.list({}), []);
    cloud.close();
  });

  it("answers that it is full, and has then done nothing", async () => {
    const disk = await SmallDisk.make(1);
    const cloud = new LocalCloud(join(disk.folder, "cloud.db"), new FakeClock());
    try {
      await cloud.list({});
      disk.fillTo(0);
      const spec = { cidr: "10.4.0.0/16", note: "x".repeat(40_000) };
      const made = cloud.create("LocalNetwork", who("LocalNetwork", "n"), spec);
      await assert.rejects(made, (error) => {
        assert.ok(failsWith("CLOUD_FAILED", /cloud\.db: no room is left on its disk/)(error));
        const { retryable, ambiguous } = error as CapstanError;
        return !retryable && !ambiguous;
      });
      disk.release();
      assert.deepEqual(await cloud.list({}), []);
    } finally {
      cloud.close();
      disk.close();
    }
  });
});
