import { parse, stringify } from "yaml";
import { isJsonObject, type Json, type JsonObject, sameJson } from "../../api/json.js";
import type { KeyedCertificate } from "../certificates/certificate.js";

/** How whoever uses a kubeconfig shows who they are. */
export type Credential =
  | { readonly kind: "certificate"; readonly certificate: KeyedCertificate }
  /** A program that prints an ExecCredential each time that one is needed. */
  | { readonly kind: "exec"; readonly command: string; readonly args: readonly string[] };

/** One cluster, one user, one context. */
interface KubeconfigEntry {
  /** Of the cluster and the context. */
  readonly name: string;
  readonly user: string;
  /** "https://127.0.0.1:6443". */
  readonly server: string;
  /** Every authority that may have signed the API server's certificate, as PEM. */
  readonly authorityPem: string;
  readonly credential: Credential;
}

const sections = ["clusters", "contexts", "users"] as const;

/** A kubeconfig with this entry alone, which is its current one. A secret where its credential is one. Pure. */
export function kubeconfigOf(entry: KubeconfigEntry): JsonObject {
  const { name, server, authorityPem, credential } = entry;
  const user = `${name}:${entry.user}`;
  const cluster = { server, "certificate-authority-data": base64(authorityPem) };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster }],
    contexts: [{ name, context: { cluster: name, user } }],
    users: [{ name: user, user: userOf(credential, name) }],
    "current-context": name,
  };
}

function userOf(credential: Credential, name: string): JsonObject {
  if (credential.kind === "certificate") return dataOf(credential.certificate);
  const { command, args } = credential;
  return {
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command,
      args: [...args],
      interactiveMode: "Never",
      provideClusterInfo: false,
      installHint: `${command} makes the certificates of ${name}: install it, and put it on PATH`,
    },
  };
}

function dataOf({ certificatePem, privateKeyPem }: KeyedCertificate): JsonObject {
  return {
    "client-certificate-data": base64(certificatePem),
    "client-key-data": base64(privateKeyPem),
  };
}

/** What an exec plugin answers. A secret. Pure. Source: https://kubernetes.io/docs/reference/config-api/client-authentication.v1/ */
export function execCredentialOf(
  { certificatePem, privateKeyPem }: KeyedCertificate,
  expiresAtMs: number,
): JsonObject {
  return {
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    status: {
      expirationTimestamp: new Date(expiresAtMs).toISOString(),
      clientCertificateData: certificatePem,
      clientKeyData: privateKeyPem,
    },
  };
}

/**
 * A kubeconfig with another's entries in it: those of the same names are replaced, all others stay, and the
 * added one's context becomes the current one. Undefined for an existing one that is no kubeconfig. Pure.
 */
export function mergedKubeconfig(existing: Json, added: JsonObject): JsonObject | undefined {
  if (existing === null) return added;
  if (!isJsonObject(existing)) return undefined;
  const lists = sections.map((section) => {
    const [old, own] = [existing[section] ?? [], added[section]];
    return Array.isArray(old) && Array.isArray(own)
      ? ([section, withNamed(old, own)] as const)
      : undefined;
  });
  if (lists.some((list) => list === undefined)) return undefined;
  const merged = Object.fromEntries(lists.flatMap((list) => (list === undefined ? [] : [list])));
  return { ...added, ...existing, ...merged, "current-context": added["current-context"] ?? "" };
}

/**
 * A kubeconfig, as text, whose clusters are known by these authorities; undefined for one that says so already, or that is none.
 * Pure.
 */
export function withAuthority(text: string, authoritiesPem: string): string | undefined {
  const config = parse(text) as Json;
  const clusters = isJsonObject(config) ? config["clusters"] : undefined;
  if (!isJsonObject(config) || !Array.isArray(clusters)) return undefined;
  const told = (clusters as readonly Json[]).map((entry): Json => {
    const cluster = isJsonObject(entry) ? entry["cluster"] : undefined;
    if (!isJsonObject(entry) || !isJsonObject(cluster)) return entry;
    const known = { ...cluster, "certificate-authority-data": base64(authoritiesPem) };
    return { ...entry, cluster: known };
  });
  return sameJson(told, clusters as Json)
    ? undefined
    : stringify({ ...config, clusters: told }, { lineWidth: 0 });
}

function withNamed(old: readonly Json[], own: readonly Json[]): Json[] {
  const names = own.map(nameOf);
  return [...old.filter((one) => !names.includes(nameOf(one))), ...own];
}

function nameOf(entry: Json): Json | undefined {
  return isJsonObject(entry) ? entry["name"] : undefined;
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
