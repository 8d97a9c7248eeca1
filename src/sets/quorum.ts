/** Etcd's majority of so many members. */
export function quorumOf(members: number): number {
  return Math.floor(members / 2) + 1;
}
