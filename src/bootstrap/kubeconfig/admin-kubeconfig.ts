import { createPrivateKey, X509Certificate } from "node:crypto";
import { parse, stringify } from "yaml";
import { isJsonObject, type Json } from "../../api/json.js";
import { type KeyedCertificate, validityOf } from "../certificates/certificate.js";
import { type HostKeys, trustedPem } from "../certificates/key-ring.js";
import { issueUserCertificate } from "../certificates/user-certificate.js";
import { adminGroup } from "./admin-group.js";
import { kubeconfigOf } from "./kubeconfig.js";

/** What the kubeconfig of a cluster's administrators leads to. */
export interface AdminAccess {
  /** metadata.name of the Cluster. */
  readonly name: string;
  /** "https://10.0.0.10:6443". */
  readonly server: string;
  readonly keys: HostKeys;
}

/** As Cluster API does: a year, and a new one after half of it. */
const adminCertificateMs = 365 * 24 * 3_600_000;

/** A new certificate for the administrators of a cluster. Random. */
export function newAdminCertificate(
  access: Pick<AdminAccess, "name" | "keys">,
  nowMs: number,
): Promise<KeyedCertificate> {
  const user = userOf(access);
  return issueUserCertificate(
    access.keys,
    { user, groups: [adminGroup], ttlMs: adminCertificateMs },
    nowMs,
  );
}

/** The kubeconfig with this certificate. A secret. Pure. */
export function adminKubeconfig(
  { name, server, keys }: AdminAccess,
  certificate: KeyedCertificate,
): string {
  const config = kubeconfigOf({
    name,
    user: "admin",
    server,
    authorityPem: trustedPem(keys, "ca"),
    credential: { kind: "certificate", certificate },
  });
  return stringify(config, { lineWidth: 0 });
}

/**
 * The certificate in a kubeconfig, if it is one of this cluster's administrators; undefined for anything else. A
 * secret. Pure.
 */
export function adminCertificateIn(
  text: string,
  access: Pick<AdminAccess, "name" | "keys">,
): KeyedCertificate | undefined {
  try {
    const certificate = certificateIn(parse(text) as Json);
    return certificate !== undefined && isIssued(certificate, access) ? certificate : undefined;
  } catch {
    return undefined;
  }
}

/** Whether half of its time is over, and another one would last longer. Pure. */
export function isRenewalDue(
  { certificatePem }: KeyedCertificate,
  { keys }: Pick<AdminAccess, "keys">,
  nowMs: number,
): boolean {
  const { fromMs, untilMs } = validityOf(certificatePem);
  return nowMs >= (fromMs + untilMs) / 2 && untilMs < validityOf(keys.ca.certificatePem).untilMs;
}

function certificateIn(config: Json): KeyedCertificate | undefined {
  const users = isJsonObject(config) ? config["users"] : undefined;
  const [entry] = Array.isArray(users) ? (users as readonly Json[]) : [];
  const user = isJsonObject(entry) ? entry["user"] : undefined;
  if (!isJsonObject(user)) return undefined;
  const certificate = user["client-certificate-data"];
  const key = user["client-key-data"];
  if (typeof certificate !== "string" || typeof key !== "string") return undefined;
  return { certificatePem: fromBase64(certificate), privateKeyPem: fromBase64(key) };
}

function isIssued(
  { certificatePem, privateKeyPem }: KeyedCertificate,
  access: Pick<AdminAccess, "name" | "keys">,
): boolean {
  const certificate = new X509Certificate(certificatePem);
  const authority = new X509Certificate(access.keys.ca.certificatePem);
  return (
    certificate.subject === `O=${adminGroup}\nCN=${userOf(access)}` &&
    certificate.verify(authority.publicKey) &&
    certificate.checkPrivateKey(createPrivateKey(privateKeyPem))
  );
}

function userOf({ name }: Pick<AdminAccess, "name">): string {
  return `${name}-admin`;
}

function fromBase64(text: string): string {
  return Buffer.from(text, "base64").toString();
}
