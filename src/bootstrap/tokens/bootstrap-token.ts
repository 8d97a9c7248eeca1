import { randomInt } from "node:crypto";
import type { JsonObject } from "../../api/json.js";

/** What hosts show to a control plane that they join, "abcdef.0123456789abcdef". A secret. Source: kubeadm token --help. */
export function newBootstrapToken(): string {
  return `${randomText(6)}.${randomText(16)}`;
}

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";

function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
}

/** Where an API server looks for tokens. */
export const tokenNamespace = "kube-system";
/** Label of a token's Secret: the token of the identity of the host that it was made for. */
export const tokenHostLabel = "capstan.dev/bootstrap-of";

/**
 * A Secret by which an API server takes a token until it expires, for one host to join with. A secret as a whole. Pure.
 * Source: https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/
 */
export function bootstrapTokenSecret(
  token: string,
  host: { readonly name: string; readonly token: string },
  expiresAtMs: number,
): JsonObject {
  const [id = "", secret = ""] = token.split(".");
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: `bootstrap-token-${id}`,
      namespace: tokenNamespace,
      labels: { [tokenHostLabel]: host.token },
    },
    type: "bootstrap.kubernetes.io/token",
    stringData: {
      description: `made by capstan for host ${host.name}`,
      "token-id": id,
      "token-secret": secret,
      expiration: expirationText(expiresAtMs),
      "usage-bootstrap-authentication": "true",
      "usage-bootstrap-signing": "true",
      "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
    },
  };
}

/** As an API server reads when a token ends: to the second. Pure. */
export function expirationText(expiresAtMs: number): string {
  return `${new Date(expiresAtMs).toISOString().slice(0, 19)}Z`;
}
