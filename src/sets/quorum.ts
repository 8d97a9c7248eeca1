/** Etcd's majority of so many members. */
export function quorumOf(members: number): number {
  return Math.floor(members / 2) + 1;
}

/** Whether so many of all members are a majority of them. Pure. */
export function isMajority(standing: number, members: number): boolean {
  return standing >= quorumOf(members);
}
