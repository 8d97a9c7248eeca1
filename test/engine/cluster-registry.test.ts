import assert from "node:assert/strict";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ClusterRegistry } from "../../src/engine/backend/cluster-registry.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import type { NotedCluster } from "../../src/sweep/clusters.js";
import { failsWith } from "../support/errors.js";
import { scratchFolder } from "../support/scratch.js";

const prod: NotedCluster = {
  clusterUid: "uid-1",
  cluster: "default/prod",
  stack: "default.prod",
  provider: "local",
  backend: "own",
  notedAtMs: 1_000,
};

describe("the registry of clusters", () => {
  const scratch = scratchFolder();

  /** Opens it for one piece of work, as each command does. */
  const using = <T>(work: (registry: ClusterRegistry) => T): T => {
    const registry = ClusterRegistry.open(scratch.path);
    try {
      return work(registry);
    } finally {
      registry.close();
    }
  };
  const note = (...clusters: NotedCluster[]) =>
    using((registry) => clusters.forEach((cluster) => registry.note(cluster)));
  const all = () => using((registry) => registry.all());

  it("is empty in a folder that was never used", () => assert.deepEqual(all(), []));

  it("is in a file that the user alone may read, also where an older release made it", () => {
    const file = join(scratch.path, "clusters.db");
    const mode = () => statSync(file).mode & 0o777;
    note(prod);
    assert.equal(mode(), 0o600);
    chmodSync(file, 0o644);
    note(prod);
    assert.equal(mode(), 0o600);
  });

  it("keeps what other commands noted, oldest first", () => {
    const earlier = { ...prod, clusterUid: "uid-0", notedAtMs: 500 };
    note(prod);
    note(earlier);
    assert.deepEqual(all(), [earlier, prod]);
  });

  it("keeps the time of the first note and the place of the last", () => {
    note(prod);
    note({ ...prod, stack: "default.renamed", backend: "elsewhere", notedAtMs: 9_000 });
    assert.deepEqual(all(), [{ ...prod, stack: "default.renamed", backend: "elsewhere" }]);
  });

  it("writes nothing when there is nothing new", () => {
    note(prod);
    const changes = using((registry) => {
      const reader = new DatabaseSync(join(scratch.path, "clusters.db"), { readOnly: true });
      const versionOf = () => reader.prepare("PRAGMA data_version").get()?.["data_version"];
      const before = versionOf();
      registry.note({ ...prod, notedAtMs: 2_000 });
      const after = versionOf();
      reader.close();
      return [before, after];
    });
    assert.equal(changes[0], changes[1]);
  });

  it("keeps the first time at which a cluster ended, until that lives again", () => {
    note(prod);
    using((registry) => {
      registry.noteEnd(prod.clusterUid, 5_000);
      registry.noteEnd(prod.clusterUid, 6_000);
      registry.noteEnd("uid-unknown", 6_000);
    });
    assert.deepEqual(all(), [{ ...prod, endedAtMs: 5_000 }]);
    note(prod);
    assert.deepEqual(all(), [prod]);
  });

  it("keeps what any target of a cluster kept", () => {
    note({ ...prod, keeps: ["LocalVolume data"] });
    note({ ...prod, keeps: [] });
    note({ ...prod, keeps: ["LocalVolume logs"] });
    assert.deepEqual(all(), [{ ...prod, keeps: ["LocalVolume data", "LocalVolume logs"] }]);
  });

  it("reads the first layout: no end on record, and unknown what is kept", () => {
    const database = new DatabaseSync(join(scratch.path, "clusters.db"));
    database.exec(`CREATE TABLE clusters (cluster_uid TEXT PRIMARY KEY, cluster TEXT NOT NULL,
      stack TEXT NOT NULL, provider TEXT NOT NULL, backend TEXT NOT NULL, noted_ms INTEGER NOT NULL) STRICT;
      INSERT INTO clusters VALUES ('uid-1', 'default/prod', 'default.prod', 'local', 'own', 1000);
      PRAGMA user_version = 1;`);
    database.close();
    assert.deepEqual(all(), [prod]);
    note({ ...prod, keeps: [] });
    assert.deepEqual(all(), [prod], "what its earlier targets kept stays unknown");
    using((registry) => registry.noteEnd(prod.clusterUid, 5_000));
    assert.deepEqual(all(), [{ ...prod, endedAtMs: 5_000 }]);
  });

  it("serves two who have it open", () => {
    using((first) => {
      using((second) => {
        first.note(prod);
        second.note({ ...prod, clusterUid: "uid-2", notedAtMs: 2_000 });
      });
      assert.deepEqual(
        first.all().map(({ clusterUid }) => clusterUid),
        ["uid-1", "uid-2"],
      );
    });
  });

  it("refuses a newer release's file and leaves it as it is", () => {
    note(prod);
    const file = join(scratch.path, "clusters.db");
    const database = new DatabaseSync(file);
    database.exec("PRAGMA user_version = 3");
    database.close();
    const bytes = readFileSync(file);
    assert.throws(() => all(), failsWith("SCHEMA_NEWER", /layout 3/));
    assert.deepEqual(readFileSync(file), bytes);
  });

  it("refuses a file that is no database", () => {
    writeFileSync(join(scratch.path, "clusters.db"), "not a database, but a text of some length");
    assert.throws(() => all(), failsWith("BAD_STATE", /cannot open .*clusters\.db/));
  });
});

describe("the name of a backend in records", () => {
  const keyOf = (stateDir: string, backend?: string) =>
    new Workspace({
      stateDir,
      pulumiBinDir: "/nowhere",
      env: {},
      ...(backend !== undefined && { backend }),
    }).backendKey;

  it("is one for the state folder's own, wherever that is", () => {
    assert.equal(keyOf("/a"), keyOf("/b"));
  });

  it("differs by URL and shows nothing of it", () => {
    const key = keyOf("/a", "postgres://user:secret@host/db");
    assert.doesNotMatch(key, /user|secret|host/);
    assert.notEqual(key, keyOf("/a", "postgres://user:secret@host/other"));
    assert.notEqual(key, keyOf("/a"));
  });
});
