import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { stringify } from "yaml";
import type { CloudRow, LedgerRow } from "./ledger-judge.js";
import type { Sandbox } from "./sandbox.js";

/** An object of a manifest, as far as a neighbour changes it. */
interface Named {
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * Puts into the sandbox's cloud what belongs to others: a real cluster of the same objects in another
 * namespace, with a stack of its own, and twins of its resources that carry a UID nobody knows.
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
  addStrangers(sandbox.cloudFile);
}

/** A reference in a spec, from the twin of one resource to that of another: else one would be in use by a stranger. */
function toTwin(spec: string, field: string): string {
  const id = `${spec} ->> '${field}'`;
  return `iif(${id} IS NULL, ${spec}, json_set(${spec}, '$.${field}', 'stranger-' || (${id})))`;
}

/** Twins of all there is, of a cluster in a third namespace. */
export function addStrangers(cloudFile: string): void {
  const database = new DatabaseSync(cloudFile, { timeout: 5_000 });
  try {
    const columns = database.prepare("SELECT name FROM pragma_table_info('resources')").all();
    const values: Record<string, string> = {
      id: "'stranger-' || id",
      token: "'stranger ' || token",
      cluster: "'stranger/' || substr(cluster, instr(cluster, '/') + 1)",
      cluster_uid: "'stranger-' || cluster_uid",
      spec: toTwin(toTwin("spec", "networkId"), "hostId"),
    };
    const twin = columns.map(({ name }) => values[String(name)] ?? String(name));
    database.exec(`INSERT INTO resources SELECT ${twin.join(", ")} FROM resources`);
  } finally {
    database.close();
  }
}

const changing = ["created", "updated", "terminated"];

/**
 * What became of resources of other clusters: entries of the ledger that changed one, and rows that
 * are no longer as they were. Empty: nothing.
 */
export function neighbourChanges(
  cluster: string,
  ledger: readonly LedgerRow[],
  rows: { readonly before: readonly CloudRow[]; readonly after: readonly CloudRow[] },
): string[] {
  const touched = ledger
    .filter((entry) => entry.cluster !== null && entry.cluster !== cluster)
    .filter(({ effect }) => changing.includes(effect))
    .map(({ call, name, cluster: whose }) => `${call} of ${whose} ${name}`);
  const now = new Map(rows.after.map((row) => [row.id, JSON.stringify(row)]));
  const others = rows.before.filter((row) => row.cluster !== cluster);
  const changed = others
    .filter((row) => now.get(row.id) !== JSON.stringify(row))
    .map(({ cluster: whose, name }) => `${whose} ${name} is no longer as it was`);
  return [...touched, ...changed];
}
