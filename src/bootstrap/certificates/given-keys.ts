import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { KeyedCertificate } from "./certificate.js";
import type { ClusterKeys, PlainKeyPair } from "./cluster-keys.js";
import { canSign } from "./key-pair.js";

/** Somebody's own keys, or everything that keeps them from being a cluster's. */
export type GivenKeys =
  | { readonly kind: "keys"; readonly keys: Partial<ClusterKeys> }
  | { readonly kind: "unusable"; readonly problems: readonly string[] };

/** What messages call the two texts of each pair: the certificate or public key, and the private key. */
export type KeyPlaces = Readonly<
  Record<keyof ClusterKeys, readonly [open: string, secret: string]>
>;

/** The files of each pair below the folder of keys, as kubeadm names them. */
export const keyFilePlaces: KeyPlaces = {
  ca: ["ca.crt", "ca.key"],
  etcd: ["etcd/ca.crt", "etcd/ca.key"],
  frontProxy: ["front-proxy-ca.crt", "front-proxy-ca.key"],
  serviceAccount: ["sa.pub", "sa.key"],
};

/**
 * Keys from texts by their places. A pair that is missing as a whole is left out. Pure; what is wrong is told without
 * any content of the texts.
 */
export function givenKeys(
  texts: ReadonlyMap<string, string>,
  places: KeyPlaces,
  nowMs: number,
): GivenKeys {
  const problems: string[] = [];
  const tell = (problem: string) => void problems.push(problem);
  const authority = (name: "ca" | "etcd" | "frontProxy") => {
    const pair = pairIn(texts, places[name], tell);
    return pair && authorityIn(pair, nowMs, tell);
  };
  const pair = pairIn(texts, places.serviceAccount, tell);
  const keys = omitUndefined({
    ca: authority("ca"),
    etcd: authority("etcd"),
    frontProxy: authority("frontProxy"),
    serviceAccount: pair && serviceAccountIn(pair, tell),
  });
  if (Object.keys(keys).length === 0) tell(`there is no ${openNamesIn(places)}`);
  return problems.length > 0 ? { kind: "unusable", problems } : { kind: "keys", keys };
}

/** "ca.crt, etcd/ca.crt, front-proxy-ca.crt or sa.pub". */
function openNamesIn(places: KeyPlaces): string {
  const names = Object.values(places).map(([open]) => open);
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1) ?? ""}`;
}

interface TextPair {
  readonly names: readonly [string, string];
  readonly open: string;
  readonly secret: string;
}

type Tell = (problem: string) => void;

function pairIn(
  texts: ReadonlyMap<string, string>,
  names: readonly [string, string],
  tell: Tell,
): TextPair | undefined {
  const [openName, secretName] = names;
  const [open, secret] = [texts.get(openName), texts.get(secretName)];
  if (open !== undefined && secret !== undefined) return { names, open, secret };
  if (open !== undefined) tell(`${openName} is there, and ${secretName} is not`);
  if (secret !== undefined) tell(`${secretName} is there, and ${openName} is not`);
  return undefined;
}

function authorityIn(
  { names, open, secret }: TextPair,
  nowMs: number,
  tell: Tell,
): KeyedCertificate {
  const [openName, secretName] = names;
  const certificate = parsed(openName, "certificate", tell, () => new X509Certificate(open));
  const key = parsed(secretName, "private key", tell, () => createPrivateKey(secret));
  if (certificate !== undefined) {
    if (!certificate.ca) tell(`${openName} may not sign certificates: it is no authority`);
    if (certificate.validToDate.getTime() <= nowMs) {
      tell(`${openName} has expired on ${certificate.validToDate.toISOString().slice(0, 10)}`);
    }
  }
  if (key !== undefined && !canSign(key)) tell(`${secretName} is neither ECDSA-P256 nor RSA`);
  if (certificate !== undefined && key !== undefined && !certificate.checkPrivateKey(key)) {
    tell(`${secretName} is not the key of ${openName}`);
  }
  return { certificatePem: open, privateKeyPem: secret };
}

function serviceAccountIn({ names, open, secret }: TextPair, tell: Tell): PlainKeyPair {
  const [openName, secretName] = names;
  const publicKey = parsed(openName, "public key", tell, () => createPublicKey(open));
  const key = parsed(secretName, "private key", tell, () => createPrivateKey(secret));
  if (publicKey !== undefined && key !== undefined && !createPublicKey(key).equals(publicKey)) {
    tell(`${secretName} is not the key of ${openName}`);
  }
  return { publicKeyPem: open, privateKeyPem: secret };
}

function parsed<T extends KeyObject | X509Certificate>(
  name: string,
  what: string,
  tell: Tell,
  parse: () => T,
): T | undefined {
  try {
    return parse();
  } catch {
    tell(`${name} holds no ${what} in PEM`);
    return undefined;
  }
}
