import { type AccountRow, type AccountTables, livingIn, marksOf, plainName } from "./account.js";

// Whether the hosts of an account are a cluster. This imports nothing of the product.

/** What the hosts have come to, as those who stand for them tell. */
export interface HostsTold {
  readonly members: readonly { readonly instance: string }[];
  readonly nodes: readonly { readonly instance: string }[];
  readonly refusals: Readonly<Record<string, string>>;
  readonly offences: readonly string[];
}

/** Whether a host, by its name, is a member of the control plane of a scenario. */
export function isMember(host: string): boolean {
  return host.startsWith("cp-");
}

/** The instances of a cluster that live. */
export function instancesOf(account: AccountTables, cluster: string): AccountRow[] {
  return livingIn(account)
    .filter(({ table, row }) => table === "instances" && marksOf(row).cluster === cluster)
    .map(({ row }) => row);
}

/**
 * What is wrong with a cluster that is to be whole: instances that are no nodes, members of the control plane that are not in etcd, those in etcd that
 * are gone, and what must never have happened. Pure.
 */
export function judgeHosts(
  account: AccountTables,
  cluster: string,
  { members, nodes, refusals, offences }: HostsTold,
): string[] {
  const living = instancesOf(account, cluster);
  const nameOf = (row: AccountRow) => `${plainName(marksOf(row).name)} (${row.id})`;
  const isIn = (list: HostsTold["nodes"], id: string) =>
    list.some(({ instance }) => instance === id);
  return [
    ...offences,
    ...living
      .filter(({ id }) => !isIn(nodes, id))
      .map((row) => `${nameOf(row)} is no node: ${refusals[row.id] ?? "it has not joined"}`),
    ...living
      .filter((row) => isMember(marksOf(row).name) && !isIn(members, row.id))
      .map((row) => `${nameOf(row)} is not in etcd`),
    ...members
      .filter(({ instance }) => !living.some(({ id }) => id === instance))
      .map(({ instance }) => `${instance} is in etcd, and gone`),
  ];
}
