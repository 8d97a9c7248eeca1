/** Version of the file's layout; a file with a higher one is refused. */
export const cloudSchemaVersion = 7;

const hostsView = `
CREATE VIEW hosts AS
  SELECT id, state, cluster, cluster_uid, name, token, spec ->> 'size' AS size,
         spec ->> 'image' AS image, spec ->> 'zone' AS zone, spec ->> 'diskGib' AS disk_gib,
         status ->> 'address' AS address, created_ms, ready_ms, joins_ms, ready_since_ms,
         node ->> 'kubelet' AS node_kubelet, gone_ms
  FROM resources WHERE kind = 'LocalHost';
`;

/** Which cloud this is, minted once: two files are two clouds, wherever they lie. */
const metaTable = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('id', lower(hex(randomblob(8))));
`;

const sharedViews = `
CREATE VIEW networks AS
  SELECT id, state, cluster, cluster_uid, name, spec ->> 'cidr' AS cidr, created_ms, gone_ms
  FROM resources WHERE kind = 'LocalNetwork';
CREATE VIEW load_balancers AS
  SELECT id, state, cluster, cluster_uid, name, status ->> 'address' AS address, created_ms, gone_ms
  FROM resources WHERE kind = 'LocalLoadBalancer';
`;

/** What hosts of processes read at their first start, as a cloud's metadata holds it: secrets, gone with the host. */
const userDataTable = `
CREATE TABLE user_data (id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

const resourcesTable = `
CREATE TABLE resources (
  id          TEXT PRIMARY KEY,
  kind        TEXT NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('pending', 'running', 'terminated')),
  cluster     TEXT NOT NULL,
  cluster_uid TEXT NOT NULL,
  name        TEXT NOT NULL,
  token       TEXT NOT NULL,
  spec        TEXT NOT NULL,
  status      TEXT NOT NULL,
  created_ms  INTEGER NOT NULL,
  listed_ms   INTEGER NOT NULL,
  ready_ms    INTEGER,
  dies_ms     INTEGER,
  gone_ms     INTEGER,
  joins_ms    INTEGER,
  ready_since_ms INTEGER,
  node        TEXT,
  failure     TEXT,
  accepted_until_ms INTEGER,
  rejection   TEXT
) STRICT;
CREATE INDEX resources_by_cluster ON resources (cluster, cluster_uid);
CREATE INDEX resources_by_name ON resources (cluster_uid, name);
CREATE INDEX resources_by_token ON resources (token);
CREATE INDEX resources_by_network ON resources (spec ->> 'networkId');
CREATE INDEX resources_by_host ON resources (spec ->> 'hostId');
CREATE INDEX resources_pending ON resources (ready_ms) WHERE state = 'pending';
CREATE INDEX resources_mortal ON resources (dies_ms) WHERE dies_ms IS NOT NULL;
CREATE INDEX resources_joining ON resources (joins_ms) WHERE joins_ms IS NOT NULL;
CREATE INDEX resources_accepted ON resources (accepted_until_ms) WHERE rejection IS NOT NULL;
`;

/**
 * The simulated cloud in one file. `resources` is what exists, `ledger` is every call and its
 * effect, in order, and cannot be altered: it is the judge in tests, so it is readable with any
 * SQLite client. `faults` is what goes wrong with calls to come, `fault_uses` counts how often each was
 * asked about and taken. `meta` holds the id of the cloud, and images that people have added. The views show the resources as a user of a cloud would name them.
 *
 * Of a resource, ready_ms is when it runs, joins_ms when its node will have joined (NULL: none is about to),
 * ready_since_ms since when it is ready (NULL: it is not), node what the node last said about itself,
 * failure why it never will run: a host that has not booted yet says so once it would run. Until accepted_until_ms
 * (NULL: it was there at once) nothing shows it but the operation that its create was answered with; rejection is why that
 * fails in the end.
 */
export const cloudSchema = `
${resourcesTable}
CREATE TABLE ledger (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms       INTEGER NOT NULL,
  pid         INTEGER NOT NULL,
  call        TEXT NOT NULL,
  effect      TEXT NOT NULL,
  fault       TEXT,
  kind        TEXT,
  id          TEXT,
  cluster     TEXT,
  cluster_uid TEXT,
  name        TEXT,
  token       TEXT,
  detail      TEXT
) STRICT;
CREATE TRIGGER ledger_is_never_updated BEFORE UPDATE ON ledger
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_is_never_deleted BEFORE DELETE ON ledger
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

CREATE TABLE faults (
  id          INTEGER PRIMARY KEY,
  call        TEXT,
  modes       TEXT NOT NULL,
  name        TEXT,
  exact       INTEGER NOT NULL DEFAULT 0,
  skip        INTEGER NOT NULL DEFAULT 0,
  ms          INTEGER,
  times       INTEGER,
  probability REAL NOT NULL,
  seed        INTEGER NOT NULL
) STRICT;
CREATE TABLE fault_uses (
  key   TEXT PRIMARY KEY,
  asked INTEGER NOT NULL,
  taken INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

${sharedViews}${hostsView}${metaTable}${userDataTable}`;

const columnsBefore =
  "id, kind, state, cluster, cluster_uid, name, token, spec, status, created_ms, listed_ms, ready_ms, dies_ms, gone_ms, joins_ms, ready_since_ms, node, failure";

/** What brings a file of each older layout to the next one. Hosts that run were ready before joins were known. */
export const cloudSchemaUpgrades: Readonly<Record<number, string>> = {
  1: `
ALTER TABLE faults ADD COLUMN exact INTEGER NOT NULL DEFAULT 0;
ALTER TABLE faults ADD COLUMN skip INTEGER NOT NULL DEFAULT 0;
`,
  2: `
ALTER TABLE resources ADD COLUMN joins_ms INTEGER;
ALTER TABLE resources ADD COLUMN ready_since_ms INTEGER;
ALTER TABLE resources ADD COLUMN node TEXT;
CREATE INDEX resources_joining ON resources (joins_ms) WHERE joins_ms IS NOT NULL;
UPDATE resources SET ready_since_ms = coalesce(ready_ms, created_ms) WHERE state = 'running';
DROP VIEW hosts;
${hostsView}
`,
  3: metaTable,
  4: "ALTER TABLE resources ADD COLUMN failure TEXT;",
  // Any kind is taken from here on, and SQLite changes no check of a table that exists.
  5: `
DROP VIEW networks; DROP VIEW load_balancers; DROP VIEW hosts;
${["cluster", "name", "token", "network"].map((by) => `DROP INDEX resources_by_${by};`).join("\n")}
DROP INDEX IF EXISTS resources_by_host; DROP INDEX IF EXISTS resources_accepted; DROP INDEX resources_pending; DROP INDEX resources_mortal; DROP INDEX resources_joining;
ALTER TABLE resources RENAME TO resources_before;
${resourcesTable}
INSERT INTO resources (${columnsBefore}) SELECT ${columnsBefore} FROM resources_before ORDER BY rowid;
DROP TABLE resources_before;
${sharedViews}${hostsView}
`,
  6: userDataTable,
};
