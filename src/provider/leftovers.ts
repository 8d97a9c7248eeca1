// What others leave in a cloud for a cluster: controllers that run in it make load balancers, volumes and more, and are gone
// before they could take them away.

/** What one of them has made. It bears none of our marks, so it is nothing that listings or records have. */
export interface Leftover {
  /** As people of the cloud call it: "load balancer", "volume". */
  readonly kind: string;
  /** As the cloud's calls name it. */
  readonly id: string;
  /** What people see in the cloud's console, where that is another text. */
  readonly name?: string;
  /** Who has made it, as far as it tells: "aws-load-balancer-controller". */
  readonly by: string;
  /** What it was made for: "Service default/web"; absent: it does not tell. */
  readonly about?: string;
  /** A resource of the cluster that cannot go before it, as people see it: "vpc-12"; absent: none is known. */
  readonly blocks?: string;
  /** Data of the cluster's users goes with it. */
  readonly holdsData?: true;
  /** Why it may be somebody else's although it bears the cluster's name: it is never removed. */
  readonly doubt?: string;
  /** What has a lower one goes first; those that are equal go together. */
  readonly wave: number;
}

/** A resource that tells where to look. */
export interface LeftoverPlace {
  readonly kind: string;
  readonly id: string;
  /** False: others have made it, and may use it too. */
  readonly isOurs: boolean;
}

/** Whose leftovers are looked for. */
export interface LeftoverScope {
  /** "<namespace>/<name>" of the Cluster. */
  readonly cluster: string;
  readonly clusterUid: string;
  /**
   * What is recorded of the cluster, and what of others it uses. Absent: the cluster is gone, and nobody knows; then
   * everything that bears its name is found, and nothing of it may be removed.
   */
  readonly places?: readonly LeftoverPlace[];
}

/** "load balancer web (arn:...)", as plans and errors name it. Pure. */
export function leftoverName({ kind, id, name }: Pick<Leftover, "kind" | "id" | "name">): string {
  return name === undefined ? `${kind} ${id}` : `${kind} ${name} (${id})`;
}

/** "made by aws-load-balancer-controller for Service default/web". Pure. */
export function makerText({ by, about }: Pick<Leftover, "by" | "about">): string {
  return about === undefined ? `made by ${by}` : `made by ${by} for ${about}`;
}

/** Whether what something was made for is an object that a person could delete, and it would go. Pure. */
export function isUserObject(about: string): boolean {
  return /^(Service|Ingress) /.test(about);
}
