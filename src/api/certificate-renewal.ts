import type { AnyObject } from "./types.js";
import { ownAnnotationPrefix } from "./update-policy.js";

/**
 * On a Cluster: members of its control plane get new hosts when the certificates of the old ones expire in fewer days; without it nobody
 * does. Cluster API has it as `rollout.before.certificatesExpiryDays` of a KubeadmControlPlane.
 */
export const renewalAnnotation = `${ownAnnotationPrefix}certificates-expiry-days`;

/** From a week on, as in Cluster API; certificates count for a year, and nobody is to renew them without end. */
const fewestDays = 7;
const mostDays = 180;

export const renewalForm = `a number of days from ${fewestDays} to ${mostDays}`;

/** "30"; undefined for what is no number of days that is allowed. Pure. */
export function parseRenewalDays(text: string): number | undefined {
  const days = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return days >= fewestDays && days <= mostDays ? days : undefined;
}

/** How many days before their expiry certificates are renewed; undefined where the Cluster does not ask for it. Pure. */
export function renewalDaysOf(objects: readonly AnyObject[]): number | undefined {
  const cluster = objects.find(({ kind }) => kind === "Cluster");
  return parseRenewalDays(cluster?.metadata.annotations?.[renewalAnnotation] ?? "");
}
