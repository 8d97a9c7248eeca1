import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { stringify } from "yaml";
import type { CloudRow, LedgerRow } from "./ledger-judge.js";
import type { Sandbox } from "./sandbox.js";

/** An object of a manifest, as far as a neighbour changes it. */
interface Named {
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * Puts into the sandbox's cloud what belongs to others: a real cluster of the same objects in another
 * namespace, with a stack of its own, and twins of its resources with UIDs that nobody knows, in clusters whose
 * names begin as ours does, or end so.
 */
export async function plantNeighbours(sandbox: Sandbox, objects: readonly Named[]): Promise<void> {
  const folder = join(sandbox.folder, "neighbour");
  mkdirSync(folder);
  const moved = objects.map(({ metadata, ...rest }) => ({
    ...rest,
    metadata: { ...metadata, namespace: "neighbour" },
  }));
  writeFileSync(join(folder, "cluster.yaml"), moved.map((one) => stringify(one)).join("---\n"));
  await sandbox.capstan(0, "up", "--yes", "-f", folder);
  const { namespace = "default", name } = clusterIn(objects);
  const likeOurs = [
    `stranger/${name}`,
    `${namespace}/${name}-2`,
    `${namespace}/${name}2`,
    `${namespace}/${name.slice(0, -1)}`,
    `${namespace}2/${name}`,
  ];
  for (const [index, cluster] of likeOurs.entries()) {
    addTwins(sandbox.cloudFile, `neighbour/${name}`, { prefix: `stranger${index}-`, cluster });
  }
}

/**
 * Twins of all that a cluster has, with its own name and another UID: what a cluster of the same name has left, or
 * one of the same name elsewhere. Answers their ids.
 */
export function plantNamesakes({ cloudFile }: Sandbox, cluster: string): ReadonlySet<string> {
  return addTwins(cloudFile, cluster, { prefix: "namesake-", cluster });
}

/** A host like another one that bears no ownership tags, as a user makes one by hand. Answers its id. */
export function plantUntagged(sandbox: Sandbox, like: string): string {
  const { cloudFile } = sandbox;
  const prefix = `untagged${sandbox.rows().length}-`;
  const id = `${prefix}${like}`;
  const ids = addRows(cloudFile, { prefix, column: "id", value: like }, ({ status }) => ({
    cluster: "",
    cluster_uid: "",
    name: "",
    token: "",
    status: String(status).replaceAll(like, id),
  }));
  if (ids.size === 0) throw new Error(`${like} does not run`);
  return id;
}

/** Twins of all that a cluster has, as another one's of the same name in a namespace that nobody has. */
export function addStrangers(cloudFile: string, cluster: string): void {
  const name = cluster.slice(cluster.indexOf("/") + 1);
  addTwins(cloudFile, cluster, { prefix: "stranger-", cluster: `stranger/${name}` });
}

function clusterIn(objects: readonly Named[]): {
  readonly namespace?: string;
  readonly name: string;
} {
  const cluster = objects.find(({ kind }) => kind === "Cluster");
  if (cluster === undefined) throw new Error("objects of a cluster have a Cluster");
  return cluster.metadata as { readonly namespace?: string; readonly name: string };
}

/** What lives of one cluster once more, as another's, and each among its own: whatever refers to a twin's original refers to the twin. */
function addTwins(
  cloudFile: string,
  of: string,
  { prefix, cluster }: { readonly prefix: string; readonly cluster: string },
): ReadonlySet<string> {
  return addRows(cloudFile, { prefix, column: "cluster", value: of }, (row) => ({
    token: `${prefix}${String(row["token"])}`,
    cluster,
    cluster_uid: `${prefix}${String(row["cluster_uid"])}`,
  }));
}

type Columns = Readonly<Record<string, SQLOutputValue>>;

interface Originals {
  readonly prefix: string;
  readonly column: "id" | "cluster";
  readonly value: string;
}

/** Copies of rows that live, with ids and some columns of their own; a copy refers to copies. Answers their ids. */
function addRows(
  cloudFile: string,
  { prefix, column, value }: Originals,
  columnsOf: (row: Columns) => Columns,
): ReadonlySet<string> {
  const database = new DatabaseSync(cloudFile, { timeout: 5_000 });
  try {
    const rows = database
      .prepare(`SELECT * FROM resources WHERE ${column} = ? AND state <> 'terminated'`)
      .all(value);
    const ids = rows.map(({ id }) => String(id));
    const copied = (text: string) =>
      ids.reduce((all, id) => all.replaceAll(`"${id}"`, `"${prefix}${id}"`), text);
    for (const row of rows) {
      const copy = {
        ...row,
        id: `${prefix}${String(row["id"])}`,
        spec: copied(String(row["spec"])),
        status: copied(String(row["status"])),
        ...columnsOf(row),
      };
      const columns = Object.keys(copy);
      database
        .prepare(
          `INSERT INTO resources (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
        )
        .run(...Object.values(copy));
    }
    return new Set(ids.map((id) => `${prefix}${id}`));
  } finally {
    database.close();
  }
}

const changing = ["created", "updated", "terminated", "disowned", "marked"];

/** The rows of a cloud at two instants, and which of those that carry a cluster's name are not its own. */
export interface CloudRows {
  readonly before: readonly CloudRow[];
  readonly after: readonly CloudRow[];
  readonly namesakes?: ReadonlySet<string>;
}

/**
 * What became of resources of others: entries of the ledger that changed one, and rows that are no longer as they
 * were. Empty: nothing.
 */
export function neighbourChanges(
  cluster: string,
  ledger: readonly LedgerRow[],
  { before, after, namesakes = new Set() }: CloudRows,
): string[] {
  const isTheirs = (whose: string | null, id: string | null) =>
    namesakes.has(id ?? "") || (whose !== null && whose !== cluster);
  const touched = ledger
    .filter((entry) => isTheirs(entry.cluster, entry.id))
    .filter(({ effect }) => changing.includes(effect))
    .map(({ call, name, cluster: whose, id }) => {
      const which = namesakes.has(id ?? "") ? `, another's (${id})` : "";
      return `${call} of ${whose} ${name}${which}`;
    });
  const now = new Map(after.map((row) => [row.id, JSON.stringify(row)]));
  const changed = before
    .filter((row) => isTheirs(row.cluster, row.id))
    .filter((row) => now.get(row.id) !== JSON.stringify(row))
    .map(({ cluster: whose, name }) => `${whose} ${name} is no longer as it was`);
  return [...touched, ...changed];
}
