import { type KeyStage, numbersIn } from "../../api/key-stage.js";
import type { ClusterKeys } from "./cluster-keys.js";

/** A cluster's keys by number: one set, or two while they are rotated. Secret as a whole. */
export type KeyRing = Readonly<Record<number, ClusterKeys>>;

/** The keys that a host is made with. Secret as a whole. */
export interface HostKeys extends ClusterKeys {
  /** Whose certificates and tokens it takes beside those of its own keys; absent: nobody's. */
  readonly alsoTrusted?: readonly ClusterKeys[];
}

/** The keys of a stage; undefined where one of them is not known. Pure. */
export function keysAt(ring: KeyRing | undefined, stage: KeyStage): HostKeys | undefined {
  const [keys, ...alsoTrusted] = numbersIn(stage).map((number) => ring?.[number]);
  const others = alsoTrusted.filter((one) => one !== undefined);
  if (keys === undefined || others.length < alsoTrusted.length) return undefined;
  return others.length === 0 ? keys : { ...keys, alsoTrusted: others };
}

/** All keys that a host trusts: its own come first. Pure. */
export function trustedKeys({ alsoTrusted = [], ...own }: HostKeys): readonly ClusterKeys[] {
  return [own, ...alsoTrusted];
}

/** The certificates of all authorities for one purpose that a host trusts, as PEM: its own comes first. Pure. */
export function trustedPem(keys: HostKeys, name: "ca" | "etcd" | "frontProxy"): string {
  return joined(trustedKeys(keys).map((one) => one[name].certificatePem));
}

/** The public keys by which a host checks tokens of service accounts, as PEM: its own comes first. Pure. */
export function trustedAccountsPem(keys: HostKeys): string {
  return joined(trustedKeys(keys).map(({ serviceAccount }) => serviceAccount.publicKeyPem));
}

/** One alone stays as it was given. */
function joined([first = "", ...others]: readonly string[]): string {
  if (others.length === 0) return first;
  return [first, ...others].map((text) => `${text.trimEnd()}\n`).join("");
}
